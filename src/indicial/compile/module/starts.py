"""Where parameters start: values that let every equation begin with numbers of order one.

    W[j,I] h[t-1,I]         a sum of I terms        normal, deviation 1/√I
    e[w[t],i]               looked up               normal, deviation 1
    g[j] layernorm(…)       multiplies alone        1
    … - B[j]                stands alone            0
    h[-1,j] = a[j]          a start                 0

What has unit variance then stays so through a sum. The rules, in the order in which they are tried:

1. A parameter that is multiplied with data and summed starts with deviation 1/√(number of terms). In
   `e[w,I] W[I,J] h[J]` the sums are taken from the data on: W sums J terms, then e sums I. A parameter
   that is summed in several places takes the smallest deviation, also if it is looked up as well.
   Data counts as of variance one, except a row of a table (`W[j,I] e[w[t],I]`), whose deviation is
   known: where e starts with 1/√I, W starts with 1.
2. If such a sum is added to a running value, layer after layer (`L_{ℓ+1} = L_ℓ + W_{ℓ+1} …`), the
   deviation is smaller by √L, so that the sum over all layers has the variance of one.
3. A table that is only looked up starts with deviation 1.
4. A vector that is learned for each position and stands beside a looked-up one starts like it: where
   there is no word, a sum of zeros would meet a layernorm, whose slope there is 1/√ε.
5. What multiplies or divides without being summed starts as 1.
6. What stands alone, as a term or inside a function, starts as 0.

Where the text says it, `parameter β = 1/√I` or `parameter W[j,i]` with `W[j,i] ~ N(0, 1/I)`, that is where it starts.

How the parameters of a program are used: what each is multiplied and summed with, read by read.

    y[t,j] = e[j,I] W[I,K] x[t,K] + B[j]

    W    Σ_{I,K}, beside x              from the data on: first W meets x,
    e    Σ_{I,K}, beside x and W        then e meets both
    B    stands alone

Where a parameter starts (`starts.py`) and whether it is a matrix (`training/equations.py`) are told by this.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import torch

from indicial.compile.module.sizes import data_lengths, size_names
from indicial.program import ir
from indicial.program.meaning.arrays import InterpretError
from indicial.program.meaning.interpret import evaluate
from indicial.program.meaning.sample import extent_value
from indicial.program.messages import IndicialError
from indicial.program.names.outline import NORMAL, UNIFORM
from indicial.program.rewrite import free_indices

Indices = tuple[ir.Index, ...]
Terms = tuple[ir.Expression, ...]


@dataclass(frozen=True)
class Use:
    """One place where a parameter is read."""

    read: ir.Read
    statement: ir.Statement
    summed: Indices = ()
    """What is summed directly around the product that it is a factor of."""
    beside: Terms | None = None
    """The factors that it meets: data, and parameters nearer to the data; None where it is no factor."""
    terms: Terms = ()
    """The terms of the sums in which it stands, its own among them."""


def uses(code: ir.Code, operators: Collection[str] = ("sum",)) -> Iterator[Use]:
    """All uses, in the order of the text; `operators` are the reductions that count as sums."""
    for statement in code.statements:
        yield from _Walk(code, statement, operators).visit(statement.body, (), ())


@dataclass(frozen=True)
class _Walk:
    code: ir.Code
    statement: ir.Statement
    operators: Collection[str]

    def is_parameter(self, node: ir.Expression) -> bool:
        return isinstance(node, ir.Read) and self.code.tensors[node.tensor].role == "parameter"

    def visit(self, node: ir.Expression, summed: Indices, terms: Terms) -> Iterator[Use]:
        """All uses in an expression that stands directly in a sum over some indices."""
        match node:
            case ir.Read():
                if self.is_parameter(node):
                    yield Use(node, self.statement, summed, None, terms)
            case ir.Apply("*" | "/"):
                yield from self.product(node, summed, terms)
            case ir.Apply("neg" | "+", arguments):
                inner = (*terms, *arguments) if node.function == "+" else terms
                for term in arguments:
                    yield from self.visit(term, summed, inner)
            case ir.Reduce(operator, indices, _, body):
                inside = (*summed, *indices) if operator in self.operators else ()
                yield from self.visit(body, inside, terms)
            case ir.Select():
                for value in (*(v for _, v in node.branches), node.otherwise):
                    yield from self.visit(value, summed, terms)
            case ir.Softmax():
                yield from self.visit(node.body, (), terms)
            case ir.Apply() | ir.Join():
                for child in node.children():
                    yield from self.visit(child, (), terms)

    def product(self, node: ir.Apply, summed: Indices, terms: Terms) -> Iterator[Use]:
        """Factors side by side: from the data on, each parameter with what it meets."""
        factors = list(_factors(node))
        weights = [f for f in factors if isinstance(f, ir.Read) and self.is_parameter(f)]
        weights = [weight for weight in weights if not weight.looks_up]
        data = [factor for factor in factors if factor not in weights]
        names = {index.name for index in summed}
        met, waiting = list(data), list(weights)
        while waiting:
            reached = names & set().union(*map(free_indices, met))
            weight = next((w for w in waiting if free_indices(w) & reached), waiting[0])
            waiting.remove(weight)
            yield Use(weight, self.statement, summed, tuple(met), terms)
            met.append(weight)
        # A sum on the way to a running value is told once, not again by what is inside it.
        inner = () if any(free_indices(weight) & names for weight in weights) else terms
        for factor in data:
            yield from self.visit(factor, (), inner)


def _factors(node: ir.Expression) -> Iterator[ir.Expression]:
    if isinstance(node, ir.Apply) and node.function in ("*", "/", "neg"):
        for argument in node.arguments:
            yield from _factors(argument)
    else:
        yield node


Start = float | torch.Tensor | Callable[[torch.Tensor], torch.Tensor | None]
"""A number, the values themselves, or what fills a tensor in place, as `torch.nn.init` does."""


@dataclass(frozen=True)
class ParameterUse:
    """One place where a parameter is read: `sum` of so many terms, `lookup`, `factor` or `alone`."""

    kind: str
    terms: int = 1
    layers: int = 1
    beside: str = ""
    """The table that is looked up beside it, in the same product or the same equation."""


def deviations(code: ir.Code, sizes: Mapping[str, int]) -> dict[str, tuple[float, float]]:
    """The mean and the standard deviation that each parameter starts with."""
    found: dict[str, list[ParameterUse]] = {}
    lengths = set(data_lengths(code))
    positional = {t.name for t in code.tensors.values() if size_names(t.axes) & lengths}
    for use in uses(code):
        found.setdefault(use.read.tensor, []).append(_told(code, use, sizes, positional))
    return {
        name: _start(name, found)
        for name, tensor in code.tensors.items()
        if tensor.role == "parameter"
    }


def _start(
    name: str, uses: Mapping[str, list[ParameterUse]], known: frozenset[str] = frozenset()
) -> tuple[float, float]:
    """Mean and deviation of one parameter; what is `known` already asks for this one."""
    own = uses.get(name, [])
    known = known | {name, ""}
    sums = [use for use in own if use.kind == "sum"]
    if sums:
        rows = [_start(u.beside, uses, known)[1] if u.beside not in known else 1.0 for u in sums]
        squares = [u.terms * u.layers * row**2 for u, row in zip(sums, rows, strict=True)]
        return 0.0, 1 / math.sqrt(max(squares))
    kinds = {use.kind for use in own}
    if "lookup" in kinds:
        return 0.0, 1.0
    if "factor" in kinds:
        return 1.0, 0.0
    tables = [use.beside for use in own if use.beside]
    return _start(tables[0], uses, known) if tables else (0.0, 0.0)


def stated(code: ir.Code, sizes: Mapping[str, int]) -> dict[str, Start]:
    """The parameters that start where the text says: `parameter β = 1/√I`, `W[j,i] ~ N(0, 1/I)`."""
    found: dict[str, list[ir.Draw]] = {}
    for draw in code.draws:
        if code.tensors[draw.tensor].role == "parameter" and draw.distribution in (
            *NORMAL,
            *UNIFORM,
        ):
            found.setdefault(draw.tensor, []).append(draw)
    return {name: _Stated(code, draws, sizes) for name, draws in found.items()}


@dataclass(frozen=True)
class _Stated:
    """Fills a parameter as the text says; an element that no line is about is 0."""

    code: ir.Code
    draws: list[ir.Draw]
    sizes: Mapping[str, int]

    def __call__(self, values: torch.Tensor) -> None:
        values.zero_()
        for draw in self.draws:
            noise = values.new_empty([extent_value(i.extent, self.sizes) for i in draw.indices])
            noise.uniform_() if draw.distribution in UNIFORM else noise.normal_()
            lowers = [index.lower.value(self.sizes) for index in draw.indices]
            names = [index.name for index in draw.indices]
            if any(free_indices(argument) for argument in draw.arguments):
                for place in itertools.product(*map(range, noise.shape)):
                    at = [n + lower for n, lower in zip(place, lowers, strict=True)]
                    first, second = self._ends(draw, dict(zip(names, at, strict=True)))
                    noise[place] = first + second * noise[place]
            else:
                first, second = self._ends(draw, {})
                noise = first + second * noise
            values[self._places(draw, names, lowers, noise)] = noise

    def _places(
        self, draw: ir.Draw, names: list[str], lowers: list[int], noise: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Which elements of the parameter a line is about, one array for each axis."""
        lines = [torch.arange(n) + low for n, low in zip(noise.shape, lowers, strict=True)]
        grid = torch.meshgrid(*lines, indexing="ij") if lines else ()
        at = dict(zip(names, grid, strict=True))
        axes = self.code.tensors[draw.tensor].axes
        found = []
        for place, axis in zip(draw.left, axes, strict=True):
            assert isinstance(place, ir.Affine)
            start = torch.tensor((place.offset - axis.lower).value(self.sizes))
            found.append(start + sum(factor * at[name] for name, factor in place.terms))
        return tuple(found)

    def _ends(self, draw: ir.Draw, at: Mapping[str, int]) -> tuple[float, float]:
        """What is added to the noise, and by what it is multiplied."""
        try:
            found = [evaluate(self.code, a, at, {}, {}, sizes=self.sizes) for a in draw.arguments]
        except (InterpretError, KeyError) as error:
            raise IndicialError(
                f"{draw.tensor} can start only where numbers and sizes say: {error}"
            ) from error
        first, second = found or (0.0, 1.0)
        return (first, second - first) if draw.distribution in UNIFORM else (first, second**0.5)


def fill(values: torch.Tensor, name: str, rule: tuple[float, float], start: Start | None) -> None:
    """Put starting values in place: by rule, or as somebody said."""
    with torch.no_grad():
        drawn = start is None or (callable(start) and not isinstance(start, torch.Tensor))
        if drawn and values.is_meta:
            pass  # nothing is kept there, and to draw it PyTorch imports its compiler, for a second
        elif start is None:
            mean, deviation = rule
            values.normal_(mean, deviation) if deviation else values.fill_(mean)
        elif callable(start) and not isinstance(start, torch.Tensor):
            returned = start(values)
            if isinstance(returned, torch.Tensor) and returned is not values:
                _copy(values, name, returned)
        elif isinstance(start, int | float):
            values.fill_(start)
        else:
            _copy(values, name, torch.as_tensor(start))


def _copy(values: torch.Tensor, name: str, start: torch.Tensor) -> None:
    if start.shape != values.shape:
        raise IndicialError(
            f"the start of {name} has the shape {tuple(start.shape)}, but {name} has "
            f"{tuple(values.shape)}"
        )
    values.copy_(start)


def _told(
    code: ir.Code, use: Use, sizes: Mapping[str, int], positional: Collection[str]
) -> ParameterUse:
    """What a use says about the start of a parameter."""

    def table(nodes: Iterable[ir.Expression]) -> str:
        reads = (n for n in nodes if isinstance(n, ir.Read) and n.looks_up)
        return next((n.tensor for n in reads if code.tensors[n.tensor].role == "parameter"), "")

    if use.beside is None:
        if use.read.looks_up:
            return ParameterUse("lookup")
        beside = use.read.tensor in positional
        return ParameterUse(
            "alone", beside=table(use.statement.body.every(ir.Read)) if beside else ""
        )
    names = {index.name: index for index in use.summed}
    own = free_indices(use.read) & names.keys()
    if not own:
        return ParameterUse("factor")
    shared = own & set().union(*map(free_indices, use.beside)) or own
    terms = math.prod(extent_value(names[n].extent, sizes) for n in shared)
    layers = max((_layers(code, use.statement, term, sizes) for term in use.terms), default=1)
    return ParameterUse("sum", max(1, terms), layers, table(use.beside))


def _layers(
    code: ir.Code, statement: ir.Statement, term: ir.Expression, sizes: Mapping[str, int]
) -> int:
    """How many layers add to a value that stands as a term: L for `L_ℓ + …` on the way to `L_L`."""
    if not isinstance(term, ir.Read) or code.tensors[term.tensor].role != "defined":
        return 1
    shifts = (p.shift for p in statement.left if isinstance(p, ir.Affine))
    stacked = {shift[0] for shift in shifts if shift is not None and shift[1]}
    for index in statement.indices:
        known = index.extent.names <= sizes.keys()
        if known and index.name in stacked & free_indices(term):
            return max(1, extent_value(index.extent, sizes))
    return 1
