"""What `indicial explain NAME --gradient` prints: the adjoint equations.

>>> print(gradient(load("rnn")))
rnn: the vanilla RNN
<BLANKLINE>
the gradient of whatever follows, given h̄^{in}[t,j]
…
step by step, t downwards
  h̄[t,j] = h̄^{in}[t,j] + W^{h,h}[J,j] δ^h[t+1,J]
  δ^h[t,j] = h[t,j] (1 - h[t,j]) h̄[t,j]
…
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from indicial.compile.explain.blackboard import equation, shown_element
from indicial.compile.module.sizes import one_length, outcomes
from indicial.compile.passes.adjoint import Adjoint, adjoint
from indicial.compile.passes.elements import Elements
from indicial.compile.passes.forms import renamed
from indicial.compile.passes.new_tensors import barred, shifts
from indicial.compile.schedule.schedule import Loop, Step, schedule
from indicial.notation.parse import parse_text
from indicial.program.explain.explain import heading
from indicial.program.explain.latex import Part, escaped, latex_document
from indicial.program.explain.page import LABEL, WIDTH, Page, wrapped
from indicial.program.ir import Affine, Code, Flat, Statement
from indicial.program.messages import columns
from indicial.program.moving import canonical, indices_at, moved, moved_affine
from indicial.program.rewrite import needed_names, tensors_read

if TYPE_CHECKING:
    from indicial.program.program import Program


def gradient(program: Program, width: int = WIDTH) -> str:
    """The adjoint equations of a program without errors, for a screen of `width` columns."""
    said, sections = gradient_parts(program)
    lines = [*wrapped(heading(program), width, ""), ""]
    lines += [line for text in said for line in sentence(text, width)]
    for title, texts in sections:
        lines += ["", title] if title else [""]
        lines += [line for text in texts for line in folded(text, width)]
    return "\n".join(lines)


def gradient_latex(programs: Iterable[Program]) -> str:
    """The same as a LaTeX document."""
    parts: list[Part] = []
    for program in programs:
        said, sections = gradient_parts(program)
        parts.append(Part(heading(program), [], [escaped(text) for text in said if text]))
        for title, texts in sections:
            statements = [s for text in texts for s in parse_text(text, "gradient").statements]
            parts.append(
                Part("", statements, [f"\\paragraph{{{escaped(title)}}}"] if title else [])
            )
    return latex_document(parts)


def gradient_parts(program: Program) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """What is said before the equations, and the equations under their titles."""
    code = one_length(program.compilable)
    outputs = [code.loss] if code.loss is not None else list(outcomes(code, schedule(code)))
    found = adjoint(code, outputs)
    shown = _shorter(found)
    sections = []
    for title, statements in _sections(code, found):
        # A gradient of a parameter is a sum over all steps, and should look like one.
        silent = title != "parameters"
        texts = [equation(statement, silent) for statement in renamed(statements, shown)]
        sections.append((title, list(dict.fromkeys(texts))))
    return [_subject(code, found, shown), _legend(code, found)], sections


def _shorter(found: Adjoint) -> dict[str, str]:
    """`ȳ^{in}` as `ȳ`, where nothing else comes to it."""
    return {
        new: barred(name)
        for name, new in found.given.items()
        if found.names.get(name, new) == new and barred(name) not in found.code.tensors
    }


# ---------------------------------------------------------------------- what it is about


def _subject(code: Code, found: Adjoint, shown: dict[str, str]) -> str:
    if not found.statements:
        return "no parameter and no input of numbers changes anything here: there is no gradient"
    if not found.given:
        return f"the gradient of {code.loss}"
    given = [
        shown_element(shown.get(new, new), Elements(found.code).box(new)[1])
        for new in found.given.values()
    ]
    return f"the gradient of whatever follows, given {in_words(given)}"


def _legend(code: Code, found: Adjoint) -> str:
    """What the new names mean, each by an example."""
    made = {s.target for s in found.statements}
    known = sorted(code.tensors, key=lambda n: ("." in n, code.tensors[n].role != "defined"))
    bars = [(n, found.names[n]) for n in known if n in found.names and found.names[n] in made]
    simple = [(n, bar) for n, bar in bars if bar == barred(n) and not bar.startswith("∂")]
    words = [(n, bar) for n, bar in bars if bar.startswith("∂")]
    said = [f"{bar} is the derivative by {name}" for name, bar in (simple or words)[:1]]
    if simple and words:
        said.append(f"{words[0][1]} that by {words[0][0]}")
    deltas = [s.target for s in found.statements if s.target.startswith("δ^")]
    if deltas:
        of = deltas[0].removeprefix("δ^")
        inside = of[1:-1] if of.startswith("{") else of
        said.append(f"{deltas[0]} that by what {inside} is a function of")
    return ", ".join(said) + "; each is 0 outside its range" if said else ""


# ---------------------------------------------------------------------- the equations in order


def _sections(code: Code, found: Adjoint) -> Iterator[tuple[str, list[Statement]]]:
    """Titles with equations: parts of the forward pass, the way back, inputs, parameters."""
    where = list(_parts(code, found))
    if where:
        yield "where", where
    ends = {
        role: [
            found.names[n] for n, t in code.tensors.items() if t.role == role and n in found.names
        ]
        for role in ("input", "parameter")
    }
    made: dict[str, list[Statement]] = {}
    for statement in found.statements:
        made.setdefault(statement.target, []).append(statement)
    special = {
        s.number
        for together in made.values()
        for s in together
        if any(_includes(other, s) for other in together if other is not s)
    }
    last = {name for names in ends.values() for name in names}
    middle = {s.target for s in found.statements} - last
    for title, statements in _steps(schedule(found.code).steps, middle):
        if kept := [unshifted(s) for s in statements if s.number not in special]:
            yield title, kept
    for role, names in ends.items():
        if names:
            yield f"{role}s", [unshifted(s) for name in names for s in found.code.of(name)]


def _parts(code: Code, found: Adjoint) -> Iterator[Statement]:
    """The equations of what the adjoint equations name and the text does not."""
    made = {s.target for s in found.statements}
    named = tensors_read(found.statements)
    named |= {name for name, bar in found.names.items() if bar == barred(name) and bar in made}
    forward = [s for s in found.code.statements if s.target not in made]
    known = needed_names([s for s in forward if s.target not in code.tensors], named)
    return (s for s in forward if s.target in known and s.target not in code.tensors)


def _steps(steps: Iterable[Step], made: set[str]) -> Iterator[tuple[str, list[Statement]]]:
    """What runs at once, and what runs step by step, in the order in which it can run."""
    together: list[Statement] = []
    for step in steps:
        statements = [s for s in step.statements() if s.target in made]
        if not isinstance(step, Loop):
            together += statements
        elif statements:
            if together:
                yield "", together
            together = []
            yield f"step by step, {in_words(list(_walks(step)))}", statements
    if together:
        yield "", together


def _walks(loop: Loop) -> Iterator[str]:
    """`ℓ downwards`, `t upwards`, for a loop and those inside it."""
    yield f"{loop.letter} {'upwards' if loop.direction > 0 else 'downwards'}"
    for step in loop.steps:
        if isinstance(step, Loop):
            yield from _walks(step)


def _includes(general: Statement, special: Statement) -> bool:
    """Whether one equation, at the places on the left of another, says the same: one for a start,
    `h̄[-1,j]`."""
    if len(special.indices) >= len(general.indices):
        return False
    places = indices_at(general, special.left)
    if places is None:
        return False
    order = [index.name for index in special.indices]
    return canonical(moved(general.body, places), order) == canonical(special.body, order)


def unshifted(statement: Statement) -> Statement:
    """`δ[ℓ+1,t] = … F[ℓ+1,t]` as `δ[ℓ,t] = … F[ℓ,t]`."""
    places = {name: Affine.of(name, -shift) for name, shift in shifts(statement).items() if shift}
    if not places:
        return statement
    left = tuple(p if isinstance(p, Flat) else moved_affine(p, places) for p in statement.left)
    return replace(statement, left=left, body=moved(statement.body, places))


# ---------------------------------------------------------------------- lines


def sentence(text: str, width: int) -> list[str]:
    """A sentence in lines that fit."""
    return Page(width + LABEL).fold(text)


def in_words(names: Sequence[str]) -> str:
    """`R, G and h`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def folded(line: str, width: int) -> list[str]:
    """A line in pieces that fit, broken before a + or - outside all brackets where there is one."""
    depth = 0
    pieces: list[str] = [""]
    for word in line.split(" "):
        if depth == 0 and word in ("+", "-") and pieces[-1]:
            pieces.append(word)
        else:
            pieces[-1] += f" {word}" if pieces[-1] else word
        depth += sum(word.count(sign) for sign in "([{") - sum(word.count(s) for s in ")]}")
    result = ["  "]
    for piece in pieces:
        joint = " " if result[-1].strip() else ""
        if joint and columns(result[-1]) + 1 + columns(piece) > width:
            result.append(" " * 6)
            joint = ""
        result[-1] += joint + piece
    cut = ([line] if columns(line) <= width else wrapped(line, width, "") for line in result)
    return [line for lines in cut for line in lines]
