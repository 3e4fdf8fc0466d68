"""Products of all steps at once with weights, as few and as large as they can be.

    p[t,j] = Σ_k U[j,k] x[t,k],  q[t,j] = Σ_k V[j,k] x[t,k]      one product, weights side by side
    x̄[t,k] = Σ_j p̄[t,j] U[j,k] + Σ_j q̄[t,j] V[j,k]              one product, operands side by side

The second is what the gradient of the first looks like. Operands lie side by side in memory if the
kernel that made them was told to put them there (`side_by_side`).

Gradients of weights: one product over all members and all steps.

    W̄[j,i] = Σ_t ū[t,j] h[t-1,i]      summed over the batch

All steps of all members lie one after the other in memory, so `ū[1:]ᵀ h[:-1]` is a single product
of long matrices, without copies. It also pairs the first step of each member with the last step of
the one before; those few pairs are taken out again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from indicial.compile.native.by_hand import outer_product
from indicial.compile.passes.algebra import ONE
from indicial.compile.passes.forms import Product, element_of, form
from indicial.program.ir import Affine, Apply, Axis, Code, Index, Read, Statement, index_at
from indicial.program.sizes import Size

Values = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Given:
    """What a part of a routine is run with; what it computes is put among what is known."""

    known: Values
    sizes: Mapping[str, int]
    lengths: Values = field(default_factory=dict)
    fixed: Collection[str] = ()
    """The sizes that calls do not change."""
    into: Values = field(default_factory=dict)
    """Memory in which some of the results are to lie."""


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

    def run(self, given: Given) -> Values:
        known, sizes = given.known, given.sizes
        operand = known[self.outputs[0].operand].flatten(2)
        matrices = [o.matrix(known) for o in self.outputs]
        together = torch.cat(matrices) if len(matrices) > 1 else matrices[0]
        result = torch.nn.functional.linear(operand, together)
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

    def run(self, given: Given) -> Values:
        known, sizes = given.known, given.sizes
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
    found = _two_factors(code, statement)
    if found is None or not statement.left:
        return None
    weights = [f for f in found.factors if f.tensor in same]
    operands = [f for f in found.factors if f.tensor not in same]
    if len(weights) != 1 or len(operands) != 1:
        return None
    ranges = {i.name: i.range for i in (*statement.indices, *found.indices)}
    left = _letters(code, element_of(statement), ranges)
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


def _two_factors(code: Code, statement: Statement) -> Product | None:
    """The sum of products of two tensors that a statement is, if that is all of it."""
    found = form(statement)
    if not isinstance(found, Product) or found.scale != ONE or found.condition is not None:
        return None
    alone = statement.guard is None and len(code.of(statement.target)) == 1
    return found if alone and len(found.factors) == 2 else None


def _letters(code: Code, read: Read, ranges: Mapping[str, tuple[Size, Size]]) -> list[str] | None:
    """The index at each place, each once and over its whole axis."""
    names = []
    for place, axis in zip(read.places, code.tensors[read.tensor].axes, strict=True):
        name = index_at(place)
        if name is None or ranges.get(name) != axis.range or name in names:
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


def neighbours(
    code: Code, keep: Collection[str], wished: Sequence[Sequence[str]]
) -> list[tuple[str, ...]]:
    """Which kept tensors can lie side by side, of those that are multiplied together later."""
    groups: list[tuple[str, ...]] = []
    for names in wished:
        steps = {a.range for n in names for a in code.tensors[n].axes[:1]}
        free = set(keep).difference(*groups)
        if len(set(names)) == len(names) > 1 and len(steps) == 1 and set(names) <= free:
            groups.append(tuple(names))
    return groups


@dataclass(frozen=True)
class Outer:
    """`target = Σ_{members, t} left[t + a, …] right[t + c, …]`; `apart` is a - c.

    Of several steps, `Σ_{m,n} left[m,n,…] right[m,n-1,…]`, those `before` the one that moves count as members,
    and each of those `behind` it as so many steps.
    """

    target: str
    left: str
    right: str
    apart: int
    steps: tuple[Size, Size]
    """The first and the last step of `left` that takes part, from its own first one."""
    shape: tuple[Size, ...]
    before: int = 0
    behind: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether both factors are taken at the same steps, all of them."""
        return self.apart == 0 and not self.before and not self.behind and self.steps[0] == Size()

    def run(self, given: Given) -> Values:
        """The product, in the memory that there is for it if both factors are taken at all steps."""
        sizes, into = given.sizes, given.into.get(self.target)
        a, c = given.known[self.left], given.known[self.right]
        if into is not None and self.is_plain:
            left, right = a.flatten(0, 1).flatten(1), c.flatten(0, 1).flatten(1)
            outer_product(left, right, into.view(left.shape[1], right.shape[1]))
            return {self.target: into}
        first, last = (s.value(sizes) for s in self.steps)
        if self.before or self.behind:
            times = a.shape[2 + self.before : 2 + self.before + self.behind].numel()
            a, c = (t.flatten(0, self.before).flatten(1, 1 + self.behind) for t in (a, c))
            flat = replace(self, apart=self.apart * times, before=0, behind=0)
            return flat.product(a, c, first * times, (last + 1) * times - 1, sizes)
        return self.product(a, c, first, last, sizes)

    def product(
        self, a: torch.Tensor, c: torch.Tensor, first: int, last: int, sizes: Mapping[str, int]
    ) -> Values:
        a, c = (t.flatten(2) if t.dim() > 2 else t.unsqueeze(2) for t in (a, c))
        whole = first == max(0, self.apart) and last == a.shape[1] - 1 + min(0, self.apart)
        if whole and a.shape[1] == c.shape[1] and abs(self.apart) < a.shape[1]:
            product = self.at_once(a.contiguous(), c.contiguous())
        else:
            product = self.by_member(a, c, first, last)
        return {self.target: product.reshape([s.value(sizes) for s in self.shape])}

    def at_once(self, a: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        """All members in one product."""
        if self.apart < 0:
            return self._shifted(c, a, -self.apart).T
        return self._shifted(a, c, self.apart)

    @staticmethod
    def _shifted(late: torch.Tensor, early: torch.Tensor, by: int) -> torch.Tensor:
        """`Σ late[:, by:] early[:, :-by]`"""
        rows = late.shape[0] * late.shape[1]
        product = outer_product(late.flatten(0, 1)[by:], early.flatten(0, 1)[: rows - by])
        if by and late.shape[0] > 1:
            heads = late[1:, :by].reshape(-1, late.shape[2])
            tails = early[:-1, -by:].reshape(-1, early.shape[2])
            product = torch.addmm(product, heads.T, tails, alpha=-1)
        return product

    def by_member(self, a: torch.Tensor, c: torch.Tensor, first: int, last: int) -> torch.Tensor:
        """One product a member, into one sum."""
        total = a.new_zeros(a.shape[2], c.shape[2])
        for member in range(a.shape[0] if first <= last else 0):
            ours = a[member, first : last + 1]
            theirs = c[member, first - self.apart : last + 1 - self.apart]
            torch.addmm(total, ours.T, theirs, out=total)
        return total


@dataclass(frozen=True)
class Outers:
    """Several such products with the same right factor, whose left ones lie side by side."""

    products: tuple[Outer, ...]
    group: tuple[str, ...]
    """All that lies side by side, the left factors among it, one after the other."""

    def run(self, given: Given) -> Values:
        known, first = given.known, self.products[0]
        widths = {n: known[n].flatten(2).shape[2] for n in self.group}
        at = self.group.index(first.left)
        before = sum(widths[n] for n in self.group[:at])
        wide = sum(widths[p.left] for p in self.products)
        left = known["|".join(self.group)].narrow(2, before, wide)
        whole = replace(
            first, shape=(Size.of(wide), Size.of(known[first.right].flatten(2).shape[2]))
        )
        alone = Given({first.left: left, first.right: known[first.right]}, given.sizes)
        found = whole.run(alone)[first.target]
        results, at = {}, 0
        for p in self.products:
            piece = found.narrow(0, at, widths[p.left])
            results[p.target] = piece.reshape([s.value(given.sizes) for s in p.shape])
            at += widths[p.left]
        return results


def outers_together(
    products: Sequence[Outer], groups: Sequence[tuple[str, ...]]
) -> list[Outer | Outers]:
    """Products with neighbouring left factors and the same right one become one."""
    result: list[Outer | Outers] = []
    by_right: dict[object, list[Outer]] = {}
    for product in products:
        if product.before or product.behind:
            result.append(product)
        else:
            by_right.setdefault((product.right, product.apart, product.steps), []).append(product)
    for alike in by_right.values():
        rest = {p.left: p for p in alike}
        result += [p for p in alike if rest[p.left] is not p]
        for group in groups:
            for run in _runs([rest.pop(name, None) for name in group]):
                result += [Outers(run, group)] if len(run) > 1 else run
        result += rest.values()
    return result


def _runs(found: Sequence[Outer | None]) -> Iterator[tuple[Outer, ...]]:
    """What stands without a gap: `[a, b, None, c]` → `(a, b)`, `(c,)`."""
    run: list[Outer] = []
    for product in (*found, None):
        if product is not None:
            run.append(product)
        elif run:
            yield tuple(run)
            run = []


def outer(code: Code, statement: Statement, same: Collection[str]) -> Outer | None:
    """The statement as such a product, if it is one."""
    found = _two_factors(code, statement)
    if found is None or any(f.tensor in same for f in found.factors):
        return None
    walked = _steps(code, found)
    if walked is None:
        return None
    index, before, behind = walked
    count = len(found.indices)
    letters = [p.terms[0][0] for p in statement.left if isinstance(p, Affine) and p.terms]
    for left, right in (found.factors, found.factors[::-1]):
        one, two = (_walked(code, read, index.name, before) for read in (left, right))
        names = [index_at(place) for read in (left, right) for place in read.places[count:]]
        if one is None or two is None or None in names:
            return None
        (a, own_a), (c, own_c) = one, two
        if names != letters:
            continue
        # Steps of each tensor are counted from its own first one.
        apart = ((a - own_a.lower) - (c - own_c.lower)).number
        if apart is None:
            return None
        begins = _least(own_a.lower - index.lower - a, Size.of(min(0, -int(apart))))
        ends = (index.upper + a - own_a.lower, own_a.extent - 1, own_c.extent - 1 + int(apart))
        last = _least(*ends)
        if begins is None or last is None:
            return None
        shape = tuple(axis.extent for axis in code.tensors[statement.target].axes)
        return Outer(
            statement.target, left.tensor, right.tensor, int(apart), (-begins, last), shape,
            before, behind,
        )  # fmt: skip
    return None


def _steps(code: Code, product: Product) -> tuple[Index, int, int] | None:
    """The summed index at which factors are apart, and how many stand before it and behind it.

    Both factors begin with the summed indices, in one order; the others are the whole of their axes.
    """
    one, two = product.factors
    count = len(product.indices)
    known = {i.name: i for i in product.indices}
    order = [p.terms[0][0] for p in one.places[:count] if isinstance(p, Affine) and p.terms]
    if sorted(order) != sorted(known) or len(two.places) < count:
        return None
    moving = 0
    for number, name in enumerate(order):
        places = [read.places[number] for read in product.factors]
        axes = [code.tensors[read.tensor].axes[number].range for read in product.factors]
        if any(index_at(p) != name for p in places) or set(axes) != {known[name].range}:
            if moving:
                return None
            moving = number + 1
    at = max(0, moving - 1)
    return known[order[at]], at, count - at - 1


def _walked(code: Code, read: Read, index: str, axis: int) -> tuple[Size, Axis] | None:
    """How far the place at an axis is from the index, and the axis."""
    place = read.places[axis] if len(read.places) > axis else None
    if not isinstance(place, Affine) or place.terms != ((index, 1),):
        return None
    return place.offset, code.tensors[read.tensor].axes[axis]


def _least(*sizes: Size) -> Size | None:
    """The smallest of some sizes, where numbers are between them."""
    least = sizes[0]
    for size in sizes[1:]:
        difference = (size - least).number
        if difference is None:
            return None
        least = size if difference < 0 else least
    return least
