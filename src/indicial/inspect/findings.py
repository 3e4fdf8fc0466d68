"""Everything that is found about the model of a run: as numbers, as pictures, and as a page of 80 columns.

>>> found = inspect_run("runs/names-1")
>>> found.to_json()["jacobians"][0]["radius"]
0.86
>>> print(page(found))
gradients through time
  distance           0       1       2       4       8      16      32    per step
  h               0.41    0.35    0.29    0.21    0.10   0.027  0.0019       0.861

A run → a few texts to look at its model with: of its own validation part, or of other data.

>>> texts = texts_for(Run.open("runs/book"), module)
>>> texts.inputs["w"].shape
torch.Size([32, 128])
"""

from __future__ import annotations

import os
import tempfile
import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from indicial.compile.ground import private
from indicial.compile.module.module import ProgramModule
from indicial.data.codings import tokens_by_name
from indicial.data.column_rows import Columns
from indicial.data.corpus import Data
from indicial.data.sources import Sentences
from indicial.data.tokenizers import Ints, Tokenizer
from indicial.data.world import World
from indicial.decode.evaluate import SENTENCES, encoded, open_for, task_on
from indicial.inspect.gradients import Gradient, Jacobian, gradients_through_time, jacobians
from indicial.inspect.statistics import (
    Neighbours,
    Saturation,
    Statistics,
    activation_statistics,
    embedding,
    frequent,
    nearest,
    parameter_statistics,
    saturations,
    tokens_of,
)
from indicial.program.messages import IndicialError
from indicial.tasks.forms import form_of
from indicial.training.curves import finite
from indicial.training.run import Run
from indicial.training.settings import Settings
from indicial.training.shared_data import find_again, read_run_data
from indicial.training.watchers import COLOURS, FORMATS, MARKS, plain_axes, saved

TEXTS = 32


@dataclass(frozen=True)
class Texts:
    """Rows of one length as the model reads them, and the tokens in them."""

    name: str
    inputs: dict[str, torch.Tensor]
    tokens: Ints


def texts_for(
    run: Run,
    module: ProgramModule,
    data: Sequence[str] | None = None,
    field: str | None = None,
    count: int = TEXTS,
) -> Texts:
    """The same texts every time."""
    if data is None:
        own = _own(run)
        assert isinstance(own, Data)
        return _rows(own, run, module, f"the validation part of {own.name}", count)
    tokenizer = run.tokenizer()
    found = open_for(run, tokenizer, data, field, None)
    source = Sentences(found, SENTENCES, "evaluation", 0) if isinstance(found, World) else found
    with tempfile.TemporaryDirectory(dir=private.temporary()) as folder:
        corpus = encoded(source, tokenizer, Path(folder))
        both = Data(corpus, corpus, tokenizer, None, {"name": source.name})
        return _rows(both, run, module, source.name, count)


def rows_for(
    run: Run, module: ProgramModule, data: Sequence[str] | None = None, count: int = TEXTS
) -> tuple[Texts, Tokenizer]:
    """Rows of a run with several inputs, all of one shape, and what the tokens that have vectors are
    called."""
    form = form_of(run.program)
    if data is not None:
        raise IndicialError(
            f"{run.folder} reads {' and '.join(slot.name for slot in form.slots)}: it is looked at "
            "with its own validation part, so leave --data out"
        )
    columns = _own(run)
    assert isinstance(columns, Columns)
    part, context = columns.validation, run.number("context")
    lengths = [h.lengths for h in part.columns.values() if h.lengths is not None]
    alike = np.arange(part.rows)
    if lengths:
        shapes = np.minimum(np.stack(lengths, 1), context)
        each, which, many = np.unique(shapes, axis=0, return_inverse=True, return_counts=True)
        alike = np.flatnonzero(which.ravel() == (many * each.sum(1)).argmax())
    rows = alike[:count]
    inputs = {
        name: torch.from_numpy(np.ascontiguousarray(held.take(rows, context)[0]))
        for name, held in part.columns.items()
    }
    found = embedding(module.code)
    read = found[2] if found is not None else next(iter(inputs))
    tokenizer = tokens_by_name(columns.codings[read])
    tokens = (
        np.asarray(inputs[read])
        if inputs[read].dtype == torch.int64
        else np.zeros((len(rows), 0), int)
    )
    return Texts(f"the validation part of {columns.name}", inputs, tokens), tokenizer


def _own(run: Run) -> Data | Columns:
    """The data of the run, prepared as in training."""
    found = find_again(run.description.data)
    if found is not None:
        return found
    kept = Settings.kept(run.description.settings)
    if not kept.data:
        raise IndicialError(f"{run.folder} does not say what it was trained on; give --data PATH")
    try:
        return read_run_data(run, Settings(), lambda text: None, run.folder)
    except IndicialError as error:
        raise IndicialError(
            f"{error} (to look at the model with other data: --data PATH)"
        ) from error


def _rows(data: Data, run: Run, module: ProgramModule, name: str, count: int) -> Texts:
    task = task_on(data, run, module, None)
    context, there = task.checked.context, len(data.validation)
    if there < context:
        raise IndicialError(
            f"{name} has {there} tokens, and the model is looked at while it reads {context}: give "
            "more text, --data PATH"
        )
    block = task.checked.batch(0, count)
    return Texts(name, task.of_block(block, 0).inputs, block.tokens)


@dataclass(frozen=True)
class Findings:
    """What does not apply to a model is the reason why, in words."""

    title: str
    texts: str
    gradients: list[Gradient] | str
    jacobians: list[Jacobian | str] | str
    saturations: list[Saturation] | str
    parameters: list[Statistics]
    activations: list[Statistics]
    neighbours: list[Neighbours] | str

    def draw(self, folder: Path) -> list[Path]:
        """The pictures that there are."""
        paths: list[Path] = []
        if not isinstance(self.gradients, str):
            paths += draw_gradients(self.gradients, folder, self.title)
        known = [one for one in self.jacobians if isinstance(one, Jacobian)]
        if known:
            paths += draw_eigenvalues(known, folder, self.title)
        return paths

    def to_json(self) -> dict[str, Any]:
        named = {"model": self.title, "texts": self.texts}
        rest = [f.name for f in fields(self) if f.name not in ("title", "texts")]
        return named | {name: finite(_listed(getattr(self, name))) for name in rest}


def inspect_run(
    run: str | os.PathLike[str] | Run,
    data: Sequence[str] | None = None,
    *,
    field: str | None = None,
    words: Sequence[str] = (),
    checkpoint: str = "best",
) -> Findings:
    """Looks at the model of a run, with texts of its validation part unless data is given."""
    run = Run.open(run)
    module = run.module(checkpoint, device="cpu")
    if run.description.task == "columns":
        texts, tokenizer = rows_for(run, module, data)
        shown = f"{len(texts.tokens)} rows, {texts.name}"
    else:
        texts, tokenizer = texts_for(run, module, data, field), run.tokenizer()
        shown = f"{len(texts.tokens)} texts of {texts.tokens.shape[1]} tokens, {texts.name}"
    tokens = tokens_of(words, tokenizer)
    return Findings(
        title=f"{module.title} in {run.folder.name}",
        texts=shown,
        gradients=gradients_through_time(module, texts.inputs),
        jacobians=jacobians(module, texts.inputs),
        saturations=saturations(module, texts.inputs),
        parameters=parameter_statistics(module),
        activations=activation_statistics(module, texts.inputs),
        neighbours=nearest(module, tokenizer, tokens or frequent(texts.tokens, tokenizer.eos)),
    )


def _listed(found: Any) -> Any:
    """JSON, of each of several; what does not apply is told as a reason."""
    match found:
        case list():
            return list(map(_listed, found))
        case str():
            return {"not_applicable": found}
        case Jacobian():
            values = [[[z.real, z.imag] for z in row] for row in found.eigenvalues.tolist()]
            return {
                "name": found.name, "radius": found.radius, "radii": found.radii.tolist(),
                "stretch": found.stretch, "outside": found.outside, "eigenvalues": values,
            }  # fmt: skip
    return asdict(found)


PICTURES = [f"{name}.{ending}" for name in ("gradients", "eigenvalues") for ending in FORMATS]
"""All that may be drawn."""
LINES = ("-", "--", "-.", ":")


def draw_gradients(found: Sequence[Gradient], folder: Path, title: str) -> list[Path]:
    """The norm of the gradient over the distance, on a scale of powers, and the line fitted to it."""
    figure, axes = plain_axes(7, 4.2, title)
    for number, one in enumerate(found):
        colour = COLOURS[number % len(COLOURS)]
        distances = np.arange(len(one.norms))
        norms = np.where(np.array(one.norms) > 0, one.norms, np.nan)
        label = one.name
        if one.factor is not None:
            label += f": factor {one.factor:.3f} per step"
        axes.semilogy(
            distances, norms, color=colour, linewidth=1.6, label=label,
            linestyle=LINES[number // len(COLOURS) % len(LINES)],
            marker=MARKS[number % len(MARKS)], markersize=3.5, markevery=max(1, len(norms) // 16),
        )  # fmt: skip
        if one.factor is not None:
            known = np.isfinite(norms)
            middle = np.exp(np.log(norms[known]).mean())
            line = middle * one.factor ** (distances - distances[known].mean())
            axes.semilogy(distances, line, color=colour, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_xlabel("distance d, in steps back")
    axes.set_ylabel("norm of the gradient of one prediction")
    axes.legend(frameon=False)
    return saved(figure, folder, "gradients")


def draw_eigenvalues(found: Sequence[Jacobian], folder: Path, title: str) -> list[Path]:
    """All eigenvalues, and the unit circle."""
    figure, axes = plain_axes(5.2, 5.2, title)
    turn = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(turn), np.sin(turn), color="black", linewidth=0.8)
    for number, one in enumerate(found):
        values = one.eigenvalues.ravel()
        axes.scatter(
            values.real, values.imag, s=9, alpha=0.5, linewidths=0,
            color=COLOURS[number % len(COLOURS)], marker=MARKS[number % len(MARKS)],
            label=f"{one.name}: spectral radius {one.radius:.3f}",
        )  # fmt: skip
    reach = 1.1 * max(1.0, *(float(np.abs(one.eigenvalues).max()) for one in found))
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_aspect("equal")
    axes.locator_params(nbins=5)
    axes.set_xlabel("real part")
    axes.set_ylabel("imaginary part")
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12))
    return saved(figure, folder, "eigenvalues")


WIDTH = 80
NAME = 22


def page(found: Findings) -> str:
    """All parts, in order."""
    parts = [
        [found.title, *_wrapped(found.texts)],
        _part("gradients of -ln P[t] at step t-d: their norm over the distance d", found.gradients,
              _gradients),
        _part("recurrent Jacobian ∂h[t]/∂h[t-1]: eigenvalues", found.jacobians, _jacobians),
        _part("saturated: |tanh| > 0.97, σ < 0.03 or > 0.97, ReLU at 0", found.saturations,
              _saturations),
        _part("parameters", found.parameters, _statistics),
        _part("what the equations give, of one text", found.activations, _statistics),
        _part("nearest words, by the cosine of their vectors", found.neighbours, _neighbours),
    ]  # fmt: skip
    return "\n\n".join("\n".join(part) for part in parts)


def _part(title: str, found: object, lines: object) -> list[str]:
    if isinstance(found, str):
        return [title, *_wrapped(f"does not apply: {found}")]
    assert callable(lines)
    return [title, *lines(found)]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _gradients(found: Sequence[Gradient]) -> list[str]:
    most = max(len(one.norms) for one in found)
    distances = [d for d in (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024) if d < most]
    distances = distances if len(distances) < 7 else [*distances[:3], *distances[3:][-4:]]
    lines = [_row("distance d", [*map(str, distances), "factor"])]
    for one in found:
        norms = [_number(one.norms[d]) if d < len(one.norms) else "" for d in distances]
        factor = "-" if one.factor is None else f"{one.factor:.3f}"
        lines.append(_row(one.name, [*norms, factor]))
    for one in found:
        half = one.half
        if half is not None and one.factor is not None:
            change = "halves" if one.factor < 1 else "doubles"
            lines += _wrapped(f"{one.name}: it {change} every {half:.1f} steps")
    return lines


def _jacobians(found: Sequence[Jacobian | str]) -> list[str]:
    lines = [_row("state", ["numbers", "radius", "largest", "outside", "stretch"], 10)]
    for one in found:
        if isinstance(one, str):
            lines += _wrapped(f"does not apply: {one}")
            continue
        cells = [
            str(one.eigenvalues.shape[1]),
            f"{one.radius:.3f}",
            f"{one.radii.max():.3f}",
            _share(one.outside),
            f"{one.stretch:.3f}",
        ]
        lines.append(_row(one.name, cells, 10))
    text = (
        "radius: the mean of the spectral radii at a step of each text; largest: the largest of "
        "them; outside: eigenvalues outside the unit circle; stretch: the largest singular value"
    )
    return [*lines, *_wrapped(text)]


def _saturations(found: Sequence[Saturation]) -> list[str]:
    lines = [_row("equation", ["", "low", "high", "units always"], 13)]
    for one in found:
        high = "-" if one.high is None else _share(one.high)
        lines.append(
            _row(one.equation, [one.function, _share(one.low), high, _share(one.always)], 13)
        )
    return lines


def _statistics(found: Sequence[Statistics]) -> list[str]:
    heads = ["numbers", "mean", "dev", "norm", "max", "zero", "nan"]
    lines = [_row("", heads)]
    for one in found:
        cells = [
            _count(one.count),
            # A mean that is 0 but for rounding is 0.
            _number(one.mean if abs(one.mean) > 1e-12 * one.most else 0.0),
            *map(_number, (one.deviation, one.norm, one.most)),
            _share(one.zero),
            _share(one.nan),
        ]
        lines.append(_row(one.name, cells))
    return lines


def _neighbours(found: Sequence[Neighbours]) -> list[str]:
    lines = []
    for one in found:
        line = f"  {one.token:<12}"
        for token, cosine in one.near:
            item = f"  {token} {cosine:.2f}"
            if len(line + item) > WIDTH:
                lines.append(line)
                line = " " * 14
            line += item
        lines.append(line)
    return lines


# ---------------------------------------------------------------------- cells


def _row(name: str, cells: Sequence[str], width: int = 0) -> str:
    """A name and cells to its right; a name that is too long has a line of its own."""
    room = width or min(8, (WIDTH - 2 - NAME) // len(cells))
    text = "".join(cell.rjust(room) for cell in cells)
    wide = sum(not unicodedata.combining(sign) for sign in name)
    if wide > NAME:
        return f"  {name}\n  {'':<{NAME}}{text}".rstrip()
    return f"  {name}{' ' * (NAME - wide)}{text}".rstrip()


def _number(value: float) -> str:
    """At most three digits, in at most seven signs."""
    if value == 0:
        return "0"
    if 0.001 <= abs(value) < 1000:
        return f"{value:.3g}" if abs(value) >= 0.01 else f"{value:.2g}"
    text = f"{value:.1e}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}"


def _share(value: float) -> str:
    return "0" if value == 0 else f"{100 * value:.1f}%"


def _count(number: int) -> str:
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if number >= 10 * size:
            return f"{number / size:.0f}{unit}"
    return str(number)
