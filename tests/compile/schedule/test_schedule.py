"""Plans: what becomes a loop, in which order, and that no element is read before it is defined."""

from __future__ import annotations

import pytest

import indicial
from indicial import library
from indicial.compile.schedule.schedule import (
    Loop,
    Plan,
    Run,
    ScheduleError,
    Step,
    needed,
    schedule,
)
from indicial.program.ir import Affine, Axis, Code, Index, Read, Statement, Tensor
from indicial.program.meaning.arrays import gather_given
from indicial.program.meaning.machine import Machine
from indicial.program.meaning.sample import sample, small_sizes
from indicial.program.sizes import Size


def outline(steps: tuple[Step, ...]) -> list[object]:
    """`["h", ("t", 1, ["R", "G", "h"])]`: a plan without its ranges."""
    return [
        step.statement.target
        if isinstance(step, Run)
        else (step.letter, step.direction, outline(step.steps))
        for step in steps
    ]


def plan_of(text: str) -> Plan:
    return schedule(indicial.load(text).code)


def test_a_recurrence_is_one_loop() -> None:
    assert outline(schedule(indicial.load("ugrnn").code).steps) == [("t", 1, ["R", "G", "h"])]


def test_layers_go_around_time() -> None:
    plan = schedule(indicial.load("stacked").code)
    assert outline(plan.steps) == ["h", ("ℓ", 1, [("t", 1, ["CELL.R", "CELL.G", "h"])])]
    assert [loop.kind for loop in plan.loops()] == ["stacked", "scanned"]


def test_a_transformer_has_no_loop_over_time() -> None:
    plan = schedule(indicial.load("transformer").code)
    assert [loop.letter for loop in plan.loops()] == ["ℓ"]


def test_a_backward_recurrence_runs_backward() -> None:
    loops = list(schedule(indicial.load("bidirectional").code).loops())
    assert [("h⃗" in loop.axes, loop.direction) for loop in loops] == [(True, 1), (False, -1)]


def test_edit_distance_is_a_loop_in_a_loop() -> None:
    plan = plan_of("input c[m,n]\nD[m,n] = min(D[m-1,n] + 1, D[m,n-1] + 1, D[m-1,n-1] + c[m,n])")
    assert outline(plan.steps) == [("m", 1, [("n", 1, ["D"])])]


def test_spans_are_filled_from_the_end() -> None:
    """A chart: the spans from m to n, from those inside."""
    plan = plan_of(
        "input s[m,n]\nC[m,n] = s[m,n] + max_{m < k, k < n} (C[m,k] + C[k,n])\nrange k = 0..N-1\n"
    )
    assert [(loop.letter, loop.direction) for loop in plan.loops()] == [("n", 1), ("m", -1)]


def test_what_is_written_one_ahead_is_computed_earlier() -> None:
    plan = plan_of("input x[t]\nR[t] = h[t-2] + x[t]\nh[t] = R[t+1]")
    (loop,) = plan.loops()
    assert loop.offsets == {"R": 0, "h": 1}


def test_only_what_is_wanted() -> None:
    code = indicial.load("transformer").code
    assert "P" not in {s.target for s in needed(code, ["y"])}
    assert {s.target for s in needed(code, ["y"])} == {s.target for s in needed(code, ["y", "N"])}


def test_what_no_order_serves_is_told() -> None:
    """Walked along neither axis: `h[m,n]` reads `h[n-1,m-1]`."""
    size = Size.of("N")
    axes = (Axis("m", Size(), size), Axis("n", Size(), size))
    indices = (Index("m", Size(), size), Index("n", Size(), size))
    body = Read("h", (Affine.of("n", -1), Affine.of("m", -1)))
    statement = Statement("h", (Affine.of("m"), Affine.of("n")), indices, body)
    code = Code({"h": Tensor("h", axes, "defined")}, (statement,), {"N": None})
    with pytest.raises(ScheduleError, match="h need each other"):
        schedule(code)


@pytest.mark.parametrize("name", library.names())
@pytest.mark.parametrize("size", [1, 2, 3])
def test_nothing_is_read_before_it_is_defined(name: str, size: int) -> None:
    """Walk each plan element by element; the oracle must find all it reads already computed."""
    code = indicial.load(name).code
    sizes = small_sizes(code, size)
    drawn = sample(code, sizes, seed=1)
    arrays = {**drawn.inputs, **drawn.parameters, **drawn.draws}
    machine = Machine(code, gather_given(code, arrays, drawn.sizes, {}))
    walk(machine, code, schedule(code).steps, {})
    for statement in code.statements:
        machine.array(statement.target)


def walk(machine: Machine, code: Code, steps: tuple[Step, ...], at: dict[str, int]) -> None:
    for step in steps:
        if isinstance(step, Run):
            run(machine, code, step.statement, at)
            continue
        for value in loop_values(machine, step):
            inner = {**at, step.variable: value}
            for part in step.steps:
                walk(machine, code, (part,), {**inner, **fixed(step, part, value, machine)})


def loop_values(machine: Machine, loop: Loop) -> list[int]:
    first = machine.size(loop.lower, {})
    values = list(range(first, first + machine.size(loop.extent, {})))
    return values[:: loop.direction]


def fixed(loop: Loop, part: Step, value: int, machine: Machine) -> dict[str, int]:
    """The loop's value under a name of its own for each statement below."""
    result = {}
    for statement in part.statements():
        found = loop.fixed(statement)
        if found is None:
            at = loop.at(statement)
            assert at is not None
            result[f"{id(statement)} only"] = int(machine.size(at, {}) == value)
        else:
            name, place = found
            result[f"{id(statement)} {name}"] = value + machine.size(place.offset, {})
    return result


def run(machine: Machine, code: Code, statement: Statement, at: dict[str, int]) -> None:
    if at.get(f"{id(statement)} only") == 0:
        return
    env: dict[str, int] = {}
    chosen = {i.name: at.get(f"{id(statement)} {i.name}") for i in statement.indices}
    for _ in machine.domain(statement.indices, env):
        if any(env[name] != value for name, value in chosen.items() if value is not None):
            continue
        element = tuple(machine.place(place, env) for place in statement.left)
        if statement.guard is None or machine.holds(statement.guard, env):
            before = len(machine.known)
            machine.demand((statement.target, element))
            new = [unit for unit in list(machine.known)[before:] if isinstance(unit[0], str)]
            inside = [unit for unit in new if machine.known[unit] is not None]
            assert inside in ([], [(statement.target, element)])
