"""A statement → its definition: the right side, with the axes of the left side."""

from __future__ import annotations

from indicial.compile.emit.elementwise import singular
from indicial.compile.emit.expressions import Evaluator
from indicial.compile.emit.graph import INT, NUMBER
from indicial.compile.emit.left import covered, shaped
from indicial.compile.emit.picks import choose
from indicial.compile.emit.ragged import at_letters, moved_together, varies
from indicial.compile.emit.storage import Definition, Store
from indicial.compile.emit.values import Environment, Value
from indicial.compile.emit.writing import Writing
from indicial.program.ir import Affine, Flat, Statement


class Definitions:
    """Right sides, evaluated where they count."""

    def __init__(self, writing: Writing, evaluator: Evaluator) -> None:
        self.code = writing.code
        self.graph = writing.graph
        self.torch = writing.torch
        self.ragged = writing.ragged
        self.evaluator = evaluator

    def define(
        self, statement: Statement, order: int, store: Store, env: Environment
    ) -> Definition:
        """The right side, with its axes as the left side has them."""
        mask: Value | None = None
        inner = env
        if statement.guard is not None:
            mask = self.evaluator.condition(statement.guard, env)
            inner = self.evaluator.within(env, mask)
        if singular(statement.body):
            inner = self.counting(statement, order, inner)
        if self.code.tensors[statement.target].values is not None:
            value = self.evaluator.token(statement.body, inner)
        else:
            value = self.evaluator.evaluate(statement.body, inner)
        value = self.owned(statement, value, env)
        places: list[Affine | Flat] = []
        for axis in store.axes:
            place = env.place(statement.left[axis])
            assert isinstance(place, Affine | Flat)
            if isinstance(place, Flat) and varies(self.ragged, place, env):
                flat, before = f"flat·{axis}", env
                value, env = moved_together(self.torch, self.ragged, value, place, before, flat)
                if mask is not None and mask.node.kind != NUMBER:
                    holds = Value(self.torch.floating(mask.node), mask.dims)
                    holds, _ = moved_together(self.torch, self.ragged, holds, place, before, flat)
                    nothing = Value(self.graph.literal(0))
                    mask = self.evaluator.elementwise.compare("≠", [holds, nothing], env)
                place = Affine.of(flat)
            places.append(place)
        array = shaped(self.torch, value, places, env)
        if mask is None:
            return Definition(order, array)
        if mask.node.kind == NUMBER:
            return Definition(order, array, None, mask.node)
        return Definition(order, array, shaped(self.torch, mask, places, env).node)

    def counting(self, statement: Statement, order: int, env: Environment) -> Environment:
        """The environment where the statement says what an element is, and the element is there."""
        for earlier in self.code.of(statement.target)[:order]:
            test = covered(earlier, statement)
            if test is not None:
                elsewhere = self.evaluator.elementwise.no(self.evaluator.condition(test, env))
                env = self.evaluator.within(env, elsewhere)
        for index in statement.indices:
            own = env.own[index.name]
            if self.ragged.varies(own.lower + own.extent, env):
                at = env.place(Affine.of(own))
                assert isinstance(at, Affine)
                position = self.ragged.place(at, env)
                env = self.evaluator.within(
                    env, self.ragged.below(position, own.lower + own.extent, env)
                )
        return env

    def owned(self, statement: Statement, value: Value, env: Environment) -> Value:
        """The value, with zeros where an example's own range ends before that of the axis."""
        axes = self.code.tensors[statement.target].axes
        zero = self.graph.literal(-1 if value.node.kind == INT else 0)
        for place, axis in zip(statement.left, axes, strict=True):
            if isinstance(place, Flat) or not place.terms:
                continue
            index = env.own[place.terms[0][0]]
            upper = index.lower + index.extent
            end = at_letters(axis.lower + axis.extent, axes, statement.left)
            if upper + place.offset != env.size(end) and self.ragged.varies(upper, env):
                at = env.place(Affine.of(index))
                assert isinstance(at, Affine)
                mask = self.ragged.below(self.ragged.place(at, env), upper, env)
                value = choose(self.torch, mask, value, zero, env)
        return value
