"""Products of all steps at once with weights, as few and as large as they can be.

    p[t,j] = Σ_k U[j,k] x[t,k],  q[t,j] = Σ_k V[j,k] x[t,k]      one product, weights side by side
    x̄[t,k] = Σ_j p̄[t,j] U[j,k] + Σ_j q̄[t,j] V[j,k]              one product, operands side by side

The second is what the gradient of the first looks like. Operands lie side by side in memory if the
kernel that made them was told to put them there (`side_by_side`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch

from indicial.compile.passes.algebra import ONE
from indicial.compile.passes.forms import Product, form
from indicial.program.ir import Affine, Apply, Code, Read, Statement, index_at
from indicial.program.sizes import Size

Values = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Weighted:
    """`target[t, n…] = Σ_{k…} weight operand[t, k…]`; `order` puts the weight's axes as n…, k…."""

    target: str
    operand: str
    weight: str
    order: tuple[int, ...]
    left: int
    """How many of the weight's axes are on the left."""
    shape: tuple[Size, ...]
    """Of the result, without members and steps."""

    def matrix(self, known: Values) -> torch.Tensor:
        """The weight as [n, k]."""
        turned = known[self.weight].permute(self.order)
        return turned.reshape(turned.shape[: self.left].numel(), -1)


@dataclass(frozen=True)
class Projection:
    """Several products with one operand."""

    outputs: tuple[Weighted, ...]

    @property
    def targets(self) -> list[str]:
        return [output.target for output in self.outputs]

    def run(self, known: Values, sizes: Mapping[str, int]) -> Values:
        operand = known[self.outputs[0].operand].flatten(2)
        matrices = [o.matrix(known) for o in self.outputs]
        result = torch.nn.functional.linear(operand, torch.cat(matrices))
        found, at = {}, 0
        for output, matrix in zip(self.outputs, matrices, strict=True):
            piece = result.narrow(2, at, matrix.shape[0])
            at += matrix.shape[0]
            shape = [size.value(sizes) for size in output.shape]
            found[output.target] = piece.reshape(*piece.shape[:2], *shape)
        return found


@dataclass(frozen=True)
class Gathered:
    """A sum of products with different operands."""

    target: str
    terms: tuple[Weighted, ...]

    @property
    def targets(self) -> list[str]:
        return [self.target]

    def run(self, known: Values, sizes: Mapping[str, int]) -> Values:
        matrices = [t.matrix(known) for t in self.terms]
        together = known.get("|".join(t.operand for t in self.terms))
        if together is not None:
            result = torch.nn.functional.linear(together, torch.cat(matrices, 1))
        else:
            operands = [known[t.operand].flatten(2) for t in self.terms]
            result = torch.nn.functional.linear(operands[0], matrices[0])
            rows = result.view(-1, result.shape[2])
            for operand, matrix in zip(operands[1:], matrices[1:], strict=True):
                rows.addmm_(operand.reshape(-1, operand.shape[2]), matrix.T)
        shape = [size.value(sizes) for size in self.terms[0].shape]
        return {self.target: result.reshape(*result.shape[:2], *shape)}


def weighted(code: Code, statement: Statement, same: Collection[str]) -> Weighted | None:
    """The statement as a product with a weight, if it is one."""
    found = form(statement)
    if not isinstance(found, Product) or found.scale != ONE or found.condition is not None:
        return None
    if len(found.factors) != 2 or statement.guard is not None or not statement.left:
        return None
    weights = [f for f in found.factors if f.tensor in same]
    operands = [f for f in found.factors if f.tensor not in same]
    if len(weights) != 1 or len(operands) != 1 or len(code.of(statement.target)) > 1:
        return None
    ranges = {i.name: (i.lower, i.extent) for i in (*statement.indices, *found.indices)}
    left = _letters(code, Read(statement.target, tuple(_affine(statement))), ranges)
    in_operand = _letters(code, operands[0], ranges)
    in_weight = _letters(code, weights[0], ranges)
    if left is None or in_operand is None or in_weight is None:
        return None
    step, *outer = left
    if in_operand[:1] != [step] or set(in_operand[1:]) != {i.name for i in found.indices}:
        return None
    if sorted(in_weight) != sorted([*outer, *in_operand[1:]]):
        return None
    order = tuple(in_weight.index(name) for name in (*outer, *in_operand[1:]))
    shape = tuple(axis.extent for axis in code.tensors[statement.target].axes[1:])
    return Weighted(
        statement.target, operands[0].tensor, weights[0].tensor, order, len(outer), shape
    )


def _affine(statement: Statement) -> list[Affine]:
    return [p if isinstance(p, Affine) else Affine() for p in statement.left]


def _letters(code: Code, read: Read, ranges: Mapping[str, tuple[Size, Size]]) -> list[str] | None:
    """The index at each place, each once and over its whole axis."""
    names = []
    for place, axis in zip(read.places, code.tensors[read.tensor].axes, strict=True):
        name = index_at(place)
        if name is None or ranges.get(name) != (axis.lower, axis.extent) or name in names:
            return None
        names.append(name)
    return names


def projections(
    code: Code, statements: Sequence[Statement], same: Collection[str], there: Collection[str]
) -> tuple[list[Projection | Gathered], list[Statement]]:
    """The products among some statements whose operands are there, and the statements left."""
    uses = Counter(n.tensor for s in code.statements for n in s.body.every(Read))
    single = {
        w.target: w
        for s in statements
        if (w := weighted(code, s, same)) is not None and {w.operand, w.weight} <= set(there)
    }
    parts: list[Projection | Gathered] = []
    done: set[str] = set()
    for statement in statements:
        terms = _terms(statement, single, uses)
        if terms:
            parts.append(Gathered(statement.target, terms))
            done |= {statement.target, *(t.target for t in terms)}
    by_operand: dict[str, list[Weighted]] = {}
    for name, found in single.items():
        if name not in done:
            by_operand.setdefault(found.operand, []).append(found)
    for outputs in by_operand.values():
        parts.append(Projection(tuple(outputs)))
        done |= {output.target for output in outputs}
    return parts, [s for s in statements if s.target not in done]


def _terms(
    statement: Statement, single: Mapping[str, Weighted], uses: Mapping[str, int]
) -> tuple[Weighted, ...]:
    """The products that a statement adds up, if that is all it does."""
    body = statement.body
    if not isinstance(body, Apply) or body.function != "+" or statement.guard is not None:
        return ()
    found = []
    for argument in body.arguments:
        if not isinstance(argument, Read) or argument.tensor not in single:
            return ()
        if argument.places != statement.left or uses[argument.tensor] != 1:
            return ()
        found.append(single[argument.tensor])
    return tuple(found)


def side_by_side(
    code: Code, keep: Collection[str], wished: Sequence[Sequence[str]]
) -> list[tuple[str, ...]]:
    """Which kept tensors can lie side by side, of those that are multiplied together later."""
    groups: list[tuple[str, ...]] = []
    for names in wished:
        steps = {(a.lower, a.extent) for n in names for a in code.tensors[n].axes[:1]}
        free = set(keep).difference(*groups)
        if len(set(names)) == len(names) > 1 and len(steps) == 1 and set(names) <= free:
            groups.append(tuple(names))
    return groups
