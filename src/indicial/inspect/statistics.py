"""The numbers of a model by name, which of its units hardly learn, and which words it takes for alike.

>>> parameter_statistics(module)[0]
Statistics(name='W^{h,R}[j,i]', count=4096, mean=0.0, deviation=0.12, norm=7.9, most=0.5, …)
>>> saturations(module, {"w": tokens})[0]
Saturation(equation='R', function='tanh', low=0.05, high=0.06, always=0.0)
>>> nearest(module, tokenizer, [tokenizer.encode("dog")[0]])[0]
Neighbours(token='dog', near=(('cat', 0.83), ('horse', 0.71), …))

A tanh is flat beyond ±0.97, a σ below 0.03 and above 0.97, a ReLU at 0. `always` is the share of
units that are so at every step of every text: a ReLU of which that is true is dead. The vectors of words are the
parameter that the equations read at a token, `e[w[t],j]`; near is what has a large cosine.

A program → the same program, made so that one can look inside while it runs.

    nudged      h[t,j] = … + h^{nudge}[t,j]        its gradient is that of the loss at h[t,j]
    cut         h[t,j] = tanh(W[j,I] h^{before}[t-1,I] + …)     one step, apart from all others
    observed    R^{act}[t,j] = tanh(…)             each tanh, σ and ReLU as a tensor of its own

Nothing here knows a model: all is read from the equations. A `Twin` runs such a program with the
weights of a module, in 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import carried, data_lengths, same_step, with_indices
from indicial.compile.passes.new_tensors import derived_name
from indicial.compile.pipeline import emitted_without_kernels
from indicial.compile.schedule.schedule import Loop, Step, schedule
from indicial.data.tokenizers import Ints, Tokenizer
from indicial.program import ir
from indicial.program.ir import Code, Gather, Read
from indicial.program.messages import IndicialError
from indicial.program.rewrite import free_indices, with_reads

ACTIVATIONS = ("tanh", "σ", "ReLU")


class Twin:
    """A program with the parameters of a module, in 64 bits, as plain PyTorch.

    >>> Twin(module, code, ["h"])({"w": tokens})["h"].shape
    torch.Size([B, T, J])

    Kernels are left out: a program that is looked into once is sooner run than compiled.
    """

    def __init__(self, module: ProgramModule, code: ir.Code, want: Sequence[str]) -> None:
        self.module = module
        self.source = emitted_without_kernels(code, want)
        self.values = {
            name: module.get_parameter(key).detach().cpu().double()
            for name, key in module.state_keys.items()
        }

    def __call__(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        sizes = told_sizes(self.module, inputs)
        values = dict(self.values)
        for name, room in self.module._rooms.items():
            values[name] = room.cut(values[name], sizes)
        # Points of pictures too: tokens stay whole numbers.
        read = {n: x.double() if x.is_floating_point() else x for n, x in inputs.items()}
        return self.source.run(values, read, sizes, {}, {})


def told_sizes(module: ProgramModule, inputs: Mapping[str, torch.Tensor]) -> dict[str, int]:
    """All sizes, those of the texts included."""
    told = {
        name: inputs[tensor].shape[axis + 1]
        for name, (tensor, axis) in module.sizes.tellers.items()
        if tensor in inputs
    }
    return {**module.sizes.known, **told}


# ---------------------------------------------------------------------- recurrences


@dataclass(frozen=True)
class Recurrence:
    """A loop over the steps of a text, and what is carried from one step to the next."""

    loop: Loop
    states: tuple[str, ...]
    around: tuple[Loop, ...]
    """The loops that it stands in: layers."""

    @property
    def name(self) -> str:
        return ", ".join(self.states)


def recurrences(code: ir.Code, want: Sequence[str]) -> list[Recurrence]:
    """All loops that go along an input because the equations force them to."""
    return list(_recurrences(schedule(code, want).steps, ()))


def _recurrences(steps: Sequence[Step], around: tuple[Loop, ...]) -> Iterator[Recurrence]:
    for step in steps:
        if not isinstance(step, Loop):
            continue
        if step.kind == "scanned":
            yield Recurrence(step, tuple(dict.fromkeys(carried(step))), around)
        else:
            yield from _recurrences(step.steps, (*around, step))


def cut(code: ir.Code, found: Recurrence) -> tuple[ir.Code, dict[str, str]]:
    """The program with the state of earlier steps as an input; and what that is called."""
    before: dict[str, str] = {}
    tensors = dict(code.tensors)
    for name in found.states:
        before[name] = new = derived_name(tensors, name, "before")
        tensors[new] = replace(code.tensors[name], name=new, role="input")
    inside = {id(s) for s in found.loop.statements()}

    def reads(statement: ir.Statement) -> ir.Statement:
        def change(read: ir.Read) -> ir.Read:
            if read.tensor not in before or same_step(found.loop, statement, read):
                return read
            return replace(read, tensor=before[read.tensor])

        return replace(statement, body=with_reads(statement.body, change))

    statements = tuple(reads(s) if id(s) in inside else s for s in code.statements)
    return replace(code, tensors=tensors, statements=statements), before


# ---------------------------------------------------------------------- gradients


def nudged(code: ir.Code, statements: Iterable[ir.Statement]) -> tuple[ir.Code, dict[str, str]]:
    """The program with something added to what some statements define; and what that is called."""
    chosen = {id(s) for s in statements}
    tensors = dict(code.tensors)
    nudges: dict[str, str] = {}
    result = []
    for statement in code.statements:
        if id(statement) in chosen:
            name = statement.target
            if name not in nudges:
                nudges[name] = new = derived_name(tensors, name, "nudge")
                tensors[new] = replace(
                    code.tensors[name], name=new, role="input", probability=False
                )
            body = ir.Apply("+", (statement.body, ir.Read(nudges[name], statement.left)))
            statement = replace(statement, body=body)
        result.append(statement)
    return replace(code, tensors=tensors, statements=tuple(result)), nudges


# ---------------------------------------------------------------------- activations


@dataclass(frozen=True)
class Activation:
    """A tanh, σ or ReLU in the equation of `target`, as the tensor `name`."""

    name: str
    target: str
    function: str
    whole: bool
    """Whether it is all of the right side."""


def observed(code: ir.Code) -> tuple[ir.Code, list[Activation]]:
    """The program with each activation as a tensor of its own."""
    tensors = dict(code.tensors)
    statements = list(code.statements)
    found: list[Activation] = []
    for statement in code.statements:
        for node, binders in _activations(statement.body, ()):
            indices = (*statement.indices, *binders)
            free = free_indices(node)
            indices = tuple(i for i in indices if i.name in free)
            name = derived_name(tensors, statement.target, "act")
            axes = tuple(ir.Axis(i.name, i.lower, i.extent) for i in indices)
            tensors[name] = ir.Tensor(name, axes, "defined")
            left = tuple(ir.Affine.of(i) for i in indices)
            statements.append(ir.Statement(name, left, indices, node, span=statement.span))
            whole = node is statement.body
            found.append(Activation(name, statement.target, node.function, whole))
    return replace(code, tensors=tensors, statements=tuple(statements)), found


def _activations(
    node: ir.Expression, binders: tuple[ir.Index, ...]
) -> Iterator[tuple[ir.Apply, tuple[ir.Index, ...]]]:
    if isinstance(node, ir.Apply) and node.function in ACTIVATIONS:
        yield node, binders
    if isinstance(node, ir.Reduce | ir.Softmax):
        # The index of a softmax is free outside as well: it is the statement's own.
        inner = node.indices if isinstance(node, ir.Reduce) else ()
        yield from _activations(node.body, (*binders, *inner))
    elif isinstance(node, ir.Join):
        for part in node.parts:
            yield from _activations(part.body, (*binders, part.index))
    elif isinstance(node, ir.Apply | ir.Select):
        for child in node.children():
            yield from _activations(child, binders)


@dataclass(frozen=True)
class Statistics:
    """Of the numbers that are finite; `norm` is that of all elements, of one text where it differs."""

    name: str
    count: int
    mean: float
    deviation: float
    norm: float
    most: float
    """The largest without its sign."""
    zero: float
    """The share that is exactly 0."""
    nan: float
    """The share that is not finite."""


def statistics(name: str, values: torch.Tensor, texts: int = 1) -> Statistics:
    """Of one tensor, which holds `texts` texts."""
    values = values.detach().double()
    finite = values[torch.isfinite(values)]
    known = finite if finite.numel() else torch.zeros(1, dtype=torch.float64)
    return Statistics(
        name,
        values.numel() // texts,
        float(known.mean()),
        float(known.std(correction=0)),
        float(known.norm()) / texts**0.5,
        float(known.abs().max()),
        float((values == 0).double().mean()) if values.numel() else 0.0,
        1 - finite.numel() / values.numel() if values.numel() else 0.0,
    )


def parameter_statistics(module: ProgramModule) -> list[Statistics]:
    tensors = module.code.tensors
    return [
        statistics(with_indices(tensors[name]), module.get_parameter(key).cpu())
        for name, key in module.state_keys.items()
    ]


def activation_statistics(
    module: ProgramModule, inputs: Mapping[str, torch.Tensor]
) -> list[Statistics]:
    """One for each tensor that an equation defines."""
    code = module.code
    names = list(dict.fromkeys(s.target for s in code.statements))
    with torch.no_grad():
        values = Twin(module, code, names)(inputs)
    return [_activation(code, name, values[name]) for name in names]


def _activation(code: Code, name: str, values: torch.Tensor) -> Statistics:
    texts = values.shape[0] if values.dim() > len(code.tensors[name].axes) else 1
    return statistics(with_indices(code.tensors[name]), values, texts)


FLAT = {"tanh": (-0.97, 0.97), "σ": (0.03, 0.97), "ReLU": (0.0, float("inf"))}
"""Below the first and above the second there is next to no slope."""


@dataclass(frozen=True)
class Saturation:
    """Of one activation in one equation; shares from 0 to 1."""

    equation: str
    function: str
    low: float
    high: float | None
    """None for a ReLU, which has no upper end."""
    always: float


def saturations(
    module: ProgramModule, inputs: Mapping[str, torch.Tensor]
) -> list[Saturation] | str:
    """One for each activation, in the order of the equations; or why there is none."""
    code, found = observed(module.code)
    if not found:
        return "no equation has a tanh, a σ or a ReLU"
    with torch.no_grad():
        values = Twin(module, code, [one.name for one in found])(inputs)
    names = _names(found)
    return [_saturation(code, one, names[one.name], values[one.name]) for one in found]


def _names(found: list[Activation]) -> dict[str, str]:
    """`R`; where it is a part of the right side, `h: tanh`; the second of these `h: tanh 2`."""
    names: dict[str, str] = {}
    for one in found:
        label = one.target if one.whole else f"in {one.target}"
        taken = sum(name == label or name.startswith(f"{label} (") for name in names.values())
        names[one.name] = f"{label} ({taken + 1})" if taken else label
    return names


def _saturation(code: Code, one: Activation, name: str, values: torch.Tensor) -> Saturation:
    least, most = FLAT[one.function]
    low = values <= least
    high = values >= most
    always = (low | high).all(0) if values.dim() > len(code.tensors[one.name].axes) else low | high
    lengths = set(data_lengths(code))
    for number, axis in reversed(list(enumerate(code.tensors[one.name].axes))):
        if axis.extent.names & lengths:
            always = always.all(number)
    return Saturation(
        name,
        one.function,
        float(low.double().mean()),
        None if one.function == "ReLU" else float(high.double().mean()),
        float(always.double().mean()),
    )


WORDS = 8
NEAR = 5


@dataclass(frozen=True)
class Neighbours:
    token: str
    near: tuple[tuple[str, float], ...]


def embedding(code: Code) -> tuple[str, int, str] | None:
    """The first parameter that is read at a token, along which axis, and at which input."""
    for statement in code.statements:
        for node in statement.body.every(Read):
            if code.tensors[node.tensor].role == "parameter":
                for axis, place in enumerate(node.places):
                    if (
                        isinstance(place, Gather)
                        and code.tensors[place.read.tensor].role == "input"
                    ):
                        return node.tensor, axis, place.read.tensor
    return None


def nearest(
    module: ProgramModule, tokenizer: Tokenizer, tokens: Sequence[int], count: int = NEAR
) -> list[Neighbours] | str:
    """The tokens that are nearest to some; or why nothing is near anything."""
    found = embedding(module.code)
    if found is None:
        return "no equation reads a parameter at a token, so tokens have no vectors"
    name, axis, _ = found
    vectors = module.parameter(name).detach().cpu().double().movedim(axis, 0).flatten(1)
    if vectors.shape[1] < 2:
        return f"{name} has one number for each token, so all are alike or opposite"
    # A blank is one more token behind the words, and none of them.
    cosines = torch.nn.functional.normalize(vectors[: tokenizer.size], dim=1)
    result = []
    for token in tokens:
        alike = cosines @ cosines[token]
        alike[token] = -2
        best = alike.topk(min(count, len(alike) - 1))
        near = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        result.append(
            Neighbours(
                _shown(tokenizer, token),
                tuple((_shown(tokenizer, number), cosine) for number, cosine in near),
            )
        )
    return result


def _shown(tokenizer: Tokenizer, number: int) -> str:
    """A token with its blanks to be seen."""
    return tokenizer.token(number).replace(" ", "␣")


def frequent(tokens: Ints, eos: int, count: int = WORDS) -> list[int]:
    """The tokens that come most often, but for the end of a document."""
    numbers = np.bincount(tokens.ravel())
    order = [int(n) for n in np.argsort(-numbers, kind="stable") if n != eos and numbers[n]]
    return order[:count]


def tokens_of(words: Sequence[str], tokenizer: Tokenizer) -> list[int]:
    """The token of each word, alone or with the blank that BPE puts before it."""
    found = []
    for word in words:
        ways = [tokenizer.encode(word)]
        if tokenizer.kind == "bpe":
            ways.insert(0, tokenizer.encode(f" {word}"))
        single = [way[0] for way in ways if len(way) == 1]
        if not single:
            parts = " ".join(_shown(tokenizer, n) for n in ways[-1])
            raise IndicialError(
                f"--words {word}: that is {len(ways[-1])} tokens ({parts}), and only one token has "
                "a vector"
            )
        found.append(single[0])
    return found
