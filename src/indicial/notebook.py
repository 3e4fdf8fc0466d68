"""Equations in a notebook: a cell magic, and programs that show themselves typeset.

    %load_ext indicial

    %%indicial cell
    input x[t,k]
    h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])

checks the equations, shows their mistakes or the typeset equations, tries their claims, and defines the
variable `cell` (without a name: `program`), a `Program`.

    %%indicial shares 1
    α[n] = softmax_n x[n]

    %%indicial shares 2
    claim Σ_n α[n] = 1

With a number the cell is a part of a program: it is read together with the parts before it. Run again
with another text, it tells what that changes in the cells below. `%%indicial loss 1 after shares` may
read what `shares` defines. `--seed N` takes other draws for the claims, `--draws N` another number of them.

`%%indicial design position` tries the matrices of a design on every case of a task (docs/design.md), and
defines the variable `position`, a `Design`.

`%indicial check notes.md` in a line of its own runs the command.
"""

from __future__ import annotations

import keyword
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from indicial.claims.experiment import Verdict
from indicial.claims.notebooks import FAILED
from indicial.claims.trying import Outcome, Sheet, pictures, plots, try_claims, words
from indicial.notation.printers import latex as print_latex
from indicial.notation.printers import unicode as print_unicode
from indicial.notation.syntax import Equation
from indicial.paste import written
from indicial.program.explain.explain import equations, shown_equations
from indicial.program.ir import Test
from indicial.program.messages import IndicialError, Message
from indicial.program.program import Program

COLOURS = {"error": "#c92a2a", "warning": "#b35c00", "note": "#495057"}
STYLE = "line-height:1.35;font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre"
BELOW = "This changes in the cells below:"

_LINE = re.compile(
    r"(?P<name>\S+)?(?:\s+(?P<number>[1-9]\d{0,3}))?(?:\s+after\s+(?P<after>\S+))?"
    r"(?:\s+--seed[\s=]+(?P<seed>\d{1,9}))?(?:\s+--draws[\s=]+(?P<draws>[1-9]\d{0,8}))?"
)


@dataclass(frozen=True)
class Line:
    """What stands behind `%%indicial`."""

    name: str
    number: int | None
    after: str
    seed: int
    draws: int | None


def load(shell: Any) -> None:
    """Gives a shell the magic, and teaches it to show programs."""
    sheet = Sheet()

    def indicial(line: str, cell: str | None = None) -> None:
        if cell is None:
            command(line)
        else:
            define(shell, line, cell, sheet)

    indicial.__doc__ = __doc__
    shell.register_magic_function(indicial, "line_cell", "indicial")
    formatters = shell.display_formatter.formatters
    formatters["text/latex"].for_type(Program, latex)
    formatters["text/markdown"].for_type(Program, latex)
    formatters["text/html"].for_type(Program, html)


def command(line: str) -> None:
    """`%indicial check notes.md`: what the command prints."""
    from indicial.cli import main

    try:
        main(shlex.split(line))
    except SystemExit:  # `--help`, or a call that is wrong: it has said so
        return
    except ValueError as error:
        print(f"%indicial cannot read {line!r}: {error}")


def define(shell: Any, line: str, cell: str, sheet: Sheet) -> None:
    """What the magic does with a cell: check, show, try, define."""
    try:
        if line.split()[:1] == ["design"] and len(line.split()) > 1:
            _design(shell, line.split()[1:], cell)
            return
        asked = read_line(line)
        if asked.number is None:
            _whole(shell, asked, cell)
        else:
            _part(shell, asked, cell, sheet)
    except IndicialError as error:
        _show(str(error), None, failed=True)


def _design(shell: Any, words: list[str], cell: str) -> None:
    """`%%indicial design position`: the matrices of a design, tried on every case of its task."""
    from indicial.designs.hand import written_design

    gaps = [number for number, text in enumerate(cell.splitlines(), 2) if "___" in text]
    if gaps:
        _show(gaps_text(tuple(gaps)), None)
        return
    made = written_design(cell, *words)
    check = made.check(words[0])
    shell.user_ns[words[0]] = made
    _show(str(check), None, failed=not check.passed)


def read_line(line: str) -> Line:
    """`shares 2 --seed 1` → `Line("shares", 2, "", 1, None)`."""
    match = _LINE.fullmatch(line.strip())
    name = (match and match["name"]) or "program"
    if match is None or not name.isidentifier() or keyword.iskeyword(name):
        raise IndicialError(
            f"%%indicial takes the name of a variable, not {line.strip()!r}; a number may follow for a "
            "part of a program, `after` with the name of another one, --seed N and --draws N"
        )
    number, draws = match["number"], match["draws"]
    if match["after"] and number is None:
        raise IndicialError(f"only a part goes on with another: %%indicial {name} 1 after …")
    return Line(
        name,
        int(number) if number else None,
        match["after"] or "",
        int(match["seed"] or 0),
        int(draws) if draws else None,
    )


def _whole(shell: Any, asked: Line, cell: str) -> None:
    """A cell that is a program by itself."""
    program = written(cell, title=asked.name, document=None)
    found = [m for m in program.messages if m.severity != "note"]
    if not program.equations and not program.errors:
        skipped = [f"\nline {s.span.line} was skipped: {s.reason}" for s in program.skipped]
        say = "there is no equation in this cell; one looks like y[j] = W[j,I] x[I]"
        _show(say + "".join(skipped), None)
        return
    if program.errors:
        _show("\n\n".join(m.render() for m in found), messages_html(found), failed=True)
        return
    shell.user_ns[asked.name] = program
    verdicts = try_claims([program], seed=asked.seed, draws=asked.draws)
    text = [*(m.render() + "\n" for m in found), *equations(program)]
    text += ["", *map(words, verdicts)] if verdicts else []
    page = messages_html(found) + html(program) + verdicts_html(verdicts)
    _show("\n".join(text), page, failed=not all(v.as_stated for v in verdicts))
    _draw(program, plots(program), asked)


def _draw(program: Program, tests: Sequence[Test], asked: Line) -> None:
    """The pictures that a cell asks for."""
    from IPython import display

    for picture in pictures(program, seed=asked.seed, draws=asked.draws, tests=tests):
        display.display(picture)  # type: ignore[no-untyped-call]


def _part(shell: Any, asked: Line, cell: str, sheet: Sheet) -> None:
    """A cell that is read together with others."""
    assert asked.number is not None
    outcome = sheet.run(
        asked.name, asked.number, cell, asked.after, seed=asked.seed, draws=asked.draws
    )
    if outcome.program is not None:
        shell.user_ns[asked.name] = outcome.program
    if text := outcome_text(outcome):  # of constants alone there is nothing to say
        failed = outcome.program is None or not all(v.as_stated for v in outcome.verdicts)
        _show(text, outcome_html(outcome), failed)
    if outcome.program is not None:
        here = f"{asked.name} {asked.number}"
        own = [t for t in plots(outcome.program) if t.span.source.name == here]
        _draw(outcome.program, own, asked)


def outcome_text(outcome: Outcome) -> str:
    """What came of a part, for a terminal: messages, equations, verdicts as `indicial check` has them."""
    shown = [s for s in outcome.statements if isinstance(s, Equation)]
    paragraphs = [m.render() for m in outcome.messages]
    paragraphs += [print_unicode(shown)] if shown else []
    paragraphs += ["\n".join(map(words, outcome.verdicts))] if outcome.verdicts else []
    paragraphs += [BELOW, "\n".join(map(words, outcome.below))] if outcome.below else []
    paragraphs += [gaps_text(outcome.gaps)] if outcome.gaps else []
    return "\n\n".join(paragraphs)


def outcome_html(outcome: Outcome) -> str:
    """The same for a page: equations typeset, what did not go as stated with a coloured bar."""
    shown = [s for s in outcome.statements if isinstance(s, Equation)]
    page = messages_html(outcome.messages)
    page += f"<div>{escape(f'$${print_latex(shown)}$$')}</div>" if shown else ""
    page += verdicts_html(outcome.verdicts)
    if outcome.below:
        page += f"<p>{BELOW}</p>{verdicts_html(outcome.below)}"
    return page + (f"<p>{escape(gaps_text(outcome.gaps))}</p>" if outcome.gaps else "")


def gaps_text(gaps: Sequence[int]) -> str:
    """What is left to do in a handout."""
    lines = ", ".join(map(str, gaps))
    if len(gaps) == 1:
        return f"There is a gap in line {lines}: write the answer in the place of ___."
    return f"There are gaps in the lines {lines}: write the answers in the place of ___."


def latex(program: Program) -> str:
    """The equations of a program, ready to be typeset: `$$\\begin{aligned}…\\end{aligned}$$`."""
    return f"$$\n{print_latex(shown_equations(program))}\n$$"


def html(program: Program) -> str:
    """The same for a page that typesets mathematics; mistakes above it."""
    found = [m for m in program.messages if m.severity != "note"]
    return (messages_html(found) if program.errors else "") + f"<div>{escape(latex(program))}</div>"


def messages_html(messages: Sequence[Message]) -> str:
    """Messages as they stand in a terminal, carets in their columns."""
    return "".join(
        f'<pre style="{STYLE};border-left:3px solid {COLOURS[m.severity]};padding-left:0.7em">'
        f"{escape(m.render())}</pre>"
        for m in messages
    )


def verdicts_html(verdicts: Sequence[Verdict]) -> str:
    """What came of claims: a line for one that went as stated, a message for another."""
    return "".join(
        f'<pre style="{STYLE}">{escape(verdict.line())}</pre>'
        if verdict.as_stated
        else messages_html([verdict.message()])
        for verdict in verdicts
    )


def _show(text: str, page: str | None, failed: bool = False) -> None:
    """A text and a page; `failed` marks the output, so that `indicial notebook --run` can tell."""
    from IPython import display

    page = page if page is not None else f'<pre style="{STYLE}">{escape(text)}</pre>'
    display.display(  # type: ignore[no-untyped-call]
        {"text/plain": text, "text/html": page},
        metadata={FAILED: True} if failed else None,
        raw=True,
    )
