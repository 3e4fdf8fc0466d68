"""What a program costs, as formulas in its sizes.

    h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])

>>> c = cost(code)
>>> str(c.parameters), str(c.work), str(c.parallel_time), order(c.work, {"T"})
('J² + J K', '2 J² T + 2 J K T + 2 J T', 'T', 'O(T)')

`work` is the number of scalar operations of one forward pass over one example, the very ones that
`interpret` counts: where it is exact, the two agree at all sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from indicial.program import ir
from indicial.program.cost.conditions import Count, Domain, add, negation, sign
from indicial.program.cost.dependence import longest_chain
from indicial.program.meaning.functions import SOFTMAX_OPERATIONS, operations, reduce_operations
from indicial.program.rewrite import free_indices, is_constant
from indicial.program.sizes import Size, total

BACKWARD = 2
"""A product has two derivatives, each as much work as itself: backward is twice forward."""


@dataclass(frozen=True)
class Cost:
    """All costs of one forward pass over one example.

    `memory` is the number of elements of all defined tensors; `state` is, for each axis that is
    walked step by step, the number of elements that a step needs of earlier ones. An upper bound
    is marked: `work_exact`, `memory_exact`, `parallel_time_exact` are then False.
    """

    parameters: Size
    parameters_by_tensor: dict[str, Size]
    work: Size
    work_by_tensor: dict[str, Size]
    work_exact: bool
    memory: Size
    memory_by_tensor: dict[str, Size]
    memory_exact: bool
    state: dict[str, Size]
    parallel_time: Size
    parallel_time_exact: bool

    @property
    def backward_work(self) -> Size:
        return BACKWARD * self.work

    @property
    def backward_parallel_time(self) -> Size:
        """The gradient walks the same chains, the other way."""
        return self.parallel_time


def cost(code: ir.Code) -> Cost:
    """Derive all costs of a program."""
    parameters = {
        name: _elements(tensor).size
        for name, tensor in code.tensors.items()
        if tensor.role == "parameter"
    }
    defined = list(dict.fromkeys(statement.target for statement in code.statements))
    memory = {name: _elements(code.tensors[name]) for name in defined}
    work = _Work()
    for name in defined:
        work.tensor(code.of(name))
    chain = longest_chain(code)
    return Cost(
        parameters=total(parameters.values()),
        parameters_by_tensor=parameters,
        work=total(work.by_tensor.values()),
        work_by_tensor=work.by_tensor,
        work_exact=work.exact,
        memory=total(count.size for count in memory.values()),
        memory_by_tensor={name: count.size for name, count in memory.items()},
        memory_exact=all(count.exact for count in memory.values()),
        state=chain.state,
        parallel_time=chain.steps if chain.steps.terms else Size.of(1),
        parallel_time_exact=chain.exact,
    )


def order(size: Size, keep: Iterable[str] | None = None) -> str:
    """The growth in some sizes, all others held constant: `order(T² J + 3 T, {"T"})` → `O(T²)`."""
    kept = size.names if keep is None else set(keep)
    powers: list[dict[str, int]] = []
    for monomial, _ in size.terms:
        term: dict[str, int] = {}
        for atom, power in monomial:
            name = atom if isinstance(atom, str) else atom.base  # half of T grows as T does
            if name in kept:
                term[name] = term.get(name, 0) + power
        if term and term not in powers:
            powers.append(term)

    def below(a: dict[str, int], b: dict[str, int]) -> bool:
        return a != b and all(b.get(name, 0) >= power for name, power in a.items())

    leading = [a for a in powers if not any(below(a, b) for b in powers)]
    terms = []
    for monomial_powers in leading:
        product = Size.of(1)
        for name, power in monomial_powers.items():
            for _ in range(power):
                product = product * Size.of(name)
        terms.append(product)
    return f"O({total(terms) if leading else 1})"


def _elements(tensor: ir.Tensor) -> Count:
    names: list[str] = []
    for axis in tensor.axes:
        names.append(axis.letter if axis.letter not in names else f"{axis.letter}'{len(names)}")
    indices = (
        ir.Index(n, axis.lower, axis.extent) for n, axis in zip(names, tensor.axes, strict=True)
    )
    return Domain(tuple(indices)).count


class _Work:
    """Counts operations, each expression on the domain on which it is evaluated."""

    def __init__(self) -> None:
        self.by_tensor: dict[str, Size] = {}
        self.exact = True
        self.target = ""
        self.seen: set[int] = set()

    def tensor(self, statements: list[ir.Statement]) -> None:
        """The statements of one tensor, each on the elements that those before it leave."""
        self.target = statements[0].target
        self.by_tensor[self.target] = Size()
        for number, statement in enumerate(statements):
            domain: Domain | None = Domain(statement.indices)
            for earlier in statements[:number]:
                domain = _outside(domain, statement, earlier) if domain is not None else None
            if domain is None:
                continue
            if statement.guard is not None:
                self.expression(statement.guard, domain, decides=True)
                domain = domain.where(statement.guard)
            self.expression(statement.body, domain)

    def add(self, domain: Domain, times: int = 1) -> None:
        if times:
            self.by_tensor[self.target] = self.by_tensor[self.target] + times * domain.count.size
            self.exact = self.exact and domain.count.exact

    def expression(self, node: ir.Expression, domain: Domain, decides: bool = False) -> None:
        """One evaluation at each point; what only `decides` where to go on counts nothing."""
        match node:
            case ir.Apply(function, arguments):
                if not decides and not is_constant(node):
                    self.add(domain, operations(function, len(arguments)))
                for argument in arguments:
                    self.expression(argument, domain, decides)
            case ir.Reduce() | ir.Softmax():
                self.shared(node, domain)
            case ir.Select(branches, otherwise):
                for condition, value in branches:
                    self.expression(condition, domain, decides=True)
                    self.expression(value, domain.where(condition), decides)
                    other = negation(condition)
                    domain = domain.under((), False) if other is None else domain.where(other)
                self.expression(otherwise, domain, decides)
            case ir.Join():
                self.join(node, domain, decides)
            case _:
                pass  # a number, a size, an index, a read

    def shared(self, node: ir.Reduce | ir.Softmax, domain: Domain) -> None:
        """A reduction or softmax, once for all values of its free indices."""
        if id(node) in self.seen:
            return
        self.seen.add(id(node))
        free = free_indices(node)
        if isinstance(node, ir.Softmax):
            free -= {index.name for index in node.indices}
        outer = domain.project(free)
        everywhere = outer.extend(node.indices)
        inner = everywhere.where(node.condition)
        if isinstance(node, ir.Softmax):
            self.add(inner, SOFTMAX_OPERATIONS)
        else:
            once = reduce_operations(node.operator, 0)
            self.add(inner, reduce_operations(node.operator, 1) - once)
            self.add(outer, once)
        if node.condition is not None:
            self.expression(node.condition, everywhere, decides=True)
        self.expression(node.body, inner)

    def join(self, node: ir.Join, domain: Domain, decides: bool) -> None:
        """Each part on its own elements of the place that the parts share."""
        shift = node.place.shift
        ranges = {index.name: index for index in domain.indices}
        whole = total(part.index.extent for part in node.parts)
        for part in node.parts:
            own = ir.Index(part.index.name, part.index.lower, part.index.extent)
            if shift is None or shift[0] not in ranges or ranges[shift[0]].extent != whole:
                self.expression(part.body, domain.under((), False).extend([own]), decides)
                continue
            rest = domain.project({name for name in ranges if name != shift[0]})
            bound = any(shift[0] in dict(c.form.terms) for c in domain.constraints)
            self.expression(part.body, rest.under((), not bound).extend([own]), decides)


def _outside(domain: Domain, statement: ir.Statement, earlier: ir.Statement) -> Domain | None:
    """The part of a statement's domain that an earlier statement does not define; None if nothing.

    `h[t,j]` beside `h[0,j]` is left `t ≠ 0`.
    """
    mine = statement.scope
    theirs = earlier.scope
    both: list[ir.Expression] = []  # what has to hold where both apply
    unclear = False
    for here, there in zip(statement.left, earlier.left, strict=True):
        if isinstance(here, ir.Flat) or isinstance(there, ir.Flat):
            unclear = unclear or here != there
            continue
        if not there.terms:
            both.append(ir.Apply("=", (ir.IndexValue(here), ir.IndexValue(there))))
            continue
        (low, high), (own_low, own_high) = there.ends(theirs), here.ends(mine)
        if sign(own_low - high) == 1 or sign(low - own_high) == 1:
            return domain
        if sign(own_low - low) not in (0, 1) or sign(high - own_high) not in (0, 1):
            unclear = True
    if earlier.guard is not None:
        same = all(mine.get(name) == theirs[name] for name in free_indices(earlier.guard))
        unclear = unclear or not same or statement.left != earlier.left
        both.append(earlier.guard)
    for condition in list(both):
        fixed = _fixed(condition)
        if fixed is False:
            return domain
        if fixed is True:
            both.remove(condition)
    if unclear or len(both) > 1:
        return domain.under((), False)
    other = negation(both[0]) if both else None
    if not both:
        return None
    return domain.under((), False) if other is None else domain.where(other)


def _fixed(condition: ir.Expression) -> bool | None:
    """Whether an equation of two places is always or never true."""
    match condition:
        case ir.Apply("=", (ir.IndexValue(left), ir.IndexValue(right))):
            form = add(left, right, -1)
            if not form.terms:
                s = sign(form.offset)
                return None if s is None else s == 0
    return None
