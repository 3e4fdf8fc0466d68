"""A program and what a call asks for → the source that runs, through all passes.

make_runnable(code, Key(("h",)))       Runnable(source, …)

Compilers work from the moment on at which it is known what for: first at the products that all
kernels use, then at the kernels, while the source is written, then at those of their gradients.
"""

from __future__ import annotations

import torch

from indicial.compile.emit.source import emit
from indicial.compile.module.runnable import Expected, Key, Runnable
from indicial.compile.native import products, toolchain
from indicial.compile.native.kernel import REALS
from indicial.compile.planned import planned
from indicial.compile.schedule.plan import Plan
from indicial.compile.schedule.schedule import needed, schedule
from indicial.program.ir import Code
from indicial.program.meaning.differing import dependent
from indicial.program.rewrite import tensors_read


def make_runnable(code: Code, key: Key, expected: Expected | None = None) -> Runnable:
    """What runs; where calls are `expected`, its kernels are compiled for them in the background."""
    want, ragged, draws, empty = key
    walks = any(loop.kind == "scanned" for loop in schedule(code, want).loops())
    if walks and expected is not None and expected.dtype in REALS and toolchain.available():
        products.start(REALS[expected.dtype])
    ready = planned(code, want, draws, ragged)
    starts = tuple(call.start for call in ready.plan.calls() if call.start is not None)
    if expected is not None:
        expected.start(starts)
    inputs = [tensor.name for tensor in code.tensors.values() if tensor.role == "input"]
    source = emit(
        ready.code,
        ready.plan,
        want,
        ragged=frozenset(ragged),
        draws=frozenset(draws),
        empty=frozenset(empty),
    )
    if expected is not None and torch.is_grad_enabled():
        _expect_gradients(ready.code, ready.plan, expected)
    return Runnable(
        source,
        starts,
        walks,
        frozenset(tensors_read(needed(code, want))),
        frozenset(dependent(code, frozenset([*inputs, *draws]), frozenset(ragged))),
    )


def _expect_gradients(code: Code, plan: Plan, expected: Expected) -> None:
    """Gradients of parameters will be asked for; if not, some kernels are compiled in vain.

    Those of the last loop are asked for first. It is also the largest in most models, and what
    takes longest should not begin last.
    """
    owned = frozenset(n for n, tensor in code.tensors.items() if tensor.role == "parameter")
    changing = dependent(code, owned)
    for call in reversed(list(plan.calls())):
        if call.expect is not None:
            needed = [n for n, piece in enumerate(call.arguments) if piece.tensor in changing]
            call.expect(expected.dtype, expected.sizes, expected.ragged, needed)
