"""Reading the tensors of the program, wherever their elements are.

L[ℓ,t,j] inside the loop over ℓ     L[l - 1]
h[t-1,j] after the loop over t      torch.stack([h[t] for t in range(-1, T)], 1)[:, :T]
x[t,k], W[j,k]                      x, W

The steps of tensors along loops, read one by one, some of them, or all as one array.

entry    h[t - 1]                                           zeros if it may be none
recent   stack(h, 0, t, zeros, 1)                           those that exist so far
stacked  torch.stack([h[t] for t in range(T)], 1)           all, once the loop has ended
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from indicial.compile.emit.nodes import (
    EACH,
    FLOAT,
    INDEXED,
    INT,
    NUMBER,
    Identifiers,
    Listed,
    Node,
    Scope,
)
from indicial.compile.emit.numbers import loose_names, replaced
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.ragged import Ragged, at_letters, position, varies
from indicial.compile.emit.reads import Array, Bounds, Pick, Where, bounds_of, choose, read
from indicial.compile.emit.storage import Definition, Store, Walked, hull, merge
from indicial.compile.emit.values import Environment, Value
from indicial.compile.passes.batch import StartsBeyond
from indicial.compile.schedule.schedule import Plan, Run
from indicial.program import ir
from indicial.program.meaning.arrays import stored_extents
from indicial.program.meaning.differing import stays_inside
from indicial.program.moving import canonical, definition
from indicial.program.rewrite import free_indices
from indicial.program.sizes import Size


@dataclass
class Tensors:
    """All tensors of a program, by name."""

    code: ir.Code
    torch: Torch
    names: Identifiers
    ragged: Ragged
    starts: StartsBeyond
    zeros: Collection[str]
    """Those of them that are 0 beyond their lengths."""
    want: Collection[str]
    plan: Plan

    def __post_init__(self) -> None:
        reads = (read for statement in self.code.statements for read in statement.reads())
        self.uses = Counter([*self.want, *(read.tensor for read in reads)])
        """How often each tensor is read, or wanted."""
        self.graph = self.torch.graph
        self.scope: Scope = self.graph.root
        """Where the text stands."""
        self.stores: dict[str, Store] = {}
        self.given: dict[str, str] = {}
        """Tensors from outside that the text reads, with their identifiers."""

    def store(self, name: str) -> Store:
        """Where a tensor is; one that nothing defines comes from outside."""
        if name not in self.stores:
            axes = tuple(range(len(self.code.tensors[name].axes)))
            self.stores[name] = Store(name, axes)
            if not self.code.of(name):
                self._give(name)
        return self.stores[name]

    def _give(self, name: str) -> None:
        role = self.code.tensors[name].role
        free = {"parameter": "p", "input": "x", "draw": "draws"}.get(role, "")
        identifier = self.names.new(name, free)
        self.given[name] = identifier
        bounds = self.bounds(name)
        node = self.graph.name(identifier, [e for _, e in bounds], self.kind(name))
        self.stores[name].add(Definition(0, Array(node, bounds)))

    def kind(self, name: str) -> str:
        return FLOAT if self.code.tensors[name].values is None else INT

    def bounds(self, name: str) -> tuple[Bounds, ...]:
        """The ranges of a tensor's axes; of one that shrinks along another, the largest."""
        tensor = self.code.tensors[name]
        extents = stored_extents(tensor)
        return tuple((axis.lower, e) for axis, e in zip(tensor.axes, extents, strict=True))

    # ---- one step ----

    def entry(self, store: Store, walk: Walked, key: Size) -> Array:
        """One step: `h[t - 1]`; zeros if it may be none."""
        bounds = self.entry_bounds(store, walk, key)
        shape = [extent for _, extent in bounds]
        kind = self.kind(store.target)
        entries = self.entries(walk)
        node = self.torch.sizes.node(key)
        sizes, inside = self.torch.sizes, False
        if walk.first is not None and walk.last is not None:
            inside = sizes.certain(key - walk.first) and sizes.certain(walk.last - key)
        if walk.current is not None and walk.span is not None and key.number is not None:
            # While the loop runs, a step with a number is there or not yet.
            low, high = walk.span
            inside &= sizes.certain(low - 1 - key) or sizes.certain(key - 1 - high)
        if inside or key in walk.singles:
            found = self.graph.make(
                INDEXED, entries, node, shape=shape, kind=kind, hint=store.target
            )
        else:
            outside = self.torch.zeros(shape, kind)
            found = self.graph.make(".get", entries, node, outside, shape=shape, kind=kind)
        return Array(found, bounds)

    def entries(self, walk: Walked) -> Node:
        """The dict, for reading an entry, which never changes once it is there."""
        if self.scope not in walk.nodes:
            walk.nodes[self.scope] = self.graph.name(walk.entries, (), NUMBER, self.scope)
        return walk.nodes[self.scope]

    def now(self, walk: Walked) -> Node:
        """The dict with the entries that it has so far."""
        if self.scope not in walk.now:
            walk.now[self.scope] = self.graph.name(walk.entries, (), NUMBER, self.scope)
        return walk.now[self.scope]

    def entry_bounds(self, store: Store, walk: Walked, key: Size) -> tuple[Bounds, ...]:
        if key in walk.singles:
            return walk.singles[key]
        at, name = key + walk.loop.offsets.get(store.target, 0), walk.loop.variable
        formula = self.formula(store, walk)
        return tuple((replaced(low, name, at), replaced(e, name, at)) for low, e in formula)

    def formula(self, store: Store, walk: Walked) -> Sequence[Bounds]:
        """The ranges of the other axes at the loop's variable."""
        if walk.bounds:
            return walk.bounds
        tensor = self.code.tensors[store.target]
        at = Size.of(walk.loop.variable) - walk.loop.offsets.get(store.target, 0)
        letter = tensor.axes[walk.axis].letter
        others = [tensor.axes[number] for number in store.axes if number != walk.axis]
        return [(replaced(a.lower, letter, at), replaced(a.extent, letter, at)) for a in others]

    # ---- whole tensors ----

    def whole(self, store: Store) -> Array:
        """All elements that there are, in one array."""
        if store.merged is not None:
            return store.merged
        definitions = list(store.definitions)
        if store.walk is not None and store.walk.begun:
            definitions.insert(0, Definition(-1, self.stacked(store, store.walk)))
        if len(definitions) == 1 and definitions[0].mask is None and definitions[0].test is None:
            array = definitions[0].array
        else:
            array = merge(self.torch, definitions)
        inside = store.walk is not None and store.walk.current is not None
        if not inside:
            store.merged = array
        return array

    def touched(self, store: Store, places: Mapping[int, Where], env: Environment) -> Array:
        """The elements that a read may find, without those of statements that it certainly misses.

        Where `h[-1,j] = …` stands beside `h[t,j] = …`, a read of h[t,j] has no need of the start.
        """
        if not store.definitions:
            return self._nothing(store, places, env)
        found = [
            d
            for d in store.definitions
            if not self._misses(d.array.bounds, store.axes, places, env)
        ]
        if not found or len(found) == len(store.definitions):
            return self.whole(store)
        return self.whole(replace(store, definitions=found, merged=None))

    def _nothing(self, store: Store, places: Mapping[int, Where], env: Environment) -> Array:
        """Zeros: nobody saw a need to define any of it first, as what is read lies outside."""
        for statement in self.code.of(store.target):
            own = Environment().bind(statement.indices)
            box = [bounds_of(statement.left[axis], own) for axis in store.axes]
            assert self._misses(box, store.axes, places, env)
        bounds = tuple(self.bounds(store.target)[a] for a in store.axes)
        kind = self.kind(store.target)
        return Array(self.torch.zeros([e for _, e in bounds], kind), bounds)

    def _misses(
        self,
        box: Sequence[Bounds],
        axes: Sequence[int],
        places: Mapping[int, Where],
        env: Environment,
    ) -> bool:
        """Whether a read certainly finds nothing in a part of a tensor."""
        sizes = self.torch.sizes
        for number, (lower, extent) in zip(axes, box, strict=True):
            place = places[number]
            if not isinstance(place, ir.Affine):
                continue
            low, high = place.ends(env.ranges)
            if sizes.certain(low - lower - extent) or sizes.certain(lower - 1 - high):
                return True
        return False

    def recent(self, store: Store, walk: Walked, place: Where, env: Environment) -> Array | None:
        """Inside a loop, no more steps than a read of several asks for."""
        if walk.current is None or store.definitions or not isinstance(place, ir.Affine):
            return None
        if len(place.terms) != 1 or place.terms[0][1] != 1:
            return None
        index = env.ranges[place.terms[0][0]]
        bounds = list(self.formula(store, walk))
        if any(walk.loop.variable in loose_names(size) for pair in bounds for size in pair):
            return None
        span = index.lower + place.offset, index.extent
        bounds.insert(store.axes.index(walk.axis), span)
        return self._some(store, walk, self.now(walk), bounds)

    def _some(self, store: Store, walk: Walked, entries: Node, bounds: Sequence[Bounds]) -> Array:
        """The steps that there are, and zeros for the others."""
        axis, kind, sizes = store.axes.index(walk.axis), self.kind(store.target), self.torch.sizes
        full = [extent for _, extent in bounds]
        zeros = self.torch.zeros([*full[:axis], *full[axis + 1 :]], kind)
        ends = map(sizes.node, bounds[axis])
        node = self.torch.helper(
            "stack", entries, *ends, zeros, axis, shape=full, kind=kind, hint=store.target
        )
        return Array(node, tuple(bounds))

    def stacked(self, store: Store, walk: Walked) -> Array:
        """The steps of a loop, one after the other along their axis."""
        torch = self.torch
        axis = store.axes.index(walk.axis)
        first, last, complete = self._span(walk)
        formula = self.formula(store, walk)
        varies = any(walk.loop.variable in loose_names(s) for pair in formula for s in pair)
        bounds = list(self.bounds_without(store, walk) if varies else formula)
        whole = [*bounds[:axis], (first, last - first + 1), *bounds[axis:]]
        full = [extent for _, extent in whole]
        # As it is now; a loop that is finished may be stacked outside of the one that reads it.
        entries = self.graph.name(walk.entries, (), NUMBER, walk.around or self.scope)
        if not complete:
            return self._some(store, walk, entries, whole)
        name = torch.sizes.variables[walk.loop.variable].node.operation
        variable = self.graph.name(name, (), NUMBER, entries.scope)
        step = self.graph.make(INDEXED, entries, variable, plain=True)
        for n, (_, extent) in enumerate(bounds):
            if walk.loop.variable in loose_names(formula[n][1]):
                self.torch.helpers["window"] = None
                step = self.graph.make("window", step, n, 0, torch.sizes.node(extent), plain=True)
        every = self.graph.make(
            EACH, step, variable, torch.sizes.range(first, last + 1), plain=True
        )
        node = self.graph.make(
            "torch.stack", Listed([every]), axis, shape=full, kind=self.kind(store.target),
            hint=store.target,
        )  # fmt: skip
        return Array(node, tuple(whole))

    def bounds_without(self, store: Store, walk: Walked) -> list[Bounds]:
        full = self.bounds(store.target)
        return [full[a] for a in store.axes if a != walk.axis]

    def _span(self, walk: Walked) -> tuple[Size, Size, bool]:
        """The first and the last step, and whether all between are there."""
        boxes: list[tuple[Bounds, ...]] = [((key, Size.of(1)),) for key in walk.singles]
        if walk.span is not None:
            low, high = walk.span
            boxes.append(((low, high - low + 1),))
        ((first, extent),) = hull(self.torch, boxes)
        last = first + extent - 1
        complete = walk.current is None and self.torch.sizes.certain(extent - 1)
        if (first.names | extent.names) & self.torch.sizes.largest.keys():
            complete = False  # `h[2,j] = …` may be an equation for a step that no step comes to
        if walk.span is not None:
            low, high = walk.span
            while low - 1 in walk.singles:
                low = low - 1
            while high + 1 in walk.singles:
                high = high + 1
            complete = complete and (first, last) == (low, high)
        return first, last, complete

    # ---- reading ----

    def read(self, node: ir.Read, env: Environment) -> Value:
        store = self.store(node.tensor)
        places = [self.place(p, env) for p in node.places]
        absent = 1.0 if self.code.tensors[node.tensor].probability else 0.0
        value = self.at(store, dict(enumerate(places)), env, absent)
        outside = self.graph.literal(-1 if value.node.kind == INT else 0)
        for mask in self.masks(node, places, env):
            value = choose(self.torch, mask, value, outside, env)
        return value

    def vanishes(self, product: ir.Expression, index: ir.Index) -> bool:
        """Whether a product has a factor that is 0 beyond the range of an index, as a softmax is."""
        if isinstance(product, ir.Apply) and product.function in ("*", "neg"):
            return any(self.vanishes(factor, index) for factor in product.arguments)
        if isinstance(product, ir.Reduce) and product.operator == "sum":
            return self.vanishes(product.body, index)
        if isinstance(product, ir.Read) and product.tensor in self.zeros:
            axes = self.code.tensors[product.tensor].axes
            return any(
                place == ir.Affine.of(index) and axis.range == index.range
                for place, axis in zip(product.places, axes, strict=True)
            )
        if not isinstance(product, ir.Read) or len(self.code.of(product.tensor)) != 1:
            return False
        (statement,) = self.code.of(product.tensor)
        if not isinstance(statement.body, ir.Softmax):
            return False
        ranges = {i.name: i.range for i in statement.body.indices}
        return any(
            isinstance(left, ir.Affine)
            and place == ir.Affine.of(index)
            and len(left.terms) == 1
            and left == ir.Affine.of(left.terms[0][0])
            and ranges.get(left.terms[0][0]) == index.range
            for place, left in zip(product.places, statement.left, strict=True)
        )

    def masks(self, node: ir.Read, places: Sequence[Where], env: Environment) -> Iterator[Value]:
        """Where a read stays inside ranges that vary."""
        axes = self.code.tensors[node.tensor].axes
        written = [env.place(p) for p in node.places]
        for number, (axis, place) in enumerate(zip(axes, node.places, strict=True)):
            own = replace(
                axis,
                lower=at_letters(axis.lower, axes, written),
                extent=at_letters(axis.extent, axes, written),
            )
            if not self.ragged.varies(own.lower + own.extent, env):
                continue
            if isinstance(place, ir.Affine) and stays_inside(place, env.own, own):
                continue
            at = places[number]
            if isinstance(at, ir.Flat):
                continue
            if isinstance(at, ir.Affine):
                found = self.ragged.place(at, env)
            else:
                assert isinstance(at, Pick)
                found = at.position
            starts = self.starts.get((node.tensor, number), [])
            mask = self.ragged.inside(found, own, starts, env)
            if mask is not None:
                yield mask

    def place(self, place: ir.Place, env: Environment) -> Where:
        if not isinstance(place, ir.Gather):
            moved = env.place(place)
            assert not isinstance(moved, ir.Gather)
            if isinstance(moved, ir.Affine) and self.ragged.varies(moved.offset, env):
                return Pick(self.ragged.place(moved, env))
            if isinstance(moved, ir.Flat) and varies(self.ragged, moved, env):
                return Pick(position(self.ragged, moved, env))
            return moved
        token = self.read(place.read, env)
        values = self.code.tensors[place.read.tensor].values
        node = token.node
        if node.kind != INT:
            node = self.torch.whole(node, "place")
        present = self.graph.binary(">=", node, self.graph.literal(0), node.shape, "present")
        return Pick(
            Value(node, token.dims),
            None,
            Value(present, token.dims) if values is not None else None,
            values,
        )

    def serves_once(self, node: ir.Expression, env: Environment) -> bool:
        """Whether a read is the only one of its tensor, which then need not be there."""
        assert isinstance(node, ir.Read)
        return self.uses[node.tensor] == 1 and self.is_current(node, env)

    def is_alone(self, node: ir.Expression, env: Environment) -> bool:
        """Whether no other part of the text computes the same as an expression, or as what it reads."""
        if isinstance(node, ir.Read):
            found = definition(self.code, node) if self.serves_once(node, env) else None
            return found is not None and self.is_alone_written(found)
        return self.is_alone_written(node)

    def is_alone_written(self, node: ir.Expression) -> bool:
        return all(self.reductions[_numbered(part)] == 1 for part in node.every(ir.Reduce))

    @cached_property
    def reductions(self) -> Counter[ir.Expression]:
        """How often each reduction is written in the equations that are no kernel's."""
        bodies = (step.statement.body for step, _ in self.plan.walk() if isinstance(step, Run))
        return Counter(_numbered(part) for body in bodies for part in body.every(ir.Reduce))

    def is_current(self, node: ir.Read, env: Environment) -> bool:
        """Whether a read is of what the loops around it are computing now, or of no loop's steps."""
        store = self.store(node.tensor)
        while (walk := store.walk) is not None and walk.begun:
            place = env.place(node.places[walk.axis])
            if walk.current is None or ir.number_at(place) != walk.key(store.target):
                return False
            store = walk.current
        return True

    def at(self, store: Store, places: dict[int, Where], env: Environment, absent: float) -> Value:
        walk = store.walk
        if walk is None or not walk.begun:
            return self._read(self.touched(store, places, env), store.axes, places, env, absent)
        place = places[walk.axis]
        key = place.offset if isinstance(place, ir.Affine) and not place.terms else None
        if key is None:
            array = self.recent(store, walk, place, env) or self.whole(store)
            return self._read(array, store.axes, places, env, absent)
        rest = {n: p for n, p in places.items() if n != walk.axis}
        if walk.current is not None and key == walk.key(store.target):
            return self.at(walk.current, rest, env, absent)
        axes = tuple(a for a in store.axes if a != walk.axis)
        return self._read(self.entry(store, walk, key), axes, rest, env, absent)

    def _read(
        self, array: Array, axes: Sequence[int], places: dict[int, Where], env: Environment,
        absent: float,
    ) -> Value:  # fmt: skip
        return read(self.torch, array, [places[a] for a in axes], env, absent)


def _numbered(node: ir.Expression) -> ir.Expression:
    """An expression whatever its indices are called."""
    return canonical(node, sorted(free_indices(node)))
