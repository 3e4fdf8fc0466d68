"""The data of a training, which one process prepares and all of them read.

>>> data = read_data(trainable(["ugrnn"]), Settings.read({"data": "book.txt"}), print, processes=processes)

The first process of all does the work; those on its machine open what it stored. On another machine
the first process there does it again, from files of the same name, and the result must be the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from indicial.data.column_rows import Columns
from indicial.data.corpus import FORMAT, Data, find
from indicial.data.parts import fraction_or_names
from indicial.data.prepare_columns import open_columns, prepare_columns
from indicial.data.prepare_text import WORLD_SIZE, Cut, open_data, prepare_data
from indicial.data.questions import is_text, looked_up
from indicial.data.sources import is_gone
from indicial.program.messages import IndicialError
from indicial.tasks.forms import form_of
from indicial.tasks.programs import Trainable
from indicial.tasks.texts import Texts
from indicial.training.processes import ALONE, Processes
from indicial.training.run import Run
from indicial.training.settings import Settings

Tell = Callable[[str], None]


def read_data(
    found: Trainable,
    settings: Settings,
    tell: Tell,
    known: Path | None = None,
    processes: Processes = ALONE,
    cut: Cut | None = None,
) -> Data | Columns:
    """The data that the settings name for a program; `known` is a run's folder whose tokens and labels are
    taken, `cut` says how texts are cut else."""

    def prepare() -> Data | Columns:
        return _prepare(found, settings, tell, known, cut)

    return prepared_together(processes, prepare, settings.sources)


def _prepare(
    found: Trainable, settings: Settings, tell: Tell, known: Path | None, cut: Cut | None
) -> Data | Columns:
    validation: Any = settings.validation and fraction_or_names(settings.validation)
    unit, tokens = settings.documents or "auto", settings.tokens or "auto"
    if found.task != "columns":
        return prepare_data(
            settings.data,
            tokens=tokens,
            vocabulary=settings.vocabulary,
            field=settings.field,
            documents=unit,
            validation=validation,
            world_size=settings.world_size or WORLD_SIZE,
            tokenizer=known,
            cut=cut,
            marked=found.task == Texts.name,
            columns=settings.column,
            tell=tell,
        )
    slots = form_of(found.program).slots
    what, columns = looked_up(slots, settings.data, settings.column, unit)
    if isinstance(validation, tuple) and what != list(settings.data):
        pages = [name for name in settings.data if is_text(name)]
        validation, _ = looked_up(slots, [*pages, *validation], settings.column, unit)
    return prepare_columns(
        slots,
        what,
        columns,
        validation=validation,
        tokens=tokens,
        vocabulary=settings.vocabulary,
        cut=cut,
        sizes=found.sizes,
        known=known,
        world_size=settings.world_size,
        tell=tell,
    )


def open_any(folder: Path, description: Mapping[str, Any]) -> Data | Columns:
    """Data that are prepared already, of one text or of columns, perhaps by another process."""
    opened = open_columns if "columns" in description else open_data
    return opened(folder, dict(description))


def find_again(description: Mapping[str, Any], cache: Path | None = None) -> Data | Columns | None:
    """What a run describes, as it was prepared for it, if it is still on disk."""
    key = description.get("stored") if description.get("format") == FORMAT else None
    folder = find(key, cache) if isinstance(key, str) else None
    if folder is None:
        return None
    data = open_any(folder, description)
    known = [description[part]["digest"] for part in ("train", "validation")]
    return data if known == [data.train.digest, data.validation.digest] else None


def read_run_data(
    run: Run, said: Settings, tell: Tell, known: Path | None = None, processes: Processes = ALONE
) -> Data | Columns:
    """The data of a run that goes on; `said` is what was said now.

    Standard input can be read but once, and a file may be gone: then what was made of them is looked for
    where it was stored.
    """
    kept = Settings.kept(run.description.settings)
    settings = said.over(kept)
    names = settings.sources
    gone = next((name for name in names if is_gone(name)), None)
    cut = run.description.data.get("cut")  # as there was time for when it began
    sizes = {n: size for n, size in run.description.sizes.items() if n in kept.set}
    found = Trainable(run.program, run.description.task, sizes)

    def prepare() -> Data | Columns:
        return _prepare(found, settings, tell, known, Cut(**cut) if cut is not None else None)

    def prepare_again() -> Data | Columns:
        data = find_again(run.description.data)
        if gone is not None and data is not None:
            tell(f"note: {gone} is gone; what was made of it is still there")
        if data is not None:
            return data
        if gone is not None:
            raise IndicialError(
                f"{run.folder} was trained on {gone}, which is gone, and what was made of it is no "
                "longer in the cache. Name a file that holds the same: --data FILE"
            )
        try:
            if sys.stdin is None or sys.stdin.isatty():
                raise IndicialError("there is a terminal")
            return prepare()
        except IndicialError as error:
            raise IndicialError(
                f"{run.folder} was trained on standard input, and its tokens are no longer in the "
                "cache. Pipe the same text into it again, or name a file that holds it: --data FILE "
                f"({error})"
            ) from None

    there = said.data or ("-" not in names and gone is None)
    return prepared_together(processes, prepare if there else prepare_again, names)


def prepared_together(
    processes: Processes, prepare: Callable[[], Data | Columns], what: Sequence[str]
) -> Data | Columns:
    """What `prepare` gives in the first process; `what` are the names that it reads."""
    if not processes.connected:
        return prepare()
    data = prepare() if processes.rank == 0 else None
    told = data and {"folder": str(data.folder), "description": data.description}
    told = processes.share(told)
    folder = Path(told["folder"])
    if data is None and processes.local == 0 and not folder.is_dir():
        if "-" in what:
            raise IndicialError(
                "--data - is read by the first process, and another machine cannot see it: name a "
                "file that both have, or set INDICIAL_CACHE to a folder that both see"
            )
        data = prepare()
        _check_same(data, told["description"])
    processes.wait()
    if data is None:
        data = open_any(folder, told["description"]) if folder.is_dir() else prepare()
    return data


def _check_same(data: Data | Columns, description: dict[str, dict[str, str]]) -> None:
    for part, corpus in (("train", data.train), ("validation", data.validation)):
        if corpus.digest != description[part]["digest"]:
            raise IndicialError(
                f"the data {data.name} on this machine are not those of the first one: all "
                "processes must read the same"
            )
