"""A recurrence and its gradient, for PyTorch: `h = recurrence(R^{in}, W, …)`.

The forward routine keeps what the adjoint equations read and nothing else; the backward routine is
those equations, compiled like any others. Where nobody will ask for a gradient a routine of its own
keeps the outputs only. `deriving.py` makes all of them; here they are called, and stored.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from indicial.compile.ground.stored import Packed, stored
from indicial.compile.native.routine import Routine, Values
from indicial.compile.passes.scan import Members, Scan, Unsupported
from indicial.program.ir import Code

if TYPE_CHECKING:
    from indicial.compile.emit.doubling import Alone, Doubling, Linear
    from indicial.compile.passes.adjoint import Adjoint


@dataclass
class Recurrence:
    """One scanned loop. `outputs` are those of its tensors that somebody outside reads."""

    key: str
    packed: Packed[tuple[Scan, Code]]
    """The loop as it was taken out of its program, and its equations in normal form."""
    together: Members
    outputs: tuple[str, ...]
    arguments: tuple[str, ...]
    same: frozenset[str]
    """The arguments that all members share."""
    varying: frozenset[str]
    sizes: tuple[str, ...]
    kept: tuple[str, ...]
    """What the forward routine returns: the outputs, then what the adjoint reads as well."""
    bars: dict[str, str]
    """The adjoints of arguments: `{"W": "W̄"}`."""
    slopes: dict[str, str]
    """The adjoints of outputs, without those that no argument changes."""
    forward: Routine
    again: tuple[str, ...] = ()
    """What the adjoint reads and is too large to be kept: it is computed a second time."""
    STORED = (
        "key", "packed", "together", "outputs", "arguments", "same", "varying", "sizes", "kept",
        "bars", "slopes", "forward", "again",
    )  # fmt: skip
    adjoint: Adjoint | None = None
    """The adjoint equations, in the process that derived them."""
    _backward: dict[tuple[str, ...], Routine | str] = field(default_factory=dict)
    _expected: set[object] = field(default_factory=set)

    @property
    def scan(self) -> Scan:
        return self.packed.value[0]

    @property
    def code(self) -> Code:
        return self.packed.value[1]

    @functools.cached_property
    def outputs_only(self) -> Routine:
        """What runs where no gradient will be asked for: nothing is kept for one."""

        def make() -> Routine | str:
            from indicial.compile.native.deriving import outputs_only

            return outputs_only(self)

        found = stored(("outputs", self.key), make)
        return self.forward if isinstance(found, str) else found

    def start(self, dtype: torch.dtype, sizes: Mapping[str, int], ragged: frozenset[str]) -> None:
        """A call will come: have its kernels compiled in the background."""
        routine = self.forward if torch.is_grad_enabled() else self.outputs_only
        routine.start(dtype, sizes, ragged)

    def members(self, arguments: Sequence[torch.Tensor]) -> int:
        """How many members a call has."""
        found = zip(self.arguments, arguments, strict=True)
        return next((a.shape[0] for name, a in found if name not in self.same), 1)

    def shape(self, name: str, sizes: Mapping[str, int]) -> list[int]:
        """The shape of a result of one member."""
        return [axis.extent.value(sizes) for axis in self.code.tensors[name].axes]

    @functools.cached_property
    def differentiable(self) -> tuple[str, ...]:
        """The arguments that have a gradient."""
        return tuple(n for n in self.arguments if n in self.bars)

    @functools.cached_property
    def linear(self) -> Linear | None:
        """The recurrence as one that is linear in its state, if it is."""
        from indicial.compile.emit.doubling import linear

        return linear(self.code, self.outputs)

    @functools.cached_property
    def _plain(self) -> Alone | Doubling:
        from indicial.compile.native.deriving import by_pytorch

        return by_pytorch(self)

    def plain(
        self, arguments: Sequence[torch.Tensor], sizes: Mapping[str, int], lengths: Values
    ) -> list[torch.Tensor]:
        """The outputs by PyTorch, on any device, differentiated by PyTorch.

        Step by step, or in rounds that double their reach where the recurrence is linear.
        """
        return self._plain.run(arguments, sizes, lengths)

    def plain_gradients(
        self,
        known: Values,
        incoming: Mapping[str, torch.Tensor],
        sizes: Mapping[str, int],
        lengths: Values,
        needed: tuple[str, ...],
    ) -> Values:
        """The adjoints by PyTorch: where no kernel has them, or they are to be differentiated."""
        again = torch.is_grad_enabled()
        with torch.enable_grad():
            # An argument may depend on another one; that is none of the recurrence's business.
            leaves = {
                n: known[n].view_as(known[n])
                if again
                else known[n].detach().requires_grad_(n in needed)
                for n in self.arguments
            }
            outputs = self.plain(list(leaves.values()), sizes, lengths)
        wanted = [leaves[n] for n in needed]
        depending = {n: o for n, o in zip(self.outputs, outputs, strict=True) if o.requires_grad}
        gradients = [incoming[n] for n in depending]
        found = torch.autograd.grad(
            list(depending.values()), wanted, gradients, create_graph=again, allow_unused=True,
            materialize_grads=True,
        )  # fmt: skip
        return dict(zip(needed, found, strict=True))

    def backward(self, arguments: tuple[str, ...]) -> Routine:
        """From arguments, kept values and the outputs' adjoints to these arguments' adjoints.

        `Unsupported` where no kernel has the adjoint equations.
        """

        def make() -> Routine | str:
            from indicial.compile.native.deriving import backward

            return backward(self, arguments)

        if arguments not in self._backward:
            self._backward[arguments] = stored(("backward", self.key, arguments), make)
        found = self._backward[arguments]
        if isinstance(found, str):
            raise Unsupported(found)
        return found

    def expect(
        self,
        dtype: torch.dtype,
        sizes: Mapping[str, int],
        ragged: frozenset[str],
        arguments: Collection[int],
    ) -> None:
        """Gradients will be asked for: derive them now, while a compiler may still be at work."""
        every = (self.arguments[n] for n in sorted(arguments))
        needed = tuple(name for name in every if name in self.bars)
        if (needed, dtype) not in self._expected:
            self._expected.add((needed, dtype))
            with contextlib.suppress(Unsupported):
                self.backward(needed).start(dtype, sizes, ragged)

    def gradients(
        self,
        known: Values,
        incoming: Mapping[str, torch.Tensor],
        sizes: Mapping[str, int],
        lengths: Values,
        needed: tuple[str, ...] | None = None,
    ) -> Values:
        """The adjoint of each argument that is needed (or has one), by the argument's name."""
        needed = self.differentiable if needed is None else needed
        given = {
            self.slopes[name]: slope for name, slope in incoming.items() if name in self.slopes
        }
        try:
            routine = self.backward(needed)
        except Unsupported:
            return self.plain_gradients(known, incoming, sizes, lengths, needed)
        found = routine.run({**known, **given}, sizes, lengths)
        return {n: found[self.bars[n]] for n in needed}

    @staticmethod
    def restored(**fields: Any) -> Recurrence:
        """From what was stored; the one that is known already where there is one."""
        return register(Recurrence(**fields))


_known: dict[str, Recurrence] = {}


def register(recurrence: Recurrence) -> Recurrence:
    """Make a recurrence known under its key; an equal one that is known already is taken instead."""
    return _known.setdefault(recurrence.key, recurrence)


def registered(key: str) -> Recurrence:
    return _known[key]
