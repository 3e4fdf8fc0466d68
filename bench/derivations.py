"""How many steps of derivations a folder of documents has, and what came of them.

    python -m bench.derivations ../shared/seeds ../shared/data/notes
    python -m bench.derivations notes.md --verbose      every step with its finding

A step is a relation between two sides of a chain, of an equation about derivatives, or of a row that reasons;
what only defines a name is none. Steps that a program in index notation tries itself count as untried here.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from indicial.derivations.scope import CONDITIONAL, HOLDS, REFUTED, UNTRIED, Finding
from indicial.library.loading import load_document

ENDINGS = (".md", ".tex", ".txt")


def findings(path: Path) -> list[Finding]:
    """What came of the steps of one document."""
    programs = load_document(path)
    owner = getattr(programs[0].amend, "__self__", None) if programs else None
    return list(owner.findings) if owner is not None else []


def documents(names: list[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name)
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (p for p in found if p.suffix in ENDINGS and p.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for path in documents(options.paths):
        for finding in findings(path):
            counts[finding.status] += 1
            reasons[finding.reason] += finding.status == UNTRIED
            if options.verbose or finding.status == REFUTED:
                left, right = (" ".join(side.span.text.split()) for side in finding.step.sides)
                where = f"{path}:{finding.step.sides[0].span.line}"
                print(
                    f"{where}: {finding.status} {finding.reason}\n    {left}  {finding.step.relation}  {right}"
                )
    total = sum(counts.values())
    tried = total - counts[UNTRIED]
    print(f"{total} steps, {tried} tried: {counts[HOLDS]} hold, {counts[CONDITIONAL]} hold under a condition, "
          f"{counts[REFUTED]} refuted; {counts[UNTRIED]} not tried")  # fmt: skip
    for reason, count in reasons.most_common(8):
        print(f"  {count:4} {reason}")


if __name__ == "__main__":
    main()
