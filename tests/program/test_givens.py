"""What stands behind the bar of a `P`: how it is tried. What is said of it stands in `mistakes.py`."""

from __future__ import annotations

from typing import Any

import pytest

from indicial.library.loading import load
from indicial.program.checks import givens
from indicial.program.meaning.elements import Unit
from indicial.program.meaning.machine import Machine

TEXT = """
input x[s] in U
input w[t] in V
g[j] = Σ_s e[x[s],j]
P(w_t | x, w_0, …, w_{t-1}) = softmax_{w_t} A[w_t,J] (c[w[t-1],J] + g[J])
"""


def test_what_a_token_cannot_change_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: dict[str, list[Machine]] = {}
    plain = Machine.compute

    def counted(self: Machine, unit: Unit) -> Any:
        machines = computed.setdefault(str(unit[0]), [])
        if self not in machines:
            machines.append(self)
        return plain(self, unit)

    monkeypatch.setattr(Machine, "compute", counted)
    givens._tried.cache_clear()
    assert load(TEXT).mistakes == []
    assert len(computed["g"]) == 1
    assert len(computed["P"]) == 3  # as it was drawn, and with each of two tokens changed


def test_what_was_tried_is_remembered_while_its_equations_stay() -> None:
    givens._tried.cache_clear()

    def tried(text: str) -> int:
        before = givens._tried.cache_info().misses
        assert load(text).mistakes == []
        return givens._tried.cache_info().misses - before

    assert tried(TEXT) == 1
    assert tried(f"# words\n{TEXT}\nd[t] = Σ_j c[w[t],j]") == 0
    assert tried(TEXT.replace("g[j] =", "g[j] = 2")) == 1
    ahead = TEXT.replace("c[w[t-1],J]", "c[w[t+1],J]")
    assert [m.code for m in load(ahead).mistakes] == ["looks-ahead"]


@pytest.mark.parametrize("changed", [[], ["w"], ["x"], ["x", "w"]])
def test_a_machine_that_adopts_computes_the_same(changed: list[str]) -> None:
    from indicial.program.checks.givens import machine_on
    from indicial.program.meaning.differing import dependent
    from indicial.program.meaning.sample import Sample, sample, small_sizes

    code = load(TEXT).code
    drawn = sample(code, small_sizes(code, 3), 1)
    texts = {name: (drawn.inputs[name] + 1) % 3 for name in changed}
    other = Sample(drawn.sizes, {**drawn.inputs, **texts}, drawn.parameters, drawn.draws)
    first, fresh, adopting = (machine_on(code, s) for s in (drawn, other, other))
    first.array("P")
    adopting.adopt(first, dependent(code, frozenset(changed)))
    assert (adopting.array("P") == fresh.array("P")).all()
    assert (first.array("P") == fresh.array("P")).all() == (not changed)
