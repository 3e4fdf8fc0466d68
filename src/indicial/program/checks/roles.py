"""What each name is: input, parameter, constant or defined; and mistakes in how names are used.

In an `.eq` file who declares an input declares them all: any other name that is used and never defined
is a parameter, unless it moves with the data; then it must be a slip. Where nothing is declared, and in
prose, such a name is an input or a parameter by convention, and `explain` says which guess was made.
A list `Φ = (W, B, …)` of parameters and the equations must agree.
"""

from __future__ import annotations

import difflib
import unicodedata

from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.notation.syntax import Index, Name
from indicial.program.checks.orders import exchanged
from indicial.program.checks.similar import in_place, own_letters, similar
from indicial.program.checks.spelling import (
    MOST_MESSAGES,
    counterpart,
    plain,
    say_unused,
    undecorated,
)
from indicial.program.checks.suspicions import suspect
from indicial.program.checks.timing import expanded, reads
from indicial.program.lowering.context import Context, TensorInfo
from indicial.program.lowering.lower import Lowering
from indicial.program.lowering.places import describe
from indicial.program.names.naming import Reference
from indicial.program.names.occurrences import counts, recurrences

COMPUTED = frozenset({"query", "key", "value", "score"})
"""Words for what is computed; the V of `Value` is no weight."""


def assign_roles(context: Context, lowering: Lowering) -> None:
    """Gives every tensor its role, and says what does not fit."""
    check_list(context)
    met = exchanged(context)
    # Where indices are exchanged, sizes have met that have nothing to do with each other.
    sequence = {} if met else _sequence_classes(context)
    shifted = _shifted(context)
    siblings, steps = _siblings(context), recurrences(context.outline)
    for info in list(context.tensors.values()):
        if info.role:
            continue
        if GRADIENT in info.key or info.key[0] == "∂":
            info.role, info.guess = "input", "a gradient"
        elif "." in info.key or (not context.document and _unreadable(context, lowering, info)):
            info.role = "parameter"
        elif context.document or not context.outline.inputs:
            _guess(context, info, shifted, siblings, steps)
        else:
            _plain(context, info, shifted, sequence)
    own_letters(context)
    if context.faulty:
        similar(context)  # what was not read changes nothing about two names
        return
    _unused(context)
    _joined_letters(context)
    suspect(context, lowering, set(_sequence_classes(context)))


# ---------------------------------------------------------------------- names that nothing defines


def _sequence_classes(context: Context) -> dict[int, str]:
    """The sizes that change from example to example: positions in a text or an image, members of a batch."""
    found: dict[int, str] = {}
    for info in context.tensors.values():
        if info.role != "input":
            continue
        axes = info.axes if info.values is not None else info.axes[:-1]
        for axis in axes:
            found.setdefault(context.classes.find(axis.size), f"{info.key}")
    return found


def _shifted(context: Context) -> dict[str, tuple[Span, Span]]:
    """The tensors that are read at a shifted index, where, and for what; along layers that is usual."""
    found: dict[str, tuple[Span, Span]] = {}
    for statement in context.statements:
        layers = {v.name for v in statement.variables if v.shift}
        if context.tensors[statement.target].hidden:
            continue
        for read in expanded(context, statement):
            for place in read.places:
                shift = place.shift
                if shift is not None and shift[1] and shift[0] not in layers:
                    found.setdefault(read.tensor, (read.span, statement.left_span))
    return found


def _stated(context: Context, key: str) -> bool:
    """An input that the text declares; the first layer of a stack may be one by default."""
    return key in context.outline.inputs or key.removesuffix("_0") in context.outline.inputs


def _lefts(context: Context, key: str) -> list[tuple[Span, str]]:
    """The left sides of the equations that read a tensor."""
    return [
        (st.left_span, f"no {key} here")
        for st in context.statements
        if any(r.tensor == key for r in reads(st))
    ]


def _unreadable(context: Context, lowering: Lowering, info: TensorInfo) -> bool:
    """Whether a name can be neither input nor parameter, with a message; prose is in doubt."""
    if info.probability:
        context.messages.error(
            "unknown-name", f"{info.key} is read, but no equation defines it", info.span,
            hint="define it: P(w_t | …) = softmax_{w_t} …",
        )  # fmt: skip
        return True
    if not info.axes and info.key in lowering.index_keys:
        context.messages.error(
            "unbound-index", f"{info.key} is used as a number here, but is not an index of this equation",
            (info.span, "not bound"), *_lefts(context, info.key),
            hint=f"put {info.key} on the left, or declare `parameter {info.key}` if it is a number",
        )  # fmt: skip
        return True
    return False


def _plain(
    context: Context,
    info: TensorInfo,
    shifted: dict[str, tuple[Span, Span]],
    sequence: dict[int, str],
) -> None:
    """In `.eq` with declared inputs: a parameter, unless it moves with the data."""
    info.role = "parameter"
    if info.values is not None:
        hint, sites = _meant(context, info)
        context.messages.error(
            "unknown-name", f"{info.key} is used as a token, but is never defined",
            (info.span, "never defined"), *sites,
            hint=f"{hint}Declare `input {info.key}[…] in V`, if it is a token",
        )  # fmt: skip
        return
    moved = shifted.get(info.key)
    if moved is not None:
        hint, sites = _meant(context, info)
        context.messages.error(
            "unknown-name", f"{info.key} is read at a shifted index, but is never defined",
            (moved[0], "never defined"), (moved[1], "not shifted like that"), *sites,
            hint=f"{hint}A parameter cannot be shifted; write an equation for {info.key}, or `input {info.key}[…]`",
        )  # fmt: skip
        return
    for axis in info.axes:
        owner = sequence.get(context.classes.find(axis.size))
        if owner is not None and owner != info.key and _stated(context, owner):
            letters = ",".join(a.letter or "·" for a in info.axes)
            hint, sites = _meant(context, info)
            context.messages.error(
                "unknown-name",
                f"{info.key} is never defined, but along {axis.letter} it is as long as the input {owner}",
                (info.span, "never defined"), *sites, (context.tensors[owner].span, f"the input {owner}"),
                hint=f"{hint}If it is learned for each position, declare "
                     f"`parameter {info.key}[{letters}]`",
            )  # fmt: skip
            return


def _meant(context: Context, info: TensorInfo) -> tuple[str, list[tuple[Span, str]]]:
    """What the writer may have meant by a name that nothing defines: a hint, and where that is."""
    near = near_name(info.key, context)
    unread = counterpart(context, info)
    sites = [(unread.span, f"{unread.key} is never read")] if unread is not None else []
    hint = f"did you mean {unread.key if unread is not None else near}? " if unread or near else ""
    return hint, sites


GRADIENT = ".grad"
"""`W.grad` is computed from the loss, by what is not written here; nobody learns it."""
ATTENDED = {"Q", "K", "V"}
CONVENTION = {"input": "xywu", "parameter": "eWBbVUEg"}


def _guess(
    context: Context,
    info: TensorInfo,
    shifted: dict[str, tuple[Span, Span]],
    siblings: dict[str, list[TensorInfo]],
    steps: set[str],
) -> None:
    """Where nobody declares: by list, by movement, by letter."""
    base = "" if info.key.casefold() in COMPUTED else info.key[:1]
    sibling = _sibling(info, siblings)
    if sibling is not None:
        info.role, info.guess = "input", "never defined"
        # `ĝ_t` beside `g̃_t`: an accent may well make another name, unless it is read as a state is.
        accent = undecorated(info.key) == undecorated(sibling.key)
        severity = "note" if accent and info.key not in shifted else "error"
        context.messages.add(
            severity, "unknown-name", f"{info.key} is never defined, but {sibling.key} is",
            (info.span, "never defined"), (sibling.span, f"{sibling.key} is defined here"),
            hint=f"did you mean {sibling.key}?", fix=(info.span, in_place(info.span, sibling.span)),
        )  # fmt: skip
        return
    if context.outline.parameter_list:
        info.role, info.guess = "input", "neither defined nor in the list of parameters"
    elif info.probability:
        info.role, info.guess = "input", info.guess or "an open probability"
    elif info.key in shifted:
        info.role, info.guess = "input", "read at a shifted index and never defined"
    elif base and base in "wu" and "_" in info.key and steps and not _at_steps(info, steps):
        info.role, info.guess = "parameter", f"by its letter {base}"  # the w of `w_h h_{t-1}`
    elif base in CONVENTION["input"]:
        info.role, info.guess = "input", f"by its letter {base}"
    elif _at_steps(info, steps):
        info.role, info.guess = "input", "another one at each step"
    elif info.key in ATTENDED and context.tensors.keys() >= ATTENDED:
        info.role, info.guess = "input", "never defined"  # values come with their queries and keys
    elif base in CONVENTION["parameter"]:
        info.role, info.guess = "parameter", f"by its letter {base}"
    elif info.values is not None:
        info.role, info.guess = "input", "used as a token"
    elif _is_weight(info, steps):
        info.role, info.guess = "parameter", "a matrix that is the same at every step"
    else:
        info.role, info.guess = "input", "never defined"


def _at_steps(info: TensorInfo, steps: set[str]) -> bool:
    """The B_t of `h_t = A_t h_{t-1} + B_t x_t`: nobody learns one for each step; for each layer everybody does."""
    return any(axis.letter in {"t", "n", "τ"} & steps for axis in info.axes)


def _is_weight(info: TensorInfo, steps: set[str]) -> bool:
    """The A, B, C of `h_t = A h_{t-1} + B x_t`: a capital with two indices, neither of them a step.

    The `t_{in}` of `M[t_{in},J]` is a step of another text.
    """
    if len(info.axes) != 2 or not info.key[:1].isupper():
        return False
    letters = {(axis.letter or "").partition("_")[0] for axis in info.axes}
    return bool(steps) and not letters & steps


def _siblings(context: Context) -> dict[str, list[TensorInfo]]:
    """The defined tensors by their names without decoration and case."""
    found: dict[str, list[TensorInfo]] = {}
    for info in context.tensors.values():
        if info.role == "defined" and not info.hidden:
            found.setdefault(plain(info.key), []).append(info)
    return found


def _sibling(info: TensorInfo, siblings: dict[str, list[TensorInfo]]) -> TensorInfo | None:
    """A defined tensor that differs from an undefined, decorated one in its decoration only."""
    for other in siblings.get(plain(info.key), ()):
        if len(other.axes) != len(info.axes) or not info.axes:
            continue
        if other.key.swapcase() == info.key.swapcase():
            continue
        decorated = undecorated(info.key) != unicodedata.normalize("NFD", info.key)
        if decorated and undecorated(other.key) == undecorated(info.key):
            return other
        first = (other.key[:1].swapcase() + other.key[1:]) == info.key
        if first and ("^" in info.key or "_" in info.key):
            return other
    return None


# ---------------------------------------------------------------------- how names are used


def _unused(context: Context) -> None:
    """Inputs that no equation mentions; one that is broken mentions them all the same."""
    read = {node.tensor for statement in context.statements for node in reads(statement)}
    read |= set(counts(context.outline))
    generated = {r.key for r, _, _ in context.outline.generated}
    for key, (reference, _) in context.outline.inputs.items():
        info = context.tensors.get(key)
        if info is None or info.role != "input" or key in read or key in generated:
            continue
        say_unused(context, "input", key, reference.span)


def _joined_letters(context: Context) -> None:
    """An input that is read as `x[t,K]` and once as `x[t,j]`: that alone may make J and K one size."""
    for info in context.tensors.values():
        if info.role == "defined" or info.hidden:
            continue
        for number in range(len(info.axes)):
            reads = [
                (span, families[number])
                for span, families, _ in info.reads
                if number < len(families)
            ]
            letters = [f for _, f in reads if f not in ("#", "@", *context.outline.labels)]
            for letter in sorted(set(letters)):
                others = sorted(set(letters) - {letter})
                if letters.count(letter) == 1 and len(letters) > 2 and len(others) == 1:
                    span = next(s for s, f in reads if f == letter)
                    if any(f != letter and _beside(context, s, span) for s, f in reads):
                        continue  # `x_i^⊤ x_j`: two places of one sequence
                    meant = _to_be_changed(context, info, span, letter)
                    say = context.messages.warning if meant else context.messages.note
                    say(
                        "sizes-joined",
                        f"{info.key} is read with {others[0]} elsewhere and with {letter} here: "
                        f"the two become one size",
                        (span, f"{letter} here"), (_nearest(reads, span, others[0]), f"{others[0]} here"),
                        hint=f"did you mean {meant}?" if meant else
                        f"did you mean another tensor, or the index {others[0]}?",
                    )  # fmt: skip


def _nearest(reads: list[tuple[Span, str]], place: Span, letter: str) -> Span:
    """The read with that letter that stands nearest to a place."""
    found = [span for span, other in reads if other == letter]
    return min(found, key=lambda span: abs(span.start - place.start))


def _beside(context: Context, one: Span, other: Span) -> bool:
    """Whether two places are in one equation."""
    return any(one.within(st.span) and other.within(st.span) for st in context.outline.statements)


def _to_be_changed(context: Context, info: TensorInfo, place: Span, letter: str) -> str:
    """The h of `h'[t,j] = G[t,j] x[t,j]`, if it goes by j and is not read there: then it was to be changed."""
    for definition in context.outline.definitions:
        left = definition.left.base if isinstance(definition.left, Index) else definition.left
        if not place.within(definition.span) or not isinstance(left, Name):
            continue
        plain = name_key(Name(left.base, sup=left.sup))
        other = context.tensors.get(plain)
        if (
            other is None
            or plain in (definition.key, info.key)
            or len(other.axes) != len(info.axes)
        ):
            continue
        if any(span.within(definition.span) for span, _, _ in other.reads):
            continue
        lefts = [d.items[-1:] for d in context.outline.definitions if d.key == plain]
        if any(unicode(item).lower() == letter for items in lefts for item in items):
            return plain
    return ""


def check_list(context: Context) -> None:
    """`Φ = (W, B, …)`: list and equations must agree."""
    listed = {r.key: r for r in context.outline.parameter_list}
    if not listed:
        return
    for key, reference in listed.items():
        info = context.tensors.get(key)
        if info is None:
            near = near_name(key, context)
            context.messages.error(
                "unused-parameter", f"{key} is listed as a parameter but never used",
                (reference.span, "listed here"),
                hint=f"did you mean {near}?" if near else "remove it from the list, or use it",
            )  # fmt: skip
        elif info.role == "defined":
            context.messages.error(
                "listed-defined", f"{key} is listed as a parameter, but an equation defines it",
                (reference.span, "listed here"), (info.span, "defined here"),
                hint="remove it from the list, or remove the equation",
            )  # fmt: skip
        else:
            info.role = "parameter"
            _listed_shape(context, info, reference)
    for info in context.tensors.values():
        if not info.role and context.document is False and not info.hidden:
            close = difflib.get_close_matches(info.key, list(listed), 1, 0.6)
            near = close[0] if close and close[0] != info.key else None
            context.messages.error(
                "not-listed", f"{info.key} is neither defined nor listed as a parameter", info.span,
                *([(context.outline.list_span, "the list")] if context.outline.list_span else []),
                hint=f"did you mean {near}?" if near else f"add {info.key} to the list, or declare `input {info.key}`",
            )  # fmt: skip
            info.role = "parameter"


def _listed_shape(context: Context, info: TensorInfo, reference: Reference) -> None:
    """The indices in the list, if there are any, must be those of the equations, in that order."""
    if not reference.items or not info.reads:
        return
    span, families, _ = info.reads[0]
    listed = tuple(describe(i) for i in reference.items)
    if len(listed) != len(families):
        context.messages.error(
            "index-count",
            f"{info.key} is listed with {len(listed)} indices and used with {len(families)}",
            (reference.span, f"{len(listed)} indices"), (span, f"{len(families)} indices"),
        )  # fmt: skip
        return
    used = tuple(_item_texts(span, info))
    written = tuple(i.span.text for i in reference.items[len(reference.items) - len(used) :])
    if used and sorted(written) == sorted(used) and written != used:
        context.messages.warning(
            "index-order",
            f"{info.key} is listed as [{', '.join(written)}] and used as [{', '.join(used)}]",
            (reference.span, "listed here"), (span, "used here"),
            hint="put the indices in the same order in both places",
        )  # fmt: skip


def _item_texts(span: Span, info: TensorInfo) -> list[str]:
    """The indices of a use as they were typed: what stands in its brackets."""
    text = span.text
    opening = text.rfind("[")
    if opening < 0 or not text.rstrip().endswith("]"):
        return []
    inside = text[opening + 1 : text.rstrip().rfind("]")]
    items = [i.strip() for i in inside.split(",")]
    return items if len(items) <= len(info.axes) else []


def near_name(key: str, context: Context) -> str | None:
    """A known name that the writer may have meant."""
    if len(context.messages.items) > MOST_MESSAGES:
        return None
    known = [
        k for k, i in context.tensors.items()
        if k != key and not i.hidden and i.role in ("defined", "input")
    ]  # fmt: skip
    for other in known:
        if other.casefold() == key.casefold():
            return other
    close = difflib.get_close_matches(key, known, 1, 0.6)
    return close[0] if close else None
