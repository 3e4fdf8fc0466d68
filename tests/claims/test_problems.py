"""The problem sheets of docs/problems: each runs, states one mistake, and its figures can change."""

import re
from pathlib import Path

import pytest

from indicial.claims.experiment import Verdict
from indicial.claims.trying import try_claims
from indicial.library.loading import load_document

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs" / "problems" / "README.md"
PROBLEMS = sorted(path for path in INDEX.parent.glob("*.md") if path != INDEX)


def tried(path: Path) -> list[Verdict]:
    programs = load_document(path)
    assert [m.render() for p in programs for m in p.mistakes] == []
    return try_claims(programs)


QUICK = ("hand_design", "repetition", "temperature", "ugrnn_to_gru")
"""The notebooks of the others are run in any case (`tests/claims`), and come to the same verdicts."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if path.stem in QUICK else [pytest.mark.long], id=path.stem)
        for path in PROBLEMS
    ],
)
def test_every_claim_is_as_stated(path: Path) -> None:
    found = tried(path)
    assert [v.message().render() for v in found if not v.as_stated] == []
    assert any(v.false for v in found), "no mistake is shown"
    assert "What you will see" in path.read_text(encoding="utf-8")


def test_another_constant_gives_other_figures(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "problems" / "temperature.md").read_text(encoding="utf-8")
    assert "constant M = 3" in text
    other = tmp_path / "temperature.md"
    other.write_text(text.replace("constant M = 3", "constant M = 1"), encoding="utf-8")
    broken = [v for v in tried(other) if not v.as_stated]
    assert [v.test.text.split(" ≈")[0] for v in broken] == [
        "mean of top",
        "probability of (top > 1/2)",
    ]


def test_the_index_lists_every_sheet() -> None:
    rows = re.findall(
        r"^\| \[(.+)\]\((\w+)\.md\) \| \[notebook\]\((\w+)\.ipynb\) \| \S.* \|$",
        INDEX.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    titles = {path.stem: path.read_text(encoding="utf-8").split("\n")[0][2:] for path in PROBLEMS}
    assert {stem: title for title, stem, _ in rows} == titles
    assert all(stem == notebook for _, stem, notebook in rows)
