"""The steps of tensors along loops, and statements that run at some values of a loop only.

for l in range(L + 1):              Conditions
    N[l] = …                        step: the only definition of the current step
    if l < L:                       open: a block for all that runs at these values
        h[l + 1] = …
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from indicial.compile.emit.nodes import ALL, NUMBER, Node, Scope
from indicial.compile.emit.numbers import Variable, loose_names, number
from indicial.compile.emit.operations import IndexItem
from indicial.compile.emit.printing import Assign, Block, Line, all_roots, below
from indicial.compile.emit.reads import Array, Bounds, bounds_of, read
from indicial.compile.emit.storage import (
    Definition,
    Fixed,
    Store,
    Walked,
    fixings,
    hull,
    merge,
    placed,
)
from indicial.compile.emit.values import Environment
from indicial.compile.schedule.schedule import Loop
from indicial.program.ir import Affine, Gather, Index, Statement
from indicial.program.sizes import Size, Strided

if TYPE_CHECKING:
    from indicial.compile.emit.program import Writing


@dataclass
class OpenIf:
    """An open block `if …:`, and what is put back when it closes."""

    nodes: list[Node]
    inner: Block
    outer: Block
    whole: bool
    """Whether a loop further out decides, so that of the innermost one it is all steps or none."""
    variables: dict[str, Variable]
    made: list[tuple[Store, Walked]]


class Conditions:
    """The block `if …:` that is open, if one is."""

    def __init__(self, writing: Writing) -> None:
        self.writing = writing
        self.graph = writing.graph
        self.sizes = writing.sizes
        self.test: OpenIf | None = None
        self.behind: list[tuple[OpenIf, Node, Node]] = []
        """Steps without a dict, as they are read behind the block that makes them, and zeros."""

    def tests(self, fixed: Sequence[Fixed]) -> list[Node]:
        """When a statement runs: nothing to ask, if it runs at all values."""
        narrowed = dict(self.sizes.variables)
        if self.test is not None:
            self.sizes.variables.update(self.test.variables)
        try:
            return list(self.asked(fixed))
        finally:
            self.sizes.variables.update(narrowed)

    def asked(self, fixed: Sequence[Fixed]) -> Iterator[Node]:
        for f in fixed:
            variable = self.sizes.variables[f.loop.variable]
            after = self.sizes.certain(variable.lower - f.low)
            before = self.sizes.certain(f.high - variable.upper)
            if f.low == f.high and not (after and before):
                yield self.compare(variable, "==", f.low)
                continue
            if not after:
                yield self.compare(variable, ">=", f.low)
            if not before:
                yield self.compare(variable, "<", f.high + 1)

    def compare(self, variable: Variable, sign: str, size: Size) -> Node:
        return self.graph.binary(sign, variable.node, self.sizes.node(size))

    def both(self, tests: Sequence[Node], test: Node | None) -> Node | None:
        every = [*tests, *([test] if test is not None else [])]
        return number(self.graph, "and", every) if every else None

    def open(self, tests: list[Node], fixed: Sequence[Fixed]) -> None:
        """Statements that run at the same values share a block."""
        if self.test is not None and self.test.nodes == tests:
            return
        self.close()
        if not tests:
            return
        header = Line("if ", number(self.graph, "and", tests), ":")
        inner = Block(Scope(self.writing.block.scope), header)
        whole = bool(self.tests(fixed[:-1]))
        variables = dict(self.sizes.variables)
        self.test = OpenIf(tests, inner, self.writing.block, whole, variables, [])
        self.writing.add(Line())
        self.writing.add(inner)
        self.writing.stand(inner)
        for f in fixed:
            variable = self.sizes.variables[f.loop.variable]
            low = f.low if self.sizes.certain(f.low - variable.lower) else variable.lower
            high = f.high if self.sizes.certain(variable.upper - f.high) else variable.upper
            # What is certain in here need not be so outside, where it must not be computed.
            node = self.graph.name(variable.node.operation, (), NUMBER, inner.scope)
            moved = Variable(variable.name, low, high - low + 1, node)
            self.sizes.variables[f.loop.variable] = moved

    def close(self) -> None:
        """From here on, what was made in the block may be missing."""
        test, self.test = self.test, None
        if test is None:
            return
        self.writing.stand(test.outer)
        self.sizes.variables.update(test.variables)
        for store, walk in test.made:
            if not walk.entries:
                self.unless_made(test, store)
                continue
            key = walk.key(store.target)
            if test.whole:  # what reads the steps finds them all the same
                zeros = self.zeros(store.definitions[0].array)
                none = Assign(walk.entries, zeros, self.sizes.node(key), store.target)
                test.outer.items.insert(test.outer.items.index(test.inner), none)
            store.definitions = [
                Definition(d.order, Array(self.maybe(walk, key, d.array), d.array.bounds))
                for d in store.definitions
            ]
            store.merged = None

    def unless_made(self, test: OpenIf, store: Store) -> None:
        """A step that is read while it is the current one, and perhaps behind the block."""
        (definition,) = store.definitions
        array, name = definition.array, self.writing.identifiers[store.target]
        node = self.graph.name(name, array.node.shape, array.node.kind, test.outer.scope)
        self.behind.append((test, node, self.zeros(array)))
        store.definitions = [replace(definition, array=Array(node, array.bounds))]
        store.merged = None

    def settle(self, block: Block) -> None:
        """What is read behind the block that makes it is zeros, unless the block is entered."""
        live = below(all_roots(block))
        for test, node, zeros in self.behind:
            if node in live:
                items, start = test.inner.items, f"{node.operation} = "
                for n, item in enumerate(items):
                    if isinstance(item, Assign) and item.target == node.operation:
                        items[n] = Line(start, item.node)
                test.outer.items.insert(test.outer.items.index(test.inner), Line(start, zeros))

    def maybe(self, walk: Walked, key: Size, array: Array) -> Node:
        """An entry that need not be there."""
        zeros = self.zeros(array)
        arguments = self.writing.tensors.entries(walk), self.sizes.node(key), zeros
        return self.graph.make(".get", *arguments, shape=zeros.shape, kind=zeros.kind)

    def zeros(self, array: Array) -> Node:
        return self.writing.torch.zeros(array.node.shape, array.node.kind)

    def makes(self, store: Store, walk: Walked) -> None:
        """A step that is there only if the block is entered."""
        if self.test is not None:
            self.test.made.append((store, walk))


class Steps:
    """The steps of all tensors that are walked along."""

    def __init__(self, writing: Writing, conditions: Conditions) -> None:
        self.writing = writing
        self.conditions = conditions
        self.code = writing.code
        self.sizes = writing.sizes
        self.torch = writing.torch
        self.tensors = writing.tensors
        for name, loops in writing.walks.loops.items():
            self.tensors.store(name).walk = Walked(loops[0], loops[0].axes[name])

    def current(self, name: str, depth: int) -> Store:
        """The step at which the open loops stand."""
        store = self.tensors.store(name)
        for _ in range(depth):
            assert store.walk is not None and store.walk.current is not None
            store = store.walk.current
        return store

    def parent(self, store: Store) -> Store:
        """The tensor of which this is the current step."""
        above = self.tensors.store(store.target)
        while above.walk is not None and above.walk.current is not store:
            assert above.walk.current is not None
            above = above.walk.current
        return above

    def conflicts(
        self, statement: Statement, store: Store, together: Sequence[Statement] = ()
    ) -> bool:
        """Whether another statement defines elements of the same step, than those `together`."""
        name, loop = store.target, self.writing.loops[-1]
        if store.walk is not None or name not in loop.axes:
            return False
        if len(together) == sum(s.target == name for s in loop.statements()):
            return bool(store.definitions)
        keys = self.writing.walks.keys(loop, name)
        return bool(store.definitions) or statement.guard is not None or len(keys) > 1

    def step(self, store: Store, definition: Definition) -> None:
        """The only definition of the current step."""
        store.add(definition)
        walk = self.parent(store).walked
        walk.bounds = definition.array.bounds
        self.put(store, walk, definition.array.node)
        self.conditions.makes(store, walk)

    def put(self, store: Store, walk: Walked, node: Node) -> None:
        if not walk.entries:
            self.writing.add(
                Assign(self.writing.identifiers[store.target], node, tensor=store.target)
            )
            return
        key = self.sizes.node(walk.key(store.target))
        self.writing.add(Assign(walk.entries, node, key, store.target))
        walk.now.clear()

    def merge_step(self, store: Store, definition: Definition) -> None:
        """One of several definitions of the current step; the last to come puts them together."""
        name, loop = store.target, self.writing.loops[-1]
        walk = self.parent(store).walked
        store.add(definition)
        inside = sum(s.target == name for s in loop.statements())
        done = sum(d.order in self.orders(loop, name) for d in store.definitions)
        if done < inside:
            self.writing.add(
                Assign(self.writing.names.new(name), definition.array.node, tensor=name)
            )
            return
        array = self.tensors.whole(store)
        walk.bounds = array.bounds
        self.put(store, walk, array.node)

    def orders(self, loop: Loop, name: str) -> set[int]:
        inside = {s.number for s in loop.statements()}
        return {n for n, s in enumerate(self.code.of(name)) if s.number in inside}

    def outside(self, outer: Store, walk: Walked, store: Store) -> None:
        """What statements outside the loop say about the current step."""
        key = walk.key(store.target)
        variable = self.sizes.variables[walk.loop.variable]
        for single, bounds in walk.singles.items():
            at = single + walk.loop.offsets.get(store.target, 0)
            array = self.tensors.entry(outer, walk, single)
            test = self.conditions.compare(variable, "==", at)
            store.add(Definition(walk.orders[single], Array(array.node, bounds), None, test))
        axis = outer.axes.index(walk.axis)
        for definition in outer.definitions:
            low, extent = definition.array.bounds[axis]
            pieces = [self.slice(definition.array.node, definition.array, axis, key)]
            if definition.mask is not None:
                pieces.append(self.slice(definition.mask, definition.array, axis, key))
            bounds = tuple(b for n, b in enumerate(definition.array.bounds) if n != axis)
            shift = walk.loop.offsets.get(store.target, 0)
            here = Fixed(walk.loop, "", Affine(), low + shift, low + shift + extent - 1)
            tests = list(self.conditions.asked([here]))
            mask = pieces[1] if len(pieces) > 1 else None
            both = self.conditions.both(tests, definition.test)
            store.add(Definition(definition.order, Array(pieces[0], bounds), mask, both))

    def slice(self, node: Node, array: Array, axis: int, key: Size) -> Node:
        names = [f"axis·{n}" for n in range(node.rank)]
        env = Environment().bind(
            Index(n, *pair) for n, pair in zip(names, array.bounds, strict=True)
        )
        places = [Affine((), key) if n == axis else Affine.of(a) for n, a in enumerate(names)]
        return read(self.torch, Array(node, array.bounds), places, env).node

    # ---- steps that a loop finds ----

    def single(self, statement: Statement, store: Store) -> Size | None:
        """The step that a statement outside the loop defines: -1 for `h[-1,j] = …`."""
        if store.walk is None or store.walk.current is not None:
            return None
        place = statement.left[store.walk.axis]
        if isinstance(place, Affine) and not place.terms and self.alike(store, [statement]):
            return place.offset
        return None

    def alike(self, store: Store, statements: Sequence[Statement]) -> bool:
        """Whether statements define as much of a step as all do together.

        `h[-1,0] = 1` does not: its step has other elements besides, which are 0. Along a stack that
        shrinks steps differ anyway.
        """
        axes = [a for a in store.axes if a != store.walked.axis]
        boxes = {s.number: self.box(s, axes) for s in self.code.of(store.target)}
        sizes = [size for box in boxes.values() for pair in box for size in pair]
        if any(isinstance(atom, Strided) for size in sizes for atom in size.atoms):
            return True
        whole = hull(self.torch, list(boxes.values()))
        return all(boxes[s.number] == whole for s in statements)

    def box(self, statement: Statement, axes: Sequence[int]) -> tuple[Bounds, ...]:
        env = Environment().bind(statement.indices)
        places = [statement.left[axis] for axis in axes]
        return tuple(bounds_of(p, env) for p in places if not isinstance(p, Gather))

    def enter(self, store: Store, key: Size, definition: Definition) -> None:
        """A definition outside the loop becomes an entry."""
        walk = store.walked
        self.open_entries([store])
        axis = store.axes.index(walk.axis)
        array = definition.array
        items: list[IndexItem] = [ALL] * array.node.rank
        items[axis] = self.writing.graph.literal(0)
        node = self.torch.index(array.node, items)
        walk.singles[key] = tuple(b for n, b in enumerate(array.bounds) if n != axis)
        walk.orders[key] = definition.order
        walk.now.clear()
        self.writing.add(Assign(walk.entries, node, self.sizes.node(key), store.target))

    def open_entries(self, stores: Sequence[Store]) -> None:
        """A dict of steps for each of these, if it has none yet."""
        new = []
        for store in stores:
            walk = store.walked
            if not walk.begun:
                name = self.writing.identifiers[store.target]
                nested = len(store.axes) < len(self.code.tensors[store.target].axes)
                if nested or self.writing.walks.nests(store.target) > 1:
                    name = self.writing.names.new(f"{name}_{walk.loop.letter}")
                walk.entries = name
                walk.begun = True
                new.append(walk.entries)
        for first in range(0, len(new), 6):
            some = new[first : first + 6]
            dicts = ", ".join("{}" for _ in some)
            self.writing.add(Line(f"{', '.join(some)} = {dicts}"))

    def before(self, store: Store, walk: Walked) -> None:
        """Zeros for the steps outside that the loop itself reads."""
        assert walk.span is not None
        first, last = walk.span
        before, behind = self.writing.walks.reach(store, walk)
        keys = [first - n - 1 for n in range(before)] + [last + n + 1 for n in range(behind)]
        missing = [key for key in keys if key not in walk.singles]
        bounds = self.steady(walk)
        if missing and bounds is None:
            before = behind = 0
        for key in missing if bounds is not None else ():
            assert bounds is not None
            node = self.outer_step(store, walk, key, bounds)
            if not self.apart(key, key, walk.singles):  # `h[3,j] = …` and h[T], of three steps
                node = self.torch.graph.make(
                    ".get", self.tensors.now(walk), self.sizes.node(key), node,
                    shape=node.shape, kind=node.kind,
                )  # fmt: skip
            self.writing.add(Assign(walk.entries, node, self.sizes.node(key), store.target))
        walk.first, walk.last = first - before, last + behind
        while walk.first - 1 in walk.singles:
            walk.first = walk.first - 1
        while walk.last + 1 in walk.singles:
            walk.last = walk.last + 1

    def outer_step(self, store: Store, walk: Walked, key: Size, bounds: tuple[Bounds, ...]) -> Node:
        """A step outside the loop: what statements outside say about it, or zeros."""
        axis = store.axes.index(walk.axis)
        reached = [
            d
            for d in store.definitions
            if not self.sizes.certain(d.array.bounds[axis][0] - 1 - key)
            and not self.sizes.certain(key - sum(d.array.bounds[axis], Size()))
        ]
        if not reached:
            return self.torch.zeros([e for _, e in bounds], self.tensors.kind(store.target))
        array = merge(self.torch, reached)
        rest = tuple(b for n, b in enumerate(array.bounds) if n != axis)
        return placed(self.torch, Array(self.slice(array.node, array, axis, key), rest), bounds)

    def steady(self, walk: Walked) -> tuple[Bounds, ...] | None:
        """The ranges of the other axes, if they are the same at all steps."""
        sizes = [size for pair in walk.bounds for size in pair]
        variable = walk.loop.variable
        same = all(variable not in loose_names(size) for size in sizes)
        return walk.bounds if same else None

    def expected(self, store: Store, walk: Walked) -> tuple[Bounds, ...]:
        """The ranges of the other axes at the loop's variable, as the statements in it say."""
        inside = [s for s in walk.loop.statements() if s.target == store.target]
        loops = [*self.writing.loops, walk.loop]
        boxes = []
        for statement in inside:
            fixed = {f.index: f.place for f in fixings(statement, loops) if f.index}
            env = Environment(fixed=fixed)
            env = env.bind(i for i in statement.indices if i.name not in fixed)
            places = [env.place(statement.left[a]) for a in store.axes if a != walk.axis]
            boxes.append(tuple(bounds_of(p, env) for p in places if not isinstance(p, Gather)))
        if len(inside) == 1 and not store.definitions:
            return boxes[0]
        # A step has what is defined outside too: M[0,j] = … is beyond a range without elements.
        axis = store.axes.index(walk.axis)
        every = [d.array.bounds for d in store.definitions]
        others = [tuple(b for n, b in enumerate(own) if n != axis) for own in every]
        return hull(self.torch, [tuple(self.tensors.formula(store, walk)), *others, *boxes])

    def walked(self, loop: Loop) -> list[Store]:
        """The tensors that the loop walks along, with a first step to come."""
        stores = []
        for name in dict.fromkeys(s.target for s in loop.statements()):
            store = self.tensors.store(name)
            while store.walk is not None and store.walk.current is not None:
                store = store.walk.current
            if store.walk is None or store.walk.loop is not loop:
                self.turn(store, Walked(loop, loop.axes[name]))
            walk = store.walked
            stores.append(store)
            keys = self.writing.walks.keys(loop, name)
            boxes = [((low, high - low + 1),) for low, high in keys]
            ((first, extent),) = hull(self.torch, boxes)
            walk.span = first, first + extent - 1
            walk.bounds = self.expected(store, walk)
        kept = [s for s in stores if not self.writing.walks.local(s.target, loop)]
        self.open_entries(kept)
        for store in stores:
            walk = store.walked
            if store in kept:
                self.before(store, walk)
            walk.begun = True
            walk.current = Store(store.target, tuple(a for a in store.axes if a != walk.axis))
        return stores

    def turn(self, store: Store, walk: Walked) -> None:
        """A tensor that one loop has walked along, and now another does."""
        done = store.walk
        if done is not None and done.begun:
            orders = self.orders(done.loop, store.target)
            order = min(orders, default=0)
            store.add(Definition(order, self.tensors.stacked(store, done)))
        store.walk = walk
        axis = store.axes.index(walk.axis)
        rest = []
        for definition in store.definitions:
            first, extent = definition.array.bounds[axis]
            plain = definition.mask is None and definition.test is None
            own = [s for n, s in enumerate(self.code.of(store.target)) if n == definition.order]
            if extent.number == 1 and plain and self.alike(store, own):
                self.enter(store, first, definition)
            else:
                rest.append(definition)
        store.definitions, store.merged = rest, None

    def begin(self, stores: Sequence[Store]) -> None:
        """At the beginning of a step: what statements outside the loop say about it."""
        for store in stores:
            walk = store.walked
            assert walk.current is not None and walk.span is not None
            low, high = walk.span
            if store.definitions or not self.apart(low, high, walk.singles):
                self.outside(store, walk, walk.current)

    def apart(self, low: Size, high: Size, keys: Iterable[Size]) -> bool:
        """Whether no key lies between these steps, whatever the sizes are."""
        certain = self.sizes.certain
        return all(certain(low - 1 - key) or certain(key - 1 - high) for key in keys)

    def finish(self, stores: Sequence[Store]) -> None:
        """At the end of a step: what was walked inside it becomes an entry."""
        for store in stores:
            walk = store.walked
            assert walk.current is not None
            if walk.current.walk is not None and walk.entries:
                array = self.tensors.whole(walk.current)
                walk.bounds = array.bounds
                self.put(walk.current, walk, array.node)
