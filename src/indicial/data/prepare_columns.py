"""What `--data` names for several inputs → `Columns`: bound, divided, encoded, on disk.

    data = prepare_columns(slots(code), ["x=train.de", "w=train.en"])
    data = prepare_columns(slots(code), ["pairs.tsv"], {"x": "german"}, validation=["dev.tsv"])

The work is done once: what comes of it stays on disk (data/corpus.py). Rows that cannot be read are left out,
counted, and told with their lines. Of a built-in world rows are made rather than read, each part with its own; what
the true distribution would lose on them is known: `nats`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from indicial.data.binding import IMAGE, Bound, File, Row, Slot, bind, uneven
from indicial.data.codings import Coding, Refused
from indicial.data.column_rows import Columns, Held, Part, Wishes, learn, load_codings, save_codings
from indicial.data.corpus import FORMAT, Column, digest_of, open_array, stored
from indicial.data.parts import MARKS, mark
from indicial.data.prepare_text import COUNTS, FRACTION, Cut, reported
from indicial.data.tables import Bad, Rows, Table
from indicial.data.tokenizers import Ints
from indicial.data.world import Phrasebook, Scenes, tables, world_table
from indicial.program.messages import IndicialError

SIZES = {"phrasebook": 50_000, "scenes": 20_000}
"""Rows for training, if nobody says how many."""
KNOWN_BY = 100
"""Rows that stand for a world in its stamp."""


@dataclass(frozen=True)
class Made(Table):
    """Rows of one part of a world."""

    world: Phrasebook | Scenes
    part: str
    count: int
    seed: int
    folder = Path()

    @property
    def name(self) -> str:
        return self.world.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self.world.inputs

    @cached_property
    def made(self) -> list[dict[str, Any]]:
        """All rows with all that is known of them."""
        return list(self.world.rows(self.part, self.count, self.seed))

    def rows(self) -> Rows:
        yield from enumerate(self.made, 1)

    @property
    def nats(self) -> float:
        """What the true distribution of w, given what else a row has, would lose on these rows."""
        return -math.fsum(row["log_probability"] for row in self.made)

    def stamp(self) -> object:
        # The first rows stand for how they are made, which another version may change.
        first = list(self.world.rows(self.part, min(self.count, KNOWN_BY), self.seed))
        told = "\n".join(str(row[name]) for row in first for name in self.columns)
        known = hashlib.sha256(told.encode()).hexdigest()
        return [self.name, self.part, self.count, self.seed, known]


def made_parts(
    what: Sequence[str | Table],
    validation: float | Sequence[str | Table] | None,
    size: int | None,
    seed: int,
) -> tuple[Made, Made] | None:
    """Both parts of the world that is named; None if the data are files."""
    named = [name for name in what if isinstance(name, str) and name in tables()]
    if not named:
        if size is not None:
            raise IndicialError(
                f"--world-size is for a built-in world ({', '.join(tables())}), and "
                f"{' '.join(map(str, what))} is none"
            )
        return None
    name = named[0]
    if len(what) > 1:
        raise IndicialError(
            f"{name} is a built-in world, which cannot be joined with files; a file of that name is "
            f"./{name}"
        )
    if validation is not None and not isinstance(validation, float):
        raise IndicialError(
            f"{name} is a built-in world, which makes rows for both parts: files for --validation do "
            "not go with it"
        )
    count = size or SIZES[name]
    kept = max(1, round(count * (FRACTION if validation is None else validation)))
    world = world_table(name)
    return Made(world, "train", count, seed), Made(world, "validation", kept, seed)


TOLD = 5
"""Rows that were left out and are told one by one."""
MOST_BAD = 0.2
"""Of the rows: more are no slips, but another format."""


def prepare_columns(
    slots: Sequence[Slot],
    what: Sequence[str | Table],
    columns: Mapping[str, str] | None = None,
    *,
    validation: float | Sequence[str | Table] | None = None,
    tokens: str = "auto",
    vocabulary: int | None = None,
    cut: Cut | None = None,
    sizes: Mapping[str, int] | None = None,
    known: Path | None = None,
    world_size: int | None = None,
    seed: int = 0,
    cache: Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> Columns:
    """The columns that `what` names, ready to make batches of.

    `columns` says which column an input reads, `validation` is a fraction or what is named as in
    `what`, `known` a run's folder whose tokens and labels are to be used.
    """
    made = made_parts(what, validation, world_size, seed)
    bound = bind(slots, what if made is None else made[:1], columns or {})
    kept_back: Bound | float = FRACTION
    if made is not None:
        kept_back = bind(slots, made[1:], columns or {})
    elif isinstance(validation, float):
        kept_back = validation
    elif validation is not None:
        kept_back = bind(slots, validation, columns or {})
    codings = None if known is None else load_codings(known)
    whole_words = made is not None and vocabulary is None
    # The other sizes change nothing here, and the data need not be prepared anew for them.
    axes = {name for slot in slots for name in slot.axes}
    asked_sizes = {name: size for name, size in (sizes or {}).items() if name in axes}
    wishes = Wishes(tokens, vocabulary, cut or Cut(), asked_sizes, whole_words)
    asked = [(slot.name, slot.kind, slot.vocabulary, slot.predicted, slot.fixed) for slot in slots]
    taken = None if codings is None else {n: c.to_json() for n, c in codings.items()}
    other = kept_back if isinstance(kept_back, float) else kept_back.stamp()
    made_from = json.dumps([FORMAT, bound.stamp(), other, asked, seed, wishes.to_json(), taken])
    key = "columns-" + hashlib.sha256(made_from.encode()).hexdigest()[:56]
    folder = stored(key, Making(tuple(slots), bound, kept_back, wishes, codings, seed, tell), cache)
    description = {
        "name": bound.name,
        "columns": bound.columns,
        "stored": folder.name,
        "cut": asdict(wishes.cut),
        "format": FORMAT,
    }
    if made is not None:
        description["world"] = {"name": made[0].name, "size": made[0].count, "seed": seed}
    return open_columns(folder, description)


def open_columns(folder: Path, description: dict[str, Any]) -> Columns:
    """Columns that are prepared already, perhaps by another process."""
    codings = load_codings(folder)
    counts = json.loads((folder / COUNTS).read_text(encoding="utf-8"))
    parts: dict[str, Part] = {}
    told = {**description, "notes": counts["notes"], "split": counts["split"]}
    for part in ("train", "validation"):
        held = {
            name: _held(folder, f"{part}.{number}", coding, counts[part]["shapes"][name])
            for number, (name, coding) in enumerate(codings.items())
        }
        parts[part] = Part(held, counts[part]["rows"], digest_of(folder, part))
        told[part] = {
            "documents": parts[part].rows,
            "tokens": len(parts[part]),
            "left_out": counts[part]["left_out"],
            "digest": parts[part].digest,
        }
        if counts[part].get("nats") is not None:
            told[part]["nats"] = counts[part]["nats"]
    return Columns(parts["train"], parts["validation"], codings, told, folder)


def _held(folder: Path, name: str, coding: Coding, shape: list[int]) -> Held:
    def opened(kind: str, dtype: Any) -> Ints | None:
        path = folder / f"{name}.{kind}"
        return open_array(path, dtype) if path.exists() else None

    values = opened("values", coding.dtype)
    assert values is not None
    return Held(
        coding, values.reshape(-1, *shape), opened("starts", np.int64), opened("shared", np.int32)
    )


# ---------------------------------------------------------------------- doing the work


@dataclass(frozen=True)
class Making:
    """Fills a folder with the columns of both parts, their codings, and what was counted."""

    slots: tuple[Slot, ...]
    bound: Bound
    validation: Bound | float
    wishes: Wishes
    known: Mapping[str, Coding] | None
    seed: int
    tell: Callable[[str], None] | None

    def __call__(self, folder: Path) -> None:
        codings = dict(self.known or learn(self.slots, self._rows("train"), self.wishes))
        codings = {slot.name: codings[slot.name] for slot in self.slots}
        save_codings(folder, codings)
        counts: dict[str, Any] = {"split": self._split, "notes": []}
        for part in ("train", "validation"):
            rows = reported(self._rows(part), self.bound.name, self.tell, "rows")
            written = _write(folder, part, self.slots, codings, rows)
            name = "training" if part == "train" else "validation"
            if not written.rows:
                lines = "".join(f"\n  {line}" for line in written.bad)
                why = (
                    f"can be read:{lines}"
                    if lines
                    else f"is left; for validation are {self._split}"
                )
                raise IndicialError(f"{self.bound.name}: no row of the {name} part {why}")
            if written.left_out > MOST_BAD * (written.rows + written.left_out):
                raise IndicialError(
                    f"{written.left_out:,} of {written.rows + written.left_out:,} rows of the {name} "
                    "part cannot be read:" + "".join(f"\n  {line}" for line in written.bad)
                )
            if written.left_out:
                every = written.rows + written.left_out
                told = left_out(written.bad, written.left_out, every, f" of the {name} part")
                counts["notes"].append(told)
            counts[part] = {
                "rows": written.rows,
                "left_out": written.left_out,
                "shapes": written.shapes,
                "nats": true_nats(self.bound if part == "train" else self.validation),
            }
        (folder / COUNTS).write_text(json.dumps(counts), encoding="utf-8")

    @property
    def _split(self) -> str:
        if isinstance(self.validation, float):
            return f"{100 * self.validation:g} % of the rows, chosen by what they give"
        return "rows of their own"

    def _rows(self, part: str) -> Iterator[Row]:
        if not isinstance(self.validation, float):
            yield from (self.bound if part == "train" else self.validation).rows()
            return
        for row, mark_ in self._marked():
            if (mark_ < self._edge) == (part == "validation"):
                yield row

    def _marked(self) -> Iterator[tuple[Row, int]]:
        """Rows that give the same get the same mark, all captions of an image, and go to one side."""
        given = next((s.name for s in self.slots if not s.predicted), self.slots[0].name)
        for row in self.bound.rows():
            cell = row.where if isinstance(row.cells, Bad) else row.cells[given]
            yield row, mark(_content(cell), self.seed)

    @cached_property
    def _edge(self) -> int:
        """Marks below it are for validation; at least one row is on each side."""
        assert isinstance(self.validation, float)
        marks = [mark_ for row, mark_ in self._marked() if not isinstance(row.cells, Bad)]
        wanted = round(self.validation * MARKS)
        return min(max(wanted, min(marks) + 1), max(marks)) if marks else wanted


def true_nats(bound: Bound | float) -> float | None:
    """What the true distribution loses on a part, where it is known."""
    tables = [] if isinstance(bound, float) else [t for s in bound.strands for t in s.tables]
    return tables[0].nats if len(tables) == 1 and isinstance(tables[0], Made) else None


def _content(cell: object) -> str:
    if isinstance(cell, File):
        return cell.name
    if isinstance(cell, np.ndarray):
        return cell.tobytes().hex()
    return cell if isinstance(cell, str) else repr(cell)


def left_out(bad: Sequence[str], count: int, of: int, part: str = "") -> str:
    """What a command tells of rows that it does not read; `bad` says of the first of them why."""
    shown = bad[:TOLD]
    rest = count - len(shown)
    more = f"\n  and {rest:,} more" if rest > 0 else ""
    lines = "".join(f"\n  {line}" for line in shown)
    verb = "is" if count == 1 else "are"
    return f"{count:,} of {of:,} rows{part} {verb} left out:{lines}{more}"


@dataclass
class _Written:
    """What was written of a part."""

    rows: int = 0
    left_out: int = 0
    bad: list[str] = field(default_factory=list)
    """The first of those that were left out."""
    shapes: dict[str, list[int]] = field(default_factory=dict)
    """Of a row of each input; of one place, where rows differ in length."""


def _write(
    folder: Path,
    part: str,
    slots: Sequence[Slot],
    codings: Mapping[str, Coding],
    rows: Iterator[Row],
) -> _Written:
    found = _Written()
    columns = [
        _Cells(folder, f"{part}.{number}", slot, codings[slot.name])
        for number, slot in enumerate(slots)
    ]
    try:
        for where, cells in rows:
            try:
                values = _encoded(columns, cells)
            except Refused as why:
                found.left_out += 1
                if len(found.bad) < TOLD:
                    found.bad.append(f"{where}: {why}")
                continue
            for column in columns:
                column.add(values[column.slot.name])
            found.rows += 1
    finally:
        for column in columns:
            column.close()
    found.shapes = {column.slot.name: list(column.shape or ()) for column in columns}
    return found


def _encoded(columns: Sequence[_Cells], cells: Mapping[str, Any] | Bad) -> dict[str, Any]:
    """What each column reads of a row; `Refused` says why it cannot be read."""
    if isinstance(cells, Bad):
        raise Refused(cells.why)
    values: dict[str, Any] = {}
    for column in columns:
        name = column.slot.name
        try:
            values[name] = column.read(cells[name])
        except Refused as error:
            raise Refused(f"{name}: {error}") from None
    if why := uneven([column.slot for column in columns], values):
        raise Refused(why)
    return values


class _Cells(Column):
    """A column whose cells are read one by one; of images that several rows have, each once."""

    def __init__(self, folder: Path, name: str, slot: Slot, coding: Coding) -> None:
        self.slot, self.coding = slot, coding
        self.ragged = slot.length is not None
        self.shares = slot.kind == IMAGE
        self.shape: tuple[int, ...] | None = None
        super().__init__(folder, name, *["starts"] * self.ragged, *["shared"] * self.shares)
        self._end = 0
        if self.ragged:
            self.put(np.zeros(1, np.int64), "starts")
        self._known: dict[str, int] = {}

    def read(self, cell: object) -> Any:
        """What is stored of a cell, or the number of an image that is stored already."""
        if isinstance(cell, File) and cell.name in self._known:
            return self._known[cell.name]
        value = self.coding.encode(cell)
        shape = value.shape[1:] if self.ragged else value.shape
        if self.shape is None:
            self.shape = shape
        if shape != self.shape:
            raise Refused(f"its shape is {shape}, and {self.shape} in the rows before")
        return (cell.name, value) if isinstance(cell, File) else value

    def add(self, value: Any) -> None:
        if not self.shares:
            self.put(value)
            if self.ragged:
                self._end += len(value)
                self.put(np.array([self._end], np.int64), "starts")
            return
        number = value if isinstance(value, int) else len(self._known)
        if not isinstance(value, int):
            name, array = value if isinstance(value, tuple) else (f"row {number}", value)
            self._known[name] = number
            self.put(array)
        self.put(np.array([number], np.int32), "shared")
