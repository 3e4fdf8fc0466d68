"""What runs for some wanted names, made once: read where an earlier process has stored it.

runnable(code, Key(("h",)))             source, and what it needs to be called
wanted(code)                            ("h",), what the program computes in the end

Only making it imports the passes and the emitter: they take longer to import than a stored text
takes to read. Compilers work from the moment on at which it is known what for: first at the products
that all kernels use, then at the kernels, while the source is written, then at those of their gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import torch

from indicial.compile.emit import running
from indicial.compile.emit.running import Source
from indicial.compile.ground.stored import key_of, stored
from indicial.compile.native import toolchain
from indicial.compile.schedule.schedule import Call
from indicial.program.ir import Code
from indicial.program.meaning.differing import dependent
from indicial.program.rewrite import tensors_read


def _by_kernel(module: str, name: str) -> Callable[..., Any]:
    """A function of a module of kernels, which is imported only for those who call it."""

    def call(*given: Any) -> Any:
        return getattr(import_module(f"indicial.compile.native.{module}"), name)(*given)

    return call


running.kernels["attention"] = _by_kernel("by_hand", "attend")
running.kernels["outer"] = _by_kernel("by_hand", "outer_product")
running.kernels["experts"] = _by_kernel("experts", "by_kernels")


@dataclass(frozen=True)
class Expected:
    """What the calls will be like that kernels are made ready for."""

    dtype: torch.dtype
    sizes: Mapping[str, int]
    ragged: frozenset[str]

    def start(self, kernels: Iterable[Any]) -> None:
        """Have kernels compiled, or loaded, in the background."""
        for function in kernels:
            function.start(self.dtype, self.sizes, self.ragged)

    def start_gradients(self, code: Code, calls: Iterable[Call]) -> None:
        """Gradients of parameters will be asked for; if not, some kernels are compiled in vain.

        Those of the last loop are asked for first. It is also the largest in most models, and what
        takes longest should not begin last.
        """
        owned = frozenset(n for n, tensor in code.tensors.items() if tensor.role == "parameter")
        changing = dependent(code, owned)
        for call in reversed(list(calls)):
            if hasattr(call.function, "expect"):
                needed = [n for n, piece in enumerate(call.arguments) if piece.tensor in changing]
                call.function.expect(self.dtype, self.sizes, self.ragged, needed)


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
    kernels: tuple[Any, ...]
    """What it calls that can be made ready: `start(dtype, sizes, ragged)`."""
    walks: bool
    """Whether it goes along its input step by step."""
    reads: frozenset[str]
    """The names that it reads."""
    apart: frozenset[str]
    """What differs from example to example."""


def runnable(code: Code, key: Key, expected: Expected | None = None) -> Runnable:
    """What runs; where calls are `expected`, its kernels are made ready for them in the background."""
    asked = ("runnable", key_of(code), *key, toolchain.available())
    found = stored(asked, lambda: _made(code, key, expected))
    if expected is not None:
        expected.start(found.kernels)
    return found


def _made(code: Code, key: Key, expected: Expected | None) -> Runnable:
    """The same, made through all passes."""
    from indicial.compile.emit.source import emit
    from indicial.compile.native import shared
    from indicial.compile.native.routine import REALS
    from indicial.compile.pipeline import planned
    from indicial.compile.schedule.schedule import needed, schedule

    want, (ragged, draws, empty) = key.want, map(frozenset, key[1:])
    walks = any(loop.kind == "scanned" for loop in schedule(code, want).loops())
    if walks and expected is not None and expected.dtype in REALS and toolchain.available():
        shared.start_products(REALS[expected.dtype])
    made = planned(code, want, draws, ragged)
    functions = (call.function for call in made.plan.calls())
    kernels = tuple(function for function in functions if hasattr(function, "start"))
    if expected is not None:
        expected.start(kernels)
    source = emit(made.code, made.plan, want, ragged=ragged, draws=draws, empty=empty)
    if expected is not None and torch.is_grad_enabled():
        expected.start_gradients(made.code, made.plan.calls())
    inputs = [tensor.name for tensor in code.tensors.values() if tensor.role == "input"]
    reads = frozenset(tensors_read(needed(code, want)))
    apart = frozenset(dependent(code, frozenset([*inputs, *draws]), ragged))
    return Runnable(source, kernels, walks, reads, apart)


def wanted(code: Code) -> tuple[str, ...]:
    """The tensors that a program computes in the end."""

    def make() -> tuple[str, ...]:
        from indicial.compile.module.sizes import outcomes
        from indicial.compile.schedule.schedule import schedule

        return outcomes(code, schedule(code))

    return stored(("wanted", key_of(code)), make)
