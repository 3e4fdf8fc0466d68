"""`evaluate --match`: questions in, how many answers are exactly right out.

$ indicial evaluate answers --data birth_dev.tsv --match --predictions dev.txt --plot sure.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from indicial.commands.arguments import check_outputs

if TYPE_CHECKING:
    from indicial.decode.matching import Matches
    from indicial.training.run import Run

FEW = 10
"""Names that make no group."""


def matched(options: argparse.Namespace, run: Run) -> int:
    """Asks, compares and tells."""
    from indicial.commands.evaluate import columns_of, progress_of, tell
    from indicial.decode.matching import match
    from indicial.inspect.pictures import draw_calibration
    from indicial.program.outputs import write_text

    written = {
        name: [Path(value)]
        for name in ("texts_out", "plot")
        if (value := getattr(options, name)) is not None
    }
    check_outputs(options, written)
    with progress_of("questions") as progress:
        found = match(
            run,
            options.data,
            columns_of(options),
            checkpoint=options.checkpoint,
            pages=options.pages,
            progress=progress,
        )
    if options.texts_out is not None:
        write_text(options.texts_out, "".join(f"{one}\n" for one in found.answers))
    if options.plot is not None:
        draw_calibration(found, Path(options.plot))
    return tell(options, run.checkpoints.damaged, found.to_json(), lambda: page(found))


def page(found: Matches) -> str:
    """What a person wants to know of the answers."""
    count = len(found.truth)
    lines = [
        f"{found.name}: {count:,} question{'s' * (count != 1)}",
        f"  {found.share:.1%} answered exactly right ({sum(found.right):,})",
    ]
    if found.recall:
        told = ", ".join(
            f"{share:.1%} among the first {most}" for most, share in found.recall.items()
        )
        lines.append(
            f"  the page that is asked about is found: {told}".replace("the first 1,", "the first,")
        )
    if found.usual is not None:
        lines += [
            f"  {found.usual.share:.1%} would be by saying {found.usual.answer} each time, the most "
            "frequent answer in training",
            f"  {found.known:.1%} of the answers are the answer to some question, in training or here",
            f"  {found.plausible:.1%} are wrong but plausible: an answer of the training set",
        ]
    sure, right = found.sure, found.right
    for name, these in (("right", True), ("wrong", False)):
        some = [s for s, r in zip(sure, right, strict=True) if r is these]
        if some:
            lines.append(f"  {sum(some) / len(some):.2f} is how sure it is where it is {name}")
    lines.append(f"  {found.calibration_error:.2f} apart are sureness and correctness, on average")
    names = [group for group in found.by_name if group[1] >= FEW]
    lines += ["by the name of what is asked about:"] * bool(names)
    lines += [f"  {name}: {share:.1%} of {several:,} right" for name, several, share in names]
    if found.text:
        for what, of in (("what is asked about", found.subjects), ("the true answer", found.truth)):
            lines.append(f"by how often {what} stands in the text that was read:")
            lines += [
                f"  {name:>6} times  {share:6.1%} of {several:,} right"
                for name, several, share in found.by_frequency(of)
            ]
    return "\n".join(lines)
