"""An emitted text that runs.

source = Source.of(text, {"scan": scan})        the functions are no part of the text
source.run(p, x, n, lengths, draws)             {"h": …}

What is stored of it is the text and the functions, without what was recognised.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from indicial.compile.emit.quick import QUICK

if TYPE_CHECKING:
    from indicial.compile.emit.calls import Finding

Function = Callable[..., dict[str, torch.Tensor]]
Functions = Mapping[str, Callable[..., object]]


@dataclass(frozen=True)
class Source:
    """`run(p, x, n, lengths, draws)` and its text.

    p: parameter → tensor in the equation's shape, and "" → one of the type that results are to have,
    for texts that read no numbers (default: PyTorch's); x: input → tensor, batch first, tokens int64 and
    negative where there is none; n: size → int; lengths: ragged size → (B,) int64; draws: draw →
    tensor, batch first, which may be left out where an input tells how many examples there are.
    """

    text: str
    run: Function
    findings: tuple[Finding, ...] = ()
    """Which library calls were recognised, and which nearly."""
    functions: Functions = field(default_factory=dict)
    """What the text calls besides PyTorch."""

    @staticmethod
    def of(text: str, functions: Functions, findings: tuple[Finding, ...] = ()) -> Source:
        return Source(text, compiled(text, functions), findings, functions)

    STORED = ("text", "functions")

    @staticmethod
    def restored(text: str, functions: Functions) -> Source:
        return Source.of(text, functions)


def compiled(text: str, functions: Functions) -> Function:
    """The function of a text; a traceback through it shows its lines."""
    name = f"<indicial {abs(hash(text)):x}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, object] = {"torch": torch, "math": math, **functions}
    exec(compile(text, name, "exec"), space)
    space.update(QUICK)  # in the place of the F that the text imports, and of what it brings along
    run = space["run"]
    assert callable(run)
    return run


def empty_sizes(sizes: Mapping[str, int]) -> frozenset[str]:
    """Those that are 0. A tracer, for which sizes may be anything, takes them for more."""
    if torch.compiler.is_compiling():
        return frozenset()
    return frozenset(name for name, size in sizes.items() if size == 0)
