"""What runs for some wanted names, made once: read where an earlier process has stored it.

runnable(code, Key(("h",)))             source, and what it needs to be called
wanted(code)                            ("h",), what the program computes in the end

Only making it imports the passes and the emitter: they take longer to import than a stored text
takes to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch

from indicial.compile.emit.running import Source
from indicial.compile.ground.stored import key_of, stored
from indicial.compile.native import toolchain
from indicial.program.ir import Code

Starter = Callable[..., None]


@dataclass(frozen=True)
class Expected:
    """What the calls will be like that kernels are made ready for."""

    dtype: torch.dtype
    sizes: Mapping[str, int]
    ragged: frozenset[str]

    def start(self, starts: Iterable[Starter]) -> None:
        """Have kernels compiled, or loaded, in the background."""
        for start in starts:
            start(self.dtype, self.sizes, self.ragged)


class Key(NamedTuple):
    """What a call asks for."""

    want: tuple[str, ...]
    """The names that are wanted."""
    ragged: tuple[str, ...] = ()
    """The sizes that differ from example to example."""
    draws: tuple[str, ...] = ()
    """The draws that are there."""
    empty: tuple[str, ...] = ()
    """The sizes that are 0."""


@dataclass(frozen=True)
class Runnable:
    """What runs for some wanted names, and what it needs."""

    source: Source
    starts: tuple[Starter, ...]
    """What makes kernels ready: `start(dtype, sizes, ragged)`."""
    walks: bool
    """Whether it goes along its input step by step."""
    reads: frozenset[str]
    """The names that it reads."""
    apart: frozenset[str]
    """What differs from example to example."""


def runnable(code: Code, key: Key, expected: Expected | None = None) -> Runnable:
    """What runs; where calls are `expected`, its kernels are made ready for them."""

    def make() -> Runnable:
        from indicial.compile.module.making import make_runnable

        return make_runnable(code, key, expected)

    found = stored(("runnable", key_of(code), *key, toolchain.available()), make)
    if expected is not None:
        expected.start(found.starts)
    return found


def wanted(code: Code) -> tuple[str, ...]:
    """The tensors that a program computes in the end."""

    def make() -> tuple[str, ...]:
        from indicial.compile.module.sizes import outcomes
        from indicial.compile.schedule.schedule import schedule

        return outcomes(code, schedule(code))

    return stored(("wanted", key_of(code)), make)
