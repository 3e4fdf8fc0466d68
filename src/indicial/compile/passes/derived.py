"""Names for tensors that a pass makes: `R^{in}` for what enters `R`.

>>> derived_name({"G^r"}, "G^r", "in")
'G^{r,in}'
>>> derived_name({"G^r", "G^{r,in}"}, "G^r", "in")
'G^{r,in2}'
"""

from __future__ import annotations

import itertools
from collections.abc import Container


def derived_name(taken: Container[str], name: str, mark: str) -> str:
    """The name with one more superscript; a number makes it new."""
    for number in itertools.count(1):
        new = _with_superscript(name, mark if number == 1 else f"{mark}{number}")
        if new not in taken:
            return new
    raise AssertionError("counting ends nowhere")


def _with_superscript(name: str, mark: str) -> str:
    base, caret, script = name.partition("^")
    if not caret:
        return f"{name}^{{{mark}}}"
    inner = script[1:-1] if script.startswith("{") and script.endswith("}") else script
    return f"{base}^{{{inner},{mark}}}"
