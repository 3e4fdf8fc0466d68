"""Sections → what the terminal shows, and docs/benchmarks.md with its picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from bench.table import VERDICT_HEADS, Section, markdown, plain

PICTURE = Path("pictures/ugrnn_cost")
METHOD = """\
Every number is a training step, forward and backward with the gradients of all parameters, in
single precision, unless its line says otherwise. Contenders run in one process and take turns; a
ratio is their time to ours, taken inside a round, and its column shows the median and the range
over the rounds. Before they are timed, those that have the same mathematics are checked to give
the same numbers with the same weights. Sizes are B×T×J: batch, steps, units, with as many inputs
as units. `its products` are the matrix products of the step alone, so the ratio to them is the
fraction of the machine's rate that is used."""


def terminal(section: Section) -> str:
    """One section as it ends."""
    parts = [f"\n{_title(section)}"]
    parts += [plain(heads, rows) for heads, rows in section.tables()]
    parts += [textwrap.fill(remark, 80) for remark in section.remarks]
    return "\n".join(parts)


def summary(sections: Sequence[Section]) -> str:
    """The one table of the run."""
    return plain(VERDICT_HEADS, _verdicts(sections))


def write(sections: Sequence[Section], machine: str, folder: Path) -> list[Path]:
    """The document and its picture; returns what was written."""
    written = [folder / "benchmarks.md"]
    points = {place: taken for section in sections for place, taken in section.points.items()}
    if points:
        from bench.curves import draw

        draw(points, folder / PICTURE, machine.splitlines()[0])
        written += [(folder / PICTURE).with_suffix(end) for end in (".png", ".svg")]
    text = document(sections, machine, bool(points))
    written[0].write_text(text, encoding="utf-8")
    return written


def document(sections: Sequence[Section], machine: str, picture: bool) -> str:
    """docs/benchmarks.md."""
    parts = [
        "# Speed",
        'Written by `make bench BENCH_ARGS="--write"`; edit `bench/`, not this page.',
        "\n".join(f"- {line}" for line in machine.splitlines()),
        METHOD,
        "## What was wanted, and what is",
        "Means are geometric, over all sizes.",
        markdown(VERDICT_HEADS, _verdicts(sections)),
    ]
    for section in sections:
        parts.append(f"## {_title(section)}")
        parts += section.remarks
        if picture and section.points:
            parts.append(f"![Milliseconds a training step against T and J]({PICTURE}.svg)")
        parts += [markdown(heads, rows) for heads, rows in section.tables()]
    return "\n\n".join(parts) + "\n"


def _title(section: Section) -> str:
    return f"{section.title} ({section.unit})" if section.lines else section.title


def _verdicts(sections: Sequence[Section]) -> list[list[str]]:
    return [verdict.cells() for section in sections for verdict in section.verdicts]
