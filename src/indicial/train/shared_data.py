"""Data that one process prepares and all of them read.

>>> data = prepared_together(processes, lambda: prepare_data(["book.txt"]))

The first process of all does the work; those on its machine open what it stored. On another machine
the first process there does it again, from files of the same name, and the result must be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from indicial.data.corpus import Data
from indicial.data.prepare import open_data
from indicial.program.messages import IndicialError
from indicial.train.processes import Processes


def prepared_together(
    processes: Processes, prepare: Callable[[], Data], what: Sequence[str]
) -> Data:
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
        data = open_data(folder, told["description"]) if folder.is_dir() else prepare()
    return data


def _check_same(data: Data, description: dict[str, dict[str, str]]) -> None:
    for part, corpus in (("train", data.train), ("validation", data.validation)):
        if corpus.digest != description[part]["digest"]:
            raise IndicialError(
                f"the data {data.name} on this machine are not those of the first one: all "
                "processes must read the same"
            )
