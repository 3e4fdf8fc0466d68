"""Whole documents: sections, places, included files, notebooks, silences, damaged input."""

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.notation.displays import parse_document, parse_inline
from indicial.notation.documents import MOST_INPUTS, Document, flavour, read, read_text
from indicial.notation.files import MOST_BYTES
from indicial.notation.source import Source

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


def outline(document: Document) -> list[tuple[str, list[str]]]:
    """Titles with the bodies below them."""
    return [(s.title, [d.body.text for d in s.displays]) for s in document.sections]


def codes(document: Document) -> list[str]:
    return [fault.code for fault in document.faults]


def test_plain_file_is_all_notation(tmp_path: Path) -> None:
    path = tmp_path / "cell.eq"
    path.write_text("# $5\nh[t,j] = x[t,j]\n", encoding="utf-8")
    document = read(path)
    assert outline(document) == [("cell", ["# $5\nh[t,j] = x[t,j]\n"])]
    assert document.displays[0].surface == "plain"


def test_markdown_sections_and_places() -> None:
    text = (
        "Before $$z = 0$$\n\n# One\n\n$$a = 1$$ where $b = 2$ and $c$\n\n"
        "## Solution\n\n$$d = 3$$\n\n# Empty\n\nprose\n\n# Two\n\nGate: $e = 4$.\n"
    )
    document = read_text(text, "notes.md")
    assert outline(document) == [("", ["z = 0"]), ("One", ["a = 1", "d = 3"]), ("Two", ["e = 4"])]
    assert [formula.body.text for formula in document.inline] == ["b = 2"]
    one = document.sections[1]
    assert (one.span.line, one.displays[0].body.line, one.displays[0].body.column) == (3, 5, 3)
    assert one.span.text.startswith("# One") and one.span.text.endswith("$$d = 3$$\n\n")
    assert {d.kind for d in document.displays} == {"display"}
    assert document.inline[0].kind == "inline"


def test_slides() -> None:
    text = (
        "A Lecture\n\nGated Cells\n\n \n$$a = 1$$\n\nis written as\n\n$$b = 2$$\n\n"
        "Training\n\n$$c = 3$$"
    )
    assert outline(read_text(text, "slides.txt")) == [
        ("Gated Cells", ["a = 1", "b = 2"]),
        ("Training", ["c = 3"]),
    ]


def test_latex_sections() -> None:
    text = (
        r"\section*{One} \[a = 1\] \subsection[x]{The \emph{second}} $$b = 2$$"
        r"\paragraph{Solution.} \[c = 3\] \begin{frame}[fragile]{Slide} \[d = 4\] \end{frame}"
        r"\begin{frame}\frametitle{Other} \[e = 5\] \end{frame} \begin{problem}[Gates] \[f = 6\]"
    )
    assert outline(read_text(text, "paper.tex")) == [
        ("One", ["a = 1"]),
        ("The second", ["b = 2", "c = 3"]),
        ("Slide", ["d = 4"]),
        ("Other", ["e = 5"]),
        ("Problem: Gates", ["f = 6"]),
    ]


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.eq", "$$", "plain"),
        ("a.TEX", "", "tex"),
        ("a.md", r"\documentclass", "prose"),
        ("a.txt", "nothing", "prose"),
        ("a.txt", r"\documentclass{article}", "tex"),
        ("a.ipynb", "", "notebook"),
        ("a", "h = $x$", "prose"),
        ("a", "h = x", "plain"),
        ("a.model", r"\begin{document}", "tex"),
    ],
)
def test_flavour(name: str, text: str, kind: str) -> None:
    assert flavour(name, text) == kind


@pytest.mark.parametrize("sign", ["=", r"{} =", r"\;=\;", r"&\quad ="])
def test_a_formula_goes_on_in_the_next_display(sign: str) -> None:
    text = r"$$y = W x$$" + "\n" + rf"$${sign} x$$"
    (_, _, first), (_, _, second) = parse_document(read_text(text, "notes.md"))
    assert len(first.statements[0].sides) == 3 and not second.statements


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("paper.pdf", b"%PDF-1.7\n\xff", "it is a PDF"),
        ("notes.docx", b"PK\x03\x04\x14\x00", "it is a packed document"),
        ("notes.typ", b"$ h_t = tanh(W h_(t-1)) $", "its notation is that of Typst"),
    ],
)
def test_files_of_other_notations_are_refused_as_what_they_are(
    tmp_path: Path, name: str, data: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(data)
    (fault,) = read(tmp_path / name).faults
    assert says in fault.message and fault.hint
    (tmp_path / "main.tex").write_text(rf"\input{{{name}}} \[a = 1\]")
    document = read(tmp_path / "main.tex")
    assert outline(document) == [("", ["a = 1"])] and len(document.faults) == 1


def test_included_files_are_read_at_their_place(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "main.tex").write_text(
        r"\input{macros} \[a = 1\] \include{parts/cell} \[d = 4\] % \input{absent}"
    )
    (tmp_path / "macros.tex").write_text(r"\newcommand{\gate}{G}")
    (tmp_path / "parts" / "cell.tex").write_text(r"\section{Cell} \[b = 2\] \input{inner.tex}")
    (tmp_path / "parts" / "inner.tex").write_text(r"$$c = 3$$")
    document = read(tmp_path / "main.tex")
    assert outline(document) == [("", ["a = 1"]), ("Cell", ["b = 2", "c = 3", "d = 4"])]
    assert [Path(s.name).name for s in document.included] == ["macros.tex", "cell.tex", "inner.tex"]
    assert document.displays[1].span.source is document.included[1]
    assert [macro.name for macro in document.macros] == [r"\gate"]
    assert document.faults == ()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("absent", "no file"),
        ("/etc/passwd", "absolute"),
        ("~/x", "absolute"),
        ("../../../outside", "outside the folders"),
        ("sub/../../../../outside", "outside the folders"),
        ("link", "outside the folders"),
        ("../words.txt", "outside the folders"),
        ("main", "itself"),
        ("folder", "no file"),
        ("", "no file"),
        ("pipe", "no file"),
    ],
)
def test_files_that_are_not_included(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "outside.tex").write_text("$$secret = 1$$")
    root = tmp_path / "notes" / "part" / "root"
    (root / "folder").mkdir(parents=True)
    (root.parent / "words.txt").write_text("$$secret = 2$$")
    (root / "link.tex").symlink_to(tmp_path / "outside.tex")
    os.mkfifo(root / "pipe")
    (root / "main.tex").write_text(rf"\[a = 1\]\input{{{name}}}\[b = 2\]")
    document = read(root / "main.tex")
    assert [d.body.text for d in document.displays] == ["a = 1", "b = 2"]
    (fault,) = document.faults
    assert fault.code == "input" and says in fault.message
    assert fault.spans[0].text == rf"\input{{{name}}}"


@pytest.mark.parametrize(("depth", "repository"), [(1, False), (2, False), (4, True)])
def test_a_preamble_above_the_document(tmp_path: Path, depth: int, repository: bool) -> None:
    if repository:
        (tmp_path / ".git").mkdir()
    (tmp_path / "preamble.tex").write_text(r"\newcommand{\gate}{G}")
    folder = tmp_path.joinpath(*"abcd"[:depth])
    folder.mkdir(parents=True)
    (folder / "main.tex").write_text(r"\input " + "../" * depth + r"preamble" + "\n$$a = \\gate$$")
    document = read(folder / "main.tex")
    assert document.faults == ()
    assert [macro.name for macro in document.macros] == [r"\gate"]


def test_files_that_include_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_text(r"$$a = 1$$ \input{b}")
    (tmp_path / "b.tex").write_text(r"$$b = 2$$ \input{a}")
    document = read(tmp_path / "a.tex")
    assert [d.body.text for d in document.displays] == ["a = 1", "b = 2"]
    assert codes(document) == ["input"]
    assert document.faults[0].spans[0].source.name.endswith("b.tex")


def test_cascade_of_includes_ends(tmp_path: Path) -> None:
    for level in range(18):
        twice = rf"\input{{f{level + 1}}}" * 2
        (tmp_path / f"f{level}.tex").write_text(f"$$x = {level}$$ {twice}")
    (tmp_path / "f18.tex").write_text("$$x = 18$$")
    document = read(tmp_path / "f0.tex")
    assert len(document.displays) <= MOST_INPUTS + 1
    assert codes(document) == ["input"]


def test_include_without_a_file() -> None:
    assert codes(read_text(r"\input{x}", "paper.tex")) == ["input"]


def notebook(*cells: tuple[str, str | list[str]]) -> str:
    return json.dumps({"cells": [{"cell_type": kind, "source": text} for kind, text in cells]})


def test_notebook() -> None:
    text = notebook(
        ("markdown", ["# Cell\n", "\n", "with\n", "\n", "$$a = 1$$"]),
        ("code", "x = '$$no$$'"),
        ("code", "%%indicial\nb[j] = 2\n"),
        ("raw", "$$no$$"),
        ("markdown", "Title Case\n\n$$c = 3$$"),
    )
    document = read_text(text, "n.ipynb")
    assert outline(document) == [("Cell", ["a = 1", "b[j] = 2\n", "c = 3"])]
    first, second, _ = document.displays
    assert (first.span.source.name, first.span.line, first.kind) == ("n.ipynb#cell1", 5, "display")
    assert (second.span.source.name, second.body.line, second.kind, second.surface) == (
        "n.ipynb#cell3", 2, "cell", "plain",
    )  # fmt: skip


def test_old_notebook() -> None:
    cell = {"cell_type": "markdown", "source": "$$a = 1$$"}
    document = read_text(json.dumps({"worksheets": [{"cells": [cell]}]}), "n.ipynb")
    assert len(document.displays) == 1


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", '{"cells": 3}', '{"cells": [3]}', '{"cells": [{"source": 1}]}',
        "[" * 100_000, '{"a": ' + "9" * 5000 + "}",
    ],
)  # fmt: skip
def test_damaged_notebook(text: str) -> None:
    document = read_text(text, "n.ipynb")
    assert codes(document) == ["notebook"]
    assert document.sections == ()


def test_silences() -> None:
    text = (
        "a = 1  # indicial: ignore\n# indicial: ignore[size, unused]\nb = 2\n"
        "c = 3 # indicial: ignoreance\n# indicial: ignore-file[guess]\n"
    )
    document = read_text(text, "x.eq")
    silent = {line: codes for (_, line), codes in document.silences.items()}
    assert silent == {
        0: {"guess"}, 1: {"*"}, 2: {"size", "unused"}, 3: {"size", "unused"},
    }  # fmt: skip
    (display,) = document.displays
    assert document.silenced("anything", display.span)
    assert document.silenced("guess", display.span)


def test_silences_in_markdown_are_about_the_display() -> None:
    text = (
        "<!-- indicial: ignore[a] -->\n$$\nx = 1\n$$\n\n"
        "$$\ny = 2 % indicial: ignore[b]\n$$ <!-- indicial: ignore[c] -->\n\n"
        "```python\n# indicial: ignore-file\n```\n\nwrite # indicial: ignore\n"
    )
    document = read_text(text, "x.md")
    silent = {line: codes for (_, line), codes in document.silences.items()}
    assert silent == {
        1: {"a"}, 2: {"a"}, 3: {"a"}, 4: {"a"}, 6: {"c"}, 7: {"b", "c"}, 8: {"c"},
    }  # fmt: skip
    assert not document.silenced("b", document.displays[0].span)


@pytest.mark.parametrize(
    ("data", "bodies", "faults"),
    [
        (b"", [], []),
        (b"\xef\xbb\xbf$$a = 1$$", ["a = 1"], []),
        (b"# A\r\n\r\n$$a\r\n= 1$$\r\n", ["a\r\n= 1"], []),
        (b"old\r\r$$a = 1$$\r", ["a = 1"], []),
        (b"caf\xe9 $$a = 1$$", ["a = 1"], ["encoding"]),
        (b"\0 $$a = 1$$", ["a = 1"], ["encoding"]),
        ("$$α = 1$$".encode("utf-16"), ["α = 1"], []),
        (bytes(range(256)) * 10, [], ["encoding"]),
    ],
)
def test_bytes(tmp_path: Path, data: bytes, bodies: list[str], faults: list[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(data)
    document = read(path)
    assert [d.body.text for d in document.displays] == bodies
    assert codes(document) == faults


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with (tmp_path / "large.md").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    (tmp_path / "loop.md").symlink_to(tmp_path / "loop.md")
    for path in (
        tmp_path, tmp_path / "absent.md", tmp_path / "absent.ipynb", tmp_path / "large.md",
        tmp_path / "loop.md", "/dev/zero", "a\0b.md",
    ):  # fmt: skip
        document = read(path)
        assert codes(document) == ["file"]
        assert document.sections == ()


def test_a_source_is_read_as_it_is() -> None:
    source = Source("x.md", "$$a = 1$$")
    assert read(source).displays[0].span.source is source


def said(document: Document) -> list[int]:
    """How many statements each display holds."""
    return [len(parsed.statements) for _, _, parsed in parse_document(document)]


def test_parse_with_macros() -> None:
    text = (
        r"$$\gate{1} = 0$$ $$\def\gate#1{G[#1,j]}$$ $$\gate{t} = \bias[j]$$"
        r"\newcommand{\bias}{B} $$\def\gate#1{R[#1]} \gate{t} = 1$$ or $\bias = 2$ here"
    )
    document = read_text(text, "notes.md")
    parsed = parse_document(document)
    assert [len(p.statements) for _, _, p in parsed] == [1, 1, 1]
    assert all(p.faults == () for _, _, p in parsed)
    spans = [p.statements[0].span.text for _, _, p in parsed]
    assert spans == [r"\gate{1} = 0", r"\gate{t} = \bias[j]", r"\gate{t} = 1"]
    ((inline, found),) = parse_inline(document)
    assert (inline.body.text, len(found.statements)) == (r"\bias = 2", 1)


def test_parse_reports_macro_faults() -> None:
    document = read_text(r"\def\a{\a}" + "\n\n$$x = \\a$$\n\n$$y = 1$$", "notes.md")
    (_, _, first), (_, _, second) = parse_document(document)
    assert [fault.code for fault in first.faults] == ["macro-limit"]
    assert (len(second.statements), second.faults) == (1, ())


def test_display_that_goes_on_in_the_next() -> None:
    assert said(read_text("$$a[j] = b[j]$$\n$$= c[j]$$\n\n$$d = 1$$", "notes.md")) == [1, 0, 1]
    assert said(read_text("$$a[j] = b[j]$$\n$$e = c[j]$$", "notes.md")) == [1, 1]


def test_parse_of_many_kinds() -> None:
    text = "```eq\na[j] = b[j]\nc = 1\n```\n\n\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}\n"
    assert said(read_text(text, "notes.md")) == [2, 2]


@pytest.mark.skipif(not SEEDS.exists(), reason="the first customers' documents are not here")
@pytest.mark.parametrize(
    ("number", "displays", "inline", "sections"),
    # `$$` alone: 14, 47, 30, 2, 31 by grep; the rest are formulas alone on their lines.
    [(0, 16, 1, 5), (1, 49, 8, 5), (2, 30, 0, 7), (3, 3, 2, 2), (4, 31, 1, 19)],
)
def test_first_documents(number: int, displays: int, inline: int, sections: int) -> None:
    (path,) = SEEDS.glob(f"{number:03}_*.txt")
    document = read(path)
    shown = [display for display in document.displays if display.kind != "said"]
    assert (len(shown), len(document.inline)) == (displays, inline)
    assert len(document.sections) == sections
    assert document.faults == ()
    dollars = path.read_text(encoding="utf-8").count("$$")
    assert sum(d.span.text.startswith("$$") for d in document.displays) == dollars // 2
    assert len(parse_document(document)) == len(document.displays)


PIECES = [
    "$", "$$", "\\[", "\\]", "\\(", "\\)", "\\begin{align}", "\\end{align}", "\\begin{verbatim}",
    "\\end{verbatim}", "```", "```eq", "`", "<!--", "-->", "%", "#", "# A\n", "**", "\\def\\a#1{",
    "\\newcommand{\\a}[1][x]{", "}", "{", "\\a", "#1", "\\let\\a\\b", "\\section{", "\\input{",
    "\\\\", "&", "=", "x", "5", " ", "\n", "\n\n", "\r\n", "Title Line\n\n", "\\", "\0", "[", "]",
    "indicial: ignore", "\\iffalse", "\\verb|", "\\begin{frame}", "=\n===\n", "1. ", ": ", "é",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=30), st.sampled_from(["md", "tex", "txt", "eq"]))
def test_any_text_gives_a_document(pieces: list[str], ending: str) -> None:
    text = "".join(pieces)
    document = read_text(text, f"text.{ending}")
    parse_document(document)
    parse_inline(document)
    starts = [display.span.start for display in document.displays]
    assert starts == sorted(starts)
    for display in [*document.displays, *document.inline]:
        span, body = display.span, display.body
        assert 0 <= span.start <= body.start < body.end <= span.end <= len(document.source.text)
    for before, after in pairwise(document.displays):
        assert before.span.end <= after.span.start
    for fault in document.faults:
        assert all(0 <= s.start <= s.end <= len(s.source.text) for s in fault.spans)
