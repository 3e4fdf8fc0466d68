"""What the sizes are called: each by the letter that it is best known by.

W[j,I] h[t-1,I]                     I and J are one size: J
another I that nothing ties to it   I_{Value}, by its tensor
"""

from __future__ import annotations

from indicial.notation.source import Span
from indicial.program.lowering.context import Context
from indicial.program.lowering.lower import Lowering


def link_named_sizes(context: Context) -> None:
    """A size that is named where none of its indices stand is the one of that name elsewhere."""
    classes = context.classes
    for key, number in context.size_classes.items():
        for other in range(len(classes.parent)):
            root = classes.find(other)
            if root == classes.find(number):
                continue
            if any(name == key and priority <= 5 for priority, name in classes.data[root].names):
                classes.union(root, number, Span(classes.data[root].site.source, 0, 0))
                break


def name_sizes(context: Context, lowering: Lowering) -> dict[int, str]:
    """A name for each class that is not bound: the letter that it is best known by."""
    classes = context.classes
    order: list[int] = []
    owner: dict[int, str] = {}
    for info in context.tensors.values():
        for axis in info.axes:
            order.append(axis.size)
            owner.setdefault(classes.find(axis.size), info.key)
        if info.values is not None:
            order.append(info.values)
    order.extend(v.size for v in context.variables)
    order.extend(context.size_classes.values())
    names: dict[int, str] = {}
    taken: set[str] = set()
    counts: dict[str, int] = {}
    roots = list(dict.fromkeys(classes.find(c) for c in order))
    best: dict[int, tuple[int, str]] = {}
    for root in roots:
        candidates = sorted(
            (p, n, name) for n, (p, name) in enumerate(classes.data[root].names) if name
        )
        best[root] = (candidates[0][0], candidates[0][2]) if candidates else (9, "N")
    for root in sorted(roots, key=lambda r: best[r][0]):
        if classes.data[root].size is not None:
            continue
        name = best[root][1]
        if name in taken:
            others = [n for _, n in sorted(classes.data[root].names, key=lambda x: x[0]) if n]
            free = [n for n in others if n not in taken]
            name = free[0] if free else f"{name}_{_plain_owner(owner.get(root, str(root)))}"
            stem = f"{best[root][1]}_{_plain_owner(owner.get(root, ''))}"
            while name in taken:
                counts[stem] = counts.get(stem, 1) + 1
                name = f"{stem}{counts[stem]}"
        taken.add(name)
        names[root] = name
    return names


def _plain_owner(key: str) -> str:
    return "{" + key + "}" if len(key) > 1 else key
