"""Where a new run goes: a folder that is free.

>>> free_folder(Settings.read({"model": "ugrnn", "data": "people"}))
PosixPath('runs/ugrnn-people-1')
"""

from __future__ import annotations

import re
from pathlib import Path

from indicial.program.messages import IndicialError
from indicial.train.run import FILE
from indicial.train.settings import Settings


def free_folder(settings: Settings) -> Path:
    """A name for a run: `runs/ugrnn-people-1`, and `-2` if there is one."""
    model = "-".join(Path(what).stem for what in settings.model)
    name = f"{model}-{Path(settings.data[0]).stem}"
    name = re.sub(r"[^\w.+-]+", "-", name).strip("-")[:60] or "run"
    number = 1
    while (Path("runs") / f"{name}-{number}").exists():
        number += 1
    return Path("runs") / f"{name}-{number}"


def check_free(folder: Path) -> None:
    """A run is never written over."""
    if (folder / FILE).exists():
        raise IndicialError(
            f"there is a run in {folder} already. To go on with it: --resume {folder}; for a new "
            "one choose another --out"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise IndicialError(f"{folder} holds other things and is no run; choose another --out")
