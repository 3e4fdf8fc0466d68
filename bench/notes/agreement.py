"""How far two readers agree who labelled the same displays without seeing each other's labels."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from bench.notes.labels import Key, Label, fold, spellings


def sample(labels: Sequence[Label], count: int, seed: int) -> list[Label]:
    """Some of the labels, for another reader to make anew."""
    return random.Random(seed).sample(list(labels), min(count, len(labels)))


def disagreements(first: Label, second: Label) -> list[str]:
    """Where two labels of one display differ; what only one of them allows is no difference."""
    found = []
    if first.kind != second.kind and "either" not in (first.kind, second.kind):
        return [f"{first.kind} or {second.kind}"]
    if "outside" not in (first.kind, second.kind):
        for one, other in ((first, second), (second, first)):
            for name, counts in one.names.items():
                right = spellings(name, counts)
                known = [
                    axes & right[spelling]
                    for theirs, given in (*other.names.items(), *other.maybe.items())
                    for spelling, axes in spellings(theirs, given).items()
                    if spelling in right
                ]
                if not known and 0 not in counts:
                    found.append(f"{name} is in one only")
                elif known and not any(known) and one is first:
                    found.append(f"{name} has different numbers of axes")
        if not first.totals & second.totals:
            found.append("different numbers of sums")
    slips = [{fold(s.at) for s in label.slips if not s.minor} for label in (first, second)]
    if bool(slips[0]) != bool(slips[1]):
        found.append("a slip in one only")
    return found


def agreement(first: Iterable[Label], second: Iterable[Label]) -> list[tuple[Key, list[str]]]:
    """Each display that both have labelled, with where they differ."""
    known = {label.key: label for label in first}
    return [
        (label.key, disagreements(known[label.key], label))
        for label in second
        if label.key in known
    ]


def text(pairs: Sequence[tuple[Key, list[str]]]) -> str:
    """`57 of 60 displays are labelled alike (95 %)`, and the others."""
    alike = sum(not found for _, found in pairs)
    percent = f" ({100 * alike / len(pairs):.0f} %)" if pairs else ""
    lines = [f"{alike} of {len(pairs)} displays are labelled alike{percent}"]
    lines += [f"  {key[0]}:{key[1]}: {'; '.join(found)}" for key, found in pairs if found]
    return "\n".join(lines)
