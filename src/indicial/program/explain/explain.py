"""What `indicial explain` prints: the equations, how they were read, what they cost.

>>> print(explain(load("rnn")))
rnn: the vanilla RNN
<BLANKLINE>
  input x[t,k]
  h[t,j] = σ(W^{h,h}[j,I] h[t-1,I] + W^{x,h}[j,K] x[t,K] - B[j])
<BLANKLINE>
inputs      x[t,k]
parameters  J² + J K + J
            W^{h,h}[j,i]  J²   W^{x,h}[j,k]  J K   B[j]          J
…
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from indicial.notation.faults import BESIDE
from indicial.notation.printers import unicode as print_unicode
from indicial.notation.syntax import Declaration, Equation, Statement
from indicial.notation.vocabulary import CALLED, SEEN, SPACE, TOLD
from indicial.program.cost.cost import order
from indicial.program.explain.facts import Facts, Named, read
from indicial.program.explain.numbers import both, count, formula, in_bytes, leading
from indicial.program.explain.outside import small
from indicial.program.explain.page import HARD, WIDTH, Page, wrapped
from indicial.program.meaning.arrays import tie
from indicial.program.messages import columns
from indicial.program.names.letters import MADE_FAMILY
from indicial.program.sizes import Size

if TYPE_CHECKING:
    from indicial.program.program import Program

__all__ = ["equations", "explain"]


def explain(
    program: Program,
    *,
    sizes: Mapping[str, int] | None = None,
    spelling: str = "typed",
    everything: bool = False,
    width: int = WIDTH,
) -> str:
    """All that there is to say about a program without errors, for a screen of `width` columns.

    `sizes={"J": 256, …}` turns the formulas into numbers. `spelling` is `typed` or `unicode`
    (`latex.py` has LaTeX). `everything` also shows what the analysis made, and costs by tensor.
    """
    page = Page(width)
    page.lines += wrapped(heading(program), width, "")
    page.lines.append("")
    if not program.equations:
        return "\n".join([*page.lines, *unread(program, width)]).replace(HARD, " ")
    facts = read(program, sizes)
    page.lines += equations(program, spelling, width)
    page.lines.append("")
    if left_out := unread(program, width):
        page.lines += [*left_out, ""]
    _reading(page, program, width)
    _names(page, facts, everything)
    _ranges(page, facts)
    _outside(page, facts)
    _remarks(page, facts)
    page.lines.append("")
    _costs(page, facts, everything)
    return "\n".join(page.lines).replace(HARD, " ")


def heading(program: Program) -> str:
    """`ugrnn: the update-gate RNN`: the title, and what the first comment of its text says."""
    title = program.title or "program"
    for statement in program.written[:1]:
        first = statement.span.source.text.split("\n", 1)[0].strip()
        if first.startswith("#") and first.lstrip("# ").startswith(f"{title}:"):
            return first.lstrip("# ")
    return title


# ---------------------------------------------------------------------- equations


def equations(program: Program, spelling: str = "typed", width: int = WIDTH) -> list[str]:
    """The equations, one a line. Those that were typed in LaTeX are shown in Unicode: a terminal
    cannot typeset."""
    lines: list[str] = []
    for statement in shown_equations(program):
        text = print_unicode(statement) if spelling == "unicode" else _typed(statement)
        for line in text.splitlines():
            lines += wrapped(line, width)
    return lines


LISTED = 6
"""So many formulas that are not read are listed, and the others are counted."""


def unread(program: Program, width: int = WIDTH) -> list[str]:
    """What stands in the text and is no part of the program, and why; nothing if all of it is read."""
    page = Page(width)
    reasons: dict[int, str] = {}
    for one in sorted(program.skipped, key=lambda one: one.span.start):
        known = reasons.setdefault(one.span.line, one.reason)
        if known.startswith(BESIDE):  # what is wrong with the row itself says more
            reasons[one.span.line] = one.reason
    lines = [f"line {line}: {reason}" for line, reason in [*reasons.items()][:LISTED]]
    if len(reasons) > LISTED:
        lines.append(f"and {len(reasons) - LISTED} more, which `indicial check --notes` lists")
    page.put("not read", [line for text in lines for line in page.fold(text)])
    return page.lines


def shown_equations(program: Program) -> list[Statement]:
    """All but the declarations that tables say again."""
    return [s for s in program.written if not _in_tables(s)]


def _in_tables(statement: Statement) -> bool:
    """Declarations that the tables below the equations say again."""
    told = ("input", "parameter", "constant", "size", "range", CALLED, SEEN, SPACE, TOLD)
    return isinstance(statement, Declaration) and statement.keyword in told


def _typed(statement: Statement) -> str:
    span = statement.span
    if isinstance(statement, Equation) and statement.guard is not None:
        span = span.to(statement.guard.span)
    text = span.text.strip()
    if isinstance(statement, Declaration) or not text or set("\\$&") & set(text):
        return print_unicode(statement)
    first, *rest = (line.strip() for line in text.split("\n"))
    return "\n".join([first, *("    " + line for line in rest if line)])


def _reading(page: Page, program: Program, width: int) -> None:
    """Vector style in index notation, and what each name was taken for."""
    reading = program.reading
    if not reading.convention:
        return
    page.lines.append("read as")
    for statement in program.statements:
        # What an inverse is made of says nothing of how the text was read.
        if isinstance(statement, Equation) and MADE_FAMILY[1:] not in print_unicode(statement):
            for line in print_unicode(statement).splitlines():
                page.lines += wrapped(line, width)
    page.lines.append("")
    page.put("convention", [reading.convention])
    lines = []
    for decision in reading.decisions:
        one = len(decision.names) == 1
        many = "matrices" if decision.kind == "matrix" else f"{decision.kind}s"
        what = f"is a {decision.kind}" if one else f"are {many}"
        lines += page.fold(f"{', '.join(decision.names)} {what}: {decision.reason}")
    page.put("taken as", lines)


# ---------------------------------------------------------------------- names


def _names(page: Page, facts: Facts, everything: bool) -> None:
    def shown(named: Iterable[Named]) -> list[str]:
        return [n.shown + ("?" if n.tensor.guess else "") for n in named]

    inputs = shown(facts.role("input", everything))
    page.put("inputs", page.flow(inputs))
    _parameters(page, facts)
    constants = []
    for named in facts.role("constant"):
        literal = facts.code.constants.get(named.name)
        constants.append(
            f"{named.shown} = {literal:g}" if isinstance(literal, float) else named.shown
        )
    page.put("constants", page.flow(constants))
    drawn = shown(facts.role("draw", everything))
    masks = [n for n in facts.role("draw", True) if n.made]
    if masks and not everything:
        drawn.append("a mask for dropout" if len(masks) == 1 else f"{len(masks)} masks for dropout")
    page.put("drawn", page.flow(drawn))
    page.put("defined", page.flow(shown(facts.role("defined", everything)), "  "))
    _summed(page, facts)
    lines = []
    for (role, reason), names in facts.guesses.items():
        what = role if len(names) == 1 else f"{role}s"
        why = reason if len(names) == 1 else reason.replace("by its letter", "by their letter")
        verb = f"is {'an' if role == 'input' else 'a'}" if len(names) == 1 else "are"
        lines += page.fold(f"{', '.join(names)} {verb} {what} ({why})")
    page.put("? guessed", lines)


def _summed(page: Page, facts: Facts) -> None:
    """`summed      R, G: I, K   P: J`: no sum that is read into an equation is left unsaid."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, letters in facts.summed.items():
        alike.setdefault(tuple(letters), []).append(name)
    texts = [f"{', '.join(names)}: {', '.join(letters)}" for letters, names in alike.items()]
    page.put("summed", page.flow(texts))


def _parameters(page: Page, facts: Facts) -> None:
    cost = facts.program.cost
    named = facts.role("parameter", True)
    if not named:
        return
    lines = _amount(page, facts, cost.parameters, "")
    cells = []
    for one in named:
        size = cost.parameters_by_tensor[one.name]
        number = facts.number(size) if facts.sizes else None
        text = count(number) if number is not None else formula(facts.shown(size))
        cells.append((one.shown + ("?" if one.tensor.guess else ""), text))
    page.put("parameters", lines + page.grid(cells))


# ---------------------------------------------------------------------- ranges and sizes


def _ranges(page: Page, facts: Facts) -> None:
    texts = []
    for one in facts.ranges:
        if one.within:
            continue
        remarks = [f"{a} = {b}" for a, b in facts.same if small(a) in one.letters]
        for other in facts.ranges:
            if other.within and other.letters[0] in one.letters:
                letter = f"{other.letters[0]} = " if len(one.letters) > 1 else ""
                remarks.append(f"{letter}{other.values} in {', '.join(other.within)}")
        remark = f" ({'; '.join(remarks)})" if remarks else ""
        texts.append(f"{', '.join(one.letters)} = {one.values}{remark}")
    page.put("ranges", page.flow(texts))
    fixed = [
        f"{name} = {count(value)}"
        for name, value in facts.sizes.items()
        if tie(facts.code).get(name) is None or facts.sizes.get(tie(facts.code)[name]) != value
    ]
    lines = page.flow(fixed)
    by_letter: dict[str, list[str]] = {}
    for name, letter in facts.taken.items():
        by_letter.setdefault(letter, []).append(name)
    for letter, names in by_letter.items():
        verb = "is" if len(names) == 1 else "are"
        lines += page.fold(f"{', '.join(names)} {verb} taken as {letter} unless set")
    page.put("sizes", lines)


def _outside(page: Page, facts: Facts) -> None:
    page.put("outside", [line for found in facts.outside for line in page.fold(str(found))])


def _remarks(page: Page, facts: Facts) -> None:
    program = facts.program
    for note in program.analysis.notes:
        page.put("note", page.fold(f"{note.subject}: {note.text}"))
    for hole in program.holes:
        text = f"{hole} is only named: a stand-in takes its place until --set {hole}=… fills it"
        page.put("open", page.fold(text))
    warnings = sum(1 for m in program.mistakes if m.severity == "warning")
    if warnings:
        plural = "" if warnings == 1 else "s"
        page.put("note", [f"{warnings} warning{plural}: `indicial check` shows them"])


# ---------------------------------------------------------------------- costs


def _costs(page: Page, facts: Facts, everything: bool) -> None:
    cost = facts.program.cost
    bound = {True: "", False: "at most "}
    lines = _amount(page, facts, cost.work, " operations", bound[cost.work_exact])
    page.put("work", lines)
    if everything:
        page.put("", _by_tensor(page, facts, cost.work_by_tensor))
    elements = facts.number(cost.memory) if facts.sizes else None
    unit = (
        f" elements, {in_bytes(elements)} in float32"
        if elements is not None
        else " elements of 4 bytes"
    )
    page.put("memory", _amount(page, facts, cost.memory, unit, bound[cost.memory_exact]))
    if everything:
        page.put("", _by_tensor(page, facts, cost.memory_by_tensor))
        for letter, size in cost.state.items():
            kept = formula(facts.shown(size))
            page.put("", page.fold(f"a step of {letter} needs {kept} elements of earlier ones"))
    work, time = _hard(facts.growth(cost.work)), _hard(order(facts.tied(cost.parallel_time)))
    steps = " and ".join(facts.walked)
    how = f"{steps} step by step" if steps else "all at once"
    number = facts.number(cost.parallel_time) if facts.sizes else None
    times = f" ({count(number)} steps)" if number is not None and steps else ""
    page.put("forward", page.fold(f"{work} work, {time} parallel time{times}: {how}"))
    work = _hard(facts.growth(cost.backward_work))
    time = _hard(order(facts.tied(cost.backward_parallel_time)))
    page.put("backward", page.fold(f"{work} work, {time} parallel time: twice the work"))
    if facts.sizes and facts.missing:
        page.put(
            "numbers",
            page.fold(f"need also {', '.join(facts.missing)}: --set {facts.missing[0]}=…"),
        )


def _hard(text: str) -> str:
    """A text that is not broken into lines."""
    return text.replace(" ", HARD)


def _by_tensor(page: Page, facts: Facts, sizes: Mapping[str, Size]) -> list[str]:
    return page.grid(
        [(name, formula(facts.shown(size))) for name, size in sizes.items() if size.terms]
    )


def _amount(page: Page, facts: Facts, size: Size, unit: str, bound: str = "") -> list[str]:
    """A cost: its formula; with sizes its number first. Of a long formula the leading terms."""
    number = facts.number(size) if facts.sizes else None
    if number is not None:
        result = f"{bound}{both(number)}{unit}"
        return page.flow([result, f"= {_formula(facts.tied(size), page.room - 2)}"], " ")
    if facts.shown(size) == Size.of(1):
        unit = unit.replace("operations", "operation").replace("elements", "element")
    room = page.room - columns(bound + unit)
    return page.fold(f"{bound}{_formula(facts.shown(size), room)}{unit}")


def _formula(size: Size, room: int) -> str:
    """All terms if there is room for them, else those that are not outgrown by others."""
    text = formula(size)
    short = leading(size)
    if columns(text) <= room or short == size:
        return text
    return f"{formula(short)} + …"
