"""A program as a `torch.nn.Module`: its parameters, and a call that computes what is wanted.

>>> module = indicial.load("ugrnn").compile(J=256, K=128)
>>> module.parameter("W^{h,R}").shape
torch.Size([256, 256])
>>> module(x=torch.randn(8, 20, 128))["h"].shape
torch.Size([8, 20, 256])

A call is read (`call.py`) and handed to the emitted source, which is made once for each set of
wanted names. Pickles and copies hold the equations and the parameters; the source is made again.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from indicial.compile.emit.running import empty_sizes
from indicial.compile.module import checks
from indicial.compile.module.call import (
    Arguments,
    BackwardHooks,
    Hook,
    Lengths,
    Reader,
    Result,
    added,
    own_precision,
    result,
)
from indicial.compile.module.checks import check_found, check_given
from indicial.compile.module.mapping import WeightMap
from indicial.compile.module.runnable import Expected, Key, Runnable, runnable, wanted
from indicial.compile.module.sizes import (
    Room,
    Sizes,
    attribute_names,
    one_length,
    parameters,
    resolve,
    settle,
    with_indices,
)
from indicial.compile.module.starts import Start, deviations, fill, stated
from indicial.program.inputs import memory
from indicial.program.ir import Code, Tensor
from indicial.program.meaning.differing import dependent
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.compile.stepping.decoder import Decoder
    from indicial.compile.stepping.state import State

DecoderKey = tuple[tuple[str, ...] | None, str | None, frozenset[str]]
"""The names that are wanted, the index that the steps go along, the sizes that are ragged."""


def _check_memory(owned: Sequence[Tensor], sizes: Sizes, like: torch.Tensor) -> None:
    """Says it, before any memory is asked for, if the parameters cannot be held."""
    if like.device.type != "cpu" or not owned:
        return
    counts = {t.name: math.prod(sizes.shape(t)) for t in owned}
    most = memory() // like.element_size()
    if sum(counts.values()) > most:
        name = max(counts, key=lambda name: counts[name])
        shape = " x ".join(f"{n:,}" for n in sizes.shape(next(t for t in owned if t.name == name)))
        raise IndicialError(
            f"the parameters are {sum(counts.values()):,} numbers, {counts[name]:,} of them in {name} "
            f"({shape}); the memory of this machine holds {most:,}. Make the sizes smaller"
        )


def _nothing(device: Any, dtype: Any) -> torch.Tensor:
    """An empty tensor of that kind, or what is wrong with it."""
    known = getattr(torch, dtype.removeprefix("torch."), dtype) if isinstance(dtype, str) else dtype
    known = torch.float64 if known is float else known
    if known is not None and not (isinstance(known, torch.dtype) and known.is_floating_point):
        raise IndicialError(
            f"dtype={dtype}: a program computes in numbers with a point, such as torch.float32, "
            "torch.float64 or torch.bfloat16"
        )
    try:
        return torch.empty(0, device=device, dtype=known)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise IndicialError(
            f"device={device}: torch finds no such device here; leave it out for the processor, or name "
            "one such as cpu, cuda, cuda:1 or mps"
        ) from error


class ProgramModule(nn.Module):
    """What `Program.compile` returns."""

    def __init__(
        self,
        code: Code,
        sizes: Mapping[str, object],
        *,
        title: str = "",
        start: Mapping[str, Start] | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.code = code = one_length(code, sizes)
        self.title = title
        self.sizes = settle(code, sizes)
        self.wanted = wanted(code)
        self.start = {resolve(code, n, ("parameter",)): s for n, s in (start or {}).items()}
        # Empty, and it moves with the parameters: it knows their type and device without them.
        self._like: torch.Tensor
        self.register_buffer("_like", _nothing(device, dtype), persistent=False)
        owned = parameters(code)
        # The parameters' names with their keys in a state dict: {"W^{h,R}": "W_hR"}.
        self.state_keys = attribute_names([t.name for t in owned], taken={*dir(self), "state_keys"})
        _check_memory(owned, self.sizes, self._like)
        for tensor in owned:
            values = self._like.new_empty(self.sizes.shape(tensor))
            self.register_parameter(self.state_keys[tensor.name], nn.Parameter(values))
        self._rooms = {t.name: room for t in owned if (room := Room(self.sizes, t)).axes}
        self._reader = Reader(code, self.sizes)
        self._defined = frozenset(s.target for s in code.statements)
        self._runnables: dict[Key, Runnable] = {}
        self._decoders: dict[DecoderKey, Decoder] = {}
        self._hooks = BackwardHooks()
        self.reset_parameters()

    # ------------------------------------------------------------------ parameters

    def parameter(self, name: str) -> nn.Parameter:
        """The parameter of that name, in any spelling, with the shape that the equations give it."""
        return self.get_parameter(self.state_keys[resolve(self.code, name, ("parameter",))])

    def reset_parameters(self) -> None:
        """Starting values as the equations ask for (`starts.py`), or as `start=` said."""
        rules = deviations(self.code, self.sizes.known)
        starts = {**stated(self.code, self.sizes.known), **self.start}
        for name in self.state_keys:
            fill(self.parameter(name), name, rules[name], starts.get(name))

    def extra_repr(self) -> str:
        fixed = [f"{name} = {value}" for name, value in self.sizes.fixed.items()]
        longest = [f"{name} ≤ {value}" for name, value in self.sizes.longest.items()]
        lines = [f"{self.title or 'equations'}: {', '.join(fixed + longest)}"]
        for name, key in self.state_keys.items():
            shape = tuple(self.get_parameter(key).shape)
            lines.append(f"({key}): {with_indices(self.code.tensors[name])} {shape}")
        return "\n".join(lines)

    # ------------------------------------------------------------------ calling

    def forward(
        self,
        *positional: Any,
        want: Sequence[str] | None = None,
        lengths: Lengths | None = None,
        draws: Mapping[str, Any] | None = None,
        find_nan: bool = False,
        **inputs: Any,
    ) -> Result:
        """The wanted tensors; without `want`, what the program computes in the end.

        x: (B, T, K) → h: (B, T, J), and without a batch x: (T, K) → h: (T, J).
        `lengths={"T": [3, 7]}` gives each example its own T. `draws` sets dropout masks.
        `find_nan` raises an error that names the first equation whose value is not finite.
        """
        given = checks.named_inputs(self.code, positional, inputs)
        names = self.wanted if want is None else self._names(want)

        def compute(given: Mapping[str, Any]) -> dict[str, torch.Tensor]:
            call = self._reader.read(given, lengths, draws, self._like, self.training)
            if find_nan:
                self._find_nan(call)
            runs = self._runnable_for(names, call)
            for name in self._reader.inputs:
                if name in runs.reads and name not in call.x:
                    raise checks.missing_input(self.code, name)
            apart = runs.apart if self._reader.adds_batch else frozenset()
            return self._unbatched(self._run(runs, call), apart, call)

        if self._hooks:
            return result(self._hooks.call(self, compute, given), self.code.loss)
        return result(compute(given), self.code.loss)

    def _runnable_for(self, want: tuple[str, ...], call: Arguments) -> Runnable:
        """The source for some wanted names; made when it is first asked for."""
        empty = tuple(empty_sizes(call.sizes))
        key = Key(want, tuple(call.lengths), tuple(call.draws), empty)
        self._ensure(*key)
        return self._runnables[key]

    def _ensure(
        self,
        want: tuple[str, ...],
        ragged: tuple[str, ...],
        draws: tuple[str, ...],
        empty: tuple[str, ...],
    ) -> bool:
        # A tracer calls this instead of looking inside: how the source is made is not its business.
        key = Key(want, ragged, draws, empty)
        if key not in self._runnables:
            expected = None
            if self._like.device.type == "cpu":
                expected = Expected(self._like.dtype, self.sizes.known, frozenset(ragged))
            self._runnables[key] = runnable(self.code, key, expected)
        return True

    def _run(self, runs: Runnable, call: Arguments) -> dict[str, torch.Tensor]:
        values = {name: getattr(self, key) for name, key in self.state_keys.items()}
        for name, room in self._rooms.items():
            values[name] = room.cut(values[name], call.sizes)
        values[""] = self._like
        with own_precision(runs.walks, self._like):
            found = runs.source.run(values, call.x, call.sizes, call.lengths, call.draws)
        if empty_sizes(call.sizes) and torch.is_grad_enabled():
            return _with_slopes(found, [*values.values(), *call.x.values()])
        return found

    def _unbatched(
        self, found: dict[str, torch.Tensor], apart: frozenset[str], call: Arguments
    ) -> dict[str, torch.Tensor]:
        """What does not differ between examples loses the batch axis that all inputs were given."""
        loss = self.code.loss
        if loss in apart and loss in found and found[loss].dim():
            found[loss] = found[loss].mean()
        if len(call.lifted) == len(call.x) + len(call.draws):
            return found
        kept = dependent(self.code, call.lifted, frozenset(call.lengths)) if call.lifted else set()
        together = apart - kept - {loss}
        return {name: value[0] if name in together else value for name, value in found.items()}

    def _names(self, want: Sequence[str]) -> tuple[str, ...]:
        listed = [want] if isinstance(want, str) else want
        return tuple(
            name if name in self._defined else resolve(self.code, name, ("defined",))
            for name in listed
        )

    def _find_nan(self, call: Arguments) -> None:
        names = tuple(dict.fromkeys(s.target for s in self.code.statements))
        from indicial.compile.schedule.schedule import schedule

        runs = self._runnable_for(names, call)
        check_given(
            self.code, {n: self.parameter(n) for n in self.state_keys} | call.x | call.draws
        )
        with torch.no_grad():
            found = self._run(runs, call)
        check_found(
            self.code, schedule(self.code), found, call.sizes, call.lengths, bool(call.lifted)
        )

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)`, in the order of the inputs and of the result."""
        return added(self._hooks.after, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_output)`, before the gradient of the module is computed."""
        return added(self._hooks.before, hook, prepend)

    # ------------------------------------------------------------------ step by step

    def begin(
        self,
        *positional: Any,
        want: Sequence[str] | None = None,
        along: str | None = None,
        lengths: Lengths | None = None,
        **inputs: Any,
    ) -> State:
        """What is known before the first step: of `x` all that does not depend on the steps.

        `state.out["P"]` is the distribution of the first token. `want` are the outputs of the steps;
        without it, the distributions, or what the module gives. `along` names the index to go along
        if there is more than one; it is the one that `w[t] ~ …` generates.
        """
        given = checks.named_inputs(self.code, positional, inputs)
        names = None if want is None else self._names(want)
        ragged = checks.named_lengths(self.sizes, lengths) if lengths is not None else {}
        key = names, along, frozenset(ragged)
        if key not in self._decoders:
            # Only now: most modules never step, and it takes longer to import than some to compile.
            from indicial.compile.stepping.decoder import Decoder

            self._decoders[key] = Decoder(self, *key)
        return self._decoders[key].begin(given, lengths)

    def step(
        self, state: State | None = None, *, active: Any = None, **inputs: Any
    ) -> tuple[State, Result]:
        """One step further: `step(state, w=token)`; the state, and what is known after it.

        w: (B,) → P: (B, V), and without a batch w: () → P: (V,). An output is given as far ahead as it
        can be known: at w[t] the distribution P[t+1], if that reads no later token. Members that are
        not `active` stay where they are, so that texts of different lengths can go in together.

        A parameter that was changed is noticed, also between two steps, but for a change that PyTorch
        does not count, `p.data.mul_(2)`: that is noticed by the next `begin`.
        """
        before = self.begin() if state is None else state
        decoder = before.frame.decoder
        if not inputs.keys() <= decoder.given.tensors.keys():
            inputs = {resolve(self.code, name, ("input",)): v for name, v in inputs.items()}
        after = decoder.step(before, inputs, active)
        return after, after.out

    def extend(
        self, state: State | None = None, *, lengths: Any = None, **inputs: Any
    ) -> tuple[State, Result]:
        """Many steps further: `extend(state, w=tokens)`; the state, and what is known after them.

        w: (B, N) → P: (B, V), and without a batch w: (N,) → P: (V,). It is what N calls of `step`
        give. From the beginning the steps are one pass where the equations allow it. `lengths` says
        how many of them each member takes.
        """
        before = self.begin() if state is None else state
        given = {resolve(self.code, name, ("input",)): v for name, v in inputs.items()}
        after = before.frame.decoder.extend(before, given, lengths)
        return after, after.out

    # ------------------------------------------------------------------ keeping

    def load_mapped(
        self, state: Mapping[str, torch.Tensor], mapping: str | os.PathLike[str] | WeightMap
    ) -> list[str]:
        """Weights of another implementation (`mapping.py`); returns what the mapping does not use.

        >>> module.load_mapped(gpt2.state_dict(), library.weights("gpt2"))
        ['lm_head.weight']
        """
        lines = mapping if isinstance(mapping, WeightMap) else WeightMap.read(mapping)
        shapes = {name: tuple(self.parameter(name).shape) for name in self.state_keys}
        values, used = lines.values(self.code, shapes, state)
        absent = [name for name in self.state_keys if name not in values]
        if absent:
            raise IndicialError(f"the mapping says nothing about {', '.join(absent)}")
        with torch.no_grad():
            for name, value in values.items():
                self.parameter(name).copy_(value)
        return [name for name in state if name not in used]

    def __getstate__(self) -> dict[str, Any]:
        # Functions that fill parameters stay behind: they have done their work, and a pickle holds
        # nothing that runs.
        start = {name: value for name, value in self.start.items() if not callable(value)}
        return {**self.__dict__, "start": start, "_runnables": {}, "_decoders": {}}

    def __deepcopy__(self, memo: dict[int, Any]) -> ProgramModule:
        memo[id(self.code)] = self.code  # nobody changes it
        made = self.__class__.__new__(self.__class__)
        memo[id(self)] = made
        made.__dict__.update(
            copy.deepcopy({**self.__dict__, "_runnables": {}, "_decoders": {}}, memo)
        )
        return made


def _with_slopes(
    found: dict[str, torch.Tensor], given: Sequence[torch.Tensor]
) -> dict[str, torch.Tensor]:
    """What has no elements depends on nothing; a gradient of it is still asked for, and is 0."""
    nothing = [v.flatten()[:0].sum() for v in given if v.is_floating_point()]
    return {
        name: value + sum(nothing)
        if value.is_floating_point() and not value.requires_grad
        else value
        for name, value in found.items()
    }


# What `torch.compiler.assume_constant_result` does, without the seconds that importing it takes.
ProgramModule._ensure._dynamo_marked_constant = True  # type: ignore[attr-defined]


def torch_source(code: Code, want: Sequence[str] | None = None) -> str:
    """The text that a module runs in evaluation mode, without lengths."""
    from indicial.compile.pipeline import emitted

    code = one_length(code)
    names = tuple(want) if want is not None else wanted(code)
    return emitted(code, names).text
