"""The data of a training, which one process prepares and all of them read.

>>> data = read_data(Settings.read({"data": "book.txt"}), print, processes=processes)

The first process of all does the work; those on its machine open what it stored. On another machine
the first process there does it again, from files of the same name, and the result must be the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from indicial.data.columns.batches import Columns
from indicial.data.columns.binding import Slot
from indicial.data.columns.preparing import open_columns, prepare_columns
from indicial.data.corpus import Data
from indicial.data.parts import checked_fraction
from indicial.data.prepare import WORLD_SIZE, Cut, find_again, open_data, prepare_data
from indicial.data.questions import is_text, looked_up
from indicial.data.sources import is_gone
from indicial.program.messages import IndicialError
from indicial.training.processes import ALONE, Processes
from indicial.training.run import Run
from indicial.training.settings import Settings

Tell = Callable[[str], None]
Found = TypeVar("Found", Data, Columns)


def read_data(
    settings: Settings,
    tell: Tell,
    tokenizer: Path | None = None,
    processes: Processes = ALONE,
    cut: Cut | None = None,
    marked: bool = False,
) -> Data:
    """The data that the settings name; cut as in another run, if its folder is given. `marked`: with a
    token for what is left out, as objectives and questions need it."""

    def prepare() -> Data:
        return prepare_data(
            settings.data,
            tokens=settings.tokens or "auto",
            vocabulary=settings.vocabulary,
            field=settings.field,
            documents=settings.documents or "auto",
            validation=_validation(settings.validation),
            world_size=settings.world_size or WORLD_SIZE,
            tokenizer=tokenizer,
            cut=cut,
            marked=marked,
            columns=settings.column,
            tell=tell,
        )

    names = (*settings.data, *(settings.validation or ()))
    return prepared_together(processes, prepare, open_data, names)


def read_columns(
    settings: Settings,
    slots: Sequence[Slot],
    sizes: Mapping[str, int],
    tell: Tell,
    known: Path | None = None,
    processes: Processes = ALONE,
    cut: Cut | None = None,
) -> Columns:
    """The columns that the settings name for the inputs of a program; `known` is a run's folder
    whose tokens and labels are taken, `sizes` are those that were set."""
    validation: Any = _validation(settings.validation)
    unit = settings.documents or "auto"
    what, columns = looked_up(slots, settings.data, settings.column, unit)
    if isinstance(validation, float):
        validation = checked_fraction(validation)
    elif validation is not None and what != list(settings.data):
        pages = [name for name in settings.data if is_text(name)]
        validation, _ = looked_up(slots, [*pages, *validation], settings.column, unit)

    def prepare() -> Columns:
        return prepare_columns(
            slots,
            what,
            columns,
            validation=validation,
            tokens=settings.tokens or "auto",
            vocabulary=settings.vocabulary,
            cut=cut,
            sizes=sizes,
            known=known,
            world_size=settings.world_size,
            tell=tell,
        )

    names = (*settings.data, *(settings.validation or ()))
    return prepared_together(processes, prepare, open_columns, names)


def open_any(folder: Path, description: dict[str, Any]) -> Data | Columns:
    """Data that another process has prepared, of one text or of columns."""
    opened = open_columns if "columns" in description else open_data
    return opened(folder, description)


def read_run_columns(
    run: Run,
    slots: Sequence[Slot],
    said: Settings,
    tell: Tell,
    processes: Processes = ALONE,
) -> Columns:
    """The columns of a run that goes on, with its own tokens; from the cache, where a file is gone."""
    settings = said.over(Settings.kept(run.description.settings))
    names = (*settings.data, *(settings.validation or ()))
    gone = next((name for name in names if is_gone(name)), None)

    def prepare() -> Columns:
        found = find_again(run.description.data, open_columns) if gone or not said.data else None
        if found is None and gone:
            raise IndicialError(
                f"{run.folder} was trained on {gone}, which is gone, and what was made of it is no "
                "longer in the cache. Name files that hold the same: --data …"
            )
        if gone:
            tell(f"note: {gone} is gone; what was made of it is still there")
        return found or read_columns(settings, slots, {}, tell, run.folder)

    return prepared_together(processes, prepare, open_columns, names)


def read_run_data(
    run: Run,
    said: Settings,
    tell: Tell,
    tokenizer: Path | None = None,
    processes: Processes = ALONE,
) -> Data:
    """The data of a run that goes on; `said` is what was said now.

    Standard input can be read but once, and a file may be gone: then their tokens are looked for where
    they were stored.
    """
    settings = said.over(Settings.kept(run.description.settings))
    names = (*settings.data, *(settings.validation or ()))
    gone = [name for name in names if is_gone(name)]
    kept = run.description.data.get("cut")
    cut = Cut(**kept) if kept is not None else None  # as there was time for when it began
    marked = run.description.task == "texts"
    if said.data or ("-" not in names and not gone):
        return read_data(settings, tell, tokenizer, processes, cut, marked)

    def prepare() -> Data:
        found = find_again(run.description.data, open_data)
        if found is not None:
            if gone:
                tell(f"note: {gone[0]} is gone; the tokens that were made of it are still there")
            return found
        if gone:
            raise IndicialError(
                f"{run.folder} was trained on {gone[0]}, which is gone, and its tokens are no longer "
                "in the cache. Name a file that holds the same text: --data FILE"
            )
        try:
            if sys.stdin is None or sys.stdin.isatty():
                raise IndicialError("there is a terminal")
            return read_data(settings, tell, tokenizer, cut=cut, marked=marked)
        except IndicialError as error:
            raise IndicialError(
                f"{run.folder} was trained on standard input, and its tokens are no longer in the "
                "cache. Pipe the same text into it again, or name a file that holds it: --data FILE "
                f"({error})"
            ) from None

    return prepared_together(processes, prepare, open_data, names)


def _validation(said: tuple[str, ...] | None) -> float | tuple[str, ...] | None:
    """`0.1` is a part, anything else is files."""
    if said is not None and len(said) == 1:
        try:
            return float(said[0])
        except ValueError:
            pass
    return said


def prepared_together(
    processes: Processes,
    prepare: Callable[[], Found],
    opened: Callable[[Path, dict[str, Any]], Found],
    what: Sequence[str],
) -> Found:
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
        data = opened(folder, told["description"]) if folder.is_dir() else prepare()
    return data


def _check_same(data: Data | Columns, description: dict[str, dict[str, str]]) -> None:
    for part, corpus in (("train", data.train), ("validation", data.validation)):
        if corpus.digest != description[part]["digest"]:
            raise IndicialError(
                f"the data {data.name} on this machine are not those of the first one: all "
                "processes must read the same"
            )
