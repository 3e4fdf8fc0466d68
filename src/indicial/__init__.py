"""Indicial: index notation that runs.

>>> import indicial
>>> program = indicial.load("ugrnn")        # a library name, a path, or the text itself
>>> program.mistakes
[]
>>> program.interpret({"x": x}, {"W^{h,R}": w, ...})["h"]
>>> run = indicial.train(program, data="people", minutes=2)
>>> print(*run.generate("Anna"))

All public names are on one page, docs/api.md.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # that of typing takes ten milliseconds, in which Ctrl-C ends in a traceback
if TYPE_CHECKING:
    from typing import Any

    from indicial.claims.same import same
    from indicial.decode.evaluate import evaluate
    from indicial.decode.text import generate
    from indicial.designs.design import Design, design
    from indicial.exercises.marks import grade
    from indicial.lab.compare import Run, compare, train
    from indicial.library.loading import load, load_document
    from indicial.program.messages import IndicialError
    from indicial.program.program import Program

__all__ = [
    "Design", "IndicialError", "Program", "Run", "compare", "design", "evaluate", "generate",
    "grade", "load", "load_document", "same", "train",
]  # fmt: skip

PLACES = {
    "Design": "designs.design",
    "IndicialError": "program.messages",
    "Program": "program.program",
    "Run": "lab.compare",
    "compare": "lab.compare",
    "design": "designs.design",
    "evaluate": "decode.evaluate",
    "generate": "decode.text",
    "grade": "exercises.marks",
    "load": "library.loading",
    "load_document": "library.loading",
    "same": "claims.same",
    "train": "lab.compare",
}
"""Where each public name is made; it is fetched when it is first used, so that importing costs
nothing."""


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module 'indicial' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"indicial.{PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext indicial` in a notebook: gives the cell magic `%%indicial`."""
    from indicial.notebook import load

    load(shell)
