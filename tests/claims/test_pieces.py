"""A sheet is divided into prose, notation and code."""

import pytest

from indicial.claims.notebooks import Piece, pieces

SHEET = """\
# Title

What you will see.

```text
a block that stays text
## and is no heading
```

## One

Before.

```indicial
a = 1

b = 2
```

```python no-run
x = 0
```

```sh
make run
```

Behind.

## Two

```eq file=two.eq
c = 3
```
"""


def shown(text: str) -> list[tuple[str, str]]:
    return [(piece.kind, piece.text) for piece in pieces(text)]


def test_prose_is_divided_at_headings_and_blocks() -> None:
    assert shown(SHEET) == [
        (
            "prose",
            "# Title\n\nWhat you will see.\n\n"
            "```text\na block that stays text\n## and is no heading\n```",
        ),
        ("prose", "## One\n\nBefore."),
        ("notation", "a = 1\n\nb = 2"),
        ("prose", "```python no-run\nx = 0\n```\n\n```sh\nmake run\n```\n\nBehind."),
        ("prose", "## Two"),
        ("notation", "c = 3"),
        ("code", "%%writefile two.eq\nc = 3"),
    ]


def test_nothing_is_lost() -> None:
    """All words of the sheet are in its pieces, in their order."""
    fences = {"```indicial", "```eq", "file=two.eq", "```", "%%writefile", "two.eq"}
    given = [word for word in SHEET.split() if word not in fences]
    kept = [word for _, text in shown(SHEET)[:-1] for word in text.split() if word not in fences]
    assert kept == given


def test_a_session_is_divided_where_it_prints() -> None:
    text = "```pycon\n>>> x = 1\n>>> x + 1\n2\n>>> def f():\n...     return 3\n>>> f()\n3\n```\n"
    assert [(p.text, p.expected) for p in pieces(text)] == [
        ("x = 1\nx + 1", "2\n"),
        ("def f():\n    return 3\nf()", "3\n"),
    ]


@pytest.mark.parametrize(
    ("command", "cell"),
    [
        ("indicial check a.eq", "%indicial check a.eq"),
        ("indicial check a.eq | head -1", "!indicial check a.eq | head -1"),
        ("cat a.eq", "!cat a.eq"),
        ("indicial check \\\n>   a.eq", "%indicial check   a.eq"),
    ],
)
def test_commands(command: str, cell: str) -> None:
    (piece,) = pieces(f"```console\n$ {command}\nwhat it says\n```\n")
    assert (piece.text, piece.expected) == (cell, "what it says\n")


def test_each_command_is_a_cell() -> None:
    text = "```console\n$ echo a\na\n$ indicial models\n...\n```\n"
    assert [(p.text, p.varies) for p in pieces(text)] == [
        ("!echo a", False),
        ("%indicial models", True),
    ]


def test_where_a_block_stands() -> None:
    (block,) = (p for p in pieces("a\n\n```indicial\nb = 1\n```\nc\n") if p.kind == "notation")
    assert block == Piece("notation", "b = 1", 3, 24)
