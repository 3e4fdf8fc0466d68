"""What a call is given → what the emitted source takes.

    module(x=x, lengths=[3, 7])         x: (2, 7, K)

    x        {"x": (2, 7, K)}           every input with a batch axis in front
    sizes    {"T": 7, "K": 128, …}      told by the inputs, checked against the parameters
    lengths  {"T": tensor([3, 7])}
    draws    {"dropout_1": (2, 7, J)}   while training

Under `torch.compile` and `torch.export` nothing is checked, so that sizes can stay unknown; under
`torch.func.vmap` tokens and lengths are not, since their values cannot be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from indicial.compile.emit.derivatives import followed
from indicial.compile.module import checks
from indicial.compile.module.draws import drawn_tensors
from indicial.compile.module.names import resolve
from indicial.compile.module.sizes import Sizes
from indicial.program.ir import Code
from indicial.program.meaning.arrays import BATCH, InterpretError

Lengths = Mapping[str, Any] | Sequence[int] | torch.Tensor


@dataclass(frozen=True)
class Call:
    """The arguments of one run."""

    x: dict[str, torch.Tensor]
    sizes: dict[str, int]
    lengths: dict[str, torch.Tensor]
    draws: dict[str, torch.Tensor]
    lifted: frozenset[str]
    """The inputs and draws that were given with a batch axis."""


class Reader:
    """Reads calls of one program at some sizes."""

    def __init__(self, code: Code, sizes: Sizes) -> None:
        self.code = code
        self.sizes = sizes
        self.inputs = [t.name for t in code.tensors.values() if t.role == "input"]
        # A text that writes its batch index has it in its tensors, and gets no other.
        written = any(a.letter == BATCH for t in code.tensors.values() for a in t.axes)
        self.adds_batch = bool(self.inputs) and not written
        self.drawn = drawn_tensors(code, sizes.known)
        self.solved: dict[tuple[Any, ...], dict[str, int]] = {}

    def read(
        self,
        given: Mapping[str, object],
        lengths: Lengths | None,
        draws: Mapping[str, object] | None,
        like: torch.Tensor,
        training: bool,
    ) -> Call:
        """`like` has the type and the device of the parameters."""
        cast = like.device.type != "meta" and torch.is_autocast_enabled(like.device.type)
        tensors = self.code.tensors
        values = {n: checks.as_tensor(tensors[n], v, like, cast) for n, v in given.items()}
        x, lifted, batch = self.lift(values)
        sizes = self.sizes_at(x)
        ragged = self.lengths(lengths, sizes, batch if lifted else None, like.device)
        if not torch.compiler.is_compiling():
            self.check_tokens(x, sizes, ragged, lifted)
        drawn, own = self.draw(draws or {}, sizes, batch, like, training)
        if lifted:
            lifted = lifted | (drawn.keys() - own)
        return Call(x, sizes, ragged, drawn, lifted)

    def lift(
        self, values: Mapping[str, torch.Tensor]
    ) -> tuple[dict[str, torch.Tensor], frozenset[str], int]:
        """All inputs with a batch axis, which of them had one, and how many examples there are."""
        lifted = [name for name, value in values.items() if self.has_batch(name, value)]
        if not self.adds_batch:
            return dict(values), frozenset(), 0
        counts = [values[name].shape[0] for name in lifted]
        if not torch.compiler.is_compiling() and len(set(counts)) > 1:
            listed = ", ".join(f"{n}: {count}" for n, count in zip(lifted, counts, strict=True))
            raise checks.refusal("input-shape", f"the number of examples differs ({listed})")
        batch = counts[0] if counts else 1
        x = {
            name: value if name in lifted else value.unsqueeze(0).expand(batch, *value.shape)
            for name, value in values.items()
        }
        return x, frozenset(lifted), batch

    def has_batch(self, name: str, value: torch.Tensor) -> bool:
        tensor = self.code.tensors[name]
        extra = value.dim() - len(tensor.axes)
        if extra == 1 and self.adds_batch:
            return True
        if extra:
            raise checks.wrong_axes(tensor, value)
        return False

    def sizes_at(self, x: Mapping[str, torch.Tensor]) -> dict[str, int]:
        if torch.compiler.is_compiling():
            return self.sizes.symbolic(x, int(self.adds_batch))
        shapes = tuple((name, value.shape[int(self.adds_batch) :]) for name, value in x.items())
        known = self.solved.get(shapes)
        if known is None:
            try:
                known = self.sizes.at_call(x, frozenset(x) if self.adds_batch else frozenset())
            except InterpretError as error:
                raise checks.misfit(self.code, error, dict(shapes)) from error
            if len(self.solved) > 1000:
                self.solved.clear()
            self.solved[shapes] = known
        return dict(known)

    def lengths(
        self,
        given: Lengths | None,
        sizes: Mapping[str, int],
        batch: int | None,
        device: torch.device,
    ) -> dict[str, torch.Tensor]:
        if given is None:
            return {}
        if batch is None:
            why = "no input has a batch axis" if self.adds_batch else "the text writes its batch"
            raise checks.refusal("lengths", f"lengths were given, but {why}")
        return {
            name: checks.length_tensor(name, values, sizes[name], batch, device)
            for name, values in checks.named_lengths(self.sizes, given).items()
        }

    def check_tokens(
        self,
        x: Mapping[str, torch.Tensor],
        sizes: Mapping[str, int],
        ragged: Mapping[str, torch.Tensor],
        lifted: frozenset[str],
    ) -> None:
        for name, values in x.items():
            tensor = self.code.tensors[name]
            if tensor.values is not None and not followed(values):
                values = values if self.adds_batch else values.unsqueeze(0)
                inside = checks.inside(tensor, values, ragged)
                count = tensor.values.value(sizes)
                checks.check_tokens(tensor, values, count, inside, name in lifted)

    def draw(
        self,
        given: Mapping[str, object],
        sizes: Mapping[str, int],
        batch: int,
        like: torch.Tensor,
        training: bool,
    ) -> tuple[dict[str, torch.Tensor], set[str]]:
        """Everything that is drawn, and those that were given without a batch axis."""
        found: dict[str, torch.Tensor] = {}
        shared: set[str] = set()
        front = (batch,) if self.adds_batch else ()
        named = {resolve(self.code, name, ("draw",)): value for name, value in given.items()}
        for drawn in self.drawn:
            if drawn.name in named:
                tensor = self.code.tensors[drawn.name]
                value = checks.as_tensor(tensor, named[drawn.name], like, cast=True)
                if self.adds_batch and not self.has_batch(drawn.name, value):
                    shared.add(drawn.name)
                    value = value.unsqueeze(0).expand(batch, *value.shape)
                checks.check_draw(tensor, value, drawn.shape(sizes, front))
                found[drawn.name] = value
            elif drawn.distribution != "dropout" or (training and not drawn.idle):
                found[drawn.name] = drawn.values(sizes, front, like)
        return found, shared
