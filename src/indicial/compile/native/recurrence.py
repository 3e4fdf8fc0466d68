"""A recurrence and its gradient, for PyTorch: `h = recurrence(R^{in}, W, …)`.

The forward routine keeps what the adjoint equations read and nothing else; the backward routine is
those equations, compiled like any others. Where nobody will ask for a gradient a routine of its own
keeps the outputs only. `deriving.py` makes all of them; here they are called, and stored.

Recurrences are operators, so that autograd, `torch.compile` and `torch.export` know them.

    indicial::scan(arguments, lengths, sizes, key)  →  outputs, and what the gradient needs

There is one operator for all recurrences; the key, made from the equations, says which one is
meant. A recurrence that a program was exported with must be registered (compiled) again before the
exported program runs in another process.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from indicial.compile.emit.running import empty_sizes, followed
from indicial.compile.ground.stored import Packed, stored
from indicial.compile.ground.torch_inside import watched
from indicial.compile.native.projections import Values
from indicial.compile.native.routine import REALS, Routine
from indicial.compile.passes.scan import Members, Scan, Unsupported
from indicial.program.ir import Code

if TYPE_CHECKING:
    from indicial.compile.emit.doubling import Alone, Doubling
    from indicial.compile.passes.adjoint import Adjoint
    from indicial.compile.passes.linear import Linear


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

    def __call__(
        self, arguments: Sequence[Tensor], sizes: Sequence[int], lengths: Values
    ) -> list[Tensor]:
        """The outputs: by its kernels on the processor, else by PyTorch."""
        by_name = dict(zip(self.sizes, sizes, strict=True))
        members = functools.partial(_run_members, self)
        return self.together.run(members, arguments, by_name, lengths)

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

    def members(self, arguments: Sequence[Tensor]) -> int:
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
        from indicial.compile.passes.linear import linear

        return linear(self.code, self.outputs)

    @functools.cached_property
    def _plain(self) -> Alone | Doubling:
        from indicial.compile.native.deriving import by_pytorch

        return by_pytorch(self)

    def plain(
        self, arguments: Sequence[Tensor], sizes: Mapping[str, int], lengths: Values
    ) -> list[Tensor]:
        """The outputs by PyTorch, on any device, differentiated by PyTorch.

        Step by step, or in rounds that double their reach where the recurrence is linear.
        """
        return self._plain.run(arguments, sizes, lengths)

    def plain_gradients(
        self,
        known: Values,
        incoming: Mapping[str, Tensor],
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
        incoming: Mapping[str, Tensor],
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


TensorList = Sequence[Tensor]

# Written out: not all versions of PyTorch read them off `list[torch.Tensor]`.
SCAN = "(Tensor[] arguments, Tensor[] lengths, SymInt[] sizes, str ragged, str key) -> Tensor[]"
SCAN_GRADIENT = (
    "(Tensor[] arguments, Tensor[] kept, Tensor[] gradients, Tensor[] lengths, SymInt[] sizes, "
    "str ragged, str needed, str key) -> Tensor[]"
)


def _run_members(
    recurrence: Recurrence, arguments: TensorList, sizes: dict[str, int], lengths: Values
) -> list[Tensor]:
    if all(map(_suits, arguments)) and not followed(*arguments) and not empty_sizes(sizes):
        return scan(recurrence, arguments, sizes, lengths)
    found = recurrence.plain(arguments, sizes, lengths)
    if empty_sizes(sizes):
        # What has no elements depends on nothing; a gradient of it is still asked for, and is 0.
        nothing = [a.flatten()[:0].sum() for a in arguments if a.is_floating_point()]
        found = [output + sum(nothing) for output in found]
    return found


def _suits(tensor: Tensor) -> bool:
    """Whether kernels take a tensor; one that a transform follows may have no memory besides."""
    return tensor.device.type in ("cpu", "meta") and tensor.dtype in REALS


def scan(
    recurrence: Recurrence, arguments: TensorList, sizes: dict[str, int], lengths: Values
) -> list[Tensor]:
    """The outputs of a recurrence, differentiable."""
    names = recurrence.sizes
    own = {n: lengths[n] for n in names if n in lengths}
    which = ",".join(str(names.index(n)) for n in own)
    values, ends = [sizes[n] for n in names], list(own.values())
    if _seen_through(arguments):
        found = torch.ops.indicial.scan(list(arguments), ends, values, which, recurrence.key)
    elif not (torch.is_grad_enabled() and any(a.requires_grad for a in arguments)):
        known = dict(zip(recurrence.arguments, arguments, strict=True))
        outputs = recurrence.outputs_only.run(known, sizes, own)
        return _apart([outputs[name] for name in recurrence.outputs], arguments)
    else:
        call = _Call(recurrence, values, which)
        found = _Directly.apply(call, len(arguments), *arguments, *ends)  # type: ignore[no-untyped-call]
    return list(found[: len(recurrence.outputs)])


def _seen_through(arguments: TensorList) -> bool:
    """Whether somebody watches operators: a tracer, a mode, a tensor of another kind."""
    if torch.compiler.is_compiling() or watched():
        return True
    plain = (Tensor, torch.nn.Parameter)
    return any(type(a) not in plain or a.device.type == "meta" for a in arguments)


@dataclass(frozen=True)
class _Call:
    """A recurrence at some sizes, as operators have them; `ragged` are the numbers of those that differ."""

    recurrence: Recurrence
    sizes: Sequence[int]
    ragged: str

    @property
    def by_name(self) -> dict[str, int]:
        return dict(zip(self.recurrence.sizes, self.sizes, strict=True))

    def lengths(self, given: TensorList) -> Values:
        return dict(zip(_chosen(self.recurrence.sizes, self.ragged), given, strict=True))

    def run(self, arguments: TensorList, lengths: TensorList) -> list[Tensor]:
        """What the forward routine keeps."""
        own = self.recurrence
        known = dict(zip(own.arguments, arguments, strict=True))
        found = own.forward.run(known, self.by_name, self.lengths(lengths))
        return _apart([found[name] for name in own.kept], arguments)

    def expect_gradient(self, arguments: TensorList, needs: Sequence[bool]) -> None:
        needed = [n for n, need in enumerate(needs[: len(arguments)]) if need]
        ends = frozenset(_chosen(self.recurrence.sizes, self.ragged))
        self.recurrence.expect(arguments[0].dtype, self.by_name, ends, needed)

    def run_back(
        self,
        arguments: TensorList,
        kept: TensorList,
        gradients: TensorList,
        needed: str,
        lengths: TensorList,
        plainly: bool = False,
    ) -> list[Tensor]:
        """The adjoints of some arguments; `plainly` by PyTorch, which can differentiate them."""
        own, names = self.recurrence, _chosen(self.recurrence.arguments, needed)
        known = dict(zip(own.arguments, arguments, strict=True))
        known |= dict(zip(own.kept, kept, strict=True))
        incoming = dict(zip(own.outputs, gradients, strict=True))
        adjoints = own.plain_gradients if plainly else own.gradients
        found = adjoints(known, incoming, self.by_name, self.lengths(lengths), names)
        every = [found[name] for name in names]
        return every if plainly else _apart(every, [*arguments, *kept, *gradients])

    def slopes(
        self,
        saved: TensorList,
        needs: Sequence[bool],
        gradients: Sequence[Tensor | None],
        run_back: Callable[..., list[Tensor]],
    ) -> list[Tensor | None]:
        """The gradients of all arguments that need one; `saved` are arguments, lengths, what was kept."""
        own, count = self.recurrence, len(self.recurrence.arguments)
        behind = len(saved) - len(own.kept)
        arguments, lengths, kept = saved[:count], saved[count:behind], saved[behind:]
        numbered = enumerate(zip(own.arguments, needs, strict=True))
        needed = ",".join(str(n) for n, (a, need) in numbered if need and a in own.bars)
        outputs = zip(kept, gradients[: len(own.outputs)], strict=False)
        incoming = [torch.zeros_like(x) if slope is None else slope for x, slope in outputs]
        if _seen_behind(incoming):
            run_back = functools.partial(self.run_back, plainly=True)
        found = run_back(arguments, kept, incoming, needed, lengths)
        by_name = dict(zip(_chosen(own.arguments, needed), found, strict=True))
        return [by_name.get(name) for name in own.arguments]


class _Directly(torch.autograd.Function):
    """The same without the dispatcher, which costs more than a short recurrence does."""

    @staticmethod
    def forward(ctx: Any, call: _Call, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        arguments, lengths = tensors[:count], tensors[count:]
        if any(ctx.needs_input_grad):
            call.expect_gradient(arguments, ctx.needs_input_grad[2:])
        found = call.run(arguments, lengths)
        ctx.call, ctx.count = call, count
        ctx.save_for_backward(*tensors, *found)
        ctx.mark_non_differentiable(*found[len(call.recurrence.outputs) :])
        ctx.set_materialize_grads(False)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        call, needs = ctx.call, ctx.needs_input_grad[2:]
        # What was saved is asked for once: under checkpoint it is not there a second time.
        own = call.slopes(ctx.saved_tensors, needs[: ctx.count], gradients, call.run_back)
        return (None, None, *own, *(None for _ in needs[ctx.count :]))


def _seen_behind(gradients: TensorList) -> bool:
    """Whether a gradient is itself looked at: to be differentiated, or many of them at once."""
    return torch.is_grad_enabled() or followed(*gradients)


def _apart(found: TensorList, given: TensorList) -> list[Tensor]:
    """An operator's results must not share memory with each other or with its arguments."""
    taken = {tensor.untyped_storage().data_ptr() for tensor in given}
    result = []
    for tensor in found:
        own = tensor.clone() if tensor.untyped_storage().data_ptr() in taken else tensor
        taken.add(own.untyped_storage().data_ptr())
        result.append(own)
    return result


def _chosen(names: Sequence[str], which: str) -> tuple[str, ...]:
    """Some of the names: `_chosen(["R", "W"], "1")` → `("W",)`."""
    return tuple(names[int(n)] for n in which.split(",") if n)


@torch.library.custom_op("indicial::scan", mutates_args=(), schema=SCAN)
def _scan(
    arguments: TensorList, lengths: TensorList, sizes: Sequence[int], ragged: str, key: str
) -> list[Tensor]:
    return _Call(registered(key), sizes, ragged).run(arguments, lengths)


@_scan.register_fake
def _(
    arguments: TensorList, lengths: TensorList, sizes: Sequence[int], ragged: str, key: str
) -> list[Tensor]:
    own = registered(key)
    by_name, members = _Call(own, sizes, ragged).by_name, own.members(arguments)
    return [
        arguments[0].new_empty([members] * (name in own.varying) + own.shape(name, by_name))
        for name in own.kept
    ]


@torch.library.custom_op("indicial::scan_gradient", mutates_args=(), schema=SCAN_GRADIENT)
def _scan_gradient(
    arguments: TensorList,
    kept: TensorList,
    gradients: TensorList,
    lengths: TensorList,
    sizes: Sequence[int],
    ragged: str,
    needed: str,
    key: str,
) -> list[Tensor]:
    call = _Call(registered(key), sizes, ragged)
    return call.run_back(arguments, kept, gradients, needed, lengths)


@_scan_gradient.register_fake
def _(arguments: TensorList, *given: Any) -> list[Tensor]:
    *_, needed, _ = given
    return [torch.empty_like(arguments[int(n)]) for n in needed.split(",") if n]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    arguments, lengths, sizes, ragged, key = inputs
    ctx.call, ctx.lengths = _Call(registered(key), sizes, ragged), len(lengths)
    ctx.save_for_backward(*arguments, *lengths, *output)


def _gradient(ctx: Any, gradients: list[Tensor | None]) -> tuple[Any, ...]:
    call = ctx.call

    def by_operator(*given: Any) -> list[Tensor]:
        *tensors, needed, lengths = given
        there = call.sizes, call.ragged, needed, call.recurrence.key
        found: list[Tensor] = torch.ops.indicial.scan_gradient(
            *map(list, (*tensors, lengths)), *there
        )
        return found

    own = call.slopes(ctx.saved_tensors, ctx.needs_input_grad[0], gradients, by_operator)
    return own, [None] * ctx.lengths, None, None, None


_scan.register_autograd(_gradient, setup_context=_keep)
