"""Getting programs: from the library, from files, from text.

>>> load("ugrnn").title
'ugrnn'
>>> load("y[j] = W[j,I] x[I]").errors
[]
>>> [program.title for program in load_document("notes.md")]
['Vanilla RNNs', 'Gated RNNs']
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from indicial import library
from indicial.derivations.report import STEPS, Derivations, derives
from indicial.notation.displays import parse_document, parse_inline, parse_pasted
from indicial.notation.documents import Display, Document, by_looks, read, read_text
from indicial.notation.faults import Fault, Skipped
from indicial.notation.parse import Parsed, canonical_name, parse_text
from indicial.notation.sentences import Prose, contradictions
from indicial.notation.source import Span
from indicial.notation.syntax import Equation, Statement
from indicial.program.messages import IndicialError, Message, refused
from indicial.program.names.batches import without_batch
from indicial.program.names.cells import Resolver
from indicial.program.names.fills import declared_constants, hole, is_word, no_hole
from indicial.program.program import Fill, Mend, Program
from indicial.program.prose.parts import Block, Part
from indicial.program.prose.sections import chosen, divide, under_headings
from indicial.program.prose.settling import settle
from indicial.program.slips.slips import slips
from indicial.program.slips.written_names import Heading

WHOLE = re.compile(r"[0-9]{1,9}")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NAMES = {"tex": "text.tex", "prose": "text.md", "formula": "text"}
"""What a text that is no file is called, by its looks."""


Text = str | os.PathLike[str] | Document
"""What is read: a name of the library, a path, equations, or a document that was read already."""


def load(
    *what: Text | Program,
    fills: Mapping[str, Fill] | None = None,
    constants: Mapping[str, str | float] | None = None,
    one_example: bool = False,
) -> Program:
    """One program from one or several texts: names of the library, paths, equations, or programs.

    `load("transformer", "focus")` joins the two: what one defines, the other may read.
    `load("stacked", fills={"CELL": "lstm"})` fills a hole, with a name of the library, a path or a program,
    and `constants={"λ": 0.5}` sets a constant.
    With `one_example` the index b of a batch is left out: `h[b,t,j]` is `h[t,j]`.
    """
    if not what:
        raise IndicialError("name what to load: a name of the library, a path, or equations")
    read = [w if isinstance(w, Program) else _document(w) for w in what]

    def mend(span: Span, text: str) -> list[Message] | None:
        if not any(isinstance(one, Document) and one.source is span.source for one in read):
            return None
        again = [
            read_text(_replaced(span, text), one.source.name, one.path)
            if isinstance(one, Document) and one.source is span.source
            else one
            for one in read
        ]
        return _joined(what, again, fills, constants, None, one_example).messages

    return _joined(what, read, fills, constants, mend, one_example)


def _joined(
    what: Sequence[Text | Program],
    read: Sequence[Document | Program],
    fills: Mapping[str, Fill] | None,
    constants: Mapping[str, str | float] | None,
    mend: Mend | None,
    one_example: bool,
    inside: tuple[Path, ...] = (),
) -> Program:
    parts = [_read_again(one) if isinstance(one, Program) else _read_text(one) for one in read]
    statements = [s for part in parts for s in part.statements]
    return Program(
        without_batch(statements) if one_example else statements,
        title=" + ".join(w.title if isinstance(w, Program) else _title(w) for w in what),
        faults=[f for part in parts for f in part.faults],
        skipped=[s for part in parts for s in part.skipped],
        document=any(part.document for part in parts),
        resolve=_resolver_of(what, inside),
        fills=fills,
        constants=constants,
        silencer=lambda message: any(part.silenced(message) for part in parts),
        prose=[s for part in parts for s in part.prose],
        mend=mend,
    )


def _resolver_of(what: Sequence[Text | Program], inside: tuple[Path, ...]) -> Resolver:
    """What fills the holes of these texts; a program brings its own with it."""
    brought = {n: c for one in what if isinstance(one, Program) for n, c in one.cells.items()}
    found = resolver([folder for one in what for folder in _beside(one)], inside)
    return lambda name: brought.get(name) or found(name)


def _replaced(span: Span, text: str) -> str:
    """The whole text that a span stands in, with other words in its place."""
    whole = span.source.text
    return whole[: span.start] + text + whole[span.end :]


@dataclass(frozen=True)
class _Part:
    """What one of several texts adds to a program."""

    statements: Sequence[Statement]
    faults: Sequence[Fault]
    skipped: Sequence[Skipped]
    document: bool
    silenced: Callable[[Message], bool]
    prose: Sequence[Statement] = ()
    """Those of the statements that stand in prose."""


def _read_text(document: Document) -> _Part:
    if not _is_equations(document):
        return _read_prose(document)
    parsed = list(_parsed(document))
    return _Part(
        [s for p in parsed for s in p.statements],
        [*document.faults, *(f for p in parsed for f in p.faults)],
        [s for p in parsed for s in p.skipped],
        not _is_equations(document),
        _silencer([document]),
    )


def _read_prose(document: Document) -> _Part:
    """All that is read of a document, as one program; what is read in none of its programs is not read here.

    What several programs of a document say of a name need not agree: then nothing is forgiven.
    """
    blocks = _displayed(document) or _spoken(document)
    made = _programs_of(blocks, document, None, resolver(_beside(document)))
    skipped = list(dict.fromkeys(s for program in made for s in program.skipped))
    statements = list(dict.fromkeys(s for program in made for s in program.written))
    read = any(isinstance(s, Equation) for s in statements)
    unread = [] if read else [_unread(one) for one in skipped]
    return _Part(
        statements,
        [*unread, *(fault for program in made for fault in program.faults)],
        skipped,
        True,
        _silencer([document]),
        made[0].prose if len(made) == 1 else (),
    )


def _unread(skipped: Skipped) -> Fault:
    """What is said of each formula where a whole text is not read."""
    return Fault("not-read", f"this is not read: {skipped.reason}", (skipped.span,))


def _read_again(program: Program) -> _Part:
    """A program that is joined with others, or filled otherwise, is read anew."""
    if program.errors:
        raise refused(program.errors)
    return _Part(program.written, (), program.skipped, program.document, program.silenced)


def load_document(
    path: Text,
    *,
    section: str = "",
    first: str = "",
    last: str = "",
    fills: Mapping[str, Fill] | None = None,
) -> list[Program]:
    """All programs of a document, one for each heading; an `.eq` file is one program.

    `section="The cell"` reads what stands under that heading, its subsections too, as one program;
    so do `first` and `last` with all from one heading to the end of the section under another.
    `fills={"CELL": "gru"}` fills that hole wherever a program calls it.
    """
    document = _document(path)
    if _is_equations(document):
        return [load(path, fills=fills)]
    stretch = (section, first, last)
    known = resolver(_beside(path))

    def mend(span: Span, text: str) -> list[Message] | None:
        if span.source is not document.source or document.flavour == "notebook":
            return None
        again = read_text(_replaced(span, text), document.source.name, document.path)
        # Derivations are left out: no hint is about a step, and trying them all again takes long.
        found = (m for p in _in_document(again, *stretch, None, known) for m in p.judged())
        return [m for m in found if m.code not in STEPS]

    return _filled(_in_document(document, *stretch, mend, known), fills or {})


def _in_document(
    document: Document, section: str, first: str, last: str, mend: Mend | None, known: Resolver
) -> list[Program]:
    """The programs of a document, or of a stretch of it."""
    blocks = _displayed(document)
    if section or first or last:
        blocks = chosen(blocks, section, first, last)
    return _programs_of(blocks, document, mend, known)


def _displayed(document: Document) -> list[Block]:
    """What the displays of a document say, with the headings that they stand under."""
    return [
        Block(
            found.title, p.statements, p.faults, p.skipped, display.strict, found.level,
            found.above,
        )
        for found, display, parsed in parse_document(document)
        for p in [_judged(parsed, display, document)]
    ]  # fmt: skip


def _spoken(document: Document) -> list[Block]:
    """The equations inside the sentences of a text that displays none."""
    found = (loose(parsed) for _, parsed in parse_inline(document))
    return [Block("", p.statements, p.faults, p.skipped, strict=False) for p in found]


def _programs_of(
    blocks: list[Block], document: Document, mend: Mend | None, known: Resolver
) -> list[Program]:
    headings: dict[int, Heading] = {}
    blocks = [
        _with_slips(block, headings.setdefault(id(together), Heading(together)))
        for block, together in under_headings(blocks)
    ]
    spoken = (_with_tried_hint(fault, document) for fault in _contradictions(document))
    return programs(blocks, (*document.faults, *spoken), _silencer([document]), mend, known)


def _contradictions(document: Document) -> list[Fault]:
    return contradictions(
        Prose(document.source, [f for f in document.formulas if f.surface == "latex"])
    )


def _with_tried_hint(fault: Fault, document: Document) -> Fault:
    """A fault between sentences and formulas; its hint is shown if the text is free of it then."""
    if fault.fix is None or fault.fix[0].source is not document.source:
        return fault
    again = read_text(_replaced(*fault.fix), document.source.name, document.path)
    place = fault.spans[0].start
    still = any(f.code == fault.code and f.spans[0].start == place for f in _contradictions(again))
    return replace(fault, hint="", fix=None) if still else fault


def _filled(programs: list[Program], fills: Mapping[str, Fill]) -> list[Program]:
    """The programs of a document, each with those of its holes filled that were asked for."""
    own = [{h: v for h, v in fills.items() if hole(h, p.written)} for p in programs]
    for name in fills:
        if not any(name in mine for mine in own):
            raise no_hole(name)
    return [p.filled(mine) if mine else p for p, mine in zip(programs, own, strict=True)]


def _with_slips(block: Block, together: Heading) -> Block:
    """A display of prose with the slips that it shows, whether or not it is read."""
    if block.strict:
        return block
    return replace(block, faults=(*block.faults, *slips(block.statements, together)))


def _parsed(document: Document) -> Iterator[Parsed]:
    """What each display says, of a text that is to be one program."""
    for display, parsed in parse_pasted(document):
        yield strict(parsed) if display.strict else parsed


def _judged(parsed: Parsed, display: Display, document: Document) -> Parsed:
    """What a display says: what does not read is a slip among equations, and in prose something else."""
    if display.strict:
        return strict(parsed)
    return parsed if document.flavour == "formula" else loose(parsed)


SLIPS = frozenset({"bracket", "star-script"})
"""Faults of notation that nobody means: a bracket without its partner, an `_` that became a star."""


def loose(parsed: Parsed) -> Parsed:
    """In prose a formula that does not read is left out, unless it can be nothing but a slip."""
    certain = tuple(f for f in parsed.faults if f.code in SLIPS)
    out = tuple(
        Skipped(f.row or f.spans[0], f"it does not read: {f.message}")
        for f in parsed.faults
        if f.code not in SLIPS
    )
    return replace(parsed, faults=certain, skipped=(*parsed.skipped, *out))


def strict(parsed: Parsed) -> Parsed:
    """Among equations in the plain notation, in a document too, a line that is none is a slip."""
    faults = [
        Fault("no-equation", f"this line says nothing: {s.reason}", (s.span,), _mend(s))
        for s in parsed.skipped
    ]
    return replace(parsed, faults=(*parsed.faults, *faults), skipped=())


def _mend(skipped: Skipped) -> str:
    """What may be meant by a line that says nothing: `Claim y ≥ 0`, `y ≥ 0`, `claim y => 0`."""
    text = skipped.span.text
    word = text.partition(" ")[0]
    if word != "claim" and get_close_matches(word.rstrip(":").lower(), ["claim"], cutoff=0.7):
        return f"did you mean `claim`? `{word}` begins nothing here"
    if "=>" in text:
        return "≥ is written `>=`"
    if "inequality" in skipped.reason:
        return f"to have it tried, write `claim {text}`"
    return "is a `=` missing?"


def programs(
    blocks: Iterable[Block],
    faults: Sequence[Fault],
    silencer: Callable[[Message], bool],
    mend: Mend | None = None,
    known: Resolver | None = None,
) -> list[Program]:
    """The programs that the blocks of a document make; its faults stand with the first of them."""

    def make(part: Part) -> Program:
        return Program(
            part.whole,
            title=part.title,
            faults=part.faults,
            skipped=part.skipped,
            document=True,
            sketch=part.sketch,
            resolve=known or resolve,
            silencer=silencer,
            prose=part.prose(),
            mend=mend,
        )

    blocks = list(blocks)
    parts = divide(blocks)
    if parts:
        parts[0].faults = [*faults, *parts[0].faults]
    made = settle(parts, make)
    if not made and faults:
        made = [Program([], faults=faults, document=True, silencer=silencer)]
    if not made and derives(blocks):
        made = [Program([], document=True, silencer=silencer)]
    amend = Derivations(blocks, made).amend
    for program in made:
        program.amend = amend
    return made


def told_apart(
    programs: Sequence[Program], given: Mapping[str, str], heads: Sequence[str] = ()
) -> tuple[dict[str, int], dict[str, str | float], dict[str, str]]:
    """`--set J=256 --set λ=0.1 --set CELL=lstm` → sizes, constants, what fills holes.

    `heads` are sizes that the programs get from what they will be joined with.
    """
    sizes: dict[str, int] = {}
    constants: dict[str, str | float] = {}
    fills: dict[str, str] = {}
    declared = list(dict.fromkeys(n for p in programs for n in declared_constants(p.written)))
    known = {*heads, *(size for program in programs for size in program.analysis.code.sizes)}
    for name, value in given.items():
        key, number = canonical_name(name), NUMBER.fullmatch(value)
        if key in declared:
            if not number or not math.isfinite(float(value)):
                raise IndicialError(
                    f"--set {name}={value}: {name} is a constant of the equations, a number such as 0.01"
                )
            constants[key] = value
        elif WHOLE.fullmatch(value) and int(value):
            sizes[name] = int(value)
        # A word in capitals is a hole, which is asked for nothing: it may have to be filled first.
        elif key in known and not (len(key) > 1 and key.isupper()):
            raise IndicialError(
                f"--set {name}={value}: {name} is a size of the model, a whole number from 1 to 999,999,999"
            )
        elif number:
            listed = f" ({', '.join(declared)})" if declared else ""
            raise IndicialError(
                f"--set {name}={value}: {name} is not a constant of the equations{listed}, and a size is "
                "a whole number from 1 to 999,999,999"
            )
        else:
            fills[name] = value
    return sizes, constants, fills


def resolve(name: str) -> list[Statement] | None:
    """The statements of a library model, for filling a hole with it."""
    if name not in library.names():
        return None
    return list(parse_text(library.path(name).read_text(encoding="utf-8"), f"{name}.eq").statements)


def resolver(beside: Sequence[Path] = (), inside: tuple[Path, ...] = ()) -> Resolver:
    """Who knows what fills a hole: files beside the text, then in INDICIAL_PATH, then the library.

    `inside` are the files that are being read to fill a hole: one that is filled with itself has no end.
    """
    listed = os.environ.get("INDICIAL_PATH", "").split(os.pathsep)
    folders = [*beside, *(Path(folder) for folder in listed if folder)]

    def known(name: str) -> list[Statement] | None:
        file = f"{name}{library.SUFFIX}" if is_word(name) else name
        places = [*([] if is_word(name) else [Path(name)]), *(folder / file for folder in folders)]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            return resolve(name)
        if path.resolve() in inside:
            raise IndicialError(f"{path} fills a hole with itself; name another cell there")
        cell = _joined([path], [read(path)], None, None, None, False, (*inside, path.resolve()))
        return cell.as_filling()

    return known


def _document(what: Text) -> Document:
    """A name of the library, else a file, else text that holds an equation."""
    if isinstance(what, Document):
        return what
    if isinstance(what, str) and what in library.names():
        return read_text(library.path(what).read_text(encoding="utf-8"), f"{what}.eq")
    if isinstance(what, str) and _is_text(what):
        return read_text(what, _NAMES.get(by_looks(what), "text.eq"))
    path = named_path(what)
    if path.is_dir():
        raise IndicialError(f"{path} is a folder: name a file in it, or a model")
    if not path.exists():
        close = difflib.get_close_matches(str(what), library.names(), 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise IndicialError(
            f"there is no file and no model {what}{hint} (`indicial models` lists the models)"
        )
    return read(path)


def named_path(what: str | os.PathLike[str]) -> Path:
    """The path of what is named; an empty name, of a variable that is not set, is no folder."""
    if not os.fspath(what).strip():
        raise IndicialError("an empty name names nothing: give a file, a model or equations")
    return Path(what)


def _beside(what: Text | Program) -> list[Path]:
    """The folder of a text that is a file."""
    if isinstance(what, Document):
        return [] if what.path is None else [what.path.parent]
    if isinstance(what, Program) or _is_text(what) or what in library.names():
        return []
    return [Path(what).parent]


def _is_text(what: Text) -> bool:
    """Whether it is equations, and no name of them."""
    return isinstance(what, str) and ("=" in what or "\n" in what)


def _title(what: Text) -> str:
    if isinstance(what, Document):
        return Path(what.source.name).stem
    if _is_text(what):
        return "text"
    return Path(what).stem


def _is_equations(document: Document) -> bool:
    return document.flavour == "plain"


def _silencer(documents: list[Document]) -> Callable[[Message], bool]:
    def silenced(message: Message) -> bool:
        return any(d.silenced(message.code, message.span) for d in documents)

    return silenced
