"""Where a new run goes: a folder that is free.

>>> free_folder(Settings.read({"model": "ugrnn", "data": "people"}))
PosixPath('runs/ugrnn-people-1')
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from indicial.training.settings import Settings


def free_folder(settings: Settings) -> Path:
    """A name for a run: `runs/ugrnn-people-1`, and `-2` if there is one."""
    model = "-".join(Path(what).stem for what in settings.model)
    data = settings.data[0]
    data = data if os.path.exists(data) else data.rpartition("=")[2]  # of x=train.de
    name = f"{model}-{Path(data).stem}"
    name = re.sub(r"[^\w.+-]+", "-", name).strip("-")[:60] or "run"
    number = 1
    while (Path("runs") / f"{name}-{number}").exists():
        number += 1
    return Path("runs") / f"{name}-{number}"
