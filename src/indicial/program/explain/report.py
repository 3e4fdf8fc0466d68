"""The facts of a program as plain data, for other programs: `indicial explain --json`.

to_json(read(program, {"J": 256}))["cost"]["parameters"]["formula"]    →    "2 J² + 2 J K + 2 J"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indicial.notation.printers import unicode
from indicial.notation.syntax import Equation
from indicial.program.cost.cost import order
from indicial.program.explain.facts import Facts
from indicial.program.explain.numbers import formula, tight
from indicial.program.sizes import Size


def to_json(facts: Facts) -> dict[str, Any]:
    """All of it, for programs."""
    program, cost, code = facts.program, facts.program.cost, facts.code

    def amount(size: Size) -> dict[str, Any]:
        return {"formula": formula(facts.tied(size)), "number": facts.number(size)}

    def table(sizes: Mapping[str, Size]) -> dict[str, Any]:
        return {name: amount(size) for name, size in sizes.items()}

    return {
        "title": program.title,
        "equations": {"unicode": program.unicode().splitlines(), "latex": program.latex()},
        **_reading(facts),
        "names": [
            {
                "name": n.name,
                "shown": n.shown,
                "role": n.role,
                "guess": n.tensor.guess or None,
                "made": n.made,
                "axes": [
                    {
                        "letter": a.letter,
                        "lower": tight(a.lower),
                        "upper": tight(a.lower + a.extent - 1),
                        "size": tight(a.extent),
                    }
                    for a in n.tensor.axes
                ],
                "values": tight(n.tensor.values) if n.tensor.values is not None else None,
                "distribution": n.tensor.probability,
            }
            for n in facts.names
        ],
        "constants": dict(code.constants),
        "summed": facts.summed,
        "sizes": {
            name: {"value": facts.sizes.get(name), "taken_as": facts.taken.get(name)}
            for name in code.sizes
        },
        "same_size": [list(pair) for pair in facts.same],
        "ranges": [
            {
                "letters": list(r.letters),
                "lower": tight(r.lower),
                "upper": tight(r.upper),
                "in": list(r.within),
            }
            for r in facts.ranges
        ],
        "outside": [o.to_json() for o in facts.outside],
        "notes": [{"subject": n.subject, "text": n.text} for n in program.analysis.notes],
        "holes": program.holes,
        "loss": code.loss,
        "generated": code.generated,
        "cost": {
            "missing": facts.missing,
            "parameters": {
                **amount(cost.parameters),
                "by_tensor": table(cost.parameters_by_tensor),
            },
            "work": {
                **amount(cost.work),
                "exact": cost.work_exact,
                "growth": facts.growth(cost.work),
                "by_tensor": table(cost.work_by_tensor),
            },
            "memory": {
                **amount(cost.memory),
                "exact": cost.memory_exact,
                "by_tensor": table(cost.memory_by_tensor),
                "state": table(cost.state),
            },
            "parallel_time": {
                **amount(cost.parallel_time),
                "exact": cost.parallel_time_exact,
                "growth": order(facts.tied(cost.parallel_time)),
            },
            "backward": {
                "work": {**amount(cost.backward_work), "growth": facts.growth(cost.backward_work)},
                "parallel_time": {
                    **amount(cost.backward_parallel_time),
                    "growth": order(facts.tied(cost.backward_parallel_time)),
                },
            },
        },
        "messages": [m.to_json() for m in program.messages],
    }


def _reading(facts: Facts) -> dict[str, Any]:
    """How vector style was read, if there is any."""
    reading = facts.program.reading
    if not reading.convention:
        return {}
    equations = [unicode(st).strip() for st in facts.program.statements if isinstance(st, Equation)]
    decided = [
        {"names": list(d.names), "kind": d.kind, "reason": d.reason} for d in reading.decisions
    ]
    return {
        "reading": {
            "equations": equations, "convention": reading.convention, "names": decided,
        }
    }  # fmt: skip
