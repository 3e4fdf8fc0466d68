"""What a comparison found, in words: a table for people, the same in Markdown, a sentence.

model        parameters  widths        tokens/s  nats/token          above entropy
ugrnn           299,200  J = 176            32k  1.532 ± 0.004               0.244
transformer     300,160  J = 88, …          21k  1.498 ± 0.004               0.210
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from indicial.lab.results import Group
from indicial.training.chart import short

RIGHT = ("parameters", "tokens/s", "nats/token", "above entropy")


def rows(groups: Sequence[Group]) -> list[dict[str, str]]:
    """A row for each model and number of parameters; every row has the same columns."""
    world = all(group.above_entropy is not None for group in groups)
    found = []
    for group in groups:
        row = {
            "model": group.model,
            "parameters": f"{group.parameters:,}",
            "tokens/s": short(group.tokens_per_second),
            "nats/token": loss(group),
        }
        if world and group.above_entropy is not None:
            row["above entropy"] = f"{group.above_entropy:.3f}"
        found.append(row)
    return found


def loss(group: Group) -> str:
    """`1.532 ± 0.004`; a star if a training was stopped."""
    half = f" ± {group.half:.3f}" if group.half is not None else ""
    return f"{group.mean:.3f}{half}{'' if group.finished else '*'}"


def plain(table: Sequence[dict[str, str]], right: Collection[str] = RIGHT) -> str:
    """Columns for a terminal; those named in `right` end at one place."""
    columns = list(table[0])
    wide = {name: max(len(name), *(len(row[name]) for row in table)) for name in columns}
    lines = []
    for row in [dict(zip(columns, columns, strict=True)), *table]:
        cells = [
            row[name].rjust(wide[name]) if name in right else row[name].ljust(wide[name])
            for name in columns
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown(table: Sequence[dict[str, str]], right: Collection[str] = RIGHT) -> str:
    columns = list(table[0])
    lines = [columns, ["---:" if name in right else "---" for name in columns]]
    lines += [list(row.values()) for row in table]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def notes(groups: Sequence[Group]) -> list[str]:
    """What the table does not say by itself."""
    found = []
    if any(group.half is not None for group in groups):
        found.append(
            "±: 95 % for the mean over seeds, from the deviation between seeds everywhere."
        )
    if not all(group.finished for group in groups):
        found.append("*: stopped before the end.")
    return [*found, *spread(groups)]


def spread(groups: Sequence[Group]) -> list[str]:
    """What matters more, the number of parameters or the model; where there are several of both."""
    numbers = sorted({group.asked for group in groups})
    models = {group.model for group in groups}
    if len(numbers) < 2 or len(models) < 2 or len(groups) < len(numbers) * len(models):
        return []
    by = {(group.model, group.asked): group.mean for group in groups}
    falls = [by[model, numbers[0]] - by[model, numbers[-1]] for model in models]
    between = [
        max(by[model, number] for model in models) - min(by[model, number] for model in models)
        for number in numbers
    ]
    first, last = short(numbers[0]), short(numbers[-1])
    fall = f"{min(falls):.3f} to {max(falls):.3f}"
    apart = f"{min(between):.3f} to {max(between):.3f}"
    return [
        f"From {first} to {last} parameters the loss falls by {fall}, depending on the model; "
        f"models of one size are {apart} apart."
    ]
