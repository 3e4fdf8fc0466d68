"""Names that are almost surely misspelt: read and never defined, defined and never read.

R[t,j] = …   beside   h[t,j] = … Q[t,j]      R is never read, Q is never defined
tnah(…)                                      no function; tanh is one
los = 1/T Σ_t -ln P(w_t | …)                 nothing is called loss
"""

from __future__ import annotations

import difflib
import unicodedata
from collections import defaultdict

from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.checks.similar import (
    by,
    mistyped,
    recased,
    similar,
    slips,
    uncased,
    undeclared,
)
from indicial.program.checks.timing import reads
from indicial.program.lowering.context import Context, TensorInfo
from indicial.program.lowering.lower import Lowering
from indicial.program.names.uses import BUILT_IN

SPECIAL = ("loss", "ℒ_{total}", "L_{total}")
"""Names with a meaning of their own."""

WORDS = tuple(name for name in BUILT_IN if "_" not in name and name != "rope")
"""Functions that may be meant by a word that is nearly theirs; `n_{max}` and `hope` are nobody's."""

MOST_MESSAGES = 40
"""Behind so many messages no further one guesses what was meant."""
MOST_PAIRS = 10_000
"""How many pairs of names are compared with each other; in a longer program, only the first names."""


def suspect_names(context: Context, lowering: Lowering) -> None:
    """Adds messages about names; roles are known by now."""
    read = _read(context)
    _functions(context, lowering)
    _special(context, read)
    _never_read(context, read)
    similar(context)
    _starts_only(context)
    _declared(context, read)


def _read(context: Context) -> set[str]:
    """What some equation, step or draw reads; an equation that reads itself does not count."""
    found = {
        node.tensor
        for statement in context.statements
        for node in reads(statement)
        if node.tensor != statement.target
    }
    roots = [side for test in context.tests for side in (test.left, test.right)]
    roots += [test.tolerance for test in context.tests if test.tolerance is not None]
    roots += [argument for draw in context.draws for argument in draw.arguments]
    found |= {n.tensor for root in roots for n in root.every(ir.Read)}
    return found


def undecorated(key: str) -> str:
    """A name without accents and primes: `h̃'` is `h`."""
    decomposed = unicodedata.normalize("NFD", key)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).replace("'", "")


def plain(key: str) -> str:
    """The same without case: `h̃'` and `H` are both `h`."""
    return undecorated(key).casefold()


def alike(one: str, other: str) -> float:
    """How much one name looks like another, from 0 to 1."""
    if one == other:
        return 1.0
    if plain(one) == plain(other):
        return 0.95
    bases = [plain(key).partition("_")[0].partition("^")[0] for key in (one, other)]
    if bases[0] == bases[1] and (plain(one) == bases[0] or plain(other) == bases[1]):
        return 0.8
    return difflib.SequenceMatcher(None, one, other).ratio()


# ---------------------------------------------------------------------- functions and special names


def _functions(context: Context, lowering: Lowering) -> None:
    """A word before brackets that is no function, and nearly one; `tnah(y[t])` reads a y that may be a token."""
    holes = {key: span for key, span in context.holes.items() if key not in context.outline.fills}
    words = {
        key: info.span for key, info in context.tensors.items()
        if undeclared(context, info) and len(key) > 2
        and (not info.axes or info.span.text.startswith(f"{key}("))
    }  # fmt: skip
    for key, span in {**words, **holes}.items():
        near = difflib.get_close_matches(key, [*WORDS, *context.outline.functions], 1, 0.7)
        if near and near[0] != key and len(key) > 2:
            context.messages.error(
                "unknown-function", f"unknown function {key}", (span, ""),
                hint=f"did you mean {near[0]}?", fix=(span, span.text.replace(key, near[0], 1)),
            )  # fmt: skip


def _special(context: Context, read: set[str]) -> None:
    """A name that nobody reads and that is nearly `loss`, where there is no loss."""
    for key, info in context.tensors.items():
        if info.role != "defined" or info.axes or key in read or key in SPECIAL:
            continue
        for special in SPECIAL:
            close = alike(key, special) >= 0.7 or sorted(key) == sorted(special)
            if not any(s in context.tensors for s in SPECIAL) and len(key) > 2 and close:
                context.messages.warning(
                    "unused-name", f"{key} is never read, and nothing is called {special}",
                    (info.span, "never read"), hint=f"did you mean {special}?",
                )  # fmt: skip


# ---------------------------------------------------------------------- defined, and read elsewhere


def counterpart(context: Context, info: TensorInfo) -> TensorInfo | None:
    """For a name that nothing defines: a tensor of the same shape that nothing reads."""
    if len(context.messages.items) > MOST_MESSAGES:
        return None
    read = _read(context)
    unread = [
        i for k, i in context.tensors.items()
        if i.role == "defined" and not i.hidden and k not in read and not i.probability
        and _fits(i, info)
    ]  # fmt: skip
    return max(unread, key=lambda i: alike(i.key, info.key), default=None)


def _ingredients(context: Context) -> dict[str, set[str]]:
    """For each name the tensors that its equations read."""
    found: dict[str, set[str]] = defaultdict(set)
    for statement in context.statements:
        reads = (n.tensor for n in statement.body.every(ir.Read))
        found[statement.target].update(reads)
    return found


def _never_read(context: Context, read: set[str]) -> None:
    """A tensor that nobody reads, beside one of the same shape that nobody defines."""
    # By its place: the identity and joins that a text leaves out are defined behind all that is written.
    ends = [(definition.span.end, definition.key) for definition in context.outline.definitions]
    outputs = {context.outline.definitions[-1].key, max(ends)[1]} if ends else set()
    lonely = [
        i for k, i in context.tensors.items()
        if i.role == "defined" and not i.hidden and k not in read and not i.probability
        and k not in SPECIAL
    ]  # fmt: skip
    undefined = [
        i for i in context.tensors.values()
        if undeclared(context, i) and not i.hidden and not i.probability
    ]  # fmt: skip
    undefined = undefined[: max(10, MOST_PAIRS // max(1, len(lonely)))]
    by_case, by_word = by(context, lambda key: [uncased(key)]), by(context, slips)
    made_of = _ingredients(context)
    said = {m.span for m in context.messages.items if m.severity == "error"}
    for info in lonely:
        # A matrix V beside a column v is no slip of the pen.
        near = [
            *by_case[uncased(info.key)],
            *(o for slip in slips(info.key) for o in by_word[slip]),
        ]
        again = [
            i for i in near
            if i.role == "defined" and len(i.axes) == len(info.axes)
            and (recased(i.key, info.key) or mistyped(i.key, info.key))
        ]  # fmt: skip
        # What a tensor is made of cannot be the tensor itself.
        fitting = [
            o for o in undefined
            if _fits(info, o) and info.key not in outputs and o.key not in made_of[info.key]
        ] + again  # fmt: skip
        best = max(fitting, key=lambda o: alike(o.key, info.key), default=None)
        if best is None or best.span in said:
            continue
        letter = _one_letter(best.key, info.key) and len(info.axes) > 1
        if not letter and alike(best.key, info.key) < (0.75 if context.document else 0.3):
            continue
        context.messages.warning(
            "unused-name", f"{info.key} is never read, and {best.key} is never defined"
            if best not in again else f"{info.key} is never read, and is spelled almost like {best.key}",
            (best.span, f"{best.key} is used here"), (info.span, f"{info.key} is defined here"),
            hint="should the two have the same name?",
        )  # fmt: skip


def _one_letter(one: str, other: str) -> bool:
    """`g̃` and `h̃`: one letter each, with the same decorations."""
    return one[1:] == other[1:] and not any(c in "_^" for c in one)


def _fits(one: TensorInfo, other: TensorInfo) -> bool:
    """Whether both have the same letters at the same places, as far as letters are known."""
    if len(one.axes) != len(other.axes):
        return False
    pairs = [(a.letter, b.letter) for a, b in zip(one.axes, other.axes, strict=True)]
    same = [a == b or "(" in a + b for a, b in pairs if a and b]
    return all(same) or (len(same) > 1 and sum(same) >= len(same) - 1)


def _starts_only(context: Context) -> None:
    """`h[-1,j] = …` without an equation for the other elements."""
    if context.document:
        return
    for key, info in context.tensors.items():
        if info.role != "defined" or info.hidden:
            continue
        for axis in info.axes:
            numbers = [p for p, _ in axis.left if isinstance(p, ir.Affine) and not p.terms]
            if (
                numbers
                and len(numbers) == len(axis.left)
                and any((p.offset.number or 0) < 0 for p in numbers)
            ):
                near = [k for k in context.tensors if k != key and context.tensors[k].role == "defined"
                        and alike(k, key) >= 0.6]  # fmt: skip
                context.messages.warning(
                    "start-only", f"{key} has a starting value, but no equation that continues from it",
                    (info.span, "only this element"), *((context.tensors[k].span, k) for k in near[:1]),
                    hint=f"did you mean {near[0]}?" if near else f"also write {key}[t,…] = …",
                )  # fmt: skip


def _declared(context: Context, read: set[str]) -> None:
    """A constant or a parameter that is declared and never read."""
    outline = context.outline
    rates = {n.tensor for draw in context.draws for a in draw.arguments for n in a.every(ir.Read)}
    for kind, found in (
        ("constant", {k: r.span for k, (r, _) in outline.constants.items()}),
        ("parameter", {k: r.span for k, r in outline.parameters.items()}),
    ):
        for key, span in found.items():
            if key in read or key in rates or key not in context.tensors:
                continue
            say_unused(context, kind, key, span)


def say_unused(context: Context, kind: str, key: str, span: Span) -> None:
    info = context.tensors[key]
    few = len(context.messages.items) <= MOST_MESSAGES
    near = [
        i for i in (context.tensors.values() if few else ())
        if undeclared(context, i) and len(i.axes) == len(info.axes) and not i.hidden
        and (alike(i.key, key) >= 0.5 or not info.axes)
    ]  # fmt: skip
    best = max(near, key=lambda i: alike(i.key, key), default=None)
    context.messages.warning(
        f"unused-{kind}", f"the {kind} {key} is never used", (span, "declared here"),
        *([(best.span, f"{best.key} is never declared")] if best is not None else []),
        hint=f"did you mean {key} there?" if best is not None else "remove the line, or use it",
    )  # fmt: skip
