"""A stretch of notes, written to a file → its programs, how it was read, its values."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.notes.reading import Reading, reading
from indicial import Program, load_document


def loaded(folder: Path, text: str) -> list[Program]:
    path = folder / "notes.md"
    path.write_text(text, encoding="utf-8")
    return load_document(path)


def read(folder: Path, text: str) -> Reading:
    return reading(loaded(folder, text), 0, len(text), str(folder / "notes.md"))


def values(folder: Path, text: str, **given: np.ndarray) -> dict[str, np.ndarray]:
    (program,) = loaded(folder, text)
    assert not program.mistakes
    return program.interpret(given)
