"""A document's programs: which of its equations belong together.

A heading starts a new program, and so does a second, different definition of a name, unless both are
rows of one display in square brackets; an identical repeat does not. What a program reads and does not
define is taken from the program before it, if that defines it: slides go on where the last one stopped,
and a solution uses what its problem says. A numbered problem or exercise starts afresh, and so does a
part of one that a lone `b.` begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from indicial.notation import syntax as s
from indicial.notation.headings import SLIDE, is_part
from indicial.notation.printers import name_key
from indicial.notation.vocabulary import CALLED, SPACE, TOLD
from indicial.program.lowering.places import describe
from indicial.program.messages import IndicialError, Messages, there_is
from indicial.program.names.gradients import abbreviated, named, shaped, varying
from indicial.program.names.interleaved import by_elements
from indicial.program.names.letters import GROUPS, index_name, live_letters
from indicial.program.names.loops import STEPS
from indicial.program.names.naming import Reference
from indicial.program.names.occurrences import uses
from indicial.program.names.outline import Definition, Outline
from indicial.program.names.sorting import outline, says_what
from indicial.program.names.updates import updated
from indicial.program.prose.conventions import told_of_norm
from indicial.program.prose.entries import by_entries
from indicial.program.prose.parts import Block, Part
from indicial.program.prose.plainly import offers, with_arguments
from indicial.program.prose.usage import as_used
from indicial.program.vectors.kinds import is_greek
from indicial.program.vectors.labels import lettered, worded

FRESH = ("problem", "exercise", "question", "task", "assignment")
"""Headings that begin with one of these words share nothing with what stood before."""


def chosen(
    blocks: Sequence[Block], section: str = "", first: str = "", last: str = ""
) -> list[Block]:
    """The displays of a section with all that is under it, or from one section to another, as one.

    `chosen(blocks, "The cell")`, `chosen(blocks, first="Gates", last="The state")`: a title may be
    given in part, and in any case.
    """
    start = _standing_under(blocks, section or first)[0] if section or first else 0
    end = _standing_under(blocks, section or last)[-1] + 1 if section or last else len(blocks)
    title = section or f"{first or 'the beginning'} to {last or 'the end'}"
    return [replace(block, title=title, level=0) for block in blocks[start:end]]


def under_headings(blocks: Sequence[Block]) -> Iterator[tuple[Block, list[s.Statement]]]:
    """Each display with all that stands under its heading."""
    together: dict[str, list[s.Statement]] = {}
    for block in blocks:
        together.setdefault(block.title, []).extend(block.statements)
    for block in blocks:
        yield block, together[block.title]


def _standing_under(blocks: Sequence[Block], wanted: str) -> list[int]:
    """The numbers of the displays under a heading whose title is this, or holds it."""
    for fits in (str.__eq__, str.__contains__):
        found = [
            number
            for number, block in enumerate(blocks)
            if any(fits(t.casefold(), wanted.casefold()) for t in (block.title, *block.above))
        ]
        if found:
            return found
    titles = dict.fromkeys(t for block in blocks for t in (*block.above, block.title) if t)
    known = there_is(f"`{title}`" for title in titles)
    raise IndicialError(f"no section with equations is called `{wanted}`; {known}")


def divide(blocks: Iterable[Block]) -> list[Part]:
    """The programs of a document, in order."""
    parts: list[Part] = []
    sections: list[_Section] = []
    home: dict[int, Block] = {}
    for (title, level), group in groupby(
        as_used(blocks), key=lambda block: (block.title, block.level)
    ):
        together = _with_ends(_told_apart([b for block in group for b in _written_out(block)]))
        home |= {id(st): block for block in together for st in block.statements}
        found = [replace(p, level=level) for p in _divide_section(title, together)]
        parts += found
        every = (st for block in together for st in block.statements)
        said = (st for st in every if isinstance(st, s.Declaration))
        told = [st for st in said if st.keyword in (CALLED, SPACE, TOLD)]
        sections.append((found, told, [*told, *_shown_vectors(together)]))
    for part in parts:
        part.home = home
    for number, part in enumerate(parts):
        earlier = _in_scope(parts[:number], part)
        if earlier:
            _borrow(part, earlier)
    _tell(sections)
    return [p for p in parts if p.statements or p.faults or p.skipped]


_Section = tuple[list[Part], list[s.Declaration], list[s.Declaration]]
"""The programs of a section, what it is told of its names, and what it tells other sections."""


def _shown_vectors(blocks: Iterable[Block]) -> Iterator[s.Declaration]:
    """`ŷ = σ(w^⊤ x + b)` shows that w and x are vectors, `\\partial J/\\partial w` under another heading does not."""
    prose = (st for block in blocks if not block.strict for st in block.statements)
    for product in s.every(prose, s.Product):
        for one, two in pairwise(product.factors):
            pair = [name for name in (_turned(one), two) if isinstance(name, s.Name)]
            if len(pair) == 2 and all(n.bare and n.base.islower() for n in pair):
                for name in pair:
                    what = s.Name("vector", span=name.span)
                    yield s.Declaration(TOLD, (name,), what, span=name.span)


def _turned(node: s.Expression) -> s.Expression | None:
    """The w of `w^⊤`, `w^T`."""
    match node:
        case s.Transpose(body=body):
            return body
        case s.Name(sub=(), sup=(s.Name(base="T", sub=(), sup=()),)):
            return replace(node, sup=())
    return None


def _tell(sections: list[_Section]) -> None:
    """What is said of a name under one heading may hold under another, where nothing is said of it.

    A name is said to be something once, and read in all that follows; but letters are used again, so this weighs less.
    """
    telling = [(number, said) for number, (_, _, said) in enumerate(sections) if said]
    if not telling:
        return
    for number, (parts, own, _) in enumerate(sections):
        told = {item for st in own for item in st.items}
        others = (one for one in telling if one[0] != number)
        near = sorted(others, key=lambda other: (abs(other[0] - number), other[0]))
        for part in parts:
            if _fresh(part.title) or all(part.home[id(st)].strict for st in part.statements):
                continue
            read: dict[s.Name, int] = {}
            for name in s.every(part.statements, s.Name):
                read[name.stem] = max(read.get(name.stem, 0), len(name.scripts))
            known = {_kept_apart(item) for item in told if isinstance(item, s.Name)}
            for _, said in near:
                part.statements[:0] = [
                    st if st.keyword == CALLED else replace(st, keyword=TOLD, value=ELSEWHERE)
                    for st in said
                    for item in st.items
                    if isinstance(item, s.Name)
                    and _kept_apart(item) not in known
                    and item.stem in read
                    and len(item.scripts) <= max(1, read[item.stem])  # not of the x_i^t, of an x_i
                ]
                known |= {_kept_apart(i) for st in said for i in st.items if isinstance(i, s.Name)}


def _kept_apart(name: s.Name) -> tuple[s.Name, bool]:
    """The memory `\\mathbf M` and its size M are two names."""
    return name.stem, name.font == "bold"


ELSEWHERE = s.Number("2")
"""The value of what is said under another heading."""


def _told_apart(blocks: list[Block]) -> list[Block]:
    """What letters tell apart under one heading (`Γ_u`, `Γ_r`) is so in each of its displays.

    Derivatives that a formula gives have names there.
    """
    blocks = [
        block
        if block.strict
        else replace(block, statements=[*by_entries(with_arguments(offers(block.statements)))])
        for block in blocks
    ]
    prose = [st for block in blocks if not block.strict for st in block.statements]
    prose = shaped(abbreviated([by_elements(statement) for statement in varying(named(prose))]))
    strict = [st for block in blocks if block.strict for st in block.statements]
    live = set[str]().union(*map(live_letters, strict))
    apart = iter(lettered(worded(prose), live))
    return [
        block
        if block.strict
        else replace(block, statements=updated([next(apart) for _ in block.statements]))
        for block in blocks
    ]


ZERO = s.Number("0")


def _written_out(block: Block) -> Iterator[Block]:
    r"""`v_j = \begin{pmatrix} u_{1j} \\ \vdots \\ u_{nj} \end{pmatrix}` says that v_j is a vector, read or not."""
    yield block
    for statement in block.statements if not block.strict else ():
        if known := told_of_norm(statement):
            yield replace(block, statements=known, faults=(), skipped=())
        right = statement.sides[-1] if isinstance(statement, s.Equation) else None
        if isinstance(right, s.ListLiteral) and isinstance(statement.left, s.Name):
            rows = [i for i in right.items if isinstance(i, s.ListLiteral)]
            items = [x for i in right.items for x in (i.items if i in rows else (i,))]
            elements = [i for i in items if not isinstance(i, s.Dots)]
            if s.Dots() in items and all(map(_is_element, elements)) and elements:
                what = s.Name("matrix" if rows else "vector", span=statement.left.span)
                said = s.Declaration(TOLD, (statement.left,), what, span=statement.left.span)
                yield replace(block, statements=[said], faults=(), skipped=())


def _is_element(node: s.Expression) -> bool:
    """`u_{1,j}`, `θ_n`: a small letter, not bold, with a number."""
    return isinstance(node, s.Name) and bool(node.scripts) and not node.font and node.base.islower()


def _with_ends(blocks: list[Block]) -> list[Block]:
    """`β_T = 1`, `β_t = a β_{t+1}`: a recurrence that is begun at its last step, each with its guard."""
    prose = [st for block in blocks if not block.strict for st in block.statements]
    equations = [st for st in prose if isinstance(st, s.Equation) and st.guard is None]
    ends = {
        (step[0], step[1].lower())
        for st in equations
        if (step := _step(st.left)) and step[1].isupper() and st.sides[-1] != ZERO
    }
    begun = {step for st in equations if (step := _step(st.left)) in ends and _looks_on(st, step)}
    if not begun:
        return blocks

    def guarded(statement: s.Statement) -> s.Statement:
        step = _step(statement.left) if isinstance(statement, s.Equation) else None
        if not isinstance(statement, s.Equation) or step is None or statement.guard is not None:
            return statement
        letter = s.Name(step[1].lower(), span=statement.span)
        last = s.Add((s.Name(step[1].upper()), s.Negative(s.Number("1"))), span=statement.span)
        if (step[0], letter.base) not in begun:
            return statement
        is_end = step[1].isupper()

        def change(node: s.Expression) -> s.Expression:
            if isinstance(node, s.Name) and node.sub == (s.Name(step[1]),):
                return replace(node, sub=(letter,))
            return node.rebuild(change)

        sides = tuple(map(change, statement.sides)) if is_end else statement.sides
        sign = "=" if is_end else "<"
        guard = s.Comparison((letter, last), (sign,), span=statement.span)
        return replace(statement, sides=sides, guard=guard)

    return [
        block if block.strict else replace(block, statements=list(map(guarded, block.statements)))
        for block in blocks
    ]


def _looks_on(equation: s.Equation, step: tuple[str, str]) -> bool:
    """Whether it reads at the next step what it defines: the β_{t+1} of `β_t = a β_{t+1}`."""
    later = (s.Add((s.Name(step[1]), s.Number("1"))),)
    names = (n for side in equation.sides[1:] for n in side.every(s.Name))
    return any(n.base == step[0] and n.sub == later for n in names)


def _step(left: s.Expression) -> tuple[str, str] | None:
    """The β and the t of `β_t(j)`."""
    name = s.head(left)
    if not isinstance(name, s.Name) or len(name.sub) != 1:
        return None
    (letter,) = name.sub
    return (name.base, letter.base) if isinstance(letter, s.Name) else None


def _divide_section(title: str, blocks: list[Block]) -> list[Part]:
    """The programs under one heading: one more for each name that is defined anew."""
    every = [statement for block in blocks for statement in block.statements]
    sketch = outline(every, Messages(), document=True)
    definitions = {id(d.equation): d for d in sketch.definitions}
    parts = [Part(title)]
    said = [st for st in every if says_what(st)]
    seen: set[s.Statement] = set(said)
    bodies: dict[tuple[object, ...], s.Expression] = {}
    counts: dict[str, int] = {}
    stepped: dict[str, int] = {}
    done: set[str] = set()
    for block in blocks:
        # A display that defines something anew is an alternative as a whole.
        told = (_defined(statement, definitions, sketch) for statement in block.statements)
        anew = any(
            bodies.get(what, body) != body or counts.get(key, count) != count
            for what, key, count, body in filter(None, told)
        )
        steps = {
            d.key: len(d.items)
            for statement in block.statements
            if (d := definitions.get(id(statement))) is not None and d.relation in STEPS
        }
        # Lines with += that stand together add up; behind another display they begin anew.
        anew = anew or any(key in done or stepped.get(key, n) != n for key, n in steps.items())
        if anew and not block.strict and parts[-1].statements:
            parts.append(Part(title, _trailing_lists(parts[-1])))
            seen = set(said)
            bodies, counts, stepped, done = {}, {}, {}, set()
        stepped |= steps
        done |= set() if steps else set(stepped)
        here: dict[tuple[object, ...], s.Statement] = {}
        for statement in block.statements:
            if statement in seen:
                continue
            known = _defined(statement, definitions, sketch)
            if known is not None:
                what, key, count, body = known
                same = bodies.setdefault(what, body) == body
                if what in here and _in_brackets(statement) and not _offered(here[what], statement):
                    same = True  # no alternative, but a name that is defined twice
                here.setdefault(what, statement)
                if not same or counts.setdefault(key, count) != count:
                    parts.append(Part(title, _trailing_lists(parts[-1])))
                    seen = set(said)
                    bodies, counts = {what: body}, {key: count}
            seen.add(statement)
            parts[-1].statements.append(statement)
        parts[-1].faults.extend(block.faults)
        parts[-1].skipped.extend(block.skipped)
    if len(parts) == 1 and len(parts[0].statements) + len(said) == len(every):
        parts[0].sketch = sketch
    for part in parts:  # `x ∈ ℝ^d` holds for all that stands under the heading
        part.statements[:0] = said if part.statements else ()
    return parts


def _defined(
    statement: s.Statement, definitions: Mapping[int, Definition], sketch: Outline
) -> tuple[tuple[object, ...], str, int, s.Expression] | None:
    """What a statement defines, with its name, how many indices or arguments it has, and its right side."""
    definition = definitions.get(id(statement))
    if definition is not None:
        what = (definition.key, *definition.special)
        step = definition.relation in STEPS
        return None if step else (what, definition.key, len(definition.items), definition.body)
    left = statement.left
    call = left.base if isinstance(left, s.Index) else left
    if not isinstance(statement, s.Equation) or not isinstance(call, s.Call):
        return None
    key = sketch.naming.read(call.function).key
    if key not in sketch.functions:
        return None
    return (key, "function"), key, len(call.arguments), statement.sides[-1]


def _in_brackets(statement: s.Statement) -> bool:
    """Whether a left side has its indices in square brackets: `y[i] = …`."""
    left = statement.left
    return isinstance(left, s.Index) and isinstance(left.base, s.Name)


def _offered(first: s.Statement, second: s.Statement) -> bool:
    """Whether words stand with two rows of a display: `y[i] = … \\mbox{or} y[i] = …`."""
    rows = first.span.source.text[first.span.start : second.span.end]
    return re.search(r"\\(mbox|text\w*)\s*\{[^}]*[A-Za-z]{2}", rows) is not None


def _fresh(title: str) -> bool:
    """Whether a heading shares nothing with what stood before: `Problem 3`, a part of one."""
    return title.casefold().startswith(FRESH) or is_part(title)


def _trailing_lists(part: Part) -> list[s.Statement]:
    """The lists of parameters at the end of a part: they belong to what comes behind them."""
    count = 0
    for statement in reversed(part.statements):
        left = statement.left
        if not isinstance(left, s.Name) or left.base not in GROUPS:
            break
        count += 1
    moved = part.statements[len(part.statements) - count :]
    del part.statements[len(part.statements) - count :]
    return moved


def _in_scope(earlier: Sequence[Part], part: Part) -> list[Part]:
    """The parts whose names hold here, the nearest first: the one before, and the sections around it.

    A subsection goes on with those before it under the same heading; slides go on with the last one.
    """
    if not earlier or (part.title != earlier[-1].title and _fresh(part.title)):
        return []
    found = [earlier[-1]]
    if all(part.home[id(st)].strict for st in part.statements):
        return found  # a program says what it reads, or goes on with the one before it
    level = part.level
    for other in reversed(earlier[:-1]):
        if _fresh(other.title) or part.level in (0, SLIDE):
            break
        if other.level >= part.level == level or other.level < level:
            found.append(other)
        level = min(level, other.level)
        if level <= 1:
            break
    return found


def _borrow(part: Part, before: Sequence[Part]) -> None:
    """Takes over the equations and draws for what the part reads and does not define."""
    available: dict[str, list[_Source]] = {}
    functions: dict[str, s.Equation] = {}
    open_names: set[str] = set()
    for other in before:
        here: dict[str, list[_Source]] = {}
        functions = _functions(other) | functions
        for definition in other.outline().definitions:
            if (
                other.title != part.title
                and not definition.items
                and is_greek(definition.key)
                and definition.key.islower()
            ):
                continue  # the α of another section is another α
            source = _Source(definition.items, definition.body, definition.equation)
            here.setdefault(definition.key, []).append(source)
        for reference, distribution, equation in other.outline().draws:
            source = _Source(reference.items, distribution, equation)
            here.setdefault(reference.key, []).append(source)
        available = {key: here[key] for key in here if key not in open_names} | available
        open_names |= _read_openly(other)
    if not available and not functions:
        return
    sketch = part.outline()
    letters = _index_letters(part.statements)
    defined = sketch.defined | {reference.key for reference, _, _ in sketch.draws}
    defined = defined.union(sketch.inputs, sketch.parameters, sketch.constants)
    pending: list[s.Node] = [d.body for d in sketch.definitions]
    pending += [*sketch.claims, *(distribution for _, distribution, _ in sketch.draws)]
    spoken = (node for claim in sketch.claims for node in claim.walk())
    pending += [n.of.name for n in spoken if isinstance(n, s.Quantity) and n.of is not None]
    taken: list[s.Statement] = []
    while pending:
        body = pending.pop()
        for use in uses(sketch, body):
            key = use.reference.key
            if use.kind == "function" and key in functions and not sketch.is_function(key):
                if functions[key] not in taken:
                    taken.append(functions[key])
                    pending.extend(functions[key].sides[1:])
                continue
            if use.kind != "tensor" or key in defined or key not in available:
                continue
            if key in letters and not use.reference.items:
                continue  # an index of that letter
            if not _fits(use.reference, available[key]):
                continue
            defined = defined | {key}
            for source in available[key]:
                if source.equation not in taken:
                    taken.append(source.equation)
                    pending.append(source.body)
    taken += _drawn(part, available)
    if taken:
        earlier = [st for other in reversed(before) for st in other.whole]
        earlier = [st for n, st in enumerate(earlier) if st not in earlier[:n]]
        read = {n for st in (*taken, *part.statements) for n in st.every(s.Name)}
        declared = [d for d in earlier if isinstance(d, s.Declaration) and _concerns(d, read)]
        part.borrowed = [*declared, *(e for e in earlier if e in taken)]
        part.sketch = None


def _drawn(part: Part, available: Mapping[str, list[_Source]]) -> Iterator[s.Equation]:
    """The draws of what functions of one's own read: the ε of `μ(x_t) = x_t - β_t ε`, `ε ~ N(0, I)`."""
    sketch = part.outline()
    known = sketch.defined | {reference.key for reference, _, _ in sketch.draws}
    bodies = [f.body for f in sketch.functions.values()]
    keys = {use.reference.key for body in bodies for use in uses(sketch, body)} - known
    for key in sorted(keys & available.keys()):
        (first, *others) = [source.equation for source in available[key]]
        if not others and isinstance(first, s.Equation) and first.draws:
            yield first


def _read_openly(part: Part) -> set[str]:
    """The names that a part reads and nothing defines: what stood before it says nothing of them.

    A section that takes y for the target has not taken it for the output of a layer further up, and
    neither do those behind it.
    """
    sketch = part.outline()
    read = {use.reference.key for d in sketch.definitions for use in uses(sketch, d.body)}
    return read - sketch.defined - {reference.key for reference, _, _ in sketch.draws}


def _functions(part: Part) -> dict[str, s.Equation]:
    """The functions of one's own that a part defines in prose: `Attention(Q, K, V) = …`."""
    naming, known = part.outline().naming, part.outline().functions
    heads = [(st.left, st) for st in part.prose() if isinstance(st, s.Equation)]
    keys = [(naming.read(c.function).key, st) for c, st in heads if isinstance(c, s.Call)]
    return {key: st for key, st in keys if key in known and len(key) > 1}


def _index_letters(statements: Iterable[s.Statement]) -> set[str]:
    """The letters that stand in brackets by themselves."""
    items = (item for node in s.every(statements, s.Index) for item in node.items)
    return {name_key(name) for item in items if (name := index_name(item)) is not None}


def _concerns(declaration: s.Declaration, read: set[s.Name]) -> bool:
    """Whether a declaration is of use where these names are read; a constant may not be."""
    if declaration.keyword != "constant":
        return True
    names = {n for item in declaration.items for n in item.every(s.Name)}
    return bool(names & read)


@dataclass(frozen=True)
class _Source:
    """Where a name comes from: its indices, what it is made of, and the line that says so."""

    items: tuple[s.Expression, ...]
    body: s.Expression
    equation: s.Statement


def _fits(reference: Reference, sources: list[_Source]) -> bool:
    """Whether a read can mean these: as many indices, or all but the first of them."""
    read = [describe(i) for i in reference.items]
    for source in sources:
        left = [describe(i) for i in source.items]
        if len(read) == len(left) or not read or read == left[1:]:
            return True
    return False
