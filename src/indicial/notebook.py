"""Equations in a notebook: a cell magic, and programs that show themselves typeset.

    %load_ext indicial

    %%indicial cell
    input x[t,k]
    h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])

checks the equations, shows their mistakes or the typeset equations, and defines the variable `cell`
(without a name: `program`), a `Program`.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from html import escape
from typing import Any

from indicial.paste import written
from indicial.program.explain.explain import equations
from indicial.program.messages import Message
from indicial.program.program import Program

COLOURS = {"error": "#c92a2a", "warning": "#b35c00", "note": "#495057"}
STYLE = "line-height:1.35;font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre"


def load(shell: Any) -> None:
    """Gives a shell the cell magic, and teaches it to show programs."""

    def indicial(line: str, cell: str) -> None:
        define(shell, line, cell)

    indicial.__doc__ = __doc__
    shell.register_magic_function(indicial, "cell", "indicial")
    formatters = shell.display_formatter.formatters
    formatters["text/latex"].for_type(Program, latex)
    formatters["text/markdown"].for_type(Program, latex)
    formatters["text/html"].for_type(Program, html)


def define(shell: Any, line: str, cell: str) -> None:
    """What the magic does: check, show, define."""
    name = line.strip() or "program"
    if not name.isidentifier() or keyword.iskeyword(name):
        _show(f"%%indicial takes the name of a variable, not {name!r}", None)
        return
    program = written(cell, title=name, document=None)
    found = [m for m in program.messages if m.severity != "note"]
    if not program.equations and not program.errors:
        skipped = [f"\nline {s.span.line} was skipped: {s.reason}" for s in program.skipped]
        say = "there is no equation in this cell; one looks like y[j] = W[j,I] x[I]"
        _show(say + "".join(skipped), None)
        return
    if program.errors:
        _show("\n\n".join(m.render() for m in found), messages_html(found))
        return
    shell.user_ns[name] = program
    text = "\n".join([*(m.render() + "\n" for m in found), *equations(program)])
    _show(text, messages_html(found) + html(program))


def latex(program: Program) -> str:
    """The equations of a program, ready to be typeset: `$$\\begin{aligned}…\\end{aligned}$$`."""
    shown = "\n".join(equations(program, "latex"))
    return f"$$\n{shown}\n$$"


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


def _show(text: str, page: str | None) -> None:
    from IPython import display

    page = page if page is not None else f'<pre style="{STYLE}">{escape(text)}</pre>'
    display.display({"text/plain": text, "text/html": page}, raw=True)  # type: ignore[no-untyped-call]
