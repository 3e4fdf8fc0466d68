"""Texts as they are while somebody types: cut off, with signs too many; nothing of it may break."""

import random
from pathlib import Path

import pytest

from indicial import library
from indicial.editor.edits import completions, formatted
from indicial.editor.reading import find

DOCS = Path(__file__).resolve().parents[2] / "docs"
SIGNS = ["$$", "\\begin{align}", "\\frac{", "claim ", "h[t", "```", *"[](){}$\\_^=,Σ\n~|é\u2028'"]


def damaged(text: str, draw: random.Random) -> str:
    """Cut off somewhere, or with a few signs more or less."""
    if draw.random() < 0.4:
        return text[: draw.randrange(len(text) + 1)]
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.choice(SIGNS) + text[at + draw.choice([0, 0, 1, 9]) :]
    return text


def hold(text: str, name: str, draw: random.Random) -> None:
    found = find(text, name)
    assert found.failure == ""
    for d in found.diagnostics:
        assert 0 <= d.start <= d.end <= len(text)
        assert d.text
    for n in found.names:
        assert 0 <= n.start < n.end <= len(text)
        assert n.base is None or n.start <= n.base[0] < n.base[1] <= n.end
        assert (n.program, n.kind, n.key) in found.about
    assert all(0 <= s.at <= len(text) for s in found.shapes)
    at = draw.randrange(len(text) + 1)
    start, _ = completions(found, name, text, at, at)
    assert start <= at
    if name.endswith(".eq"):
        new, last = text, len(text)
        for start, end, line in reversed(formatted(text)):
            assert start <= end <= last
            new, last = new[:start] + line + new[end:], start
        assert "".join(new.split()) == "".join(text.split())
        assert formatted(new) == []


@pytest.mark.parametrize("seed", range(4))
def test_models(seed: int) -> None:
    draw = random.Random(seed)
    for name in draw.sample(library.names(), 4):
        text = library.path(name).read_text(encoding="utf-8")
        hold(damaged(text, draw), f"{name}.eq", draw)


@pytest.mark.parametrize("page", ["problems/heads.md", "exercises.md"])
def test_documents(page: str) -> None:
    draw = random.Random(page)
    text = (DOCS / page).read_text(encoding="utf-8")
    hold(damaged(text, draw), page, draw)
    hold(damaged(text, draw).replace("```", ""), "notes.tex", draw)


def test_nested_without_end() -> None:
    for text in ("(" * 5_000, "x[" * 2_000 + "t", "y = " + "-" * 5_000 + "x", "\\frac{" * 999):
        hold(text, "deep.eq", random.Random(0))
        hold(f"$${text}$$", "deep.md", random.Random(0))
