"""A run as one page: equations, curves, texts, what its heads look at, what is inside.

>>> Path("report.html").write_text(report("runs/people-1"))          # HTML that stands alone

Every part is what a command shows: `explain`, `train`, `generate`, `attend`, `inspect`. What does not apply
to a model is told in its place. Where the data is a world, a text that it never says is marked: for the world
knows what is true.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap
from typing import Any

from indicial.data.world import world
from indicial.decode.settings import Decoding
from indicial.decode.text import Speaker, with_alternatives
from indicial.inspect.attention import Look, attend
from indicial.inspect.attention_views import draw_attention, draw_on_picture
from indicial.inspect.findings import inspect_run
from indicial.inspect.findings import page as inside_page
from indicial.inspect.mathml import mathml
from indicial.inspect.subjects import Seen, Subject, column_subject
from indicial.lab.report_page import (
    Section,
    folded,
    heads,
    listed,
    page,
    picture,
    pre,
    written,
)
from indicial.program.explain.explain import explain
from indicial.program.explain.numbers import count
from indicial.program.messages import IndicialError
from indicial.training.curves import draw_curves, read_metrics
from indicial.training.run import Run

WORDS, HEADS, ROWS = 200, 100, 3
"""How long a text may be whose attention is shown, how many heads, how many rows of a world."""
TOKENS = 60
"""Of a text with its alternatives."""


@dataclass(frozen=True)
class _Reads:
    """What the model is to read."""

    text: str | None
    given: Mapping[str, object]
    row: int | None
    checkpoint: str


def report(
    run: str | os.PathLike[str] | Run,
    *,
    text: str | None = None,
    given: Mapping[str, object] | None = None,
    row: int | None = None,
    checkpoint: str = "best",
) -> str:
    """The page of a run; `text` is what its heads read, `given` what its inputs do, or a row of a world."""
    reads = _Reads(text, given or {}, row, checkpoint)
    run = Run.open(run)
    title = f"{run.description.equations.title} on {run.description.data.get('name', 'data')}"
    with tempfile.TemporaryDirectory(prefix="indicial-") as folder:
        place = Path(folder)
        parts: dict[str, Callable[[], str]] = {
            "Summary": lambda: _summary(run),
            "Equations": lambda: _equations(run),
            "Curves": lambda: _curves(run, place, title),
            "Texts": lambda: _texts(run, reads),
            "Attention": lambda: _attention(run, place, reads),
            "Inside": lambda: _inside(run, place, checkpoint),
            "Settings": lambda: listed(dict(run.description.settings)),
        }
        sections = []
        for name, made in parts.items():
            try:
                sections.append(Section(name, made()))
            except IndicialError as error:
                sections.append(Section(name, missing=str(error)))
    return page(title, sections)


def _summary(run: Run) -> str:
    said = run.description
    metrics = list(read_metrics(run.metrics)) if run.metrics.exists() else []
    validations = [(m["step"], m["validation"]) for m in metrics if "validation" in m]
    steps = [m for m in metrics if "loss" in m]
    rows: dict[str, Any] = {
        "run": run.folder,
        "begun": said.created,
        "model": said.equations.title,
        "data": said.data.get("name", ""),
        "sizes": ", ".join(f"{name} = {count(size)}" for name, size in said.sizes.items()),
    }
    number = run.program.cost.parameters
    known = {name: said.sizes[name] for name in number.names if name in said.sizes}
    if len(known) == len(number.names):
        rows["parameters"] = count(number.value(known))
    if steps:
        rows["steps"] = (
            f"{count(steps[-1]['step'])} of {count(steps[-1].get('of', steps[-1]['step']))}"
        )
        rows["tokens"] = count(steps[-1].get("tokens", 0))
    if validations:
        step, best = min(validations, key=lambda found: found[1].get("loss") or float("inf"))
        means = {name: value for name, value in best.items() if isinstance(value, float)}
        scores = [f"{n.replace('_', ' ')} {v:.4g}" for n, v in means.items() if n != "nats"]
        rows["best validation"] = f"step {count(step)}: {', '.join(scores)}"
    return listed(rows)


def _equations(run: Run) -> str:
    program = run.program
    try:
        typeset = f'<div class="scroll">{mathml(program.latex())}</div>'
    except IndicialError:
        typeset = pre(program.unicode())  # without latex2mathml
    sizes = {n: s for n, s in run.description.sizes.items() if n in program.analysis.code.sizes}
    return typeset + folded("Names, ranges and costs", pre(explain(program, sizes=sizes)))


def _curves(run: Run, folder: Path, title: str) -> str:
    drawn = draw_curves(run.metrics, folder, title) if run.metrics.exists() else []
    found = [path for path in drawn if path.suffix == ".svg"]
    if not found:
        raise IndicialError("nothing has been trained yet")
    return picture(found[0], f"loss of {title} over its steps")


def _texts(run: Run, reads: _Reads) -> str:
    if run.description.task != "columns":
        marks = explained(run.folder)
        several = pre(samples(run.folder) + (f"\n{marks}" if marks else ""))
        speaker = Speaker.of(run)
        return several + "".join(_written(speaker, temperature) for temperature in (0.0, 0.8))
    first = _row(run, reads)
    rows = [None] if first is None else range(first, first + ROWS)
    seen = [_columns(run, replace(reads, row=number)) for number in rows]
    said = [[f"{t.reading.name}: {''.join(t.labels)}" for t in one.subject.texts] for one in seen]
    return pre("\n\n".join("\n".join(lines) for lines in said))


def _written(speaker: Speaker, temperature: float) -> str:
    """A text with what might have stood in the place of each token."""
    settings = Decoding(temperature=temperature, seed=1, max_new_tokens=TOKENS)
    return written(with_alternatives(speaker, "", settings), f"At temperature {temperature:g}")


def _attention(run: Run, folder: Path, reads: _Reads) -> str:
    """The heads to choose from, and all of them as a picture."""
    seen = _seen(run, reads)
    looks = attend(seen.subject)
    if seen.texts_across:
        looks = [k for k in looks if k.at or k.rows.name != k.columns.name] or looks
    file = folder / "attention.svg"
    shown = looks[:HEADS]
    if seen.picture is not None:
        draw_on_picture(shown, seen.picture, str(file), "")
        return picture(file, "where each word of the caption looks in the picture")
    draw_attention(shown[:24], str(file), "", seen.links)
    drawn = folded("All heads as a picture", picture(file, "attention weights of each head"))
    return heads([(look.title, _short(look)) for look in shown], looks[0].says) + drawn


def _short(look: Look) -> dict[str, Any]:
    """A head as data, of the first words of a long text."""
    found = look.to_json()
    for side in ("rows", "columns"):
        found[side] = {**found[side], "labels": found[side]["labels"][:WORDS]}
    return {**found, "weights": [line[:WORDS] for line in found["weights"][:WORDS]]}


def _seen(run: Run, reads: _Reads) -> Seen:
    """What the heads read: what was asked for, a row of the world, or what the model says itself."""
    if run.description.task == "columns":
        return _columns(run, reads)
    text = reads.text
    if text is None:
        said = Speaker.of(run).generate([""], Decoding(temperature=1.0, seed=1, max_new_tokens=30))
        text = str(said[0])
    return Seen(Subject.of_run(run, text, checkpoint=reads.checkpoint))


def _columns(run: Run, reads: _Reads) -> Seen:
    """Of a model with several inputs."""
    row = _row(run, reads)
    return column_subject(run, reads.given, row=row, checkpoint=reads.checkpoint)


def _row(run: Run, reads: _Reads) -> int | None:
    """Only a built-in world has rows; of other data, what is read must be given."""
    world = "world" in run.description.data and not reads.given
    return 0 if reads.row is None and world else reads.row


def _inside(run: Run, folder: Path, checkpoint: str) -> str:
    found = inspect_run(run, checkpoint=checkpoint)
    drawn = [path for path in found.draw(folder) if path.suffix == ".svg"]
    says = "gradients through time, or eigenvalues of a step"
    return pre(inside_page(found)) + "".join(picture(path, says) for path in drawn)


TEMPERATURES = {0.0: 1, 0.7: 3, 1.0: 3}
"""With how many texts there are of each: at 0 all would be the same."""
LONGEST = 60
MARK = "✗ "


def samples(folder: Path, width: int = 80, seed: int = 1) -> str:
    """A few texts of a run, indented under their temperatures."""
    run = Run.open(folder)
    speaker = Speaker.of(run)
    name = run.description.data.get("world", {}).get("name")
    lines = []
    for temperature, number in TEMPERATURES.items():
        settings = Decoding(
            temperature=temperature, num_return_sequences=number, seed=seed, max_new_tokens=LONGEST
        )
        lines.append(f"temperature {temperature:g}")
        for text in speaker.generate([""], settings):
            said = " ".join(str(text).split())  # a terminal obeys none of it
            shown = "".join(c if c.isprintable() else "�" for c in said)
            mark = MARK if name is not None and not _allowed(name, shown) else "  "
            lines += wrap(shown, width, initial_indent=f"  {mark}", subsequent_indent=" " * 4)
    return "\n".join(lines)


def explained(folder: Path) -> str:
    """What the mark means, if there may be one."""
    name = Run.open(folder).description.data.get("world", {}).get("name")
    return f"✗: false in the world {name}, or not its grammar" if name else ""


def _allowed(name: str, sentence: str) -> bool:
    try:
        world(name).log_probability(sentence)
    except IndicialError:
        return False
    return True
