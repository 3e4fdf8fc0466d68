"""Retrieval: which of several candidates belongs to a question.

    input q[t] in V
    input d[n,s] in V           candidates, numbered by n
    input n in N                the one that belongs to q
    P(n | q) = softmax_n f[J] g[n,J]

The candidates are those of the other rows of the batch: the equation says so, as n numbers them. A program
that computes every candidate for every question would do the work of a batch once for each of its rows, so it
is taken apart:

>>> towers = Towers.of(code, found)
>>> towers.rows      f[j] from q[t], g[j] from d[s]: row by row, each with its own lengths
>>> towers.top       P[n] and the loss from f[j] and g[n,j]

Both have the parameters of the module that is trained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch

from indicial.compile.module.module import ProgramModule
from indicial.program import ir
from indicial.program.meaning.differing import dependent
from indicial.program.messages import IndicialError
from indicial.program.rewrite import needed_names, rebuild, sizes_in, tensors_read
from indicial.tasks.predictions import Prediction, share, sharing

Part = TypeVar("Part")


@dataclass(frozen=True)
class Candidates:
    """The inputs of a program that retrieves."""

    answer: ir.Tensor
    """`n`, which numbers the candidates."""
    given: tuple[ir.Tensor, ...]
    """`d[n,s]`: what is there of each of them."""

    @property
    def count(self) -> str | None:
        """The name of the size that says how many there are: N."""
        return self.given[0].axes[0].extent.name


def candidates(code: ir.Code, found: Prediction | None) -> Candidates | None:
    """What a program chooses among, if what it predicts numbers an axis of other inputs."""
    if found is None or found.token.axes or found.token.values is None:
        return None
    count = found.token.values
    inputs = [t for t in code.tensors.values() if t.role == "input"]
    given = tuple(t for t in inputs if t.axes and t.axes[0].extent == count)
    return Candidates(found.token, given) if given else None


def of_one(code: ir.Code, found: Candidates) -> ir.Code:
    """The program as the data see it: one candidate in each row, and no answer."""
    tensors = {n: t for n, t in code.tensors.items() if t is not found.answer}
    for tensor in found.given:
        tensors[tensor.name] = replace(tensor, axes=tensor.axes[1:])
    return replace(code, tensors=tensors)


@dataclass(frozen=True)
class Towers:
    """The two parts of a program that retrieves."""

    rows: ir.Code
    top: ir.Code
    between: tuple[str, ...]
    """What the first part gives, and the second reads."""

    @staticmethod
    def of(code: ir.Code, found: Candidates) -> Towers:
        return _Parting(code, found).towers()


class _Parting:
    def __init__(self, code: ir.Code, found: Candidates) -> None:
        self.code, self.found = code, found
        self.count = found.given[0].axes[0].extent
        inputs = {t.name for t in code.tensors.values() if t.role == "input"}
        names = {t.name for t in found.given}
        theirs = dependent(code, frozenset(names))
        ours = dependent(code, frozenset(inputs - names - {found.answer.name}))
        # What does not number its candidates chooses among them, as P does.
        self.theirs = {n for n in theirs - ours if self._at(n) is not None}
        self.ours = ours - theirs
        apart = self.theirs | self.ours
        self.below = [s for s in code.statements if s.target in apart or s.target not in theirs]
        # What reads no input, as a mask does, is made where it is wanted.
        others = [s for s in code.statements if s.target not in apart]
        self.top = _needed(others, (theirs | ours) - apart)
        self.cuts: dict[tuple[str, tuple[ir.Place, ...]], ir.Tensor] = {}
        self.statements: list[ir.Statement] = []

    def _at(self, name: str) -> int | None:
        """The axis of a tensor that numbers candidates: the first, or behind that of the layers."""
        extents = [axis.extent for axis in self.code.tensors[name].axes]
        return extents.index(self.count) if self.count in extents else None

    def _without(self, name: str, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """What there is for each axis of a tensor, but for that one."""
        at = self._at(name)
        return parts if at is None else (*parts[:at], *parts[at + 1 :])

    def towers(self) -> Towers:
        tops = [self._top(statement) for statement in self.top]
        below = [*(self._single(s) for s in self.below), *self.statements]
        rows = dict(of_one(self.code, self.found).tensors)
        for name in self.theirs:
            tensor = self.code.tensors[name]
            rows[name] = replace(tensor, axes=self._without(name, tensor.axes))
        tensors = dict(self.code.tensors)
        for (name, _), tensor in self.cuts.items():
            own = tensor.axes[1:] if name in self.theirs else tensor.axes
            rows[tensor.name] = replace(tensor, axes=own)
            tensors[tensor.name] = replace(tensor, role="input")
        return Towers(
            _program(self.code, rows, below, None),
            _program(self.code, tensors, tops, self.code.loss),
            tuple(tensor.name for tensor in self.cuts.values()),
        )

    # ------------------------------------------------------------------ row by row

    def _single(self, statement: ir.Statement) -> ir.Statement:
        """Without the number of the candidate."""
        result = replace(statement, body=rebuild(statement.body, leaf=self._unnumbered))
        if statement.target not in self.theirs:
            return result
        left = self._without(statement.target, statement.left)
        kept = {name for place in left if isinstance(place, ir.Affine) for name, _ in place.terms}
        indices = tuple(i for i in statement.indices if i.name in kept)
        return replace(result, left=left, indices=indices)

    def _unnumbered(self, node: ir.Expression) -> ir.Expression:
        names = self.theirs | {t.name for t in self.found.given}
        if isinstance(node, ir.Read) and node.tensor in names:
            return replace(node, places=self._without(node.tensor, node.places))
        return node

    # ------------------------------------------------------------------ from row to row

    def _top(self, statement: ir.Statement) -> ir.Statement:
        """Reads what the rows give instead of their tensors."""
        ranges = {i.name: i for i in statement.indices}
        for node in statement.body.walk():
            if isinstance(node, ir.Reduce | ir.Softmax):
                ranges |= {i.name: i for i in node.indices}

        def leaf(node: ir.Expression) -> ir.Expression:
            if isinstance(node, ir.Read) and node.tensor in self.theirs | self.ours:
                return self._cut(node, ranges)
            return node

        return replace(statement, body=rebuild(statement.body, leaf=leaf))

    def _cut(self, node: ir.Read, ranges: Mapping[str, ir.Index]) -> ir.Read:
        """`k[n,S-1,J]` → a tensor of the rows that is that, read at n and J."""
        places = node.places
        if any(not isinstance(place, ir.Affine) for place in places):
            raise IndicialError(f"{node.tensor} is read at a token where candidates are compared")
        used = list(
            dict.fromkeys(n for p in places if isinstance(p, ir.Affine) for n, _ in p.terms)
        )
        # That of the candidates first, as the rows of a batch are.
        indices = sorted((ranges[n] for n in used), key=lambda i: i.extent != self.count)
        key = (node.tensor, places)
        if key not in self.cuts:
            name = f"{node.tensor}^{{({len(self.cuts) + 1})}}"
            axes = tuple(ir.Axis(i.name, i.lower, i.extent) for i in indices)
            self.cuts[key] = ir.Tensor(name, axes, "defined")
            theirs = node.tensor in self.theirs
            own = tuple(indices[1:] if theirs else indices)
            if theirs and (not indices or indices[0].extent != self.count):
                raise IndicialError(
                    f"{node.tensor} is read at other than the number of a candidate"
                )
            body = self._unnumbered(node)
            self.statements.append(ir.Statement(name, tuple(map(ir.Affine.of, own)), own, body))
        return replace(node, tensor=self.cuts[key].name, places=tuple(map(ir.Affine.of, indices)))


def _program(
    code: ir.Code,
    tensors: Mapping[str, ir.Tensor],
    statements: Sequence[ir.Statement],
    loss: str | None,
) -> ir.Code:
    """A program of its own: these statements, what they read, and the sizes of that."""
    named = {s.target for s in statements} | tensors_read(statements)
    kept = {n: t for n, t in tensors.items() if n in named}
    made = replace(
        code,
        tensors=kept,
        statements=tuple(statements),
        constants={n: v for n, v in code.constants.items() if n in kept},
        draws=tuple(d for d in code.draws if d.tensor in kept),
        tests=(),
        loss=loss,
        generated=None,
    )
    sizes = {name for size in sizes_in(made) for name in size.names}
    return replace(made, sizes={n: v for n, v in code.sizes.items() if n in sizes})


def reduced(code: ir.Code, want: Iterable[str]) -> ir.Code:
    """What a program computes of some tensors alone: it reads no other inputs than they need."""
    return _program(code, code.tensors, _needed(code.statements, want), None)


def _needed(every: Sequence[ir.Statement], want: Iterable[str]) -> list[ir.Statement]:
    """The statements that some tensors come of."""
    names = needed_names(every, want)
    return [statement for statement in every if statement.target in names]


class Retrieving:
    """Losses and choices of a module on rows whose candidates are those of the other rows."""

    def __init__(self, module: ProgramModule, found: Candidates) -> None:
        self.module, self.answer = module, found.answer.name
        self.towers = Towers.of(module.code, found)
        self.parts = [sharing(module, code) for code in (self.towers.rows, self.towers.top)]

    def __call__(
        self,
        inputs: Mapping[str, torch.Tensor],
        lengths: Mapping[str, torch.Tensor],
        want: Sequence[str],
    ) -> Mapping[str, torch.Tensor]:
        """Tensors of the second part, its loss for example; they depend on the module's parameters."""
        rows, top = self.parts
        for part in self.parts:
            share(self.module, part)
        between: Any = rows(**inputs, lengths=lengths or None, want=list(self.towers.between))
        given = dict(between)
        count = len(next(iter(inputs.values())))
        given[self.answer] = torch.arange(count, device=next(iter(inputs.values())).device)
        found: Mapping[str, torch.Tensor] = top(**given, want=list(want))
        return found
