"""Cells that are run one by one are read together with those before them."""

import re
from pathlib import Path

import pytest

from indicial.claims.trying import Outcome, Sheet, try_claims, words
from indicial.library.loading import load_document
from indicial.program.messages import IndicialError

DRAWN = "constant M = 3\nsize W = 4\nx[w] ~ N(0, 1)\nP[w] = softmax_w M x[w]\n"
CLAIMS = "claim Σ_w P[w] = 1\nclaim false: P[w] ≤ 1/2\nclaim mean of P[0] ≈ 1/4 within 0.05\n"
HOTTER = "top = max_w P[w]\nclaim mean of top ≈ 0.75 within 0.05\n"


def said(outcome: Outcome) -> list[str]:
    """The verdicts, each in one line and without its place."""
    return [plain(words(verdict)) for verdict in outcome.verdicts]


def plain(text: str) -> str:
    return re.sub(r"^\S+( \d+)?:\d+:(\d+:)? ", "", " ".join(text.split()))


@pytest.fixture
def sheet() -> Sheet:
    made = Sheet()
    assert made.run("softmax", 1, DRAWN).program is not None
    return made


def test_a_part_says_what_check_says(sheet: Sheet, tmp_path: Path) -> None:
    path = tmp_path / "sheet.md"
    path.write_text(
        f"# Softmax\n\n```indicial\n{DRAWN}```\n\n```indicial\n{CLAIMS}```\n\n"
        f"# Hotter\n\n```indicial\n{HOTTER}```\n",
        encoding="utf-8",
    )
    expected = [plain(words(verdict)) for verdict in try_claims(load_document(path))]
    found = said(sheet.run("softmax", 2, CLAIMS))
    found += said(sheet.run("hotter", 1, HOTTER, after="softmax"))
    assert found == expected
    assert len(found) == 4


def test_lines_are_counted_as_in_the_cell(sheet: Sheet) -> None:
    first = sheet.run("softmax", 2, CLAIMS).verdicts[0]
    assert words(first).startswith("softmax 2:2: claim holds: Σ_w P[w] = 1:")


def test_another_constant_changes_what_is_said_below(sheet: Sheet) -> None:
    sheet.run("softmax", 2, CLAIMS)
    before = said(sheet.run("hotter", 1, HOTTER, after="softmax"))
    outcome = sheet.run("softmax", 1, DRAWN.replace("M = 3", "M = 1"))
    changed = [plain(words(verdict)) for verdict in outcome.below]
    assert outcome.verdicts == []
    # With a flatter softmax the mean of all shares stays 1/4; the top one falls.
    assert any(line.startswith("error: this claim does not hold") for line in changed)
    assert not set(changed) & set(before)
    after = said(sheet.run("hotter", 1, HOTTER, after="softmax"))
    assert after[-1] == changed[-1]
    back = sheet.run("softmax", 1, DRAWN)
    assert plain(words(back.below[-1])) == before[-1]


def test_the_same_text_again_changes_nothing(sheet: Sheet) -> None:
    once = said(sheet.run("softmax", 2, CLAIMS))
    assert sheet.run("softmax", 1, DRAWN).below == []
    assert said(sheet.run("softmax", 2, CLAIMS)) == once


def test_a_part_does_not_see_later_ones(sheet: Sheet) -> None:
    once = said(sheet.run("softmax", 2, "claim Σ_w P[w] = 1"))
    sheet.run("softmax", 3, "y[i] = Σ_w P[w] z[w,i]\nsize I = 5")
    assert said(sheet.run("softmax", 2, "claim Σ_w P[w] = 1")) == once


def test_a_part_that_is_run_again_takes_the_place_of_what_it_was(sheet: Sheet) -> None:
    sheet.run("softmax", 2, "y[w] = 2 P[w]")
    sheet.run("softmax", 2, "y[w] = 3 P[w]")
    assert len(sheet.run("softmax", 3, "claim Σ_w y[w] = 3").verdicts) == 1
    assert sheet.run("softmax", 3, "claim Σ_w y[w] = 3").verdicts[0].as_stated


def test_other_draws(sheet: Sheet) -> None:
    text = "claim Σ_w M^2 x[w]^2 ≥ 0"
    (first,), (again,), (other,), (fewer,) = (
        said(sheet.run("softmax", 2, text, **options))
        for options in ({}, {}, {"seed": 1}, {"draws": 50})
    )
    assert first == again
    assert len({first, other, fewer}) == 3
    assert "200 draws" in first and "50 draws" in fewer


def test_mistakes_come_before_claims(sheet: Sheet) -> None:
    outcome = sheet.run("softmax", 2, "y[w] = P[w,w]\nclaim y[w] = 0")
    assert outcome.program is None and outcome.verdicts == []
    (message,) = outcome.messages
    assert message.code == "index-count" and message.span.line == 2


def test_what_a_later_part_may_use_is_no_mistake(sheet: Sheet) -> None:
    assert sheet.run("input", 1, "input a[i], b[i]\nc[i] = a[i]").messages == []


def test_a_comment_silences(sheet: Sheet) -> None:
    text = "y[k,w] = P[w]"
    assert [m.code for m in sheet.run("heads", 1, text, after="softmax").messages] == [
        "constant-index"
    ]
    silent = f"{text}  # indicial: ignore[constant-index]"
    assert sheet.run("heads", 1, silent, after="softmax").messages == []


def test_a_section_speaks_of_another_by_its_name(sheet: Sheet) -> None:
    outcome = sheet.run("more", 1, "z = 1 + 1\nclaim work of softmax > work of more")
    (verdict,) = outcome.verdicts
    assert verdict.as_stated


@pytest.mark.parametrize(
    ("name", "number", "after", "message"),
    [
        ("softmax", 4, "", "parts 2, 3 of softmax must be run first"),
        ("other", 2, "", "part 1 of other must be run first"),
        ("other", 1, "missing", "other goes on with missing"),
        ("softmax", 1, "softmax", "cannot go on with"),
    ],
)
def test_what_has_to_be_run_first(
    sheet: Sheet, name: str, number: int, after: str, message: str
) -> None:
    with pytest.raises(IndicialError, match=message):
        sheet.run(name, number, "a = 1", after)


def test_sections_do_not_go_round(sheet: Sheet) -> None:
    sheet.run("hotter", 1, HOTTER, after="softmax")
    with pytest.raises(IndicialError, match="which goes on with softmax"):
        sheet.run("softmax", 1, DRAWN, after="hotter")


def test_a_line_left_open_is_told_and_the_other_lines_are_tried() -> None:
    outcome = Sheet().run("problem", 1, "a = 2\nclaim work = ___\nclaim a = 2")
    assert (outcome.gaps, outcome.messages) == ((3,), [])
    assert said(outcome)[0].startswith("claim holds: a = 2")
    slip = Sheet().run("problem", 1, "a = 2\nb = )")
    assert (slip.gaps, [m.code for m in slip.messages]) == ((), ["bracket"])
