"""The program of one place and one choice → its routines, forward and back.

    y[i] = Σ_F W[i,F] ReLU(Σ_J U[F,J] x[J])     →   y[s,i] = …,  h[s,F] = …     for the one step s
                                                    Ū[F,J] = Σ_s h̄[s,F] x[s,J]

A loop of one step is what kernels are made of; its members are the places. The gradient of a weight is a
product over all of them, after the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indicial.compile.emit.doubling import Alone
from indicial.compile.ground.stored import Packed
from indicial.compile.native.arranging import arranged
from indicial.compile.native.experts import Experts
from indicial.compile.native.routine import Routine
from indicial.compile.native.step import as_loop, one_step
from indicial.compile.passes.adjoint import Adjoint, adjoint
from indicial.compile.passes.normal import normal
from indicial.compile.passes.scan import Unsupported, varying
from indicial.compile.passes.simplify import shared, split, without_nothing
from indicial.compile.schedule.plan import Plan, Run
from indicial.program.ir import Code
from indicial.program.verify import verified


def made(rows: Alone, key: str) -> Experts:
    plain = verified(shared(verified(normal(rows.code))))
    code, _ = one_step(plain, varying(plain))
    (output,) = rows.outputs
    back = _adjoint(code, output, rows.arguments)
    kept = (output, *(name for name in back.saved if name != output))
    if not varying(code).issuperset(kept):
        raise Unsupported("something of the weights alone is kept")
    if output not in back.given:
        raise Unsupported("nothing that is given changes it")
    found = Experts(
        key, Packed(code), rows.arguments, output, rows.same, kept,
        {n: bar for n, bar in back.names.items() if n in rows.arguments},
        back.given[output], _routine(code, kept, (), f"{key} forward"),
    )  # fmt: skip
    found.backward(
        tuple(n for n in found.arguments if n in found.bars)
    )  # tells now if there is none
    return found


def _adjoint(code: Code, output: str, arguments: Sequence[str]) -> Adjoint:
    wanted = [n for n in arguments if code.tensors[n].values is None]
    return adjoint(code, [output], wanted)


def backward(own: Experts, needed: tuple[str, ...]) -> Routine:
    code = own.packed.value
    back = _adjoint(code, own.output, own.arguments)
    tensors = dict(back.code.tensors)
    tensors |= {name: replace(tensors[name], role="input") for name in own.kept}
    there = {s.target for s in back.statements}
    known = {n: t for n, t in tensors.items() if t.role != "defined" or n in there}
    alone = replace(back.code, tensors=known, statements=back.statements)
    code = verified(split(shared(normal(without_nothing(alone)))))
    summed = [own.bars[n] for n in needed if n in own.same]
    names = ",".join(needed)
    return _routine(code, [own.bars[n] for n in needed], summed, f"{own.key} backward {names}")


def _routine(code: Code, want: Sequence[str], summed: Sequence[str], identity: str) -> Routine:
    """All that differs from place to place in one loop of one step; weights before, their gradients after."""
    differing = varying(code).difference(summed)

    def join(_: Code, plan: Plan) -> Plan:
        if not all(isinstance(step, Run) for step in plan.steps):
            raise Unsupported("a loop for each place")
        own = [s for s in plan.steps if isinstance(s, Run) and s.statement.target in differing]
        rest = [s for s in plan.steps if s not in own]
        before = [s for s in rest if isinstance(s, Run) and s.statement.target not in summed]
        after = [s for s in rest if s not in before]
        return Plan((*before, as_loop(own), *after) if own else plan.steps)

    return arranged(code, want, summed, identity=identity, join=join)
