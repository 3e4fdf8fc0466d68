"""Which lines start a new program."""

import pytest

from indicial.notation.headings import headings, is_part, plain_title
from indicial.notation.source import Source


def titles(text: str) -> list[str]:
    found = headings(Source("text", text), lambda offset: False)
    assert all(0 <= h.start < h.end <= len(text) for h in found)
    return [heading.title for heading in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# One\n\n### Two ##\n", ["One", "Two"]),
        ("#hashtag\n", []),
        ("## **3** Design\n\n", ["3 Design"]),
        ("One\n===\n\nTwo\n---\n\ntext\n", ["One", "Two"]),
        ("- item\n---\n\n| a |\n---\n", []),
        ("**Problem 1. The Cell.** Let it be.\n", ["Problem 1. The Cell."]),
        ("**Problem 2.** Adjusting it.\n", ["Problem 2."]),
        ("__Exercise 3__ text\n", ["Exercise 3"]),
        ("**The cell**\n\ntext\n", ["The cell"]),
        ("prose\n**Problem 1.** not at the beginning\n", []),
        ("**bold** words of prose\n", []),
        ("Problem 4: on gates\n\nProblem 5 is harder.\n", ["Problem 4"]),
        ("1 Gates and states\n\ntext\n\n2.1 Its gates\n", [
            "1 Gates and states", "2.1 Its gates"
        ]),
        ("1. Compute the keys\n\n2. Compute the queries\n", []),
        ("1. Sequence Models\n\n2. Attention\n", ["1. Sequence Models", "2. Attention"]),
        # parts and solutions go on with the program above
        ("# One\n\n## Solution:\n\n**Solution:**\n\n# (a) Show that\n\n## b.\n", ["One"]),
        ("**Encoder:**\n\ntext\n", []),
        ("", []),
    ],
)  # fmt: skip
def test_headings(text: str, found: list[str]) -> None:
    assert titles(text) == found


@pytest.mark.parametrize(
    "line",
    [
        "Minimal Gate RNN (MGRNN)", "Plain Cells", "Training", "Schur product",
        "Stacking of the Layers", "Long Ranges: Skip Connections",
    ],
)  # fmt: skip
def test_title_of_a_slide(line: str) -> None:
    assert titles(f"text of the slide.\n\n{line}\n\nmore of it.\n") == [line]
    assert titles(f"text of the slide.\n{line}\n\nmore of it.\n") == []
    assert titles(f"# A\n\n# B\n\n{line}\n\n") == ["A", "B"], "a text with headings needs no guess"


@pytest.mark.parametrize(
    "line",
    [
        "We write a loss", "is often given as", "Then we have", "Solution", "ii.",
        "[Jane Doe]", "Figure 1: The Cell", "The Cell Is Here.", "The Cell $x$", "---",
        "A Line In Title Case That Goes On For Much Longer Than Any Title Should Ever Go",
        "- An Item", "| A | Table |", "10", "See `this`", "The form of it is", "Let H = G",
    ],
)  # fmt: skip
def test_no_title_of_a_slide(line: str) -> None:
    assert titles(f"text of the slide.\n\n{line}\n\nmore of it.\n") == []


def test_hidden_lines_are_no_headings() -> None:
    text = "# One\n\n# two\n"
    found = headings(Source("text", text), lambda offset: offset == text.index("# two"))
    assert [heading.title for heading in found] == ["One"]


def test_plain_title() -> None:
    assert plain_title(r"The \emph{GRU}~cell  of **Cho**") == "The GRU cell of Cho"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a.\n\ntext\n\nb.\n\ntext\n", ["part a", "part b"]),
        ("# One\n\na.\n\n# Two\n\na.\n", ["One", "One, part a", "Two", "Two, part a"]),
        # numerals are points of a part; after h comes i
        ("# One\n\nc.\n\ni.\n\nii.\n\nd.\n\ni.\n", ["One", "One, part c", "One, part d"]),
        ("g.\n\nh.\n\ni.\n", ["part g", "part h", "part i"]),
        ("(a)\n\ntext\n\nb)\n", ["part a", "part b"]),
        # within a paragraph, or with a text behind it, a letter is no heading
        ("(a) Show that it holds.\n\n(b) And this.\n", []),
        ("text\na.\ntext\n", []),
        ("b.\n\ntext\n\na.\n", ["part b"]),
    ],
)  # fmt: skip
def test_lone_letters_begin_parts(text: str, found: list[str]) -> None:
    assert titles(text) == found
    assert [is_part(title) for title in found] == ["part" in title for title in found]
