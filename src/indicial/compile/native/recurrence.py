"""A recurrence and its gradient, for PyTorch: `h = recurrence(R^{in}, W, …)`.

The forward routine keeps what the adjoint equations read and nothing else; the backward routine is
those equations, derived by `passes.adjoint` and compiled like any others. Where nobody will ask for
a gradient a routine of its own keeps the outputs only.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from indicial.compile.emit.alone import Alone, sizes_of
from indicial.compile.emit.doubling import Doubling
from indicial.compile.native.begun import with_starts
from indicial.compile.native.routine import Routine
from indicial.compile.native.scan import Scan, Unsupported, varying
from indicial.compile.passes.adjoint import Adjoint, adjoint
from indicial.compile.passes.inline import inlined
from indicial.compile.passes.normal import normal
from indicial.compile.passes.nothing import without_nothing
from indicial.compile.passes.shared import shared
from indicial.compile.passes.split import split
from indicial.compile.schedule.linear import Linear, linear
from indicial.compile.schedule.schedule import ScheduleError
from indicial.program.ir import Code
from indicial.program.show import show
from indicial.program.sizes import Size

Values = dict[str, torch.Tensor]


class Recurrence:
    """One scanned loop. `outputs` are those of its tensors that somebody outside reads."""

    def __init__(self, scan: Scan, outputs: Sequence[str]) -> None:
        self.scan = scan
        self.code = inlined(shared(normal(scan.code)), scan.before)
        self.outputs = tuple(outputs)
        self.arguments = tuple(scan.arguments)
        self.same = frozenset(n for n in self.arguments if n in scan.unbatched)
        self.varying = varying(self.code, scan.ragged)
        facts = self.outputs, self.arguments, sorted(self.same), sorted(scan.ragged)
        text = show(self.code) + repr(facts)
        self.key = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.sizes = sizes_of(self.code)
        self._backward: dict[tuple[str, ...], Routine] = {}
        self._expected: set[object] = set()
        self.forward = Routine(self.code, self.kept, (), scan.ragged)

    @functools.cached_property
    def outputs_only(self) -> Routine:
        """What runs where no gradient will be asked for: nothing is kept for one."""
        try:
            return Routine(self.code, self.outputs, (), self.scan.ragged)
        except Unsupported:  # something is read that has to be kept
            return self.forward

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
        return [_value(axis.extent, sizes) for axis in self.code.tensors[name].axes]

    @functools.cached_property
    def differentiable(self) -> tuple[str, ...]:
        """The arguments that have a gradient."""
        return tuple(n for n in self.arguments if n in self.adjoint.names)

    @functools.cached_property
    def linear(self) -> Linear | None:
        """The recurrence as one that is linear in its state, if it is."""
        return linear(self.code, self.outputs)

    @functools.cached_property
    def _plain(self) -> Alone | Doubling:
        if self.linear is not None:
            return Doubling(self.linear, self.arguments, self.same)
        return Alone(self.code, self.arguments, self.outputs, self.same)

    def plain(
        self, arguments: Sequence[torch.Tensor], sizes: Mapping[str, int], lengths: Values
    ) -> list[torch.Tensor]:
        """The outputs by PyTorch, on any device, differentiated by PyTorch.

        Step by step, or in rounds that double their reach where the recurrence is linear.
        """
        return self._plain.run(arguments, sizes, lengths)

    def _plain_gradients(
        self,
        known: Values,
        incoming: Mapping[str, torch.Tensor],
        sizes: Mapping[str, int],
        lengths: Values,
        needed: tuple[str, ...],
    ) -> Values:
        """The adjoints by PyTorch, where no kernel has the adjoint equations."""
        leaves = {n: known[n].detach().requires_grad_(n in needed) for n in self.arguments}
        with torch.enable_grad():
            outputs = self.plain(list(leaves.values()), sizes, lengths)
        wanted = [leaves[n] for n in needed]
        depending = {n: o for n, o in zip(self.outputs, outputs, strict=True) if o.requires_grad}
        gradients = [incoming[n] for n in depending]
        found = torch.autograd.grad(
            list(depending.values()), wanted, gradients, allow_unused=True, materialize_grads=True
        )
        return dict(zip(needed, found, strict=True))

    @functools.cached_property
    def adjoint(self) -> Adjoint:
        wanted = [n for n in self.arguments if self.code.tensors[n].values is None]
        return adjoint(self.code, self.outputs, wanted)

    @functools.cached_property
    def kept(self) -> tuple[str, ...]:
        """What the forward routine returns: the outputs, then what the adjoint reads as well."""
        more = [name for name in self.adjoint.saved if name not in self.outputs]
        return (*self.outputs, *more)

    def backward(self, arguments: tuple[str, ...]) -> Routine:
        """From arguments, kept values and the outputs' adjoints to these arguments' adjoints."""
        if arguments not in self._backward:
            names = self.adjoint.names
            want = [names[n] for n in arguments]
            summed = [names[n] for n in arguments if n in self.same]
            self._backward[arguments] = Routine(self._adjoint_code, want, summed, self.scan.ragged)
        return self._backward[arguments]

    @functools.cached_property
    def _adjoint_code(self) -> Code:
        code = self.adjoint.code
        tensors = dict(code.tensors)
        for name in self.kept:
            role = "input" if name in self.varying else "parameter"
            tensors[name] = replace(tensors[name], role=role)
        alone = replace(code, tensors=tensors, statements=self.adjoint.statements)
        return split(shared(normal(without_nothing(with_starts(alone, self.code)))))

    def expect(
        self,
        needed: tuple[str, ...],
        dtype: torch.dtype,
        sizes: Mapping[str, int],
        ragged: frozenset[str],
    ) -> None:
        """Gradients will be asked for: derive them now, while a compiler may still be at work."""
        if (needed, dtype) not in self._expected:
            self._expected.add((needed, dtype))
            with contextlib.suppress(Unsupported, ScheduleError):
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
        names = self.adjoint.given  # without outputs that no argument changes
        given = {names[name]: slope for name, slope in incoming.items() if name in names}
        try:
            routine = self.backward(needed)
        except (Unsupported, ScheduleError):
            return self._plain_gradients(known, incoming, sizes, lengths, needed)
        found = routine.run({**known, **given}, sizes, lengths)
        return {n: found[self.adjoint.names[n]] for n in needed}


def _value(size: Size, sizes: Mapping[str, int]) -> int:
    """A size without `int`, which a tracer's symbols would not survive."""
    total = 0
    for monomial, coefficient in size.terms:
        factor = int(coefficient)
        for atom, power in monomial:
            assert isinstance(atom, str)
            for _ in range(power):
                factor = factor * sizes[atom]
        total = total + factor
    return total
