"""Names that are almost surely misspelt: read and never defined, defined and never read.

    R[t,j] = …   beside   h[t,j] = … Q[t,j]      R is never read, Q is never defined
    tnah(…)                                      no function; tanh is one
    los = 1/T Σ_t -ln P(w_t | …)                 nothing is called loss
"""

from __future__ import annotations

import difflib
import unicodedata

from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.context import Context, TensorInfo
from indicial.program.lower import Lowering
from indicial.program.timing import reads
from indicial.program.uses import BUILT_IN

SPECIAL = ("loss",)
"""Names with a meaning of their own."""


def suspect_names(context: Context, lowering: Lowering) -> None:
    """Adds messages about names; roles are known by now."""
    read = _read(context)
    _functions(context, lowering)
    _special(context, read)
    _never_read(context, read)
    _case_only(context)
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
    found |= {n.tensor for root in roots for n in root.walk() if isinstance(n, ir.Read)}
    return found


def plain(key: str) -> str:
    """A name without accents, primes and case: `h̃'` and `H` are both `h`."""
    decomposed = unicodedata.normalize("NFD", key)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).replace("'", "").casefold()


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
    """A word before brackets that is no function, and nearly one."""
    holes = {key: span for key, span in context.holes.items() if key not in context.outline.fills}
    scalars = {
        key: info.span for key, info in context.tensors.items()
        if not info.axes and info.role in ("parameter", "input") and key not in context.outline.inputs
        and key not in context.outline.parameters and len(key) > 2
    }  # fmt: skip
    for key, span in {**scalars, **holes}.items():
        near = difflib.get_close_matches(key, [*BUILT_IN, *context.outline.functions], 1, 0.7)
        if near and near[0] != key and len(key) > 2:
            context.messages.error(
                "unknown-function", f"{key} is no function that is known here", (span, ""),
                hint=f"did you mean {near[0]}?",
            )  # fmt: skip
    for key, (_, span) in context.outline.fills.items():
        near = difflib.get_close_matches(key, list(holes), 1, 0.6)
        if near:
            context.messages.warning(
                "unused-fill", f"{key} is filled and never called, and {near[0]} is called and never filled",
                (span, "filled here"), (holes[near[0]], f"{near[0]} is called here"),
                hint=f"did you mean {near[0]} = …?",
            )  # fmt: skip


def _special(context: Context, read: set[str]) -> None:
    """A name that nobody reads and that is nearly `loss`, where there is no loss."""
    for key, info in context.tensors.items():
        if info.role != "defined" or info.axes or key in read or key in SPECIAL:
            continue
        for special in SPECIAL:
            close = alike(key, special) >= 0.7 or sorted(key) == sorted(special)
            if special not in context.tensors and len(key) > 2 and close:
                context.messages.warning(
                    "unused-name", f"{key} is never read, and nothing is called {special}",
                    (info.span, "never read"), hint=f"did you mean {special}?",
                )  # fmt: skip


# ---------------------------------------------------------------------- defined, and read elsewhere


def _never_read(context: Context, read: set[str]) -> None:
    """A tensor that nobody reads, beside one of the same shape that nobody defines."""
    outputs = {context.outline.definitions[-1].key} if context.outline.definitions else set()
    lonely = [
        i for k, i in context.tensors.items()
        if i.role == "defined" and not i.hidden and k not in read and not i.probability
        and (k not in outputs or k.startswith("CELL"))
    ]  # fmt: skip
    open_ = [
        i for i in context.tensors.values()
        if _undeclared(context, i) and not i.hidden and not i.probability
    ]  # fmt: skip
    for info in lonely:
        fitting = [o for o in open_ if _fits(context, info, o)]
        best = max(fitting, key=lambda o: alike(o.key, info.key), default=None)
        if best is None or alike(best.key, info.key) < (0.75 if context.document else 0.3):
            if best is None or len(best.key) > 2 or len(info.key) > 2 or context.document:
                continue
        context.messages.warning(
            "unused-name", f"{info.key} is never read, and {best.key} is never defined",
            (best.span, f"{best.key} is read here"), (info.span, f"{info.key} is defined here"),
            hint="are the two meant to be one?",
        )  # fmt: skip


def _undeclared(context: Context, info: TensorInfo) -> bool:
    outline = context.outline
    if info.role not in ("parameter", "input"):
        return False
    declared = {**outline.inputs, **outline.parameters, **outline.constants}
    listed = {r.key for r in outline.parameter_list}
    return info.key not in declared and info.key not in listed


def _fits(context: Context, one: TensorInfo, other: TensorInfo) -> bool:
    """Whether both have the same letters at the same places."""
    letters = [[a.letter for a in i.axes] for i in (one, other)]
    return letters[0] == letters[1]


def _case_only(context: Context) -> None:
    """`E[w,I]` beside `e[w,I]`: an undeclared name that differs in nothing but its case."""
    for info in context.tensors.values():
        if not _undeclared(context, info) or info.hidden or not info.axes:
            continue
        for other in context.tensors.values():
            if other is info or other.hidden or len(other.axes) != len(info.axes):
                continue
            if not _recased(info.key, other.key):
                continue
            sizes = [[context.classes.find(a.size) for a in i.axes] for i in (info, other)]
            if sizes[0] == sizes[1] and info.span.start >= other.span.start:
                context.messages.warning(
                    "similar-names", f"{info.key} and {other.key} differ only in case",
                    (info.span, f"{info.key} here"), (other.span, f"{other.key} here"),
                    hint=f"did you mean {other.key}? If not, declare `parameter {info.key}[…]`",
                )  # fmt: skip


def _recased(one: str, other: str) -> bool:
    """Whether two names differ in the case of their letter alone; `W^{h,r}` and `W^{h,R}` do not."""
    bases = [key.partition("^")[0].partition("_")[0] for key in (one, other)]
    tails = one[len(bases[0]) :] == other[len(bases[1]) :]
    return tails and bases[0] != bases[1] and bases[0].casefold() == bases[1].casefold()


def _starts_only(context: Context) -> None:
    """`h[-1,j] = …` without an equation for the other elements."""
    if context.document:
        return
    for key, info in context.tensors.items():
        if info.role != "defined" or info.hidden:
            continue
        for axis in info.axes:
            numbers = [p for p, _ in axis.left if isinstance(p, ir.Affine) and not p.terms]
            if numbers and len(numbers) == len(axis.left) and any((p.offset.number or 0) < 0 for p in numbers):
                near = [k for k in context.tensors if k != key and context.tensors[k].role == "defined"
                        and alike(k, key) >= 0.6]  # fmt: skip
                context.messages.warning(
                    "start-only", f"{key} has a start and no equation that goes on from it",
                    (info.span, "only this element"), *((context.tensors[k].span, k) for k in near[:1]),
                    hint=f"did you mean {near[0]}?" if near else f"write {key}[t,…] = … too",
                )  # fmt: skip


def _declared(context: Context, read: set[str]) -> None:
    """A constant or a parameter that is declared and never read."""
    outline = context.outline
    rates = {
        n.tensor for draw in context.draws for a in draw.arguments for n in a.walk() if isinstance(n, ir.Read)
    }
    for kind, found in (
        ("constant", {k: r.span for k, (r, _) in outline.constants.items()}),
        ("parameter", {k: r.span for k, r in outline.parameters.items()}),
    ):
        for key, span in found.items():
            if key in read or key in rates or key not in context.tensors:
                continue
            _say_unused(context, kind, key, span)


def _say_unused(context: Context, kind: str, key: str, span: Span) -> None:
    info = context.tensors[key]
    near = [
        i for i in context.tensors.values()
        if _undeclared(context, i) and len(i.axes) == len(info.axes) and not i.hidden
    ]  # fmt: skip
    best = max(near, key=lambda i: alike(i.key, key), default=None)
    context.messages.warning(
        f"unused-{kind}", f"the {kind} {key} is never used", (span, "declared here"),
        *([(best.span, f"{best.key} is declared nowhere")] if best is not None else []),
        hint=f"did you mean {key} there?" if best is not None else "take the line out, or use it",
    )  # fmt: skip
