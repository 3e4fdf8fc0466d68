"""Small passes from Code to Code; what each does is shown first.

Constants become numbers, and dropout that nobody draws becomes 1.

An elementwise equation that one other reads, at its own place, is written into that one.

R^{in}[t,j] = p[t,j] - B[j],  R[t,j] = tanh(q[t,j] + R^{in}[t,j])
→  R[t,j] = tanh(q[t,j] + p[t,j] - B[j])

A read that meets no definition, whatever the sizes are, is 0.

    s[j] = Σ_i W[i,j] c[-1,i] + b[j], where c begins at 0      →      s[j] = Σ_i W[i,j] * 0 + b[j]

So what reads nothing needs nothing first.

Equations that say the same are computed once.

Ḡ^{(1)}[t,j] = Ḡ[t,j] * G[t,j] * (1 + -G[t,j])
Ḡ^{in}[t,j]  = Ḡ[t,j] * G[t,j] * (1 + -G[t,j])      →      Ḡ^{in}[t,j] = Ḡ^{(1)}[t,j]

A single element that is only ever read by its number becomes a tensor of its own.

    h̄[-1,j] = …, h̄[t,j] = …, s̄[j] = h̄[-1,j]      →      h̄^{at}[j] = …, h̄[t,j] = …, s̄[j] = h̄^{at}[j]

So what a recurrence runs into at its end is no part of the recurrence.

What a state is multiplied with, as tensors: a function of fewer indices is computed once.

    S[t,i,j] = σ(z[t,i]) S[t-1,i,j] + k[t,i] v[t,j]

    S^{(1)}[t,i] = σ(z[t,i])                            once, not for every j
    S[t,i,j]     = S^{(1)}[t,i] S[t-1,i,j] + k[t,i] v[t,j]

A function of all indices, `exp(-Δ[t,j] A[j,n])`, has a name then as well, by which its gradient knows it.

A sum of matrices that grows is a state, which kernels keep for no step.

    S[t,i,j] = Σ_{s ≤ t} k[s,i] v[s,j]      →      S[t,i,j] = S[t-1,i,j] + k[t,i] v[t,j]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from functools import partial

from indicial.compile.passes.algebra import flat
from indicial.compile.passes.forms import Pointwise, form
from indicial.compile.passes.new_tensors import Names, derived_name, indices_of, laid_out, shifts
from indicial.compile.schedule.schedule import needs
from indicial.program import ir
from indicial.program.cost.conditions import inequality
from indicial.program.moving import definition, moved
from indicial.program.rewrite import free_indices, rebuild, with_reads


def simplified(code: ir.Code, draws: Collection[str] = ()) -> ir.Code:
    """The program with its constants as numbers, and without the dropout that nobody draws."""
    ones = {d.tensor for d in code.draws if d.distribution == "dropout"} - set(draws)

    def leaf(node: ir.Expression) -> ir.Expression:
        if isinstance(node, ir.Read) and node.tensor in ones:
            return ir.Constant(1.0, span=node.span)
        if isinstance(node, ir.Read) and not node.places:
            value = code.constants.get(node.tensor)
            if isinstance(value, int | float):
                return ir.Constant(float(value), span=node.span)
        if isinstance(node, ir.Apply) and node.function == "*":
            rest = tuple(a for a in node.arguments if a != ir.Constant(1.0))
            if len(rest) == 1:
                return rest[0]
            return replace(node, arguments=rest) if rest else ir.Constant(1.0)
        return node

    again = partial(rebuild, leaf=leaf)
    return replace(code, statements=tuple(s.rebuild(again) for s in code.statements))


def inlined(code: ir.Code, names: Collection[str]) -> ir.Code:
    """The program without those of the named tensors that can be written into their reader."""
    for name in names:
        code = _without(code, name)
    return code


def _without(code: ir.Code, name: str) -> ir.Code:
    reads = Counter(s.number for s in code.statements for read in s.reads() if read.tensor == name)
    own = code.of(name)
    if len(own) != 1 or sum(reads.values()) != 1:
        return code
    (statement,) = own
    (reader,) = (s for s in code.statements if reads[s.number])
    found = [read for read in reader.body.every(ir.Read) if read.tensor == name]
    if not isinstance(form(statement), Pointwise) or not found:
        return code
    pairs = list(
        zip(map(ir.index_at, statement.left), map(ir.index_at, found[0].places), strict=True)
    )
    ranges, there = statement.scope, reader.scope
    if any(
        a not in ranges or b not in there or ranges[a].range != there[b].range for a, b in pairs
    ):
        return code
    value = definition(code, found[0])
    if value is None:
        return code

    def leaf(node: ir.Expression) -> ir.Expression:
        if node == found[0]:
            return value
        if isinstance(node, ir.Apply) and node.function == "+":
            return replace(node, arguments=tuple(flat("+", node.arguments)))
        return node

    written = replace(reader, body=rebuild(reader.body, leaf=leaf))
    statements = (written if s is reader else s for s in code.statements if s is not statement)
    tensors = {n: t for n, t in code.tensors.items() if n != name}
    return replace(code, tensors=tensors, statements=tuple(statements))


def without_nothing(code: ir.Code) -> ir.Code:
    """The program with 0 in the place of such reads."""
    met = {(need.reader.number, need.edge.read) for need in needs(code)}
    statements = []
    for statement in code.statements:

        def leaf(node: ir.Expression, reader: int = statement.number) -> ir.Expression:
            if not isinstance(node, ir.Read) or not code.of(node.tensor):
                return node
            token = code.tensors[node.tensor].values is not None
            return node if token or (reader, node) in met else ir.Constant(0.0, span=node.span)

        nodes = list(statement.body.walk())
        if any(leaf(node) is not node for node in nodes):
            statement = replace(statement, body=rebuild(statement.body, leaf=leaf))
        statements.append(statement)
    return replace(code, statements=tuple(statements))


def shared(code: ir.Code) -> ir.Code:
    """The program with the later one of two equal statements reading the earlier one."""
    first: dict[object, ir.Statement] = {}
    result = []
    for statement in code.statements:
        alone = len(code.of(statement.target)) == 1
        plain = all(isinstance(p, ir.Affine) and len(p.terms) == 1 for p in statement.left)
        if alone and plain and statement.guard is None and not isinstance(statement.body, ir.Read):
            axes = tuple(axis.range for axis in code.tensors[statement.target].axes)
            key = (statement.left, statement.indices, statement.body, axes)
            if key in first:
                places = tuple(p for p in statement.left if isinstance(p, ir.Affine))
                statement = replace(statement, body=ir.Read(first[key].target, places))
            else:
                first[key] = statement
        result.append(statement)
    return replace(code, statements=tuple(result))


def split(code: ir.Code) -> ir.Code:
    """The program with such elements taken out."""
    found = needs(code)
    for statement in code.statements:
        if len(code.of(statement.target)) < 2:
            continue
        for axis, place in enumerate(statement.left):
            if isinstance(place, ir.Affine) and not place.terms:
                readers = [need for need in found if need.definer is statement]
                if all(need.edge.read.places[axis] == place for need in readers):
                    return split(_taken_out(code, statement, axis, place))
    return code


def _taken_out(code: ir.Code, statement: ir.Statement, axis: int, place: ir.Affine) -> ir.Code:
    old = code.tensors[statement.target]
    name = derived_name(code.tensors, old.name, "at")
    axes = tuple(a for n, a in enumerate(old.axes) if n != axis)

    def change(read: ir.Read) -> ir.Read:
        if read.tensor == old.name and read.places[axis] == place:
            places = tuple(p for n, p in enumerate(read.places) if n != axis)
            return replace(read, tensor=name, places=places)
        return read

    def renamed(s: ir.Statement) -> ir.Statement:
        if s is statement:
            left = tuple(p for n, p in enumerate(s.left) if n != axis)
            s = replace(s, target=name, left=left)
        return s.rebuild(partial(with_reads, change=change))

    tensors = {**code.tensors, name: ir.Tensor(name, axes, "defined", span=old.span)}
    return replace(code, tensors=tensors, statements=tuple(renamed(s) for s in code.statements))


def stepwise(code: ir.Code, want: Collection[str]) -> ir.Code:
    """The program with such sums as states, if nobody wants all of them."""
    statements = [_as_state(code, s) or s if s.target not in want else s for s in code.statements]
    changed = any(new is not old for new, old in zip(statements, code.statements, strict=True))
    return replace(code, statements=tuple(statements)) if changed else code


def _as_state(code: ir.Code, statement: ir.Statement) -> ir.Statement | None:
    match statement:
        case ir.Statement(
            body=ir.Reduce(
                "sum", (index,), ir.Expression() as condition, ir.Apply("*", factors) as product
            ),
            guard=None,
        ) if len(code.of(statement.target)) == 1:
            form = inequality(condition)  # at most 0
        case _:
            return None
    scope = statement.scope
    walks = [i for i in scope.values() if i.range == index.range and form is not None
             and form == ir.Affine(tuple(sorted([(index.name, 1), (i.name, -1)])))]  # fmt: skip
    own = free_indices(statement.body) - {i.name for i in walks}
    wide = len(own) > 1 and not any(own <= free_indices(factor) for factor in factors)
    plain = all(ir.index_at(place) is not None for place in statement.left)
    if len(walks) != 1 or not wide or not plain or walks[0].name in free_indices(product):
        return None
    (walk,) = walks
    before = tuple(
        ir.Affine.of(walk, -1) if ir.index_at(place) == walk.name else place
        for place in statement.left
    )
    added = moved(product, {index.name: ir.Affine.of(walk)})
    return replace(statement, body=ir.Apply("+", (ir.Read(statement.target, before), added)))


ARITHMETIC = ("+", "*", "neg")


def with_factors(code: ir.Code, states: Collection[str], inside: Collection[str]) -> ir.Code:
    """The program with a tensor for each function in the states' equations that is ready before.

    `inside` are the tensors that are computed step by step, states and others.
    """
    names, tensors = Names(code.tensors), dict(code.tensors)
    statements: list[ir.Statement] = []
    known: dict[object, ir.Read] = {}

    def taken(node: ir.Expression, statement: ir.Statement) -> ir.Expression:
        own = node
        if isinstance(node, ir.Apply):
            own = node.rebuild(lambda below: taken(below, statement))
        if not is_function(own) or not own.tensors().isdisjoint(inside):
            return own
        indices = indices_of(own, statement.scope)
        key = own, indices
        if key not in known:
            name = names.part(statement.target)
            tensor, left = laid_out(name, indices, shifts(statement))
            tensors[name] = tensor
            statements.append(ir.Statement(name, left, indices, own))
            known[key] = ir.Read(name, left)
        return known[key]

    for statement in code.statements:
        if statement.target in states and statement.guard is None:
            statement = replace(statement, body=taken(statement.body, statement))
        statements.append(statement)
    return replace(code, tensors=tensors, statements=tuple(statements))


def is_function(node: ir.Expression) -> bool:
    """Whether it costs more than a sum or a product, and is no number."""
    if not isinstance(node, ir.Apply | ir.Select) or not node.every(ir.Read):
        return False
    return isinstance(node, ir.Select) or node.function not in ARITHMETIC
