"""Running a program on many draws at once: emitted PyTorch in float64, or the interpreter.

>>> stage = Stage(code, ("y",))
>>> stage.run({"x": x}, {"T": 3})["y"].shape        # x: (200, 3)
(200, 3)
>>> stage.exact({"x": x[7]}, {"T": 3})["y"]          # one draw, by the interpreter: the truth

The derivatives that claims speak of: all of `∂y[t]/∂x[i]`, from the adjoint equations.

The adjoint equations of y take what is passed back to y as an input. With a 1 at one element of it
and zeros elsewhere they give one row of the derivative; that is done for each element of y.

Where the values of a program come from: what is drawn as the text says, and what is left open.

ε ~ N(1, 1/2)            ε = 1 + √½ · noise       the noise is standard normal
k[n,i] ~ N(μ[n,i], ¼)    drawn behind μ           from the equations of a program of its own
μ[n,i] ~ orthonormal     rows of a random rotation
π[t] ~ permutation       the places of t in another order
x[t]                     nobody says: normal, with zeros, ones and large values among them
w[t] in V                tokens, each as likely as the others

After this every name that the equations do not define is an input, so that all of them have a
batch axis: one member for each draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from indicial.program import ir
from indicial.program.checks.draws import number_of
from indicial.program.ir import Axis, Code, Statement, Tensor
from indicial.program.meaning.arrays import InterpretError, writes_batch
from indicial.program.meaning.interpret import interpret
from indicial.program.meaning.sample import extent_value, work
from indicial.program.messages import IndicialError
from indicial.program.moving import Unmovable
from indicial.program.names.outline import NORMAL, UNIFORM
from indicial.program.rewrite import needed_names, tensors_read

if TYPE_CHECKING:
    from indicial.compile.emit.source import Source

Array = np.ndarray[Any, np.dtype[np.float64]]
Truths = np.ndarray[Any, np.dtype[np.bool_]]
Random = np.random.Generator

OPEN = "open"
"""The kind of a leaf that nothing says the distribution of."""


@dataclass(frozen=True)
class World:
    """A program for which everything open is an input, and how these inputs are drawn.

    `kinds` says for each input what it is drawn from. `sampler` is the program that makes the
    `drawn` ones from noise, if there are any.
    """

    code: ir.Code
    kinds: dict[str, str]
    sampler: ir.Code | None = None
    drawn: tuple[str, ...] = ()
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Between which numbers the uniform ones are, where that is the same for all elements."""
    held: frozenset[str] = frozenset()
    """What decides which draws there can be: their ends, chances and variances, if no number does."""


def world(code: ir.Code) -> World:
    """The program on draws of all that it does not define."""
    made = _Maker(code)
    for draw in code.draws:
        made.add(draw)
    return made.world()


@dataclass
class _Maker:
    code: ir.Code
    noise: dict[str, ir.Tensor] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    drawn: dict[str, list[ir.Statement]] = field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    partly: list[ir.Statement] = field(default_factory=list)
    """Draws of some elements of a tensor that equations define."""

    def add(self, draw: ir.Draw) -> None:
        tensor = self.code.tensors[draw.tensor]
        if draw.distribution in ("orthonormal", "permutation", "dropout"):
            self.kinds[draw.tensor] = draw.distribution
            return
        name = f"noise_{len(self.noise) + 1}"
        while name in self.code.tensors:
            name += "'"
        axes = tuple(ir.Axis(i.name, i.lower, i.extent) for i in draw.indices)
        self.noise[name] = ir.Tensor(name, axes, "input")
        self.kinds[name] = "normal" if draw.distribution in NORMAL else "uniform"
        read = ir.Read(name, tuple(ir.Affine.of(i) for i in draw.indices))
        body = _transformed(draw, read)
        statement = ir.Statement(draw.tensor, draw.left, draw.indices, body, None, draw.span)
        if tensor.role == "defined":
            self.partly.append(statement)
        else:
            self.drawn.setdefault(draw.tensor, []).append(statement)
            self.kinds[draw.tensor] = draw.distribution
            ends = [number_of(self.code, a) for a in draw.arguments] or [0.0, 1.0]
            known = [end for end in ends if end is not None]
            if draw.distribution in UNIFORM and len(known) == 2:
                self.bounds[draw.tensor] = known[0], known[1]
            elif len(known) < len(ends):
                deciding = draw.arguments[draw.distribution in NORMAL :]  # a mean decides nothing
                tensors = frozenset[str]().union(*(a.tensors() for a in deciding))
                self.held |= needed_names(self.code.statements, tensors)

    def world(self) -> World:
        given = {
            name: tensor
            if tensor.role in ("defined", "constant")
            else replace(tensor, role="input")
            for name, tensor in self.code.tensors.items()
        }
        own = {s.target for s in self.partly}
        needs = {
            node.tensor: self.noise[node.tensor]
            for statement in self.partly
            for node in statement.body.every(ir.Read)
            if node.tensor in self.noise
        }
        statements = _by_precedence([*self.partly, *self.code.statements])
        code = replace(
            self.code, tensors=given | needs, statements=statements, draws=(), tests=(), loss=None
        )
        for name, tensor in code.tensors.items():
            if tensor.role == "input" and name not in self.kinds and name not in own:
                self.kinds[name] = _kind(tensor)
        if not self.drawn:
            return World(code, self.kinds)
        tensors = given | self.noise
        for name in self.drawn:
            tensors[name] = replace(tensors[name], role="defined")
        drawn = [s for several in self.drawn.values() for s in several]
        sampler = replace(code, tensors=tensors, statements=_by_precedence([*drawn, *statements]))
        held = frozenset(self.held)
        return World(code, self.kinds, sampler, tuple(self.drawn), self.bounds, held)


def _kind(tensor: ir.Tensor) -> str:
    if tensor.values is not None:
        return "tokens"
    return "probability" if tensor.probability else OPEN


def _by_precedence(statements: list[ir.Statement]) -> tuple[ir.Statement, ...]:
    return tuple(sorted(statements, key=lambda statement: statement.precedence))


def _transformed(draw: ir.Draw, noise: ir.Read) -> ir.Expression:
    """The drawn value as a function of its noise."""
    match draw.distribution, draw.arguments:
        case "N" | "𝒩", ():
            return noise
        case "N" | "𝒩", (mean, variance):
            return ir.Apply("+", (mean, ir.Apply("*", (ir.Apply("sqrt", (variance,)), noise))))
        case "uniform" | "U" | "𝒰", ():
            return noise
        case "uniform" | "U" | "𝒰", (low, high):
            width = ir.Apply("+", (high, ir.Apply("neg", (low,))))
            return ir.Apply("+", (low, ir.Apply("*", (width, noise))))
        case "bernoulli", (chance,):
            return ir.Select(
                ((ir.Apply("<", (noise, chance)), ir.Constant(1.0)),), ir.Constant(0.0)
            )
    raise AssertionError(draw)  # `program/checks/draws.py` lets no other one pass


# ---------------------------------------------------------------------- values


def values(kind: str, shape: tuple[int, ...], count: int, random: Random, tokens: int = 0) -> Array:
    """`count` draws of one leaf, batch first."""
    full = (count, *shape)
    if kind == "tokens":
        return random.integers(0, max(1, tokens), full).astype(np.float64)
    if kind == "probability":
        return random.uniform(0.1, 0.9, full)
    if kind == "uniform":
        return random.uniform(size=full)
    if kind == "dropout":
        return np.ones(full)
    if kind == "permutation":
        return np.argsort(random.uniform(size=full), axis=-1).astype(np.float64)
    if kind == "orthonormal":
        return _rotations(full, random)
    drawn = random.normal(size=full)
    return _with_corners(drawn, random) if kind == OPEN else drawn


def _rotations(shape: tuple[int, ...], random: Random) -> Array:
    """Orthonormal rows, all directions equally likely."""
    *front, rows, length = shape
    square, upper = np.linalg.qr(random.normal(size=(*front, length, rows)))
    signs = np.sign(np.diagonal(upper, axis1=-2, axis2=-1))
    found: Array = np.swapaxes(square * signs[..., None, :], -1, -2)
    return found


def _with_corners(drawn: Array, random: Random) -> Array:
    """Some draws become simple or large: of eight, one is rounded, one sparse, one times 5."""
    drawn[1::8] = np.round(drawn[1::8])
    drawn[3::8] *= random.integers(0, 2, drawn[3::8].shape)
    drawn[5::8] *= 5.0
    return drawn


Values = Mapping[str, "Array"]


MOST_INTERPRETED = 3_000_000
"""Numbers that the interpreter computes for a claim, where the compiler cannot."""


class TooSlow(IndicialError):
    """Sizes or draws that would take minutes."""


class Stage:
    """Some tensors of a program whose open names are all inputs."""

    def __init__(self, code: Code, want: tuple[str, ...]) -> None:
        from indicial.compile.schedule.schedule import needed

        self.code = code
        self.want = want
        read = tensors_read(needed(code, want))
        self.reads = [
            name for name, t in code.tensors.items() if name in read and t.role == "input"
        ]
        self.by_hand = writes_batch(code)
        """The text writes its batch index: draws are run one by one."""
        self._source: Source | None = None
        self.compiles = True

    def run(self, values: Values, sizes: Mapping[str, int], count: int) -> dict[str, Array]:
        """The wanted tensors on `count` draws, batch first."""
        if self.compiles:
            try:
                return self._compiled(values, sizes, count)
            except Exception:
                # Whatever the compiler cannot do, the interpreter does, slowly.
                self.compiles = False
        if count * work(self.code, sizes) > MOST_INTERPRETED:
            raise TooSlow(
                "this cannot be compiled, and takes too long to interpret at these sizes; set "
                "smaller ones with --set"
            )
        rows = [self.exact({n: v[d] for n, v in values.items()}, sizes) for d in range(count)]
        return {name: np.stack([row[name] for row in rows]) for name in self.want}

    def exact(self, values: Values, sizes: Mapping[str, int]) -> dict[str, Array]:
        """The wanted tensors on one draw, without a batch axis, by the interpreter."""
        given = {name: values[name] for name in self.reads}
        known = {name: sizes[name] for name in self.code.sizes if name in sizes}
        try:
            found = interpret(self.code, given, {}, sizes=known, want=self.want)
        except (InterpretError, KeyError, ValueError, ArithmeticError) as error:
            raise IndicialError(f"it has no value: {error}") from error
        return {name: found[name] for name in self.want}

    def _compiled(self, values: Values, sizes: Mapping[str, int], count: int) -> dict[str, Array]:
        import torch

        given = {name: self._tensor(name, values[name]) for name in self.reads}
        with torch.no_grad(), _double():
            if self.by_hand:
                runs = [self._run({n: v[d] for n, v in given.items()}, sizes) for d in range(count)]
                return {name: np.stack([run[name].numpy() for run in runs]) for name in self.want}
            found = self._run(given, sizes)
        result: dict[str, Array] = {}
        for name in self.want:
            array = found[name].numpy().astype(np.float64)
            if array.ndim == len(self.code.tensors[name].axes):  # the same for all draws
                array = np.broadcast_to(array, (count, *array.shape))
            result[name] = array
        return result

    def _tensor(self, name: str, values: Array) -> Any:
        import torch

        whole = self.code.tensors[name].values is not None
        kind = np.dtype(np.int64 if whole else np.float64)
        fits = values.dtype == kind and values.flags.writeable
        return torch.from_numpy(values if fits else np.array(values, dtype=kind))

    def _run(self, given: dict[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
        from indicial.compile.emit.source import emit
        from indicial.compile.schedule.schedule import schedule

        if self._source is None:
            # No kernels and no library calls: plain operations, near to the text.
            self._source = emit(self.code, schedule(self.code, self.want), self.want, patterns=())
        return self._source.run({}, given, dict(sizes), {}, {})


@contextmanager
def _double() -> Iterator[None]:
    """What no input says the type of is float64 too; one thread, as the arrays are small."""
    import torch

    before, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
        torch.set_num_threads(threads)


@dataclass(frozen=True)
class Slope:
    """All elements of `∂above/∂below`, as a tensor with the axes of both."""

    tensor: Tensor
    above: Tensor
    stage: Stage
    bar: str
    """The adjoint of what is differentiated by; empty if nothing depends on it."""
    seed: str
    """The input that says which element is differentiated; empty for a single number."""

    def at(self, values: Values, sizes: Mapping[str, int], count: int) -> Array:
        """(count, *above, *below) for `count` draws."""
        above = _shape(self.above, sizes)
        whole = (count, *_shape(self.tensor, sizes))
        if not self.bar:
            return np.zeros(whole)
        rows = []
        for place in np.ndindex(*above):
            row = self.stage.run(self._given(values, above, place, count), sizes, count)
            rows.append(row[self.bar])
        return np.stack(rows, axis=1).reshape(whole)

    def exact(self, values: Values, sizes: Mapping[str, int]) -> Array:
        """(*above, *below) for one draw, by the interpreter."""
        above, whole = _shape(self.above, sizes), _shape(self.tensor, sizes)
        if not self.bar:
            return np.zeros(whole)
        rows = [
            self.stage.exact(self._given(values, above, place, None), sizes)[self.bar]
            for place in np.ndindex(*above)
        ]
        return np.stack(rows).reshape(whole)

    def _given(
        self, values: Values, shape: tuple[int, ...], place: tuple[int, ...], count: int | None
    ) -> dict[str, Array]:
        if not self.seed:
            return dict(values)
        one = np.zeros(shape)
        one[place] = 1.0
        return {
            **values,
            self.seed: one if count is None else np.broadcast_to(one, (count, *shape)),
        }


def slope(code: Code, above: str, below: str, name: str) -> Slope:
    """The derivative of one tensor by another."""
    from indicial.compile.passes.adjoint import adjoint

    upper, lower = code.tensors[above], code.tensors[below]
    axes: list[Axis] = []
    for axis in (*upper.axes, *lower.axes):
        letter = axis.letter
        while any(letter == known.letter for known in axes):
            letter += "'"
        axes.append(replace(axis, letter=letter))
    tensor = Tensor(name, tuple(axes), "input")
    if upper.role != "defined":
        raise IndicialError(f"{above} is given, but no equation says how it depends on {below}")
    if lower.role != "input":
        raise IndicialError(
            f"{below} is not an input, a parameter or a draw: a claim can differentiate only by these"
        )
    if upper.values is not None or lower.values is not None:
        raise IndicialError("a token cannot be differentiated, nor differentiated by")
    if not _depends(code, above, below):
        return Slope(tensor, upper, Stage(code, ()), "", "")
    try:
        made = adjoint(code, [above], [below])
    except (IndicialError, Unmovable) as error:
        raise IndicialError(f"∂{above}/∂{below} is not known: {error}") from error
    if below not in made.names:  # it is read only where nothing passes back, as in an argmax
        return Slope(tensor, upper, Stage(code, ()), "", "")
    bar = made.names[below]
    return Slope(tensor, upper, Stage(made.code, (bar,)), bar, made.given.get(above, ""))


def _depends(code: Code, above: str, below: str) -> bool:
    from indicial.compile.schedule.schedule import needed

    statements: list[Statement] = needed(code, [above])
    return below in tensors_read(statements)


def _shape(tensor: Tensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(extent_value(axis.extent, sizes) for axis in tensor.axes)
