"""Breaking correct equations in one place, and asking whether the checker notices there.

A mutant (see `slips`) counts only if it means something else (see `meanings`); it is caught if a site of
some error or warning touches the broken place: the reference that holds the broken token, or for a
bracket its line.

    python tests/program/mutations.py            the table, for every mutant
    python tests/program/mutations.py 600        for a sample of that many
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from meanings import same_meaning
from slips import KINDS, Mutant, mutants, originals, program

from indicial.program.messages import Message
from indicial.program.program import Program


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: `caught`, `missed`, or `same` if it means what the original means."""

    mutant: Mutant
    outcome: str
    messages: tuple[Message, ...] = ()


def judge(mutant: Mutant, known: dict[str, Program]) -> Verdict:
    """Checks a mutant; `known` keeps the originals' programs."""
    broken = program(mutant.text, mutant.original.name)
    messages = tuple(broken.mistakes)
    if mutant.original.name not in known:
        known[mutant.original.name] = program(mutant.original.text, mutant.original.name)
    first, last = mutant.place
    caught = any(
        site.start < last and first < site.end and site.source.text == mutant.text
        for message in messages
        for site, _ in message.sites
    )
    if not broken.errors and same_meaning(known[mutant.original.name], broken):
        return Verdict(mutant, "same", messages)
    return Verdict(mutant, "caught" if caught else "missed", messages)


def sampled(found: Iterable[Mutant], number: int | None) -> list[Mutant]:
    """A sample with as many of each kind as of the others, as far as there are so many."""
    ordered = sorted(found, key=lambda m: m.rank)
    if number is None:
        return ordered
    by_kind: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in ordered:
        by_kind[mutant.kind].append(mutant)
    return [m for kind in KINDS for m in by_kind[kind][: number // len(KINDS)]]


def table(verdicts: Iterable[Verdict]) -> str:
    """Caught and counted, for each kind; `same` are those that mean the same and do not count."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for verdict in verdicts:
        for row in (verdict.mutant.kind, "all"):
            counts[row][verdict.outcome] += 1
    lines = [f"{'kind':<16}{'caught':>8}{'of':>7}{'%':>8}{'same':>8}"]
    for row in (*KINDS, "all"):
        caught, total = counts[row]["caught"], counts[row]["caught"] + counts[row]["missed"]
        share = f"{100 * caught / total:.1f}" if total else "-"
        lines.append(f"{row:<16}{caught:>8}{total:>7}{share:>8}{counts[row]['same']:>8}")
    return "\n".join(lines)


def _judge_group(group: list[Mutant]) -> list[Verdict]:
    known: dict[str, Program] = {}
    return [judge(m, known) for m in group]


def main(arguments: list[str]) -> None:
    from concurrent.futures import ProcessPoolExecutor

    number = int(arguments[0]) if arguments and arguments[0].isdigit() else None
    names = [a for a in arguments if not a.isdigit()]
    chosen = [o for o in originals() if not names or o.name in names]
    found = sampled((m for o in chosen for m in mutants(o)), number)
    groups = [found[n : n + 25] for n in range(0, len(found), 25)]
    with ProcessPoolExecutor(2) as pool:
        verdicts = [v for group in pool.map(_judge_group, groups) for v in group]
    for verdict in sorted(verdicts, key=lambda v: (v.mutant.kind, v.mutant.shown)):
        if verdict.outcome == "missed":
            codes = " ".join(sorted({m.code for m in verdict.messages}))
            print(verdict.mutant.shown, f"({codes})" if codes else "")
    print(table(verdicts))


if __name__ == "__main__":
    main(sys.argv[1:])
