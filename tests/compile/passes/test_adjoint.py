"""Adjoint equations, run by the interpreter, against finite differences of the program itself.

For random values x and a random direction d, the gradient g of `Σ weight · output` has to satisfy
`g · d = (f(x + εd) - f(x - εd)) / 2ε`. Nothing here knows about derivatives but the code under test.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from pass_programs import AWKWARD, code, programs

from indicial.compile.passes.adjoint import Adjoint, adjoint
from indicial.compile.passes.elements import place_value, solve
from indicial.compile.passes.forms import form
from indicial.compile.passes.normal import normal
from indicial.library import names
from indicial.library.loading import load
from indicial.program.cost.conditions import surely_apart
from indicial.program.ir import (
    Affine,
    Apply,
    Code,
    Constant,
    Expression,
    Flat,
    Gather,
    Index,
    IndexValue,
    Read,
    Reduce,
    Select,
    SizeValue,
)
from indicial.program.meaning.functions import FUNCTIONS
from indicial.program.meaning.interpret import interpret
from indicial.program.meaning.sample import Sample, sample, small_sizes
from indicial.program.show import show_statement
from indicial.program.sizes import Size
from indicial.program.verify import verify

EPSILON = 1e-6


def defined(forward: Code) -> list[str]:
    return [n for n, t in forward.tensors.items() if t.role == "defined" and t.values is None]


class Trial:
    """One program on one sample: the sum of its outputs, each element with a weight."""

    def __init__(self, forward: Code, outputs: Sequence[str], drawn: Sample, seed: int) -> None:
        self.forward, self.outputs, self.drawn = forward, list(outputs), drawn
        self.random = np.random.default_rng(seed)
        self.sources = {**drawn.inputs, **drawn.parameters}
        self.real = [n for n in self.sources if forward.tensors[n].values is None]
        values = self.run(forward, self.sources, self.outputs)
        self.weights = {
            name: np.where(np.isfinite(values[name]), self.random.normal(size=np.shape(array)), 0)
            for name, array in values.items()
        }
        if forward.loss in self.weights:
            self.weights[forward.loss] = np.ones(())

    def run(self, program: Code, sources: dict[str, Any], want: Sequence[str]) -> dict[str, Any]:
        parameters = {n: v for n, v in sources.items() if n in self.drawn.parameters}
        inputs = {n: v for n, v in sources.items() if n not in parameters}
        result = interpret(
            program, inputs, parameters,
            sizes=self.drawn.sizes, draws=self.drawn.draws, want=list(want),
        )  # fmt: skip
        return {name: result[name] for name in want}

    def total(self, sources: dict[str, Any]) -> float:
        values = self.run(self.forward, sources, self.outputs)
        return float(
            sum((w * np.where(w == 0, 0, values[n])).sum() for n, w in self.weights.items())
        )

    def gradients(self, found: Adjoint) -> dict[str, Any]:
        begin = {new: self.weights[name] for name, new in found.given.items()}
        want = [found.names[name] for name in self.real if name in found.names]
        values = self.run(found.code, {**self.sources, **begin}, want)
        return {
            name: values[found.names[name]] if name in found.names else np.zeros(np.shape(x))
            for name, x in self.sources.items()
            if name in self.real
        }

    def slope(self, direction: dict[str, Any]) -> float:
        def at(step: float) -> float:
            moved = {n: self.sources[n] + step * d for n, d in direction.items()}
            return self.total({**self.sources, **moved})

        return (at(EPSILON) - at(-EPSILON)) / (2 * EPSILON)

    def direction(self) -> dict[str, Any]:
        """All sources at once; each alone would be as good, and slower."""
        return {name: self.random.normal(size=np.shape(self.sources[name])) for name in self.real}


def assert_gradient(
    forward: Code,
    sizes: Sequence[int] = (1, 2, 3),
    outputs: Sequence[str] | None = None,
    positive: bool = False,
) -> Adjoint:
    outputs = defined(forward) if outputs is None else outputs
    found = adjoint(forward, outputs)
    verify(found.code)
    for size in sizes:
        drawn = sample(forward, small_sizes(forward, size), seed=size)
        if positive:
            drawn.inputs = {n: np.abs(x) + 0.1 for n, x in drawn.inputs.items()}
        trial = Trial(forward, outputs, drawn, size)
        gradients = trial.gradients(found)
        direction = trial.direction()
        own = sum(float((gradients[n] * d).sum()) for n, d in direction.items())
        assert own == pytest.approx(trial.slope(direction), rel=1e-5, abs=1e-6), [
            show_statement(s) for s in found.statements
        ]
    return found


UNUSUAL = {"focus": {"positive": True}, "near": {"sizes": (2,)}, "gpt2": {"sizes": (2,)}}
"""Attention as an input has to be positive; there is no mean over one layer or word less one."""


def test_what_is_solved_for_by_name_alone_is_a_given_index_as_it_is() -> None:
    """`x[t-1]` and `x[2t]` leave an equation, `x[t]` with t over the same range does not."""
    t, s = (Index(name, Size(), Size.of("T")) for name in "ts")
    element = (Affine.of("s"),)
    for read in (Affine((("t", 1),), Size.of(-1)), Affine((("t", 2),)), Affine((("t", -1),))):
        found = solve((read,), (t,), element, (s,), only_names=True)
        assert found is not None and found.summed == (t,) and len(found.equations) == 1
    plain = solve((Affine.of("t"),), (t,), element, (s,), only_names=True)
    assert plain is not None and plain.places == {"t": Affine.of("s")} and not plain.equations
    longer = Index("t", Size(), Size.of("T") + 1)
    found = solve((Affine.of("t"),), (longer,), element, (s,), only_names=True)
    assert found is not None and found.summed == (longer,) and len(found.equations) == 1
    number = solve((Affine.of("t"),), (t,), (Affine((), Size.of(2)),), (), only_names=True)
    assert number is not None and number.summed == (t,) and len(number.equations) == 1


@pytest.mark.parametrize("model", names())
def test_library(model: str) -> None:
    forward = load(model).code
    options: dict[str, Any] = {"sizes": (1, 2)}  # awkward programs, which are small, have 4
    options |= UNUSUAL.get(model, {})
    assert_gradient(forward, **options)
    if forward.loss is not None:
        assert_gradient(forward, outputs=[forward.loss], **{**options, "sizes": (2,)})


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_programs(name: str) -> None:
    assert_gradient(code(AWKWARD[name]), (1, 2, 3, 4))


def test_what_is_read_at_pairs_has_a_part_of_its_own() -> None:
    """`h[(k,i)]` is turned round on a left side, and then added to what else arrives at h."""
    text = "input x[j]\nh[j] = tanh(x[j] b[j])\ny[k,i] = h[(k,i)] c[i]\nz[j] = 2 h[j]"
    found = assert_gradient(code(text))
    assert any(isinstance(place, Flat) for s in found.statements for place in s.left)
    beside = "input x[t,j]\nh[t,j] = tanh(x[t,j])\ny[t,k,i] = h[t,(k,i)] c[i]\nz[t,j] = 2 h[t,j]"
    assert_gradient(code(beside), sizes=(2,))


def test_a_product_over_two_indices() -> None:
    """Its other factors are those that differ in one index or in both."""
    assert_gradient(code("input x[t,i,j]\ny[t] = ∏_{i,j} x[t,i,j]"), (1, 2))


def test_the_logarithm_of_a_sum_of_exponentials() -> None:
    forward = code("input x[t,i]\ny[t] = ln Σ_i exp(x[t,i] a[i])\nz[t] = y[t] b[0]")
    assert any(r.operator == "lse" for s in forward.statements for r in s.body.every(Reduce))
    assert_gradient(forward)


def test_places_that_never_meet() -> None:
    long = {"t": Index("t", Size.of(0), Size.of("T"))}
    later, first = Affine((("t", 1),), Size.of(1)), Affine((), Size.of(0))
    assert surely_apart(later, long, first, {}) and surely_apart(first, {}, later, long)
    assert not surely_apart(Affine.of("t"), long, first, {})
    assert not surely_apart(Affine.of("s"), long, first, {})  # nothing is known of s


def test_places_as_numbers() -> None:
    """(k,i) counts as the digits of a number do, each from the first of its range."""
    k, i = (Index(n, Size.of(low), Size.of(high)) for n, low, high in (("k", 1, 3), ("i", 2, 4)))

    def value(node: Expression, at: dict[str, int]) -> float:
        match node:
            case IndexValue(place=Affine(terms=terms, offset=offset)):
                return sum(at[n] * c for n, c in terms) + float(offset.number or 0)
            case SizeValue(size=size):
                return float(size.number or 0)
            case Constant(value=number):
                return number
            case Apply(function=function, arguments=arguments):
                return FUNCTIONS[function](*(value(a, at) for a in arguments))
        raise AssertionError(node)

    pairs = [(a, b) for a in range(1, 4) for b in range(2, 6)]
    found = [value(place_value(Flat((k, i))), {"k": a, "i": b}) for a, b in pairs]
    assert found == list(range(12))
    assert value(place_value(Affine((("t", 1),), Size.of(-1))), {"t": 5}) == 4
    assert value(place_value(Affine((), Size.of(3))), {}) == 3
    token = Read("w", (Affine.of("t"),))
    assert place_value(Gather(token)) is token


@given(programs())
@settings(max_examples=15)
def test_generated_programs(text: str) -> None:
    assert_gradient(code(text), (1, 3))


# ---------------------------------------------------------------------- the equations themselves


def composed(text: str) -> str:
    """A letter with its bar as one character, where there is one, as keyboards write it."""
    return unicodedata.normalize("NFC", text)


def lines(found: Adjoint) -> list[str]:
    shown = [show_statement(s).partition("    for ")[0] for s in found.statements]
    return [composed(line) for line in shown]


def test_no_index_is_called_as_a_token() -> None:
    found = adjoint(code("input w[t] in V\nu[w] = 2 a[w]\nL = Σ_t u[w[t]]"), ["L"], ["a"])
    assert lines(found) == [
        "ū[v] = sum{t: 0..T-1 where w[t] = ⟨v⟩}(L̄^{in})",
        "ā[v] = 2 * ū[v]",
    ]


def test_a_recurrence_runs_backwards() -> None:
    found = adjoint(code("input x[t,j]\nh[t,j] = tanh(W[j,I] h[t-1,I] + x[t,j])"), ["h"])
    assert lines(found) == [
        "h̄[t,j] = h̄^{in}[t,j] + sum{j': 0..J-1}(W[j',j] * δ^h[t+1,j'])",
        "δ^h[t,j] = (1 + -h[t,j]^2) * h̄[t,j]",
        "W̄[j,i] = sum{t: 0..T-1}(h[t-1,i] * δ^h[t,j])",
        "x̄[t,j] = δ^h[t,j]",
    ]
    assert found.given == {"h": "h̄^{in}"}
    assert found.saved == ("h",)


def test_cross_entropy_needs_no_division() -> None:
    found = adjoint(load("log_loss").code, ["loss"])
    assert lines(found)[0] == composed("P̄^{(1)}[t,v] = P[t,v] + -(w[t] = ⟨v⟩)")
    assert found.given == {}


def test_a_token_gathers_for_its_own_vector() -> None:
    found = adjoint(code("input w[t] in V\nx[t,j] = e[w[t-1],j]"), ["x"])
    assert lines(found) == ["ē[v,j] = sum{t: 0..T-1 where w[t-1] = ⟨v⟩}(x̄^{in}[t,j])"]


def test_a_stride_asks_for_its_window() -> None:
    found = adjoint(
        code("input x[t]\nrange Δt = -1..1\ny[t] = Σ_{Δt} W[Δt] x[2t+Δt]"), ["y"], ["x"]
    )
    assert lines(found) == ["x̄[t] = sum{t': 0..⌈T/2⌉-1}(W[t-2t'] * ȳ^{in}[t'])"]


@pytest.mark.parametrize(("written", "place"), [("2", "2"), ("L", "L"), ("L-2", "L - 2")])
def test_a_place_that_a_condition_settles_is_not_summed_over(written: str, place: str) -> None:
    text = f"input x[j], z[ℓ,j]\nh[ℓ,j] = [ℓ = {written}] x[j] + z[ℓ,j]"
    found = assert_gradient(code(text), outputs=["h"])
    assert f"x̄[j] = h̄^{{in}}[{place},j]" in lines(found)


@pytest.mark.parametrize(
    "text",
    ["h[t+1,j] = tanh(W[j,I] h[t,I] + x[t,j])", "h[t,j] = tanh(a[j] h[t-1,j]/0.5 + x[t,j])"],
)
def test_what_is_0_behind_the_last_step_needs_no_condition(text: str) -> None:
    found = assert_gradient(code(f"input x[t,j]\n{text}"), outputs=["h"])
    assert not any(s.guard or s.body.every(Select) for s in found.statements)


def test_only_what_is_wanted() -> None:
    forward = load("ugrnn").code
    found = adjoint(forward, ["h"], ["B^G"])
    assert "B^G" in found.names
    assert not {"x", "W^{h,G}", "B^R"} & found.names.keys()
    inner = adjoint(forward, ["h"], ["G"])
    assert inner.code.of(inner.names["G"])
    assert "B^G" not in inner.names


def test_saved_is_what_is_read() -> None:
    found = adjoint(load("lstm").code, ["h"])
    assert set(found.saved) == {"G^f", "G^i", "G^o", "R", "c", "h"}


def test_the_bar_of_the_text_is_left_alone() -> None:
    found = adjoint(code("input x[t]\nx̄[t] = a x[t]\ny[t] = x̄[t]^2"), ["y"])
    assert found.names["x"] == "∂x"
    assert_gradient(code("input x[t]\nx̄[t] = a x[t]\ny[t] = x̄[t]^2"))


@pytest.mark.parametrize("model", ["ugrnn", "gru", "rnn_lm", "transformer", "bidirectional"])
def test_the_equations_have_a_normal_form(model: str) -> None:
    forward = load(model).code
    outputs = [forward.loss] if forward.loss else defined(forward)
    found = adjoint(forward, outputs)
    after = normal(found.code)
    verify(after)
    assert all(form(statement) is not None for statement in after.statements)
    drawn = sample(found.code, small_sizes(found.code, 2))
    want = [found.names[n] for n in drawn.parameters if n in found.names]
    values = [
        interpret(c, drawn.inputs, drawn.parameters, sizes=drawn.sizes, want=want)
        for c in (found.code, after)
    ]
    for name in want:
        np.testing.assert_allclose(values[1][name], values[0][name], 1e-9, 1e-9)
