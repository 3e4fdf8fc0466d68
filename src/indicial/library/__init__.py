"""The model library: one short `.eq` file for each model, as it would stand on a slide.

    names()            →  ["argmax_attention", "bahdanau", …, "ugrnn"]
    summary("ugrnn")   →  "the update-gate RNN"
    path("ugrnn").read_text(encoding="utf-8")
                       →  "# ugrnn: the update-gate RNN\\n# Collins, …\\ninput x[t,k]\\nR[t,j] = …"

A file begins with two comment lines: its name with one line on what it is, and its source.
"""

from __future__ import annotations

import difflib
from importlib.resources import files
from importlib.resources.abc import Traversable

SUFFIX = ".eq"
WEIGHTS = ".weights"


def names() -> list[str]:
    """The models of the library: `names()` → `["argmax_attention", "bahdanau", …]`, sorted."""
    entries = (entry.name for entry in files(__name__).iterdir())
    return sorted(entry.removesuffix(SUFFIX) for entry in entries if entry.endswith(SUFFIX))


def path(name: str) -> Traversable:
    """The file of a model: `path("ugrnn")` → `…/ugrnn.eq`; LookupError for an unknown one."""
    known = names()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise LookupError(f"the library has no model {name!r}{hint}")
    return files(__name__) / f"{name}{SUFFIX}"


def summary(name: str) -> str:
    """What a model is, in one line: `summary("ugrnn")` → `"the update-gate RNN"`."""
    first = path(name).read_text(encoding="utf-8").split("\n", 1)[0]
    return first.partition(":")[2].strip()


def weights(name: str) -> str:
    """How a checkpoint of another implementation is read, a text for `module.load_mapped`."""
    file = files(__name__) / f"{name}{WEIGHTS}"
    if not file.is_file():
        raise LookupError(f"the library has no weights for {name!r}")
    return file.read_text(encoding="utf-8")
