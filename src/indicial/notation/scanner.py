r"""The walk over Markdown, plain text or LaTeX that finds the formulas.

    it costs $5 or $6, and $x = y$ is …   →   one formula, `x = y`
    ```python … ```                       →   hidden, whatever it holds

Code, comments and verbatim text hide what is in them. Each character is looked at a bounded number
of times: a bracket that is never closed is looked for only up to where the next one opens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from indicial.notation import delimiters
from indicial.notation.delimiters import CodeSpans, fence
from indicial.notation.faults import Fault
from indicial.notation.headings import SLIDE, Heading, plain_title, starts_program
from indicial.notation.macros import DEFINITION, Braces, Macro, definition, definitions
from indicial.notation.markup import Display, Input, Kind, Markup, Surface
from indicial.notation.source import Source, Span

_TEX = re.compile(r"\\(?:[A-Za-z@]+|.)|\$\$?|%[^\n]*", re.DOTALL)
_PROSE = re.compile(
    r"^(?P<container>(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t]){0,12})(?P<fence>(?:`{3,}|~{3,})[^\n]*)|"
    r"\\(?:[A-Za-z@]+|.)|\$\$?|(?P<role>:math:`[^`]{1,999}`)|`+|<!--|<pre\b|"
    r"^[ \t]*(?P<directive>\.\.[ \t]+math::)|<math\b[^<>\n]*>|(?P<bare>^[ \t]*\[[ \t]*(?=[^\s\]]|\n))",
    re.DOTALL | re.M,
)
"""A fence may stand behind the sign of a list or, where it is not read, of a quotation. Then come
reStructuredText's and MediaWiki's signs, and what is left of `\\[` where a chat lost its backslash."""
_ENVIRONMENT = re.compile(r"[ \t]*\{(?P<name>[A-Za-z]+)(?P<star>\*?)\}")
_OPTIONS = re.compile(r"(?:[ \t]*<[^<>\n]*>|[ \t]*\[[^\[\]\n]*\])*[ \t]*")
_INPUT = re.compile(r"[ \t]*(?:\{(?P<braced>[^{}\n]*)\}|[ \t](?P<bare>[^\s{}\\%]+))")

_DISPLAYS = {
    "equation", "align", "eqnarray", "gather", "multline", "displaymath", "flalign", "alignat",
    "xalignat", "dmath", "empheq", "split", "aligned", "alignedat", "gathered", "IEEEeqnarray",
}  # fmt: skip
_WITH_ARGUMENT = {"alignat", "xalignat", "alignedat", "IEEEeqnarray", "empheq"}
_WITH_OPTIONS = {"split", "aligned", "alignedat", "gathered", "empheq", "dmath", "IEEEeqnarray"}
_VERBATIM = {
    "verbatim", "Verbatim", "lstlisting", "minted", "comment", "filecontents", "alltt",
}  # fmt: skip
_PROBLEMS = {"problem", "exercise", "question"}
_SECTIONS = {
    "part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6,
    "frametitle": SLIDE, "slide": SLIDE,
}  # fmt: skip
"""Commands that begin a section, each with its level."""
_BOLD = {"bf", "textbf", "bfseries"}
_BOLD_PROBLEM = re.compile(
    r"\s*\{?\s*(?P<title>(?:Problem|Exercise|Question|Assignment|Task)[ ~]+\d+(?:\.\d+)*)\b"
)
_NEW_PAGE = {r"\eject", r"\newpage", r"\clearpage", r"\pagebreak", r"\frametitle"}
_SIZED = {rf"\{name}" for name in _SECTIONS}
PLAIN_FENCES = {"indicial", "eq"}
"""Fenced blocks and environments in the plain notation."""


def scan(source: Source, tex: bool, known: Iterable[Macro] = ()) -> Markup:
    """Find everything in a text; headings only in LaTeX (see `headings` for the others).

    `known` are the macros of the files that it pulls in.
    """
    scanner = _Scanner(source, tex)
    scanner.learn(known)
    scanner.run()
    return scanner.found


def inputs(source: Source) -> Iterator[Input]:
    r"""The files that a text of LaTeX pulls in, those in hidden text too."""
    for match in re.finditer(r"%[^\n]*|\\(?:input|include)(?![A-Za-z@])", source.text):
        name = _INPUT.match(source.text, match.end())
        if match.group()[0] == "\\" and name is not None:
            yield Input(_file_name(name), Span(source, match.start(), name.end()))


def _file_name(match: re.Match[str]) -> str:
    return (match["braced"] or match["bare"] or "").strip()


class _Scanner:
    """The walk: `position` only moves forward."""

    def __init__(self, source: Source, tex: bool) -> None:
        self.source = source
        self.text = source.text
        self.tex = tex
        self.position = 0
        self.found = Markup(source)
        self.braces = Braces(source.text)
        self.never_closed: set[str] = set()
        self.code_spans = CodeSpans(source)
        self.openers: dict[str, str] = {}
        self.closers: dict[str, list[str]] = {}
        self.sections = dict(_SECTIONS)
        self.ignoring: set[str] = set()
        """Macros of one argument that print nothing."""

    def run(self) -> None:
        marks = _TEX if self.tex else _PROSE
        while (match := marks.search(self.text, self.position)) is not None:
            self.position = match.end()
            sign = match.group()
            if sign[0] == "\\":
                if not self.command(sign, match.start()):
                    break
            elif sign == "$$":
                self.dollars(match.start())
            elif sign == "$":
                self.dollar(match.start())
            elif sign[0] == "%":
                self.found.comments.append(match.span())
            elif sign == "<!--":
                self.hide(match.start(), "-->", self.found.comments)
            elif sign == "<pre":
                self.hide(match.start(), "</pre>", self.found.hidden)
            elif sign.startswith("<math"):
                self.math_tag(match.start())
            elif match["role"]:
                self.add_inline(*match.span(), (match.start() + len(":math:`"), match.end() - 1))
            elif match["directive"]:
                inner = delimiters.directive(self.text, match.start("directive"), match.end())
                self.add(match.start("directive"), inner[1], inner)
            elif match["bare"]:
                self.bare_bracket(match.start("bare"), match.end("bare"))
            elif opening := match["fence"]:
                self.fence(match.start("fence"), opening, ">" in match["container"])
            else:
                self.code_span(match.start(), len(sign))

    # -- formulas ---------------------------------------------------------------------------

    def add(self, start: int, end: int, inner: tuple[int, int], surface: Surface = "latex") -> None:
        """Note a display and go on behind it."""
        display = self.formula(start, end, inner, surface, "display")
        self.position = end
        if surface == "latex" and DEFINITION.search(self.text, *inner) is not None:
            found = definitions(self.source, *inner, self.braces)
            self.define(*found)
            rest, position = "", inner[0]
            for macro in found:
                rest += self.text[position : macro.span.start]
                position = macro.span.end
            if not (rest + self.text[position : inner[1]]).strip():
                self.found.hidden.append((start, end))
                return
        if display.body.start < display.body.end:
            self.found.displays.append(display)

    def add_inline(self, start: int, end: int, inner: tuple[int, int]) -> None:
        """Note a formula in the prose and go on behind it."""
        formula = self.formula(start, end, inner, "latex", "inline")
        self.position = end
        if formula.body.start < formula.body.end:
            self.found.inline.append(formula)

    def formula(
        self, start: int, end: int, inner: tuple[int, int], surface: Surface, kind: Kind
    ) -> Display:
        first, last = inner
        text = self.text[first:last]
        last -= len(text) - len(text.rstrip())
        first = min(first + len(text) - len(text.lstrip()), last)
        span, body = Span(self.source, start, end), Span(self.source, first, last)
        return Display(span, body, surface, kind)

    def dollars(self, start: int) -> None:
        """`$$ … $$`."""
        end = delimiters.closing(self.text, "$$", start)
        if end is None:
            self.unclosed("$$", start)
        else:
            self.add(start, end, (start + 2, end - 2))

    def square(self, start: int) -> None:
        r"""`\[ … \]`; in Markdown only from line to line end: else it is an escaped bracket."""
        end = delimiters.closing(self.text, r"\[", start)
        if not self.tex and (end is None or not delimiters.is_display(self.text, start, end)):
            return
        if end is None:
            self.unclosed(r"\[", start)
        else:
            self.add(start, end, (start + 2, end - 2))

    def dollar(self, start: int) -> None:
        """`$ … $`; in Markdown with no blank inside the dollars, unless it is alone on its line."""
        end = delimiters.closing_dollar(self.text, start)
        if end is not None and (self.tex or not delimiters.is_money(self.text, start, end)):
            ticks = self.text[start + 1] == self.text[end - 2] == "`"  # GitHub's and GitLab's
            self.add_inline(start, end, (start + 1 + ticks, end - 1 - ticks))

    def round(self, start: int) -> None:
        r"""`\( … \)`."""
        end = delimiters.closing(self.text, r"\(", start)
        if end is not None:
            self.add_inline(start, end, (start + 2, end - 2))

    def math_tag(self, start: int) -> None:
        """`<math>…</math>` of a wiki; in a page of HTML it holds elements, and is not read."""
        end = self.text.find("</math>", self.position)
        if end < 0:
            return
        if "<" in self.text[self.position : end]:
            self.hide(start, "</math>", self.found.hidden)
        else:
            self.add_inline(start, end + len("</math>"), (self.position, end))

    def bare_bracket(self, start: int, inner: int) -> None:
        r"""`[ h_t = \tanh(…) ]` on lines of its own, as chats are copied: without its backslashes."""
        end = delimiters.bare_display(self.text, inner)
        if end is not None:
            self.add(start, end + 1, (inner, end))

    def unclosed(self, sign: str, start: int) -> None:
        span = Span(self.source, start, start + len(sign))
        self.found.faults.append(Fault("open-display", f"`{sign}` is never closed", (span,)))

    # -- commands ---------------------------------------------------------------------------

    def command(self, sign: str, start: int) -> bool:
        """A backslash and what follows it; False at the end of the document."""
        name = sign[1:]
        if sign == r"\[":
            self.square(start)
        elif sign == r"\(":
            self.round(start)
        elif name == "begin":
            self.begin(start)
        elif DEFINITION.fullmatch(sign):
            macro, self.position = definition(self.source, start, self.braces)
            if macro is not None:
                self.define(macro)
        elif name in self.openers:
            self.environment(self.openers[name], start, self.position)
        elif name in self.ignoring and self.text.startswith("{", self.position):
            closing = self.braces.closing(self.position)
            self.position = (closing or self.position) + 1
            self.found.hidden.append((start, self.position))
        elif not self.tex:
            pass
        elif name == "end":
            return not self.text.startswith("{document}", self.position)
        elif name in _BOLD:
            self.bold(start)
        elif name == "verb":
            self.verb(start)
        elif name == "iffalse":
            self.hide(start, "\\fi", self.found.hidden)
        elif name in self.sections:
            position = self.position + self.text.startswith("*", self.position)
            self.heading(start, position, self.sections[name])
        elif name in ("input", "include") and (match := _INPUT.match(self.text, self.position)):
            span = Span(self.source, start, match.end())
            self.found.inputs.append(Input(_file_name(match), span))
            self.position = match.end()
        return True

    def define(self, *macros: Macro) -> None:
        """Note macros, which hold from here on."""
        self.found.macros.extend(macros)
        self.learn(macros)

    def learn(self, macros: Iterable[Macro]) -> None:
        r"""What macros say of the text: `\be` for `\begin{equation}` opens a display, a macro that
        begins a page has a title, and what `\newcommand{\ignore}[1]{}` is given is not there."""
        for macro in macros:
            words = [token.text for token in macro.body]
            name = macro.name[1:]
            if macro.parameters and not _NEW_PAGE.isdisjoint(words):
                self.sections[name] = SLIDE
            elif macro.parameters and (known := _SIZED.intersection(words)):
                self.sections[name] = min(_SECTIONS[section[1:]] for section in known)
            if macro.parameters == 1 and not words:
                self.ignoring.add(name)
            else:
                self.ignoring.discard(name)
            if words[1:2] != ["{"] or words[-1] != "}":
                continue
            name = "".join(words[2:-1])
            if words[0] == r"\begin" and name.rstrip("*") in _DISPLAYS:
                self.openers[macro.name[1:]] = name
            elif words[0] == r"\end":
                self.closers.setdefault(name, []).append(macro.name)

    def begin(self, start: int) -> None:
        r"""`\begin{name}`."""
        match = _ENVIRONMENT.match(self.text, self.position)
        if match is None:
            return
        name = match["name"]
        if name in _VERBATIM:
            self.hide(start, rf"\end{{{name}{match['star']}}}", self.found.hidden)
        elif name in _DISPLAYS:
            self.environment(name + match["star"], start, match.end())
        elif name in PLAIN_FENCES:
            self.plain_environment(name, start, match.end())
        elif name == "claim":
            end = self.text.find(rf"\end{{claim{match['star']}}}", match.end())
            if end < 0:
                self.unclosed(rf"\begin{{claim{match['star']}}}", start)
            else:
                self.found.claims.append((start, end))
        elif self.tex and (name == "frame" or name in _PROBLEMS):
            self.position = match.end()
            word = "" if name == "frame" else name.capitalize()
            self.heading(start, match.end(), SLIDE, word)

    def plain_environment(self, name: str, start: int, inner: int) -> None:
        r"""`\begin{indicial}`: verbatim text in the plain notation, like a fenced block."""
        closing = rf"\end{{{name}}}"
        end = self.text.find(closing, inner)
        if end < 0:
            self.unclosed(rf"\begin{{{name}}}", start)
            return
        self.add(start, end + len(closing), (inner, end), "plain")

    def environment(self, name: str, start: int, inner: int) -> None:
        """A display environment whose opening ends at `inner`."""
        ends = [rf"\\end\s*\{{{re.escape(name)}\}}"]
        ends += [re.escape(macro) + r"(?![A-Za-z@])" for macro in self.closers.get(name, ())]
        pattern = re.compile(
            rf"(?P<end>{'|'.join(ends)})|\\begin\s*\{{{re.escape(name)}\}}|%[^\n]*|\\.", re.DOTALL
        )
        end = None
        if name not in self.never_closed:
            for match in pattern.finditer(self.text, inner):
                if match["end"]:
                    end = match
                    break
                if match.group().startswith(r"\begin"):
                    break
            else:
                self.never_closed.add(name)
        if end is None:
            self.unclosed(rf"\begin{{{name}}}", start)
            return
        body = inner
        if name.rstrip("*") in _WITH_OPTIONS:
            options = _OPTIONS.match(self.text, inner, end.start())
            body = options.end() if options and options.group().strip() else inner
        if name.rstrip("*") in _WITH_ARGUMENT and self.text.startswith("{", body):
            body = (self.braces.closing(body) or body - 1) + 1
        self.add(start, end.end(), (min(body, end.start()), end.start()))

    def heading(self, start: int, position: int, level: int, word: str = "") -> None:
        r"""`\section[short]{Title}`, `\begin{frame}<1>{Title}`, `\begin{problem}[Title]`."""
        options = _OPTIONS.match(self.text, position)
        opening = options.end() if options else position
        title, end = word, position
        closing = self.braces.closing(opening)
        if closing is not None:
            title, end = (
                plain_title(self.text[opening + 1 : min(closing, opening + 400)]),
                closing + 1,
            )
        elif word and options and options.group().strip():
            title, end = plain_title(f"{word}: {options.group().strip(' []')}"), opening
        self.position = max(self.position, end)
        if starts_program(title):
            self.found.headings.append(Heading(start, end, title, level))

    def bold(self, start: int) -> None:
        r"""`{\bf Problem 2. (25 pts)}` begins a problem; other bold words begin nothing."""
        match = _BOLD_PROBLEM.match(self.text, self.position)
        if match is not None:
            self.found.headings.append(Heading(start, match.end(), match["title"], SLIDE))

    # -- what hides -------------------------------------------------------------------------

    def hide(self, start: int, closing: str, where: list[tuple[int, int]]) -> None:
        """Skip to behind the closing sign, or to the end of the text without it."""
        end = self.text.find(closing, self.position)
        self.position = len(self.text) if end < 0 else end + len(closing)
        where.append((start, self.position))

    def verb(self, start: int) -> None:
        r"""`\verb|…|` with any sign for the bars."""
        bar = self.text[self.position : self.position + 1]
        line = delimiters.line_after(self.text, self.position + 1)
        if bar and not bar.isspace() and bar in line:
            self.position += 2 + line.index(bar)
            self.found.hidden.append((start, self.position))

    def fence(self, start: int, opening: str, quoted: bool) -> None:
        """A fenced block: the language decides whether it is a display."""
        block = fence(self.text, opening, self.position, quoted)
        if block is None:
            if opening[0] == "`":
                self.code_span(start, len(opening) - len(opening.lstrip("`")))
            return
        self.position = block.end
        if quoted and block.language in PLAIN_FENCES:
            said = "a block in a quotation is not read"
            span = Span(self.source, start, start + len(opening))
            self.found.faults.append(Fault("quoted-block", said, (span,), "take the `>` away"))
        if quoted:
            self.found.hidden.append((start, block.end))
        elif block.language == "math":
            self.add(start, block.end, (block.first, block.last))
        elif block.language in PLAIN_FENCES:
            self.add(start, block.end, (block.first, block.last), "plain")
        else:
            self.found.hidden.append((start, block.end))

    def code_span(self, start: int, length: int) -> None:
        """`` `code` ``, or backticks that mean nothing."""
        end = self.code_spans.end(start, length)
        self.position = start + length if end is None else end
        if end is not None:
            self.found.hidden.append((start, end))
