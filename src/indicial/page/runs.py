"""What the page shows of runs; a run is named by its folder, and only those in the folders given exist.

runs_in(Path("runs"))    →   runs/names-1, runs/names-2
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def is_run(folder: Path) -> bool:
    return (folder / "run.json").is_file()


def runs_in(folder: Path) -> Iterator[Path]:
    """A run itself, or the runs that lie in a folder."""
    if is_run(folder):
        yield folder
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink() and is_run(entry):
            yield entry


FOLDERS: list[str] = []
"""Where this process looks for runs: what the lab was called with."""
