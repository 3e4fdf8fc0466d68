"""The work of checking a text grows with its length: calls of functions are counted, not seconds."""

import cProfile
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from growth import KINDS, chained, disagreeing, sides, unread
from indicial.compile.explain.gradient import gradient
from indicial.derivations import examining
from indicial.derivations.scope import UNTRIED, Finding, Step
from indicial.library.loading import load_document
from indicial.notation.parse import parse_text
from indicial.notation.syntax import Statement
from indicial.program.explain.explain import explain
from indicial.program.names.naming import Naming
from indicial.program.program import Program
from indicial.program.prose import settling
from indicial.program.prose.parts import Part

SMALL, FACTOR = 2_000, 3
LATER = {"unknown": 5_000}
"""Where names are compared with each other, the first hundred are compared with all."""
EACH = {"sections": 275, "one_section": 192, "redefined": 352, "equations": 208, "products": 236}
"""How many functions may be called for each character: a twelfth more than are."""
MOST = 1.2
"""How many times more than in proportion a longer text may cost: some things are sorted."""


def calls(path: Path) -> int:
    """How many functions are called while a document is checked."""
    with cProfile.Profile() as counted:
        for program in load_document(path):
            _ = program.messages
    return sum(entry.callcount for entry in counted.getstats())


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=pytest.mark.long) if k in LATER else k for k in KINDS]
)
def test_work_is_linear(kind: str, tmp_path: Path) -> None:
    make, suffix = KINDS[kind]
    counts = []
    small = LATER.get(kind, SMALL)
    for size in (SMALL // 10, small, small * FACTOR):  # the first fills caches
        path = tmp_path / f"text{size}.{suffix}"
        path.write_text(make(size), encoding="utf-8")
        counts.append(calls(path))
    assert counts[2] <= MOST * FACTOR * counts[1]


def lines(where: str, work: Callable[[], object]) -> int:
    """How many lines of some files are gone through: a loop inside a loop need not call anything."""
    count = 0

    def entered(frame: FrameType, event: str, argument: object) -> object:
        return counting if where in frame.f_code.co_filename else None

    def counting(frame: FrameType, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return counting

    before = sys.gettrace()
    sys.settrace(entered)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("kind", ["terms", "equations"])
def test_loops_of_the_checks_are_linear(kind: str) -> None:
    made = [Program.of_text(KINDS[kind][0](n), "text.eq") for n in (SMALL, SMALL * FACTOR)]
    few, many = (lines("/program/checks/", partial(getattr, one, "messages")) for one in made)
    assert many <= MOST * FACTOR * few


def test_explaining_what_has_many_warnings_is_linear() -> None:
    """Whether a program has errors is asked once, and not for each name."""
    texts = [
        chained(n).replace("[j]", "[t,j]").replace("(q", "(2 q") for n in (SMALL, SMALL * FACTOR)
    ]
    made = [Program.of_text(text.replace("[t,j])", "[t-1,j])"), "text.eq") for text in texts]
    assert all(len(program.mistakes) > 90 for program in made)
    few, many = (lines("/program/", partial(explain, one)) for one in made)
    assert many <= MOST * FACTOR * few


def test_explaining_many_sizes_is_linear(tmp_path: Path) -> None:
    """Each matrix has sizes of its own, so that a formula of a cost has as many terms."""
    made = []
    for size in (SMALL, SMALL * FACTOR):
        path = tmp_path / f"{size}.md"
        lines_ = (f"$$a_{{{n}}} = \\tanh(W_{{{n}}} a_{{{n - 1}}})$$" for n in range(1, size // 20))
        path.write_text("# a\n\n" + "\n\n".join(lines_), encoding="utf-8")
        made += load_document(path)
    few, many = (lines("/program/", partial(explain, one)) for one in made)
    assert many <= MOST * FACTOR * few


@pytest.mark.parametrize("kind", ["terms", "products", "chained", "unread"])
def test_backpropagation_is_linear(kind: str) -> None:
    """Neither many reads in one equation nor many equations make one go through all of them."""
    make = {"chained": chained, "unread": unread}.get(kind) or KINDS[kind][0]
    made = [Program.of_text(make(n), "text.eq") for n in (SMALL, SMALL * FACTOR)]
    few, many = (lines("/src/indicial/", partial(gradient, one)) for one in made)
    assert many <= MOST * FACTOR * few


def test_environments_in_environments_are_linear() -> None:
    texts = [r"y = " + r"\begin{cases}" * n for n in (100, 100 * FACTOR)]
    few, many = (lines("/notation/rows.py", partial(parse_text, text)) for text in texts)
    assert many <= MOST * FACTOR * few


@pytest.mark.parametrize("kind", EACH)
def test_work_is_little(kind: str, tmp_path: Path) -> None:
    """A text of 1 MB is checked in some seconds: each pass asks only what no other has asked."""
    make, suffix = KINDS[kind]
    path = tmp_path / f"text.{suffix}"
    for size in (SMALL // 10, SMALL):  # the first fills caches
        text = make(size)
        path.write_text(text, encoding="utf-8")
        count = calls(path)
    assert count <= EACH[kind] * len(text)


def test_a_program_of_a_document_is_sorted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a section ends and what it borrows is decided on the outline that is checked later."""
    sorted_: list[int] = []
    plain = Naming.__init__

    def counted(self: Naming, statements: Iterable[Statement], document: bool) -> None:
        statements = list(statements)
        sorted_.append(len(statements))
        plain(self, statements, document)

    monkeypatch.setattr(Naming, "__init__", counted)
    path = tmp_path / "text.md"
    path.write_text(KINDS["sections"][0](3 * SMALL), encoding="utf-8")
    programs = load_document(path)
    assert len(programs) > 10
    assert all(not program.mistakes for program in programs)
    assert sorted_ == [2] * len(programs)


def test_displays_that_do_not_agree_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt to read them takes one of them away; after some there are no more attempts."""
    tried: list[int] = []
    plain = settling._attempt

    def counted(part: Part, make: settling.Make) -> Any:
        tried.append(len(part.statements))
        return plain(part, make)

    monkeypatch.setattr(settling, "_attempt", counted)
    monkeypatch.setattr(settling, "PATIENCE", 0)
    monkeypatch.setattr(settling, "AGAIN", 2)
    path = tmp_path / "text.md"
    path.write_text(disagreeing(1_900), encoding="utf-8")
    programs = load_document(path)
    assert tried[0] > 30 and sum(tried) <= 3 * tried[0]
    unread = {s.span: s.reason for p in programs for s in p.skipped}
    assert any("do not agree" in reason for reason in unread.values())
    assert len(unread) + sum(len(p.code.statements) for p in programs) == tried[0]


def test_a_side_is_held_against_few_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Step] = []

    def untried(step: Step, *_: object) -> Finding:
        tried.append(step)
        return Finding(step, UNTRIED)

    monkeypatch.setattr(examining, "try_step", untried)
    path = tmp_path / "text.md"
    path.write_text(sides(800), encoding="utf-8")
    (program,) = load_document(path)
    _ = program.messages
    assert 50 < len(tried) <= (examining.BACK + 1) * len({step.right for step in tried})
