r"""The macros that a document defines, and their expansion.

    \newcommand{\gate}[2][t]{G_{#2}[#1,j]}        a definition, wherever it stands
    \gate{1} h[t-1,j]                       →     G_{1}[t,j] h[t-1,j]

A definition holds from its place to the end of the document, whatever group it stands in; a use
before the first definition takes the first. `\newcommand` on a known name replaces it, as
`\renewcommand` does, and `\providecommand` does not.

A token that a macro made carries the span of the call, an argument its own, so that a message
always points at what the author typed. Expansion is bounded: a macro that calls itself, or a
cascade that doubles with each level, ends in a fault.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from indicial.notation.faults import Fault
from indicial.notation.source import Source, Span
from indicial.notation.tokens import Token, tokenize

DEFINITION = re.compile(
    r"\\(?:(?P<new>(?:re)?newcommand|DeclareRobustCommand)|(?P<provide>providecommand)"
    r"|(?P<operator>DeclareMathOperator)|(?P<paired>DeclarePairedDelimiter)|(?P<def>[gex]?def)|(?P<let>let))(?![A-Za-z@])"
)
"""The beginning of a definition."""

_NAME = re.compile(r"\s*(?:\{\s*)?(?P<name>\\(?:[A-Za-z@]+|[^A-Za-z@\s]))\s*(?P<close>\})?")
_COUNT = re.compile(r"\s*\[\s*(?P<count>[0-9])\s*\]")
_DEFAULT = re.compile(r"\s*\[(?P<default>[^\[\]{}\n]*(?:\{[^{}\n]*\}[^\[\]{}\n]*)*)\]")
_PARAMETERS = re.compile(r"\s*(?P<parameters>(?:#[1-9]\s*)*)(?=\{)")
_ALIAS = re.compile(r"\s*=?\s*(?P<target>\\(?:[A-Za-z@]+|[^A-Za-z@\s]))")
_OPENING = re.compile(r"\s*\{")
_BRACE = re.compile(r"\\.|[{}]|%[^\n]*", re.DOTALL)

STEPS = 200_000
"""How many tokens the expansion of one formula may move."""
DOCUMENT_STEPS = 4_000_000
"""The same for all formulas of a document together."""
CALL_STEPS = 10
"""What a call costs besides, so that an empty macro which calls itself ends soon."""


@dataclass(frozen=True, slots=True)
class Macro:
    r"""`\newcommand{\gate}[2][t]{…}`: name, number of parameters, default of the first, body."""

    name: str
    parameters: int
    default: tuple[Token, ...] | None
    body: tuple[Token, ...]
    span: Span
    form: str = "new"
    """`new`, `provide` or `let`. The body of a `let` is its target; once it is known that the
    target is no macro at that place, it is `primitive` and is not expanded again."""


class Macros:
    r"""What each name means at one place of a document: definitions taken in one after another.

    With `\def\a{1}`, then `\def\a{2}`: `Macros([one, two]).get("\a")` is `one`, until both have
    been reached by `define`.
    """

    def __init__(self, all_definitions: Sequence[Macro] = ()) -> None:
        """Knows the first definition of each name, for uses that stand before it."""
        self._first: dict[str, Macro] = {}
        for macro in all_definitions:
            self._first.setdefault(macro.name, macro)
        self._known: dict[str, Macro] = {}
        self.steps = DOCUMENT_STEPS
        """What is left for expansion."""

    def define(self, macro: Macro) -> None:
        """The definition is reached: from here on it holds."""
        name = macro.name
        if macro.form == "provide" and macro.name in self._known:
            return
        if macro.form == "let":
            target = self._known.get(macro.body[0].text)
            macro = replace(macro, form="primitive") if target is None else target
        self._known[name] = macro

    def get(self, name: str) -> Macro | None:
        return self._known.get(name) or self._first.get(name) or usual().get(name)


class Braces:
    """For every `{` of a text its `}`, found in one pass when the first is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pairs: dict[int, int] | None = None

    def closing(self, start: int) -> int | None:
        """The offset of the brace that closes the one at `start`."""
        if self._pairs is None:
            self._pairs = {}
            opened: list[int] = []
            for match in _BRACE.finditer(self._text):
                if match.group() == "{":
                    opened.append(match.start())
                elif match.group() == "}" and opened:
                    self._pairs[opened.pop()] = match.start()
        return self._pairs.get(start)


def definition(source: Source, start: int, braces: Braces) -> tuple[Macro | None, int]:
    r"""Read the definition that begins at `start`, and where it ends.

    `\def\x#1{y}` at 0 → `Macro("\x", 1, None, "y")`, 11. None if it is of no known shape (`\def`
    with delimiters between its parameters, a missing brace).
    """
    text = source.text
    begin = DEFINITION.match(text, start)
    assert begin is not None
    position = begin.end() + (text[begin.end() : begin.end() + 1] == "*")
    name = _NAME.match(text, position)
    if name is None:
        return None, begin.end()
    position = name.end()
    if begin["let"]:
        alias = _ALIAS.match(text, position)
        if alias is None:
            return None, position
        span = Span(source, start, alias.end())
        return Macro(name["name"], 0, None, _lex(alias["target"]), span, "let"), alias.end()
    count, default = 0, None
    if begin["def"]:
        parameters = _PARAMETERS.match(text, position)
        if parameters is None:
            return None, position
        count, position = parameters["parameters"].count("#"), parameters.end()
    elif begin["paired"]:
        count = 1
    elif (number := _COUNT.match(text, position)) is not None:
        count, position = int(number["count"]), number.end()
        if (first := _DEFAULT.match(text, position)) is not None:
            default, position = _lex(first["default"]), first.end()
    opening = _OPENING.match(text, position)
    closing = braces.closing(opening.end() - 1) if opening else None
    if opening is None or closing is None:
        return None, position
    body = text[opening.end() : closing]
    if begin["paired"]:
        second = _OPENING.match(text, closing + 1)
        end = braces.closing(second.end() - 1) if second else None
        if second is None or end is None:
            return None, closing
        body, closing = rf"{body} #1 {text[second.end() : end]}", end
    if begin["operator"]:
        star = "*" if text[begin.end() : begin.end() + 1] == "*" else ""
        body = rf"\operatorname{star}{{{body}}}"
    span = Span(source, start, closing + 1)
    form = "provide" if begin["provide"] else "new"
    return Macro(name["name"], count, default, _lex(body), span, form), closing + 1


_USUAL = r"""
\def\norm#1{\lVert #1 \rVert} \def\abs#1{\lvert #1 \rvert} \def\inner#1#2{\langle #1, #2 \rangle}
\def\pdv#1#2{\frac{\partial #1}{\partial #2}} \def\dv#1#2{\frac{d #1}{d #2}} \def\qty{} \def\dd{d}
\def\R{\mathbb{R}} \def\E{\mathbb{E}} \def\T{\top} \def\given{\mid} \def\eps{\epsilon}
\def\vect#1{\mathbf{#1}} \def\mat#1{\mathbf{#1}} \def\vb#1{\mathbf{#1}}
\def\loss{\mathcal{L}} \def\Loss{\mathcal{L}} \def\mathbold#1{\mathbf{#1}}
\def\addtocounter#1#2{} \def\setcounter#1#2{} \def\stepcounter#1{}
"""
_OPERATORS = (
    "diag tr Tr sigmoid sigm relu gelu silu softplus concat Concat KL Var Cov LSTM GRU RNN MLP FFN"
)
_BOLD = "bh bs bu bv bw bx by bz bA bB bC bH bI bK bM bO bQ bS bU bV bW bX bY bZ"


@cache
def usual() -> dict[str, Macro]:
    r"""What every author defines in the same way, for texts whose preamble stands elsewhere.

    `\norm{x}`, `\R^d`, `\vx` and `\mW` or `\bx` and `\bW` for bold letters, `\diag` for an operator.
    """
    bold = {letters: letters[1] for letters in _BOLD.split()}
    bold |= {f"v{letter}": letter for letter in "cdfghiklmnopqrstuvwxyz"}
    bold |= {f"m{letter}": letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    made = [rf"\def\{name}{{\mathbf{{{letter}}}}}" for name, letter in bold.items()]
    made += [rf"\def\{word}{{\operatorname{{{word}}}}}" for word in _OPERATORS.split()]
    source = Source("", _USUAL + "\n".join(made))
    found = definitions(source, 0, len(source.text), Braces(source.text))
    return {macro.name: macro for macro in found}


def _lex(text: str) -> tuple[Token, ...]:
    """The tokens of a body; `expand` gives them the span of each call."""
    tokens = tokenize(Source("", text), 0, len(text), latex=True)
    return tuple(token for token in tokens if token.kind != "comment")


def definitions(source: Source, start: int, end: int, braces: Braces) -> list[Macro]:
    """All definitions in a stretch of a text, such as a display that holds them."""
    found = []
    position = start
    while (match := DEFINITION.search(source.text, position, end)) is not None:
        macro, position = definition(source, match.start(), braces)
        if macro is not None:
            found.append(macro)
    return found


def expand(tokens: Sequence[Token], macros: Macros) -> tuple[list[Token], list[Fault]]:
    r"""Replace every call by what it stands for.

    With `\def\n#1{\|#1\|}`, the tokens of `\n{x} + 1` become those of `\|x\| + 1`; the bars have
    the span of `\n{x}`, the `x` its own. A call that cannot be expanded leaves no token at all.
    """
    if not any(_macro(token, [], macros) for token in tokens):
        return list(tokens), []
    done: list[Token] = []
    todo = list(reversed(tokens))
    work = limit = min(STEPS, macros.steps)
    while todo:
        token = todo.pop()
        work -= 1
        macro = _macro(token, todo, macros)
        if macro is None:
            done.append(token)
        elif macro.form == "primitive":
            done.append(replace(macro.body[0], span=token.span, space=token.space))
        elif (call := _call(macro, todo, token)) is None:
            plural = "s" if macro.parameters > 1 else ""
            message = (
                f"`{macro.name}` takes {macro.parameters} argument{plural}, but fewer are given"
            )
            return [], [Fault("macro-arguments", message, (token.span, macro.span))]
        else:
            made = _body(macro, call, work)
            work -= len(made) + sum(map(len, call.arguments)) + CALL_STEPS
            todo.extend(reversed(made))
        if work <= 0:
            macros.steps -= limit
            message = "the macros here never stop expanding, or make the formula too long"
            return [], [Fault("macro-limit", message, (token.span,))]
    macros.steps -= limit - work
    return done, []


def _macro(token: Token, todo: list[Token], macros: Macros) -> Macro | None:
    r"""The macro that a token calls; in `\gate*` the star is no part of the name."""
    if token.kind != "command":
        return None
    macro = macros.get(token.text)
    if macro is None and token.text.endswith("*") and len(token.text) > 2:
        macro = macros.get(token.text[:-1])
        if macro is not None:
            span = Span(token.span.source, token.span.end - 1, token.span.end)
            if not macro.parameters:  # `\norm*{x}` is that of a pair of delimiters
                todo.append(Token("sign", "*", span))
    return macro


@dataclass
class _Call:
    """A call with its arguments: `span` reaches from its name to the end of the last of them."""

    span: Span
    space: bool
    arguments: list[list[Token]] = field(default_factory=list)


def _call(macro: Macro, todo: list[Token], name: Token) -> _Call | None:
    """Take the arguments of a call from the top of the stack; None if there are too few."""
    call = _Call(name.span, name.space)
    for number in range(macro.parameters):
        while todo and todo[-1].kind == "comment":
            todo.pop()
        optional = number == 0 and macro.default is not None
        if optional and not (todo and todo[-1].text == "["):
            call.arguments.append([replace(t, span=name.span) for t in macro.default or ()])
            continue
        if not todo or todo[-1].text in ("}", "&") or todo[-1].kind == "row":
            return None
        token = todo.pop()
        argument = [token]
        if optional or token.text == "{":
            argument = _until(todo, "]" if optional else "}")
            if not argument:
                return None
            token = argument.pop()
        call.arguments.append(argument)
        call.span = call.span.to(token.span)
    return call


def _until(todo: list[Token], closing: str) -> list[Token]:
    """All up to the closing bracket and that too; nothing if it does not come."""
    taken: list[Token] = []
    depth = 0
    while todo:
        token = todo.pop()
        taken.append(token)
        if token.text == closing and depth == 0:
            return taken
        depth += (token.text == "{") - (token.text == "}")
    return []


def _body(macro: Macro, call: _Call, limit: int) -> list[Token]:
    """The body with its arguments in it; what the macro itself says has the span of the call."""
    made: list[Token] = []
    for token in macro.body:
        if token.kind == "parameter":
            argument = call.arguments[int(token.text[1]) - 1 : int(token.text[1])]
            made.extend(argument[0] if argument else ())
        else:
            made.append(replace(token, span=call.span))
        if len(made) > limit:
            break
    if made:
        made[0] = replace(made[0], space=call.space)
    return made
