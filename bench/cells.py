"""The recurrent cells that are measured: their equations, and one step for those who loop.

    CELLS["ugrnn"].source    "ugrnn", what Indicial loads
    CELLS["ugrnn"].update    the same step in Python, for PyTorch and JAX alike

A step asks for the pre-activations of a group of gates (`gates(0, h)`: their products with the
operand, their part of the input, their biases), so that a loop may compute them one by one or all
at once. Groups follow each other where a product waits for a gate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

EQUATIONS = Path(__file__).parent / "equations"

Array = Any  # of PyTorch or of JAX
Gates = Callable[[int, Array], tuple[Array, ...]]
State = tuple[Array, ...]


@dataclass(frozen=True)
class Functions:
    """The elementwise functions of one library."""

    tanh: Callable[[Array], Array]
    sigmoid: Callable[[Array], Array]
    relu: Callable[[Array], Array]
    maximum: Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Cell:
    """A recurrent cell. `state[0]` is `h`; `vectors` are parameters used elementwise."""

    name: str
    source: str
    groups: tuple[tuple[str, ...], ...]
    update: Callable[[Functions, Gates, State, Mapping[str, Array]], State] | None = None
    states: int = 1
    vectors: tuple[str, ...] = ()

    @property
    def gates(self) -> tuple[str, ...]:
        return tuple(gate for group in self.groups for gate in group)


@dataclass(frozen=True)
class Size:
    """Batch, steps and units of a layer; it has as many inputs as units."""

    batch: int
    steps: int
    units: int

    def __str__(self) -> str:
        return f"{self.batch}×{self.steps}×{self.units}"


@dataclass(frozen=True)
class Problem:
    """One training step of a layer: everybody gets these weights, this input, this gradient."""

    cell: Cell
    size: Size
    weights: dict[str, torch.Tensor]  # by the names of the equations
    x: torch.Tensor  # (B, T, K)
    gradient: torch.Tensor  # of h, (B, T, J)
    input_gradient: bool = False

    @staticmethod
    def of(cell: Cell, size: Size, input_gradient: bool = False, seed: int = 0) -> Problem:
        random = torch.Generator().manual_seed(seed)
        b, t, j = size.batch, size.steps, size.units
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(cell.vectors, (j,))
        for gate in cell.gates:
            shapes |= {recurrent(gate): (j, j), incoming(gate): (j, j), bias(gate, cell): (j,)}
        bound = 1 / math.sqrt(j)
        weights = {
            name: (2 * torch.rand(shape, generator=random) - 1) * bound
            for name, shape in shapes.items()
        }
        x = torch.randn(b, t, j, generator=random)
        gradient = torch.randn(b, t, j, generator=random) / (b * t)
        return Problem(cell, size, weights, x, gradient, input_gradient)


def recurrent(gate: str) -> str:
    return f"W^{{h,{gate}}}"


def incoming(gate: str) -> str:
    return f"W^{{x,{gate}}}"


def bias(gate: str, cell: Cell) -> str:
    """`B^R`; a cell with a single product calls it `B`."""
    return f"B^{gate}" if len(cell.gates) > 1 else "B"


def _ugrnn(f: Functions, gates: Gates, state: State, v: Mapping[str, Array]) -> State:
    (h,) = state
    r, g = gates(0, h)
    g = f.sigmoid(g)
    return (g * h + (1 - g) * f.tanh(r),)


def _peephole_mgu(f: Functions, gates: Gates, state: State, v: Mapping[str, Array]) -> State:
    (h,) = state
    (g,) = gates(0, h)
    g = f.sigmoid(g + v["p"] * h)
    (r,) = gates(1, g * h)
    return ((1 - g) * h + g * f.tanh(r),)


def _peak_memory(f: Functions, gates: Gates, state: State, v: Mapping[str, Array]) -> State:
    h, m = state
    r, d, o = gates(0, h)
    o = f.sigmoid(o)
    m = f.maximum(f.sigmoid(d) * m, f.tanh(r))
    return o * h + (1 - o) * m, m


def _coupled_lstm(f: Functions, gates: Gates, state: State, v: Mapping[str, Array]) -> State:
    h, c = state
    forget, o, r = gates(0, h)
    forget = f.sigmoid(forget)
    c = forget * c + (1 - forget) * f.tanh(r)
    return f.sigmoid(o) * f.relu(c), c


def _lstm(f: Functions, gates: Gates, state: State, v: Mapping[str, Array]) -> State:
    h, c = state
    i, forget, r, o = gates(0, h)
    c = f.sigmoid(forget) * c + f.sigmoid(i) * f.tanh(r)
    return f.sigmoid(o) * f.tanh(c), c


def _own(name: str) -> str:
    return str(EQUATIONS / f"{name}.eq")


UGRNN = Cell("ugrnn", "ugrnn", (("R", "G"),), _ugrnn)
LSTM = Cell("lstm", "lstm", (("i", "f", "R", "o"),), _lstm, 2)
GRU = Cell("gru", "gru", (("r", "z"), ("R",)))
GRU_OUTSIDE = Cell("gru_outside", _own("gru_outside"), (("r", "z", "R"),), vectors=("B^{h,R}",))
RNN = Cell("rnn_tanh", _own("rnn_tanh"), (("h",),))

# Those of no library but ours, or of none at all.
NOVEL = (
    UGRNN,
    Cell("peephole_mgu", _own("peephole_mgu"), (("G",), ("R",)), _peephole_mgu, 1, ("p",)),
    Cell("peak_memory", _own("peak_memory"), (("R", "d", "o"),), _peak_memory, 2),
    Cell("coupled_lstm", _own("coupled_lstm"), (("f", "o", "R"),), _coupled_lstm, 2),
)
CELLS = {cell.name: cell for cell in (*NOVEL, LSTM, GRU, GRU_OUTSIDE, RNN)}

SIZES = (Size(32, 128, 256), Size(16, 128, 128), Size(8, 256, 64), Size(1, 512, 128))
