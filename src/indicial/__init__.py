"""Indicial: index notation that runs.

>>> import indicial
>>> program = indicial.load("ugrnn")        # a library name, a path, or the text itself
>>> program.mistakes
[]
>>> program.interpret({"x": x}, {"W^{h,R}": w, ...})["h"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "IndicialError", "Program", "compare", "design", "generate", "load", "load_document", "same",
]  # fmt: skip

if TYPE_CHECKING:
    from indicial.compile.same import same
    from indicial.decode.text import generate
    from indicial.designs.comparison import compare
    from indicial.designs.design import design
    from indicial.library.loading import load, load_document
    from indicial.program.messages import IndicialError
    from indicial.program.program import Program


def __getattr__(name: str) -> Any:
    """These names, fetched when they are first used, so that importing costs nothing."""
    if name in ("load", "load_document"):
        from indicial.library import loading as module

        return getattr(module, name)
    if name == "same":
        from indicial.compile.same import same

        return same
    if name == "generate":
        from indicial.decode.text import generate

        return generate
    if name == "design":
        from indicial.designs.design import design

        return design
    if name == "compare":
        from indicial.designs.comparison import compare

        return compare
    if name == "Program":
        from indicial.program.program import Program

        return Program
    if name == "IndicialError":
        from indicial.program.messages import IndicialError

        return IndicialError
    raise AttributeError(f"module 'indicial' has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext indicial` in a notebook: gives the cell magic `%%indicial`."""
    from indicial.notebook import load

    load(shell)
