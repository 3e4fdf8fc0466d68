"""Which stretches of a text are formulas, and which only look like it."""

import sys
from types import FrameType

import pytest

from indicial.notation.markup import promote_lone_formulas, says_equal
from indicial.notation.scanner import scan
from indicial.notation.source import Source


def formulas(text: str, tex: bool = False) -> tuple[list[str], list[str]]:
    """The bodies that are displayed, and those that are inline."""
    markup = scan(Source("text", text), tex)
    promote_lone_formulas(markup)
    for display in [*markup.displays, *markup.inline]:
        assert text[display.body.start : display.body.end] == display.body.text
        assert display.span.start < display.body.start < display.body.end <= display.span.end
    return [d.body.text for d in markup.displays], [d.body.text for d in markup.inline]


@pytest.mark.parametrize(
    ("text", "displayed"),
    [
        ("so $$a = b$$ holds", ["a = b"]),
        ("$$\na = b\n$$", ["a = b"]),
        ("$$\n\na = b\n\n$$", ["a = b"]),
        ("$$a = b$$\n$$c = d$$", ["a = b", "c = d"]),
        ("$$a = b\n\n and on. $$c = d$$", ["c = d"]),
        ("$$\na = b\n\nThis line reads like a sentence.\n\n$$\nc = d\n$$", ["c = d"]),
        (r"$$a = \$5$$", [r"a = \$5"]),
        (r"$$a = \text{if $x$}$$", [r"a = \text{if $x$}"]),
        ("\\[\na = b\n\\]", ["a = b"]),
        (r"\[ a = b \].", ["a = b"]),
        (r"an escaped \[link\] is none", []),
        (r"\begin{align*}a &= b \\ c &= d\end{align*}", [r"a &= b \\ c &= d"]),
        (
            r"\begin{equation}\begin{split}a\end{split}\end{equation}",
            [r"\begin{split}a\end{split}"],
        ),
        (r"\begin{alignat}{2} a &= b \end{alignat}", ["a &= b"]),
        (r"\begin{aligned}[t] a &= b \end{aligned}", ["a &= b"]),
        (r"\begin{equation} [a] = b \end{equation}", ["[a] = b"]),
        (r"\begin{itemize}\item\end{itemize}", []),
        ("```indicial\na = b\n```", ["a = b"]),
        ("~~~ eq file=x.eq\na = b\n~~~", ["a = b"]),
        ("```math\na = b\n```", ["a = b"]),
        ("```{math}\n:label: x\n\na = b\n```", ["a = b"]),
        ("```python\n$$a = b$$\n```", []),
        ("```\n$$a = b$$\n````\n$$c = d$$", ["c = d"]),
        ("````md\n```\n$$a = b$$\n```\n````\n$$c = d$$", ["c = d"]),
        ("```python\n$$never closed", []),
        ("<!-- $$a = b$$ -->$$c = d$$", ["c = d"]),
        ("<pre>$$a = b$$</pre>$$c = d$$", ["c = d"]),
        ("`$$a = b$$` and ``$$ ` $$`` are code", []),
        ("a lone ` backtick\n\n$$a = b$$ and ` another", ["a = b"]),
        ("$$  $$ $$$$", []),
        ("", []),
        ("$", []),
        ("$$", []),
        ("\\", []),
    ],
)
def test_displays(text: str, displayed: list[str]) -> None:
    assert formulas(text)[0] == displayed


@pytest.mark.parametrize(
    "line",
    [
        "$a = b$",
        " $a = b$ ",
        "$ a = b $",
        r"\(a = b\)",
        "$a = b$.",
        "$a = b$, (3)",
        "- $a = b$",
        "- 1. $a = b$",
        "2) $a = b$;",
        "(c) $a = b$",
        "> $a = b$",
        "Attention: $a = b$",
        "**Weighted sum:** $a = b$",
        "**$a = b$**",
        "prose before\n$a = b$\nprose behind",
        "$a = b$\r\n",
    ],
)
def test_formula_alone_on_its_line_is_displayed(line: str) -> None:
    assert formulas(line) == (["a = b"], [])


def test_formulas_alone_on_their_line_together() -> None:
    assert formulas("$a = b$, $c = d$ and $e = f$.") == (["a = b", "c = d", "e = f"], [])


@pytest.mark.parametrize(
    "line",
    [
        "When $a = b$:",
        "Figure 1: $a = b$",
        "where $a = b$ holds",
        "$a = b$ holds",
        "| $a = b$ | x |",
        "a very long introduction of many words that is no label at all: $a = b$",
        "over two lines $a\n= b$ but in one paragraph",
    ],
)
def test_formula_in_prose_is_inline(line: str) -> None:
    displayed, inline = formulas(line)
    assert displayed == []
    assert [" ".join(body.split()) for body in inline] == ["a = b"]


@pytest.mark.parametrize(
    ("text", "inline"),
    [
        ("it costs $5 and $6 more", []),
        ("it costs $5-$6 or US$7, A$8", []),
        ("from $5 on, $x = 2$ is paid", ["x = 2"]),
        (r"it costs \$5 and $x$ more", ["x"]),
        ("set $HOME and $PATH first", []),
        ("open $a = b\n\nclosed $ elsewhere", []),
        ("`$a = b$` is code, $c$ is not", ["c"]),
        (r"\(a\) and \(b\) too", ["a", "b"]),
        ("the $ sign $ alone", []),
    ],
)
def test_dollars_in_prose(text: str, inline: list[str]) -> None:
    assert formulas(text) == ([], inline)


@pytest.mark.parametrize(
    ("text", "displayed", "inline"),
    [
        ("a $ x $ b $y$", [], ["x", "y"]),
        ("% $$a = b$$\n\\[c = d\\]", ["c = d"], []),
        (r"50\% of $$a = b$$", ["a = b"], []),
        (r"\begin{verbatim}$$a$$\end{verbatim}$$b$$", ["b"], []),
        (r"\begin{lstlisting}[language=C] % $$a$$ \end{lstlisting}$$b$$", ["b"], []),
        (r"\verb|$$a$$| $$b$$", ["b"], []),
        (r"\iffalse $$a$$ \fi $$b$$", ["b"], []),
        ("\\begin{align}\na &= b % \\end{align}\n\\end{align}", ["a &= b % \\end{align}"], []),
        (r"$$a$$ \end{document} $$b$$", ["a"], []),
        (r"a \\[2pt] b $$c$$", ["c"], []),
        (
            r"\newcommand{\be}{\begin{equation}}\newcommand{\ee}{\end{equation}} \be a = b \ee",
            ["a = b"],
            [],
        ),
        (r"\newcommand{\x}{$$a$$} $$b$$", ["b"], []),
    ],
)
def test_latex(text: str, displayed: list[str], inline: list[str]) -> None:
    assert formulas(text, tex=True) == (displayed, inline)


def test_display_of_definitions_is_no_formula() -> None:
    text = r"$$\newcommand{\a}{x} \def\b{y}$$ $$\def\c{z} \c = 1$$"
    markup = scan(Source("text", text), tex=False)
    assert [macro.name for macro in markup.macros] == [r"\a", r"\b", r"\c"]
    assert [display.body.text for display in markup.displays] == [r"\def\c{z} \c = 1"]


@pytest.mark.parametrize(
    "text", ["$$a = b\n\nmore", "\\begin{align} a = b", "\\begin{align}\\begin{align}\\end{align}"]
)
def test_display_that_is_never_closed(text: str) -> None:
    (fault,) = scan(Source("text", text), tex=True).faults
    assert fault.code == "open-display"
    assert fault.spans[0].start == 0


@pytest.mark.parametrize(
    ("body", "equal"),
    [("a = b", True), (r"\sum_{i=1}^n x_i", False), ("a", False), (r"x \neq y", False)],
)
def test_says_equal(body: str, equal: bool) -> None:
    assert says_equal(body) is equal


def calls(text: str, tex: bool) -> int:
    """How many functions run while a text is scanned."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    source = Source("text", text)
    sys.setprofile(note)
    try:
        promote_lone_formulas(scan(source, tex))
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("tex", [False, True])
@pytest.mark.parametrize(
    "piece",
    [
        "Some prose with $x = 1$ that costs $5.\n\n$$h[t,j] = G[t,j] h[t-1,j]$$\n\n",
        "$", "$ ", "$$\n", "$$ a\n\n", "\\[ ", "\\( ", "\\begin{align} ", "` `` ``` ", "```\n",
        "<!-- ", "\\def\\x{", "\\newcommand{\\x}[2][", "\\section{", "\\", "{", "# \n",
    ],
)  # fmt: skip
def test_twice_the_text_takes_twice_the_steps(piece: str, tex: bool) -> None:
    once, twice = calls(piece * 500, tex), calls(piece * 1000, tex)
    assert twice <= 2.2 * once + 100
