"""A part of a document → programs that can be relied on: what is in doubt is not read, and said not to be.

    $$h[t,j] = …$$   $$y[t] = …$$   $$h_t = …$$     →     a program of two displays, and one of the third

A display that does not agree with the others is read by itself, with names of its own. What cannot be
read even so is computed nowhere, and listed with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from indicial.notation.faults import BESIDE, Skipped
from indicial.notation.parse import parse_text
from indicial.notation.source import Span
from indicial.notation.syntax import (
    Add,
    Call,
    Declaration,
    Equation,
    Expression,
    Index,
    Name,
    Number,
    Product,
    Statement,
    every,
    head,
)
from indicial.notation.vocabulary import SEEN, TOLD
from indicial.program.ir import Tensor
from indicial.program.names.letters import (
    COUNTING,
    LAST,
    is_capital,
    is_lone,
    live_letters,
)
from indicial.program.names.naming import Naming
from indicial.program.names.numbering import NAMED_BY_LETTERS, doubted
from indicial.program.names.sorting import says_what
from indicial.program.program import Program
from indicial.program.prose.conventions import Functions, defined, function_head, usual
from indicial.program.prose.doubts import about, indexed
from indicial.program.prose.foreign import foreign
from indicial.program.prose.layers import Above, below, ends, numbered_above, stem
from indicial.program.prose.parts import Block, Part
from indicial.program.prose.plainly import TIME, plainly, with_steps

Make = Callable[[Part], Program]


LAST_STEP = Name("T")

WHOLE = ("it does not read", "it uses an integral", "it states constraints")
"""What a row is left out for that may change the meaning of the others: then none of them is read."""


def settle(parts: list[Part], make: Make) -> list[Program]:
    """The programs of a document's parts."""
    foreign_statements: set[Statement] = set()
    parts = [_with_plain_scripts(part) for part in parts]
    stepped = {name.stem: name for part in parts for st in part.prose() for name in _stepped(st)}
    above = numbered_above(st for part in parts for st in part.prose())
    parts = [_with_last_layers(part, above) for part in parts] if above else parts
    words = {name for part in parts for name in _words(part.prose())}
    parts = [_with_words(_with_ends(part, stepped), words) for part in parts]
    parts = [_with_called(part) for part in parts]
    functions = defined(st for part in parts for st in part.statements)
    parts = [_with_usual(part, functions) for part in parts]
    about_tensors = [_without_foreign(part, foreign_statements) for part in parts]
    about_tensors = _without_lost_displays(about_tensors, foreign_statements)
    programs: list[Program] = []
    unread: set[Span] = set()
    for part in about_tensors:
        # What is not read where it stands is not read where it is taken over.
        if any(statement.span in unread for statement in part.borrowed):
            part = part.holding(part.statements)
        made = settled(part, make)
        unread |= {skipped.span for program in made for skipped in program.skipped}
        programs += made
    return programs


def _with_usual(part: Part, functions: Functions) -> Part:
    """The part with the functions that it calls and leaves to the reader to know."""
    found = usual(part.prose(), functions)
    return replace(part, borrowed=[*part.borrowed, *found], sketch=None) if found else part


def _with_called(part: Part) -> Part:
    """`h_θ(x) = Σ_i θ_i x_i = θ^⊤ x` beside `h_θ(x^{(i)})` is a function: what it is, its last side says."""
    prose = part.prose()
    heads = [(st, h) for st in prose if isinstance(st, Equation) and (h := function_head(st))]
    calls = {call for st, _ in heads for call in every([*prose], Call)}
    meant: dict[int, Statement] = {}
    for statement, own in heads:
        again = any(c.function == own.function and c != own for c in calls)
        if len(statement.sides) > 2 and again and all(map(_is_plain, own.arguments)):
            ends = (statement.sides[0], statement.sides[-1])
            meant[id(statement)] = replace(
                statement, sides=ends, relations=statement.relations[-1:]
            )
    return part.rewritten(meant) if meant else part


def _is_plain(argument: Expression) -> bool:
    return isinstance(argument, Name) and argument.bare


def _stepped(statement: Statement) -> Iterator[Name]:
    """The names that are numbered by steps: the h of `h_t = …`."""
    for name in statement.every(Name):
        if name.sub == (TIME,) and not is_capital(name.base):
            yield name


def _with_plain_scripts(part: Part) -> Part:
    """`\\mathrm f_{\\mathrm t}` beside `c_t` is `f_t`, and `h_{T_x}` is `h_T`, if no other T ends anything."""
    names = [n for st in part.prose() for n in st.every(Name) if n.sub]
    scripts = [i for n in names for i in n.sub if isinstance(i, Name)]
    italic = {i.base for i in scripts if not i.font} & COUNTING
    upright = {i for i in scripts if i.font == "roman" and i.bare and i.base in italic}
    last = {i for n in names if not is_capital(n.base) for i in n.sub if _ends_one_text(i)}
    ends = last if len(last) == 1 and LAST_STEP not in scripts else set()
    if not upright and not ends:
        return part

    def change(node: Expression) -> Expression:
        if isinstance(node, Name) and node in upright:
            return replace(node, font="")
        if isinstance(node, Name) and node in ends:
            return replace(LAST_STEP, span=node.span)
        return node.rebuild(change)

    return part.rewritten({id(st): st.rebuild(change) for st in part.prose()})


def _ends_one_text(script: Expression) -> bool:
    """The `T_x` and `Tx` of `h_{T_x}`: as many steps as x has."""
    if not isinstance(script, Name) or script.sup or script.accents:
        return False
    return script.base == "Tx" or (script.base == LAST_STEP.base and len(script.sub) == 1)


def _with_ends(part: Part, stepped: Mapping[Name, Name]) -> Part:
    """The T of `y = W h_T` is the last t, if the document has an h_t under whatever heading.

    The last state of a cell, `h_T`, and those of cells that run in one direction, `\\vec h_T`, are
    states among others, whatever else is said.
    """
    prose = part.prose()
    names = [name for st in prose for name in st.every(Name)]
    ends = {n.stem: n for n in names if len(n.sub) == 1 and _ends(n.sub[0])}
    held = [a for st in prose for call in st.every(Call) for a in call.arguments]
    ends |= {n.stem: n for n in held if isinstance(n, Name) and _begins(n)}  # the o_1 of `b_i(o_1)`
    states = [n for n in ends.values() if n.base in "hc" and n.sub[0] == LAST_STEP]
    if any(map(_directed, ends)):
        states += [n for n in names if _directed(n) and len(n.sub) == 1]
    labels = any(TIME in n.sub and n.base in "WUVb" for n in names)  # the t of `W_t` is no step
    if states and not labels:
        ends |= {n.stem: n for n in states}
        stepped = {n.stem: replace(n, sub=(TIME,)) for n in states} | dict(stepped)
    here = {n.stem for n in names if any(map(_counts, n.sub)) and not _ends(n.sub[0])}
    here -= {stem for stem in ends if _begins(ends[stem])}  # o_t may stand in what is not read
    found = [_numbered_by(stepped[stem], (TIME,)) for stem in ends if stem in stepped.keys() - here]
    return replace(part, statements=[*part.statements, *found], sketch=None) if found else part


def _with_last_layers(part: Part, above: Above) -> Part:
    """`J = -log a^{[L]}` is read at the last l, if the document has a^{[l]} and a^{[l-1]}."""
    prose = part.prose()
    found = ends(prose, above)
    letters = {above[stem] for stem in found}
    if not found:
        return part

    def change(node: Expression) -> Expression:
        lower = below(node, above, letters) if isinstance(node, Name) else node
        return lower if lower is not node else node.rebuild(change)

    meant = {id(st): st.rebuild(change) for st in prose}
    names = [n for st in meant.values() for n in st.every(Name)]
    steps = {one: n for n in names if (one := stem(n)) in found and n.sub and not n.sup}
    layers = [
        _numbered_by(replace(name, sub=(above[one], *name.sub[1:])), (above[one],))
        for one, name in steps.items()
    ]
    part = part.rewritten(meant)
    return replace(part, statements=[*part.statements, *layers], sketch=None)


def _words(statements: list[Statement]) -> Iterator[Name]:
    """The u_o and v_c of `p(o | c) = softmax_o u_o^⊤ v_c`: their letters number words."""
    calls = [call for st in statements for call in st.every(Call) if call.given]
    values = {a for call in calls for a in (*call.arguments, *(call.given or ())) if is_lone(a)}
    for name in (n for st in statements for n in st.every(Name) if values):
        told_apart = name.base in NAMED_BY_LETTERS or not name.base.isascii()  # `σ_z(W_z x)`
        if len(name.sub) == 1 and name.sub[0] in values and not told_apart:
            yield name


def _with_words(part: Part, words: set[Name]) -> Part:
    """The part with what numbers words anywhere in the document."""
    names = (n for st in part.prose() for n in st.every(Name)) if words else ()
    here = dict.fromkeys(n for n in names if n in words)
    found = [_numbered_by(n, (n.sub[0],)) for n in here if isinstance(n.sub[0], Name)]
    return replace(part, statements=[*part.statements, *found], sketch=None) if found else part


def _ends(script: Expression) -> bool:
    return isinstance(script, Name) and script.bare and script.base in LAST | {"n"}


def _begins(name: Name) -> bool:
    return len(name.sub) == 1 and isinstance(name.sub[0], Number)


def _directed(name: Name) -> bool:
    """`\\vec h`, `\\overleftarrow c`: the states of a cell that runs forward or backward."""
    return name.base in ("h", "c", "s", "z") and bool({"vec", "cev"} & set(name.accents))


PATIENCE, AGAIN = 200, 4
"""So many statements of a part, and so many times all of it, are read in search of displays that agree."""


def settled(part: Part, make: Make) -> list[Program]:
    """The programs of a part, none of them in doubt: one after the other, of what did not fit those before."""
    found: list[Program] = []
    rest: Part | None = part
    patience = PATIENCE + AGAIN * len(part.statements)
    while rest is not None:
        program, rest, patience = _first(rest, make, found[-1] if found else None, patience)
        found.append(program)
    return found


def _first(
    part: Part, make: Make, beside: Program | None, patience: int
) -> tuple[Program, Part | None, int]:
    """The first program of a part, what is left of it, and of the patience; `beside` is one that these
    displays do not fit."""
    apart: list[Statement] = []
    whole = part
    while True:
        # A function whose display is not read any more is one that nothing defines.
        part = _without_foreign(part, set()) if part.lost or apart else part
        patience -= len(part.statements)
        program, doubts = _attempt(part, make)
        if program is not None and beside is not None and not doubts:
            doubts = _too_small(program, beside, part.prose())
        if program is not None and not doubts:
            break
        # What came before may be about something else.
        rests = (part.holding(part.statements, draws=draws) for draws in (True, False))
        if fewer := next((r for r in rests if len(r.borrowed) < len(part.borrowed)), None):
            part = fewer
            continue
        if patience < 0:
            part = part.holding([*part.statements, *apart])
            doubts, apart = [("too many displays here do not agree", part.prose())], []
        wrong = {id(statement) for _, statements in doubts for statement in statements}
        said = [s for s in part.statements if says_what(s)]  # `x ∈ ℝ^d` holds for all of them
        displays = [d for d in part.displays() if not all(map(says_what, d))]
        if len(displays) > 1 and patience >= 0:
            others = [d for d in displays if not any(id(s) in wrong for s in d)] or displays[:1]
            kept = {id(s) for d in (said, *others) for s in d}
            apart += [s for s in part.statements if id(s) not in kept]
            part = part.holding([s for s in part.statements if id(s) in kept])
        else:
            part = part.without(
                {id(s): reason for reason, found in reversed(doubts) for s in found}
            )
    if not apart:
        return program, None, patience
    said = [s for s in part.statements if says_what(s)]
    rest = part.holding([*said, *apart]).bare()
    # What came before may be about something else for some displays, and not for those set apart.
    taken = [*rest.borrowed, *_taken(apart, whole)]
    borrowed = [st for st in whole.borrowed if st in taken]
    return program, replace(rest, borrowed=borrowed), patience


def _taken(statements: list[Statement], part: Part) -> list[Statement]:
    """The equations of names without indices that these statements read, and what those read."""
    plain = [st for st in part.borrowed if isinstance(st.left, Name) and _unnumbered(st.left)]
    found: list[Statement] = []
    waiting = list(statements)
    while waiting:
        read = waiting.pop().every(Name)
        new = [st for st in plain if st.left in read and st not in found]
        found += new
        waiting += new
    return found


def _unnumbered(name: Name) -> bool:
    """`H`, `h_{next}`."""
    words = (isinstance(i, Name) and (i.font == "roman" or len(i.base) > 3) for i in name.sub)
    return not name.sup and all(words)


def _too_small(
    program: Program, beside: Program, prose: list[Statement]
) -> list[tuple[str, list[Statement]]]:
    """`a^l = σ(w^l a^{l-1} + b^l)` beside `z_j^l = Σ_k w_{jk}^l a_k^{l-1}`: no numbers, but vectors."""
    if program.reading.convention:
        return []
    here, there = (p.analysis.code.tensors for p in (program, beside))
    fewer = [n for n, t in here.items() if n in there and len(t.axes) < len(there[n].axes)]
    if len(fewer) < 2:
        return []
    return [(f"{' and '.join(fewer[:2])} have more indices in another display", prose)]


def _attempt(part: Part, make: Make) -> tuple[Program | None, list[tuple[str, list[Statement]]]]:
    """The program of a part; why it is in doubt, and which statements are to blame."""
    prose = part.prose()
    try:
        program = make(part)
        doubts = [
            (m.text, about(prose, m) or list(prose)) for m in (program.doubts if prose else [])
        ]
        unread = {skipped.span: skipped.reason for skipped in program.unread}
        doubts += [(unread[st.span], [st]) for st in prose if st.span in unread]
        tensors, sketch = program.analysis.code.tensors, part.outline()
        every, bound = sketch.statements, sketch.naming.bound
        reasons = [(doubted(st, every, bound, tensors), st) for st in prose]
        doubts += [(reason, [st]) for reason, st in reasons if reason]
        wholes = [(_looked_up(st, sketch.naming, tensors), st) for st in prose]
        doubts += [(f"{key} is an index here, and a vector", [st]) for key, st in wholes if key]
        return program, doubts
    except Exception:
        # Whatever an author writes, the other displays of the document are read.
        if not prose:
            raise
        return None, [("it is not understood", list(prose))]


def _looked_up(statement: Statement, naming: Naming, tensors: Mapping[str, Tensor]) -> str:
    """The x of `y_{t,x_{t+1}}`, if it is a vector for each t: its elements are no tokens."""
    scripts = (i for n in statement.every(Name) for i in n.sub)
    for name in (n for i in scripts for n in i.every(Name) if n.sub):
        read = naming.read(name)
        found = tensors.get(read.key)
        if found is not None and read.items and len(found.axes) > len(read.items):
            return read.key
    return ""


def _without_lost_displays(parts: list[Part], foreign_statements: set[Statement]) -> list[Part]:
    """A display that two parts share is read by both of them or by none.

    Neither is one that repeats a row that is not read, nor what is drawn for rows that are not.
    """
    lost = dict.fromkeys(at for part in parts for at in part.lost)
    homes = {id(part.home): part.home for part in parts}  # most have the same
    blocks = {id(b): b for home in homes.values() for b in home.values() if not b.strict}
    for at, block in blocks.items():
        rows = [st for st in block.statements if not says_what(st)]
        again = any(st in foreign_statements for st in rows)
        beside = any(skipped.reason.startswith(WHOLE) for skipped in block.skipped)
        # Rows in brackets say what they mean by themselves, and their slips are certain.
        beside = (beside and not all(map(indexed, rows))) or _of_slopes(rows) or _reads_slopes(rows)
        drawn = all(isinstance(st, Equation) and st.draws for st in rows)
        if rows and (again or beside or (block.skipped and (drawn or _reads_skipped(block, rows)))):
            lost[at] = None
    if not lost:
        return parts
    held = {id(st) for part in parts for st in part.statements}
    kept = [part.without_displays(lost) for part in parts]
    told = {skipped.span for part in kept for skipped in part.skipped}
    kept[0].skipped += [
        Skipped(st.span, BESIDE)
        for at in lost
        for st in blocks[at].statements
        if id(st) not in held and st.span not in told
    ]  # rows that repeat others
    return kept


def _reads_skipped(block: Block, rows: list[Statement]) -> bool:
    """`H_t = H_{t-1} + i_t ⊗ f_t`, `y_t = H_t o_t`: without the first, H would be an input of the second."""
    lefts = (skipped.span.text.partition("=") for skipped in block.skipped)
    texts = [f"{left.replace('&', ' ')} = 0" for left, sign, _ in lefts if sign]
    heads = [
        head(st.left) for text in texts for st in parse_text(text, latex=True).statements if st.left
    ]
    defined = {h.stem for h in heads if isinstance(h, Name)}
    read = (n for st in rows if isinstance(st, Equation) for n in every(st.sides[1:], Name))
    return any(n.stem in defined for n in read)


def _of_slopes(rows: list[Statement]) -> bool:
    """`g_n = ∇ℓ_n`, `ĝ = Σ_n g_n`, `g = E ∇ℓ_n`: most of it is about derivatives. Of an optimiser's rows one is."""
    slopes = [row for row in rows if any(n.base in ("∂", "∇") for n in row.every(Name))]
    return 2 * len(slopes) > len(rows)


def _reads_slopes(rows: list[Statement]) -> bool:
    """`v_t = γ v_{t-1} + η ∇J(θ_t - γ v_{t-1})`, `θ_{t+1} = θ_t - v_t`: v is no input.

    `g_t = ∇J(θ_t)` only gives a gradient its name.
    """
    equations = [row for row in rows if isinstance(row, Equation)]
    mixed = [
        row
        for row in equations
        if isinstance(total := row.sides[-1], Add) and any(n.base == "∇" for n in total.every(Name))
    ]
    defined = {left.stem for row in mixed if isinstance(left := head(row.left), Name)}
    others = [row for row in equations if row not in mixed]
    return any(n.stem in defined for row in others for n in every(row.sides[1:], Name))


def _without_foreign(part: Part, found: set[Statement]) -> Part:
    """The part without what is not about tensors; that is added to what was `found`."""
    own = part.holding(part.statements).prose()
    sketch = part.outline()
    plain = {id(old): plainly(new, sketch) for old, new in zip(own, with_steps(own), strict=True)}
    if any(id(new) != old for old, new in plain.items()):
        part = part.rewritten(plain)
        own = part.holding(part.statements).prose()
    sketch = part.outline()
    reasons = {id(s): reason for s in own if (reason := foreign(s, sketch))}
    if not reasons:
        return part
    unread = [s for s in own if id(s) in reasons]
    found.update(unread)
    part = replace(part.without(reasons), borrowed=part.borrowed)
    seen = [st for st in map(_seen, unread) if st is not None and not _numbered(st, part)]
    seen += [st for st in map(_made_of_rows, unread) if st is not None]
    return replace(part, statements=[*part.statements, *seen])


def _made_of_rows(statement: Statement) -> Declaration | None:
    """The word on the left of `head = softmax(mask(Q K^⊤)) V`, which is not read: rows, as those of V."""
    left, right = statement.left, statement.sides[-1] if isinstance(statement, Equation) else None
    if not isinstance(left, Name) or len(left.base) < 2 or not isinstance(right, Product):
        return None
    last = right.factors[-1]
    if not isinstance(last, Name) or not is_capital(last.base):
        return None
    what = Name("matrix", span=left.span)
    return Declaration(TOLD, (left,), what, span=left.span)


def _numbered(seen: Declaration, part: Part) -> bool:
    """Whether what is read shows by itself how a name is numbered."""
    name = head(seen.items[0])
    others = [n for st in part.statements for n in st.every(Name) if any(map(_counts, n.sub))]
    return isinstance(name, Name) and any(
        (n.base, n.accents) == (name.base, name.accents) for n in others
    )


def _counts(argument: Expression) -> bool:
    return isinstance(argument, Name) and argument.bare and argument.base in COUNTING


def _seen(statement: Statement) -> Declaration | None:
    """What an equation that is not read shows of the name on its left: its t numbers steps."""
    left = statement.left
    if left is None or not isinstance(head(left), Name):
        return None
    if isinstance(left, Call) and not all(map(_counts, left.arguments)):
        left = left.function  # of `f_t(x)`
    short = [n.base for n in left.every(Name) if len(n.base) < 4]  # not the letters of `b_{gate}`
    letters = {c for base in short for c in base} & live_letters(statement)
    if not letters:
        return None
    return _numbered_by(left, tuple(Name(letter, span=left.span) for letter in sorted(letters)))


def _numbered_by(name: Expression, letters: tuple[Name, ...]) -> Declaration:
    places = Index(Number("0"), letters, span=name.span)
    return Declaration(SEEN, (name, places), span=name.span)
