"""Adjoint equations: how an output changes with every element of everything it depends on.

h[t,j] = G[t,j] * h[t-1,j] + x[t,j]     output h

h̄[t,j] = h̄^{in}[t,j] + h̄[t+1,j] * G[t+1,j]     what follows, and the next step
Ḡ[t,j] = h̄[t,j] * h[t-1,j]
x̄[t,j] = h̄[t,j]

X̄ is the sum, over all reads of X, of the reader's adjoint times the derivative, each read turned
round: `h[t-1,j]` in the equation of `h[t,j]` says that h̄[t,j] gets something from h̄[t+1,j]. What
comes out is an ordinary `Code`, which `interpret` runs: recurrences are recurrences that run
backwards. A scalar loss starts with 1, any other output with an input of its own, `h̄^{in}`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from indicial.compile.passes.algebra import (
    ONE,
    ZERO,
    both,
    compare,
    minus,
    negative,
    otherwise_zero,
    plus,
    power_of,
    quotient,
    scaled,
    times,
    weight,
)
from indicial.compile.passes.elements import Arrived, Elements, in_range
from indicial.compile.passes.forms import (
    Distribution,
    Flow,
    Pointwise,
    Product,
    Reach,
    Reduction,
    element_of,
    final,
    other_factors,
    pointwise_flows,
    product_flows,
    renamed,
)
from indicial.compile.passes.new_tensors import Names, laid_out, shifts
from indicial.compile.passes.normal import normal
from indicial.program import ir
from indicial.program.moving import indices_at, moved
from indicial.program.rewrite import is_constant, needed_names
from indicial.program.verify import verified


@dataclass(frozen=True)
class Adjoint:
    """A code extended by its adjoint equations.

    `names` says how the adjoint of each tensor is called, where it has one; what has none does not
    change the outputs. `given` has the inputs for the adjoints of the outputs. `saved` are the
    defined tensors of the forward code that the adjoint equations read.
    """

    code: ir.Code
    statements: tuple[ir.Statement, ...]
    names: dict[str, str]
    given: dict[str, str]
    saved: tuple[str, ...]


def adjoint(
    code: ir.Code, outputs: Collection[str], wanted: Collection[str] | None = None
) -> Adjoint:
    """The adjoint equations of the outputs, for the wanted inputs and parameters, or for all."""
    return _Builder(normal(code), outputs, wanted).run()


class _Builder:
    """The equations so far; tensors are worked off so that, circles apart, readers come first."""

    def __init__(
        self, code: ir.Code, outputs: Collection[str], wanted: Collection[str] | None
    ) -> None:
        self.code = code
        self.outputs = outputs
        self.reach = Reach(code, outputs, wanted)
        self.names = Names(code.tensors)
        self.bars = {name: self.names.adjoint(name) for name in self.reach.barred()}
        self.elements = Elements(code)
        self.given: dict[str, str] = {}
        self.flows: dict[str, dict[str, list[Flow]]] = {}
        self.made: list[ir.Statement] = []
        self.simple: dict[str, ir.Statement] = {}

    def run(self) -> Adjoint:
        for name, bar in self.bars.items():
            # Before any equation: what is read elsewhere must be known to exist.
            self.elements.add(replace(self.code.tensors[name], name=bar, role="defined"))
            self.elements.statements[bar] = [
                ir.Statement(bar, left, indices, ZERO)
                for left, indices in self.elements.lefts(name)
            ]
        for name in self.bars:
            self.build(name)
        return self.finished()

    def finished(self) -> Adjoint:
        """All that the wanted adjoints need, without those that are only another name."""
        # At the end, because in a circle a reader may come before what it reads.
        same = self.same()
        bars = {name: final(bar, same) for name, bar in self.bars.items()}
        made = renamed(self.made, same)
        used = needed_names(made, [bars[name] for name in self.reach.wanted if name in bars])
        made = [statement for statement in made if statement.target in used]
        unused = self.elements.tensors.keys() - self.code.tensors.keys() - used
        code = replace(
            self.code,
            tensors={n: t for n, t in self.elements.tensors.items() if n not in unused},
            statements=(*self.code.statements, *made),
            tests=(),
        )
        return Adjoint(
            verified(code),
            tuple(made),
            {name: bar for name, bar in bars.items() if bar in used},
            {name: new for name, new in self.given.items() if new in used},
            tuple(dict.fromkeys(s.target for s in self.code.statements if s.target in used)),
        )

    def same(self) -> dict[str, str]:
        """The adjoints that are the same as another tensor, element by element."""
        found: dict[str, str] = {}
        for name, simple in self.simple.items():
            body, support = simple.body, self.elements.support
            if name in self.reach.wanted or not isinstance(body, ir.Read):
                continue
            if body.places == simple.left and all(
                support(simple.target, n) == support(body.tensor, n)
                for n in range(len(simple.left))
            ):
                found[simple.target] = body.tensor
        return found

    # ---- the equations of one adjoint ----

    def build(self, name: str) -> None:
        bar = self.bars[name]
        flows = [flow for flow in self.flows_to(name) if not flow.logarithm]
        parts = [
            self.apart(bar, flow) if any(isinstance(p, ir.Flat) for p in flow.read.places) else flow
            for flow in flows
        ]
        statements = []
        for left, indices in self.elements.lefts(name):
            terms = [self.begin(name, left)]
            for part in parts:
                if isinstance(part, str):
                    terms.append(ir.Read(part, left))
                elif (arrived := self.elements.arrived(part, (left, indices))) is not None:
                    terms.append(arrived.expression)
            statements.append(ir.Statement(bar, left, indices, plus(*terms)))
        self.elements.statements[bar] = statements
        self.made += statements
        if len(statements) == 1 and is_simple(statements[0].body):
            self.simple[name] = statements[0]

    def begin(self, name: str, left: tuple[ir.Affine | ir.Flat, ...]) -> ir.Expression:
        """What comes to the adjoint of an output from outside."""
        if name not in self.outputs:
            return ZERO
        tensor = self.code.tensors[name]
        if name == self.code.loss and not tensor.axes:
            return ONE
        if name not in self.given:
            new = self.given[name] = self.names.incoming(self.bars[name])
            self.elements.add(ir.Tensor(new, tensor.axes, "input"))
        return ir.Read(self.given[name], left)

    def apart(self, bar: str, flow: Flow) -> str:
        """A tensor for a flow to places like (k,i), which only a left side can turn round."""
        part = self.names.part(bar)
        axes = self.elements.tensors[bar].axes
        _, indices = self.elements.box(bar)
        own_names = {i.name for p in flow.read.places if isinstance(p, ir.Flat) for i in p.indices}
        left: list[ir.Affine | ir.Flat] = []
        given: list[ir.Index] = []
        for place, index in zip(flow.read.places, indices, strict=True):
            if isinstance(place, ir.Flat):
                left.append(place)
                given += place.indices
            else:
                fresh = index.name
                while fresh in own_names:
                    fresh += "'"
                left.append(ir.Affine.of(fresh))
                given.append(replace(index, name=fresh))
        arrived = self.elements.arrived(flow, (tuple(left), tuple(given)))
        body = ZERO if arrived is None else arrived.expression
        statement = ir.Statement(part, tuple(left), tuple(given), body)
        self.elements.add(ir.Tensor(part, axes, "defined"), [statement])
        self.made.append(statement)
        return part

    # ---- the flows of one tensor ----

    def flows_to(self, name: str) -> Iterator[Flow]:
        """What comes to a tensor from all that read it."""
        for reader in self.reach.readers.get(name, ()):
            yield from self.flows_of(reader).get(name, ())

    def flows_of(self, name: str) -> dict[str, list[Flow]]:
        """What a tensor passes back, by what it reads."""
        if name not in self.flows:
            found = self.flows[name] = {}
            for statement in self.code.of(name):
                condition = self.elements.precedence(statement)
                for flow in self.flow(statement):
                    whole = replace(flow, condition=both(condition, flow.condition))
                    found.setdefault(flow.read.tensor, []).append(whole)
        return self.flows[name]

    def flow(self, statement: ir.Statement) -> Iterator[Flow]:
        form = self.reach.form(statement)
        if isinstance(form, Distribution):
            yield from self.softmax(statement, form)
            return
        incoming = self.incoming(statement)
        if isinstance(form, Pointwise) and (sum_of := _log_sum(form.body)) is not None:
            yield from self.log_sum(statement, *sum_of, incoming)
        elif isinstance(form, Pointwise):
            found = pointwise_flows(statement, form.body, incoming, self.reach.softmaxes)
            asked = [f for f in found if f.logarithm or f.read.tensor in self.bars]
            yield from self.shared(statement, asked)
        elif isinstance(form, Product):
            yield from product_flows(statement, form, incoming)
        elif form.operator in ("max", "min", "prod", "lse"):
            value = times(self.share(statement, form), incoming)
            yield Flow(form.read, statement.indices, form.indices, form.condition, value)

    def share(self, statement: ir.Statement, form: Reduction) -> ir.Expression:
        """How a reduction changes with each element: equal shares among extremes, those of a sum."""
        if form.operator == "prod":
            return other_factors(form)
        if form.operator == "lse":
            total = self.total(statement, form, power_of(form.read, element_of(statement)))
            return weight(form.read, element_of(statement), total)
        first = compare(
            form.read, "=", element_of(statement)
        )  # 1 where it is the largest, or smallest
        return ir.Apply("/", (first, self.total(statement, form, first)))

    def total(self, statement: ir.Statement, form: Reduction, body: ir.Expression) -> ir.Read:
        """A tensor for the sum of something over the indices of a reduction."""
        summed = ir.Reduce("sum", form.indices, form.condition, body)
        name = self.names.part(self.bars[statement.target])
        return self.define(name, statement, summed, statement.indices)

    def incoming(self, statement: ir.Statement) -> ir.Expression:
        """The adjoint of what a statement defines; if that is simple, what it is."""
        simple = self.simple.get(statement.target)
        places = None if simple is None else indices_at(simple, statement.left)
        if simple is None or places is None:
            return ir.Read(self.bars[statement.target], statement.left)
        return moved(simple.body, places)

    def shared(self, statement: ir.Statement, flows: list[Flow]) -> Iterator[Flow]:
        """The flows with a tensor for what several of them have in common, up to a scale.

        `R̄ (1 - R²)` in R = tanh(a + b - c): it goes to a and b, and its negative to c.
        """
        pairs = [scaled(flow.value) for flow in flows]
        counts = Counter(rest for _, rest in pairs if not is_simple(rest))
        delta: dict[ir.Expression, ir.Read] = {}
        for flow, (scale, rest) in zip(flows, pairs, strict=True):
            if counts[rest] < 2:
                yield flow
                continue
            if rest not in delta:
                name = self.names.delta(statement.target)
                delta[rest] = self.define(name, statement, rest, statement.indices)
            yield replace(flow, value=times(scale, delta[rest]))

    def log_sum(
        self,
        statement: ir.Statement,
        condition: ir.Expression | None,
        terms: tuple[ir.Expression, ...],
        incoming: ir.Expression,
    ) -> Iterator[Flow]:
        """To the terms of ln(exp(a) + exp(b)): each power is computed once, for all of them."""

        def new(body: ir.Expression) -> ir.Read:
            name = self.names.part(self.bars[statement.target])
            return self.define(name, statement, body, statement.indices)

        powers = [new(power_of(term, element_of(statement))) for term in terms]
        share = new(quotient(incoming, plus(*powers)))
        for term, power in zip(terms, powers, strict=True):
            asked = None if is_constant(incoming) else compare(incoming, "≠", ZERO)
            where = both(asked, compare(term, "≠", ir.Constant(-math.inf)))
            passed = new(otherwise_zero(where, times(power, share)))
            for flow in pointwise_flows(statement, term, passed, self.reach.softmaxes):
                yield replace(flow, condition=both(condition, flow.condition))

    def softmax(self, statement: ir.Statement, form: Distribution) -> Iterator[Flow]:
        """To the scores: `P (P̄ - Σ P̄ P)`, and from logarithms of P what needs no division."""
        probability = element_of(statement)
        names = {index.name for index in form.indices}
        if statement.target in self.bars:
            incoming = self.incoming(statement)
            rest = tuple(i for i in statement.indices if i.name not in names)
            total = ir.Reduce("sum", form.indices, None, times(incoming, probability))
            name = self.names.part(self.bars[statement.target])
            mean = self.define(name, statement, total, rest)
            value = times(probability, minus(incoming, mean))
            yield Flow(form.read, statement.indices, (), None, value)
        for flow in self.flows_to(statement.target):
            if flow.logarithm:
                value = self.logarithm(flow, statement, names)
                yield Flow(form.read, statement.indices, (), form.condition, value)

    def logarithm(self, flow: Flow, statement: ir.Statement, names: set[str]) -> ir.Expression:
        """What flows to the score of an element from the logarithm of one: 1 if it is that, -P."""
        left = (statement.left, statement.indices)
        others = [
            n
            for n, place in enumerate(statement.left)
            if not isinstance(place, ir.Affine) or not {name for name, _ in place.terms} & names
        ]
        valid = replace(flow, condition=both(flow.condition, *self.exists(flow, others)))
        one, every = self.elements.arrived(flow, left), self.elements.arrived(valid, left, others)
        if every is None:
            return ZERO
        if one is not None and not one.summed and not every.summed and one.value == every.value:
            share = minus(times(_indicator(every), element_of(statement)), _indicator(one))
            return times(negative(one.value), share)
        found = ZERO if one is None else one.expression
        return minus(found, times(element_of(statement), every.expression))

    def exists(self, flow: Flow, others: Collection[int]) -> Iterator[ir.Expression]:
        """That a read finds an element, at the places that are not among the others."""
        around = {index.name: index for index in flow.indices}
        axes = self.code.tensors[flow.read.tensor].axes
        for number, (place, axis) in enumerate(zip(flow.read.places, axes, strict=True)):
            if number in others:
                continue
            if isinstance(place, ir.Gather) and not self.elements.surely(place.read, around):
                yield compare(place.read, "≥", ZERO)
            if isinstance(place, ir.Affine):
                found = in_range(place, ir.Index("", axis.lower, axis.extent), {}, around)
                yield from () if found is None else (found,)

    def define(
        self, name: str, statement: ir.Statement, body: ir.Expression, indices: tuple[ir.Index, ...]
    ) -> ir.Read:
        """A new tensor that belongs to a statement, with some of its indices."""
        tensor, left = laid_out(name, indices, shifts(statement))
        made = ir.Statement(name, left, indices, body)
        self.elements.add(tensor, [made])
        self.made.append(made)
        return ir.Read(name, left)


def is_simple(body: ir.Expression) -> bool:
    """A constant, or a multiple of one read: as good as a name for it."""
    _, rest = scaled(body)
    if rest == ONE or is_constant(rest):
        return True
    return isinstance(rest, ir.Read) and not rest.looks_up


def _log_sum(body: ir.Expression) -> tuple[ir.Expression | None, tuple[ir.Expression, ...]] | None:
    """The terms of a log-sum-exp, and where it is one if not everywhere."""
    match body:
        case ir.Apply("lse", terms):
            return None, terms
        case ir.Select(((condition, ir.Apply("lse", terms)),), otherwise) if otherwise == ZERO:
            return condition, terms
    return None


def _indicator(arrived: Arrived) -> ir.Expression:
    """1 where something arrives, and 0 elsewhere."""
    return both(arrived.outer, arrived.inner) or ONE
