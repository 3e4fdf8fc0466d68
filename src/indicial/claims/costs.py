"""Claims about costs: polynomials in the sizes, compared exactly where they can be.

claim parameters of α = 2 I J K        the same polynomial
claim work ≤ 9 J^2 T                   every coefficient of the rest, in T-1, J-1, is at least 0
claim J^2 ≤ 2 I J for J ≤ 2 I          tried at many sizes
claim parallel time = O(T)             the growth in T
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from indicial.claims.experiment import HOLDS, REFUTED, UNTRIED, Counterexample, Verdict, apart, part
from indicial.program import ir
from indicial.program.cost.cost import Cost, cost, order
from indicial.program.meaning.arrays import tie
from indicial.program.meaning.functions import FUNCTIONS
from indicial.program.messages import IndicialError
from indicial.program.sizes import Size

Lookup = Callable[[str], ir.Code | None]
"""The code of another section, or of a model of the library, by its name."""

TRIED = (1, 2, 3, 4, 8, 64)
"""The values of each size, where a claim cannot be settled by its coefficients."""
MOST_TRIED = 6**5
MIRRORED = {"≤": "≥", "<": ">", "≥": "≤", ">": "<"}
"""The relation with its sides exchanged."""


def is_about_costs(test: ir.Test) -> bool:
    parts = (test.left, test.right)
    return any(part.every(ir.Quantity, ir.Growth) for part in parts)


def is_about_sizes(test: ir.Test) -> bool:
    """Whether nothing but sizes and numbers stands in it: `J^2 ≤ 2 I J`."""
    parts = (test.left, test.right)
    return all(
        isinstance(n, ir.SizeValue | ir.Constant | ir.Apply) for part in parts for n in part.walk()
    )


def try_costs(code: ir.Code, test: ir.Test, lookup: Lookup, given: Mapping[str, int]) -> Verdict:
    """Settles a claim about costs."""
    try:
        if isinstance(test.left, ir.Growth) or isinstance(test.right, ir.Growth):
            return _growth(_Terms(code, lookup, test, given), test)
        return _compared(_Terms(code, lookup, test, given), test, given)
    except _Inexact as error:
        return Verdict(test, UNTRIED, str(error))


class _Inexact(Exception):
    """Only a bound is known of a quantity."""


class _Terms:
    """The sides of a claim as polynomials.

    A size that is taken as another's (`I_{Value}` as `I`) is that here too, as in what `explain` says,
    unless the claim itself or the caller speaks of it.
    """

    def __init__(
        self, code: ir.Code, lookup: Lookup, test: ir.Test, given: Mapping[str, int]
    ) -> None:
        self.apart = set(given)
        for node in (*test.left.walk(), *test.right.walk()):
            self.apart |= node.size.names if isinstance(node, ir.SizeValue) else set()
            self.apart |= {node.tensor} if isinstance(node, ir.Read) else set()
        # `I_v` in a claim is a size, and no number that the program has to learn.
        reads = (r for s in code.statements for r in s.body.walk() if isinstance(r, ir.Read))
        said = self.apart - {r.tensor for r in reads}
        kept = {
            name: tensor
            for name, tensor in code.tensors.items()
            if tensor.axes or tensor.role != "parameter" or name not in said
        }
        self.code, self.whole = code, replace(code, tensors=kept)
        self.lookup = lookup
        self.known: dict[tuple[str, str], Size] = {}

    def size(self, node: ir.Expression) -> Size | None:
        """A side as a polynomial; None if it is none."""
        match node:
            case ir.SizeValue(size):
                return size
            case ir.Constant(value):
                return Size.of(Fraction(value).limit_denominator(10**6))
            case ir.Quantity():
                return self.quantity(node)
            case ir.Read(tensor, ()):
                return self.named(tensor)
            case ir.Apply("neg", (body,)):
                inner = self.size(body)
                return None if inner is None else -inner
            case ir.Apply("+" | "*" as function, arguments):
                return self.combined(function, arguments)
            case ir.Apply("/", (above, below)):
                upper, lower = self.size(above), self.size(below)
                if upper is None or lower is None or not lower.number:
                    return None
                return upper * (1 / Fraction(lower.number))
            case ir.Apply("^", (base, ir.Constant(power))) if power in range(10):
                return self.combined("*", (base,) * int(power))
        return None

    def combined(self, function: str, arguments: tuple[ir.Expression, ...]) -> Size | None:
        result = Size.of(0 if function == "+" else 1)
        for argument in arguments:
            part = self.size(argument)
            if part is None:
                return None
            result = result + part if function == "+" else result * part
        return result

    def named(self, tensor: str) -> Size | None:
        """A constant, or the letter of a size that only another program has."""
        if isinstance(value := self.code.constants.get(tensor), float):
            return Size.of(Fraction(value).limit_denominator(10**6))
        known = self.code.tensors.get(tensor)
        return Size.of(tensor) if known is not None and known.role != "defined" else None

    def quantity(self, node: ir.Quantity) -> Size:
        asked = node.what, node.of
        if asked not in self.known:
            self.known[asked] = self.counted(node)
        return self.known[asked]

    def counted(self, node: ir.Quantity) -> Size:
        if node.what == "elements" and node.of in self.code.tensors:
            tensor = self.code.tensors[node.of]
            made = replace(tensor, role="parameter")
            only = ir.Code({tensor.name: made}, (), self.code.sizes)
            return self.tied(self.code, cost(only).parameters)
        of = self.program(node)
        return self.tied(
            self.code if node.of in self.code.tensors else of, _of(cost(of), node.what)
        )

    def tied(self, code: ir.Code, size: Size) -> Size:
        taken = {n: letter for n, letter in tie(code).items() if n not in self.apart}
        return size.substitute({name: Size.of(letter) for name, letter in taken.items()})

    def program(self, node: ir.Quantity) -> ir.Code:
        """The part of the program that computes a name, or another program."""
        if not node.of:
            return self.whole
        if node.of in self.code.tensors:
            return part(self.code, [node.of])
        other = self.lookup(node.of)
        if other is None or node.what == "elements":
            known = ", ".join(self.code.tensors)
            raise IndicialError(
                f"{node.of} is not the name of a tensor of this program, a heading or a model; it has {known}"
            )
        return other

    def value(self, node: ir.Expression, sizes: Mapping[str, int]) -> float:
        """A side at some sizes; also where it is no polynomial."""
        size = self.size(node)
        if size is not None:
            try:
                return float(size.substitute(sizes).number or 0)
            except OverflowError:
                return math.inf
        if isinstance(node, ir.Apply):
            return FUNCTIONS[node.function](*(self.value(a, sizes) for a in node.arguments))
        raise IndicialError(
            "a claim about costs can hold only sizes, numbers and functions of them"
        )

    def names(self, test: ir.Test) -> list[str]:
        """The sizes that a claim depends on."""
        found: dict[str, None] = {}
        for side in test.parts:
            for node in side.every(ir.Quantity, ir.SizeValue, ir.Read):
                size = self.size(node)
                found |= dict.fromkeys(sorted(size.names)) if size is not None else {}
        return list(found)


def _of(found: Cost, what: str) -> Size:
    exact = {
        "work": found.work_exact,
        "memory": found.memory_exact,
        "parallel time": found.parallel_time_exact,
    }
    size = {
        "parameters": found.parameters,
        "work": found.work,
        "memory": found.memory,
        "parallel time": found.parallel_time,
        "elements": found.memory,
    }[what]
    if not exact.get(what, True):
        raise _Inexact(f"only a bound on the {what} is known here: at most {size}")
    return size


# ---------------------------------------------------------------------- verdicts


def _growth(terms: _Terms, test: ir.Test) -> Verdict:
    """`work ≤ O(T^2)`: it grows no faster; `O(T^2) ≥ work` says the same."""
    cost_side, bound, relation = test.left, test.right, test.relation
    if isinstance(cost_side, ir.Growth):
        cost_side, bound, relation = bound, cost_side, MIRRORED.get(relation, relation)
    assert isinstance(bound, ir.Growth)
    size = terms.size(bound.body)
    left = None if isinstance(cost_side, ir.Growth) else terms.size(cost_side)
    if left is None or size is None:
        raise IndicialError("O(…) must hold a product of sizes, and be compared with a cost alone")
    keep = size.names or left.names
    found, stated = order(left, keep), order(size, keep)
    both = order(left + size, keep)
    text = f"{left} is {found}"
    if _grows(relation, found, stated, both):
        return Verdict(test, HOLDS, text)
    if strange := sorted(size.names - left.names):
        text = f"{left} has no {strange[0]}, so as {strange[0]} grows it is {found}"
    text += f", not {stated}" if relation in ("=", "≈") else f", not {relation} {stated}"
    sides = (found, stated) if cost_side is test.left else (stated, found)
    return Verdict(test, REFUTED, text, Counterexample(*sides, ""))


def _grows(relation: str, found: str, stated: str, both: str) -> bool:
    """Whether a growth is as stated; `both` is that of their sum, which is the faster of the two."""
    match relation:
        case "≤" | "<":
            return both == stated and (relation == "≤" or found != stated)
        case "≥" | ">":
            return both == found and (relation == "≥" or found != stated)
    return (found == stated) == (relation != "≠")


def _compared(terms: _Terms, test: ir.Test, given: Mapping[str, int]) -> Verdict:
    left, right = terms.size(test.left), terms.size(test.right)
    counted = _counted(test)
    if left is not None and right is not None and test.guard is None:
        if test.relation in ("=", "≈") and left == right:
            return Verdict(test, HOLDS, f"{left} is {right}, at all sizes{counted}")
        if _proved(left, test.relation, right):
            return Verdict(test, HOLDS, f"{left} {test.relation} {right}, at all sizes{counted}")
    count = 0
    for sizes in _grid(terms.names(test), given):
        holds = _holds(terms, test, sizes)
        if holds is None:
            continue
        count += 1
        if not holds:
            least = _least(terms, test, sizes, given)
            one, other = terms.value(test.left, least), terms.value(test.right, least)
            broken = Counterexample(*apart(one, other), f"{abs(one - other):g}", {}, least)
            against = f"{_shown(left, test.left)} against {_shown(right, test.right)}{counted}"
            return Verdict(test, REFUTED, against, broken)
        one, other = terms.value(test.left, sizes), terms.value(test.right, sizes)
    if not count:
        why = "are both sides finite numbers" if test.guard is None else "does the condition hold"
        return Verdict(test, UNTRIED, f"at none of the sizes that were tried {why}")
    if count == 1:
        return Verdict(test, HOLDS, f"{one:g} against {other:g}{counted}")
    sides = f"{_shown(left, test.left)} against {_shown(right, test.right)}"
    tried = f"{sides}, tried at {count:,} sizes"
    return Verdict(test, HOLDS, tried + counted)


def _holds(terms: _Terms, test: ir.Test, sizes: Mapping[str, int]) -> bool | None:
    """Whether a claim holds at some sizes; None where its condition does not."""
    if test.guard is not None and not terms.value(test.guard, sizes):
        return None
    one, other = terms.value(test.left, sizes), terms.value(test.right, sizes)
    if not math.isfinite(one) or not math.isfinite(other):
        return None
    if test.relation != "≈":
        return bool(FUNCTIONS[test.relation](one, other))
    allowed = 0.0 if test.tolerance is None else terms.value(test.tolerance, sizes)
    return abs(one - other) <= allowed


def _least(
    terms: _Terms, test: ir.Test, sizes: dict[str, int], given: Mapping[str, int]
) -> dict[str, int]:
    """Sizes that break a claim, each made as small as the others allow."""
    for name in [name for name in sizes if name not in given]:
        smaller = ({**sizes, name: value} for value in range(1, sizes[name]))
        sizes = next((one for one in smaller if _holds(terms, test, one) is False), sizes)
    return sizes


def _counted(test: ir.Test) -> str:
    """What a parallel time counts: it is no count of operations, nor of seconds."""
    nodes = (node for side in (test.left, test.right) for node in side.walk())
    if any(isinstance(node, ir.Quantity) and node.what == "parallel time" for node in nodes):
        return " (steps that wait for each other, each counted as 1)"
    return ""


def _shown(size: Size | None, side: ir.Expression) -> str:
    """A side as a polynomial, or as it is written."""
    return side.span.text or "one side" if size is None else str(size)


def _proved(left: Size, relation: str, right: Size) -> bool:
    """Whether all coefficients of the rest are at least 0, written in the sizes less 1."""
    if relation in ("≥", ">"):
        left, right = right, left
    elif relation not in ("≤", "<"):
        return False
    rest = right - left
    if any(not isinstance(atom, str) for atom in rest.atoms):
        return False
    # In what each size n is more than 1, which it is at least.
    moved = rest.substitute({name: Size.of(name) + 1 for name in rest.names})
    low = all(coefficient >= 0 for _, coefficient in moved.terms)
    strict = relation in ("<", ">")
    return low and not (strict and dict(moved.terms).get((), 0) == 0)


def _grid(names: list[str], given: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes to try, small ones first."""
    open_ = [name for name in names if name not in given]
    tried: tuple[int, ...] = TRIED
    while len(tried) > 2 and len(tried) ** len(open_) > MOST_TRIED:
        tried = tried[:-1]
    fixed = {name: given[name] for name in names if name in given}
    points = sorted(itertools.product(tried, repeat=len(open_)), key=sum)
    for point in points:
        yield {**fixed, **dict(zip(open_, point, strict=True))}
