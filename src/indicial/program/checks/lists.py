"""`Φ = (W, B, …)`: the list of parameters and the equations must agree."""

from __future__ import annotations

import difflib

from indicial.notation.source import Span
from indicial.program.checks.spelling import MOST_MESSAGES
from indicial.program.lowering.context import Context, TensorInfo
from indicial.program.lowering.places import describe
from indicial.program.names.naming import Reference


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
