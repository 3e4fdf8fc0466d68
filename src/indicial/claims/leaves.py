"""Where the values of a program come from: what is drawn as the text says, and what is left open.

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

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from indicial.program import ir
from indicial.program.checks.draws import number_of
from indicial.program.names.outline import NORMAL, UNIFORM

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]
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
        return World(code, self.kinds, sampler, tuple(self.drawn), self.bounds)


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
    import numpy as np

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
    import numpy as np

    *front, rows, length = shape
    square, upper = np.linalg.qr(random.normal(size=(*front, length, rows)))
    signs = np.sign(np.diagonal(upper, axis1=-2, axis2=-1))
    found: Array = np.swapaxes(square * np.where(signs == 0, 1, signs)[..., None, :], -1, -2)
    return found


def _with_corners(drawn: Array, random: Random) -> Array:
    """Some draws become simple or large: of eight, one is rounded, one sparse, one times 5."""
    import numpy as np

    drawn[1::8] = np.round(drawn[1::8])
    drawn[3::8] *= random.integers(0, 2, drawn[3::8].shape)
    drawn[5::8] *= 5.0
    return drawn
