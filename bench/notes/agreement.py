"""How far two readers agree who labelled the same displays without seeing each other's labels."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Pair:
    """Two labels of one display."""

    first: Label
    second: Label

    @property
    def differences(self) -> list[str]:
        return disagreements(self.first, self.second)

    @property
    def key(self) -> Key:
        return self.first.key


def pairs(first: Iterable[Label], second: Iterable[Label]) -> list[Pair]:
    """Each display that both have labelled."""
    known = {label.key: label for label in first}
    return [Pair(known[label.key], label) for label in second if label.key in known]


def text(found: Sequence[Pair]) -> str:
    """How many are labelled alike, how many have the very same kind, and where they differ."""
    alike = sum(not pair.differences for pair in found)
    same = sum(pair.first.kind == pair.second.kind for pair in found)
    lines = [
        f"{alike} of {len(found)} displays are labelled alike, where `either` suits both",
        f"{same} of {len(found)} have the very same kind",
    ]
    for pair in found:
        told = pair.differences
        if not told and pair.first.kind != pair.second.kind:
            told = [f"{pair.first.kind} or {pair.second.kind}"]
        if told:
            lines.append(f"  {pair.key[0]}:{pair.key[1]}: {'; '.join(told)}")
    return "\n".join(lines)
