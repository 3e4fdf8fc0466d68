"""The steps of tensors along loops, read one by one, some of them, or all as one array.

entry    h[t - 1]                                           zeros if it may be none
recent   stack(h, 0, t, zeros, 1)                           those that exist so far
stacked  torch.stack([h[t] for t in range(T)], 1)           all, once the loop has ended
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from indicial.compile.emit.nodes import (
    EACH,
    FLOAT,
    INDEXED,
    INT,
    NUMBER,
    Graph,
    Listed,
    Node,
    Scope,
)
from indicial.compile.emit.numbers import loose_names, replaced
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.reads import Array, Bounds, Where, bounds_of
from indicial.compile.emit.storage import Definition, Store, Walked, hull, merge
from indicial.compile.emit.values import Environment
from indicial.program.ir import Affine, Code
from indicial.program.meaning.arrays import stored_extents
from indicial.program.sizes import Size


class Entries:
    """Arrays of a program's tensors, put together from what there is of them."""

    def __init__(self, code: Code, graph: Graph, torch: Torch) -> None:
        self.code = code
        self.graph = graph
        self.torch = torch
        self.scope: Scope = graph.root
        """Where the text stands."""

    def kind(self, name: str) -> str:
        return FLOAT if self.code.tensors[name].values is None else INT

    def bounds(self, name: str) -> tuple[Bounds, ...]:
        """The ranges of a tensor's axes; of one that shrinks along another, the largest."""
        tensor = self.code.tensors[name]
        extents = stored_extents(tensor)
        return tuple((axis.lower, e) for axis, e in zip(tensor.axes, extents, strict=True))

    def entry(self, store: Store, walk: Walked, key: Size) -> Array:
        """One step: `h[t - 1]`; zeros if it may be none."""
        bounds = self.entry_bounds(store, walk, key)
        shape = [extent for _, extent in bounds]
        kind = self.kind(store.target)
        entries = self.entries(walk)
        node = self.torch.sizes.node(key)
        sizes = self.torch.sizes
        if walk.first is not None and walk.last is not None:
            inside = sizes.certain(key - walk.first) and sizes.certain(walk.last - key)
        else:
            inside = False
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
            if not isinstance(place, Affine):
                continue
            low, high = place.ends(env.ranges)
            if sizes.certain(low - lower - extent) or sizes.certain(lower - 1 - high):
                return True
        return False

    def recent(self, store: Store, walk: Walked, place: Where, env: Environment) -> Array | None:
        """Inside a loop, no more steps than a read of several asks for."""
        if walk.current is None or store.definitions or not isinstance(place, Affine):
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
        first, last, complete = self._span(store, walk)
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

    def _span(self, store: Store, walk: Walked) -> tuple[Size, Size, bool]:
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
