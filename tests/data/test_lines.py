"""Lines that are documents are told from running text."""

from __future__ import annotations

import random
import textwrap
from pathlib import Path

import pytest

from indicial.data.documents import lines_are
from indicial.data.parts import find_parts
from indicial.data.prepare_text import prepare_data
from indicial.data.sources import Files

WORDS = ["river", "stone", "the", "a", "walks", "under", "old", "bright", "sky", "sings"]


def sentence(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(5, 12))).capitalize() + "."


DRAW = random.Random(1)
SENTENCES = [sentence(DRAW) for _ in range(300)]
PARAGRAPHS = [" ".join(SENTENCES[n : n + 9]) for n in range(0, 300, 5)]
NAMES = [f"{a}{b}" for a in "ABCDEFGHIJKL" for b in ("nna", "ert", "oy Lee", "'Hara", "urt")]
WRAPPED = textwrap.wrap(" ".join(SENTENCES), 60)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (NAMES, "the lines are short"),
        (sorted(NAMES), "the lines are short"),
        ([f"{n} + {n} = {2 * n}" for n in range(10, 99)], "the lines are in alphabetical order"),
        ([f"{n}+{n}={2 * n}" for n in range(90)], "the lines are short"),
        (SENTENCES, "each line ends a sentence"),
        ([f'"{text}"' for text in SENTENCES], "each line ends a sentence"),
        ([text.lower().replace(".", " .") for text in SENTENCES], "each line ends a sentence"),
        (["今日は天気がいいですね、散歩に行きましょう。"] * 60, "each line ends a sentence"),
        (sorted(text[:-1] for text in SENTENCES), "the lines are in alphabetical order"),
        ([text[:-1] for text in SENTENCES], None),  # verse, or a log: who knows
        (WRAPPED, None),
        ("\n\n".join(PARAGRAPHS).split("\n"), None),
        ([line for text in PARAGRAPHS for line in (*textwrap.wrap(text, 60), "")], None),
        ([f"    {name}" if n % 3 else name for n, name in enumerate(NAMES)], None),
        (["吾輩は猫である名前はまだ無いどこで生れたか頓と見当が", "つかぬ何でも薄暗い"] * 40, None),
        (PARAGRAPHS, None),
        (NAMES[:49], None),
    ],
)
def test_lines_are_documents_or_not(lines: list[str], why: str | None) -> None:
    assert lines_are(lines) == why


def test_it_is_chosen_and_said(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("\n".join(sorted(NAMES * 3)) + "\n", encoding="utf-8")
    data = prepare_data([str(path)], cache=tmp_path / "cache")
    assert data.description["documents"] == "lines"
    assert data.train.documents + data.validation.documents == 3 * len(NAMES)
    assert any(
        "(--documents lines), since the lines are short" in n for n in data.description["notes"]
    )
    # A sorted list is not split at its end: both halves of the alphabet are in both parts.
    texts = data.tokenizer.decode(data.validation.tokens.tolist()).split("<EOS>")
    assert {text[0] < "G" for text in texts if text} == {True, False}
    said = prepare_data([str(path)], documents="file", cache=tmp_path / "cache")
    assert (said.description["documents"], said.description["notes"]) == ("file", [])
    assert said.train.documents == 1


def test_other_files_for_validation_are_cut_alike(tmp_path: Path) -> None:
    """Though there are too few lines to tell."""
    for name, lines in (("names.txt", NAMES), ("few.txt", NAMES[:3])):
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    parts = find_parts(
        [str(tmp_path / "names.txt")],
        field=None, documents="auto", validation=[str(tmp_path / "few.txt")],
        seed=0, world_size=10, raw=False,
    )  # fmt: skip
    assert isinstance(parts.validation, Files) and parts.validation.unit == "lines"
    assert len(list(parts.validation.documents())) == 3
