"""Weights from elsewhere: which tensor of a checkpoint each parameter is, said in indices.

    # name[its indices]     <-  name in the checkpoint[its indices]
    e[w,j]                  <-  wte.weight[w,j]
    W^1[ℓ,d,j]              <-  h.{ℓ-1}.mlp.c_fc.weight[j,d]
    W^Q[ℓ,k,i,j]            <-  h.{ℓ-1}.attn.c_attn.weight[j,(0 of 3,k,i)]
    B^i[j]                  <-  - bias_ih_l0[(0 of 4,j)] - bias_hh_l0[(0 of 4,j)]

Indices in another order transpose. `{ℓ-1}` is put in for each ℓ. `(k,i)` is one axis that holds k
and i, k slowest, and `(0 of 3,k,i)` the first third of an axis. Terms add.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from indicial.compile.module.sizes import resolve
from indicial.program.ir import Code
from indicial.program.messages import IndicialError

AxisPart = str | tuple[int, int]
"""A part of an axis: a letter, or (0, 3) for `0 of 3`."""

LINE = re.compile(r"\s*(?P<name>\S+?)\s*(\[(?P<letters>[^\[\]]*)\])?\s*(<-|←)\s*(?P<right>.*?)\s*")
TERM = re.compile(r"\s*(?P<sign>[+-]?)\s*(?P<key>[^\s\[\]]+)\s*(\[(?P<axes>[^\[\]]*)\])?")
AXIS = re.compile(r"\(([^()]*)\)|([^(),]+)")
SLOT = re.compile(r"\{\s*([^\s{}+-]+)\s*([+-]\s*\d+)?\s*\}")


@dataclass(frozen=True)
class MappedTerm:
    """`- bias_ih_l0[(0 of 4,j)]`"""

    sign: int
    key: str
    axes: tuple[tuple[AxisPart, ...], ...]

    def filled(self, values: Mapping[str, int]) -> str:
        return SLOT.sub(lambda m: str(values[m[1]] + int((m[2] or "0").replace(" ", ""))), self.key)


@dataclass(frozen=True)
class MappedParameter:
    """One parameter, its letters, and the terms that it is the sum of."""

    name: str
    letters: tuple[str, ...]
    terms: tuple[MappedTerm, ...]
    number: int


@dataclass(frozen=True)
class WeightMap:
    """All lines of a mapping."""

    lines: tuple[MappedParameter, ...]

    @staticmethod
    def read(text: str | os.PathLike[str]) -> WeightMap:
        """From a file, or from the text itself."""
        if isinstance(text, os.PathLike) or ("<-" not in text and "←" not in text):
            text = Path(text).read_text(encoding="utf-8")
        lines = []
        for number, row in enumerate(text.splitlines(), 1):
            row = row.partition("#")[0]
            if row.strip():
                lines.append(_line(row, number))
        return WeightMap(tuple(lines))

    def values(
        self, code: Code, shapes: Mapping[str, tuple[int, ...]], state: Mapping[str, torch.Tensor]
    ) -> tuple[dict[str, torch.Tensor], set[str]]:
        """Each parameter out of a checkpoint, and the names that were used; gradients pass through."""
        used: set[str] = set()
        found: dict[str, torch.Tensor] = {}
        for line in self.lines:
            name = resolve(code, line.name, ("parameter",))
            lowers = [int(a.lower.number or 0) for a in code.tensors[name].axes]
            if len(line.letters) != len(lowers):
                raise _wrong(line, f"{name} has {len(lowers)} indices")
            ranges = {
                letter: range(low, low + extent)
                for letter, low, extent in zip(line.letters, lowers, shapes[name], strict=True)
            }
            parts = [_Part(line, term, ranges, state, used).values() for term in line.terms]
            found[name] = torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]
        return found, used


class _Part:
    """One term for one parameter."""

    def __init__(
        self,
        line: MappedParameter,
        term: MappedTerm,
        ranges: Mapping[str, range],
        state: Mapping[str, torch.Tensor],
        used: set[str],
    ) -> None:
        self.line, self.term, self.ranges, self.state, self.used = line, term, ranges, state, used
        written = [item for axis in term.axes for item in axis if isinstance(item, str)]
        self.inner = written
        self.outer = list(dict.fromkeys([match[1] for match in SLOT.finditer(term.key)]))
        if sorted([*written, *self.outer]) != sorted(line.letters):
            raise _wrong(line, f"{term.key} does not have the indices {', '.join(line.letters)}")

    def values(self) -> torch.Tensor:
        """The slices of all layers, stacked, in the order of the parameter's letters."""
        slices = [
            self.slice(self.term.filled(dict(zip(self.outer, places, strict=True))))
            for places in itertools.product(*(self.ranges[letter] for letter in self.outer))
        ]
        whole = torch.stack(slices) if self.outer else slices[0]
        whole = whole.reshape(
            *(len(self.ranges[letter]) for letter in self.outer), *slices[0].shape
        )
        order = [*self.outer, *self.inner]
        return self.term.sign * whole.permute([order.index(letter) for letter in self.line.letters])

    def slice(self, key: str) -> torch.Tensor:
        name = self.find(key)
        self.used.add(name)
        values = self.state[name]
        extents = [[self.extent(item) for item in axis] for axis in self.term.axes]
        wanted = tuple(math.prod(parts) for parts in extents)
        if tuple(values.shape) != wanted:
            raise _wrong(self.line, f"{name} has the shape {tuple(values.shape)}, not {wanted}")
        values = values.reshape([extent for parts in extents for extent in parts])
        place = tuple(
            slice(None) if isinstance(item, str) else item[0]
            for axis in self.term.axes
            for item in axis
        )
        return values[place]

    def extent(self, item: AxisPart) -> int:
        return len(self.ranges[item]) if isinstance(item, str) else item[1]

    def find(self, key: str) -> str:
        """The name itself, or the only one that ends with it: `transformer.wte.weight`."""
        if key in self.state:
            return key
        ends = [name for name in self.state if name.endswith(f".{key}")]
        if len(ends) != 1:
            problem = "has no" if not ends else "has several"
            raise _wrong(self.line, f"the checkpoint {problem} {key}")
        return ends[0]


def _line(row: str, number: int) -> MappedParameter:
    match = LINE.fullmatch(row)
    terms = tuple(_terms(match["right"])) if match is not None else ()
    if match is None or not terms:
        raise IndicialError(
            f"line {number} of the mapping is not `name[…] <- tensor[…]`: {row.strip()}"
        )
    letters = tuple(part.strip() for part in (match["letters"] or "").split(",") if part.strip())
    return MappedParameter(match["name"], letters, terms, number)


def _terms(text: str) -> Iterator[MappedTerm]:
    at = 0
    while at < len(text):
        match = TERM.match(text, at)
        if match is None:
            return
        axes = tuple(_axis(m[1] or m[2]) for m in AXIS.finditer(match["axes"] or ""))
        yield MappedTerm(-1 if match["sign"] == "-" else 1, match["key"], axes)
        at = match.end()


def _axis(text: str) -> tuple[AxisPart, ...]:
    return tuple(_item(part.strip()) for part in text.split(","))


def _item(text: str) -> AxisPart:
    match = re.fullmatch(r"(\d+)\s+of\s+(\d+)", text)
    return (int(match[1]), int(match[2])) if match is not None else text


def _wrong(line: MappedParameter, text: str) -> IndicialError:
    return IndicialError(f"line {line.number} of the mapping, {line.name}: {text}")
