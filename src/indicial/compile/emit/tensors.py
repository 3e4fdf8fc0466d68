"""Reading the tensors of the program, wherever their elements are.

L[ℓ,t,j] inside the loop over ℓ     L[l - 1]
h[t-1,j] after the loop over t      torch.stack([h[t] for t in range(-1, T)], 1)[:, :T]
x[t,k], W[j,k]                      x, W
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from indicial.compile.emit.graph import BOOL, FLOAT, INT, NUMBER, Graph, Node, Scope
from indicial.compile.emit.names import Names
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.picks import Pick, choose
from indicial.compile.emit.ragged import Ragged, Starts, at_letters, settled_place
from indicial.compile.emit.reads import Array, Bounds, Where, read
from indicial.compile.emit.sizes import replaced
from indicial.compile.emit.storage import Definition, Store, Walk, hull, merge
from indicial.compile.emit.values import Environment, Value
from indicial.program.ir import (
    Affine,
    Apply,
    Code,
    Expression,
    Flat,
    Gather,
    Index,
    Read,
    Softmax,
)
from indicial.program.meaning.arrays import stored_extents
from indicial.program.sizes import Size


class Tensors:
    """All tensors of a program, by name."""

    def __init__(
        self, code: Code, graph: Graph, torch: Torch, names: Names, ragged: Ragged, starts: Starts
    ) -> None:
        self.code = code
        self.graph = graph
        self.torch = torch
        self.names = names
        self.ragged = ragged
        self.starts = starts
        self.stores: dict[str, Store] = {}
        self.given: dict[str, str] = {}
        """Tensors from outside that the text reads, with their identifiers."""
        self.scope: Scope = graph.root
        self.versions = 0

    def kind(self, name: str) -> str:
        return FLOAT if self.code.tensors[name].values is None else INT

    def bounds(self, name: str) -> tuple[Bounds, ...]:
        """The ranges of a tensor's axes; of one that shrinks along another, the largest."""
        tensor = self.code.tensors[name]
        extents = stored_extents(tensor)
        return tuple((axis.lower, e) for axis, e in zip(tensor.axes, extents, strict=True))

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

    # ---- reading ----

    def read(self, node: Read, env: Environment) -> Value:
        store = self.store(node.tensor)
        places = [self.place(p, env) for p in node.places]
        absent = 1.0 if self.code.tensors[node.tensor].probability else 0.0
        value = self.at(store, dict(enumerate(places)), env, absent)
        outside = self.graph.literal(-1 if value.node.kind == INT else 0)
        for mask in self.masks(node, places, env):
            value = choose(self.torch, mask, value, outside, env)
        return value

    def vanishes(self, product: Expression, index: Index) -> bool:
        """Whether a product has a factor that is 0 beyond the range of an index, as a softmax is."""
        if isinstance(product, Apply) and product.function in ("*", "neg"):
            return any(self.vanishes(factor, index) for factor in product.arguments)
        if not isinstance(product, Read) or len(self.code.of(product.tensor)) != 1:
            return False
        (statement,) = self.code.of(product.tensor)
        if not isinstance(statement.body, Softmax):
            return False
        ranges = {i.name: (i.lower, i.extent) for i in statement.body.indices}
        return any(
            isinstance(left, Affine)
            and place == Affine.of(index)
            and len(left.terms) == 1
            and left == Affine.of(left.terms[0][0])
            and ranges.get(left.terms[0][0]) == (index.lower, index.extent)
            for place, left in zip(product.places, statement.left, strict=True)
        )

    def masks(self, node: Read, places: Sequence[Where], env: Environment) -> Iterator[Value]:
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
            if isinstance(place, Affine):
                index = env.own.get(place.terms[0][0]) if place.terms else None
                if settled_place(place, index, own):
                    continue
            elif isinstance(place, Flat):
                continue
            at = places[number]
            if isinstance(at, Affine):
                position = self.ragged.place(at, env)
            else:
                assert isinstance(at, Pick)
                position = at.position
            starts = self.starts.get((node.tensor, number), [])
            mask = self.ragged.inside(position, own, starts, env)
            if mask is not None:
                yield mask

    def place(self, place: object, env: Environment) -> Where:
        if not isinstance(place, Gather):
            moved = env.place(place)  # type: ignore[arg-type]
            assert not isinstance(moved, Gather)
            if isinstance(moved, Affine) and self.ragged.varies(moved.offset, env):
                return Pick(self.ragged.place(moved, env))
            return moved
        token = self.read(place.read, env)
        values = self.code.tensors[place.read.tensor].values
        node = token.node
        if node.kind != INT:
            node = self.graph.make("{}.long()", node, shape=node.shape, kind=INT, hint="place")
        present = self.graph.make(
            "{} >= 0", node, shape=node.shape, kind=BOOL, level=2, needs=(3,), hint="present"
        )
        return Pick(
            Value(node, token.dims),
            None,
            Value(present, token.dims) if values is not None else None,
            values,
        )

    def at(self, store: Store, places: dict[int, Where], env: Environment, absent: float) -> Value:
        walk = store.walk
        if walk is None or not walk.begun:
            return self._read(self.whole(store), store.axes, places, env, absent)
        place = places[walk.axis]
        key = place.offset if isinstance(place, Affine) and not place.terms else None
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

    def entry(self, store: Store, walk: Walk, key: Size) -> Array:
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
        if inside or key in walk.singles:
            found = self.graph.make(
                "{}[{}]", entries, node, shape=shape, kind=kind, light=True, hint=store.target
            )
        else:
            outside = self.torch.zeros(shape, kind)
            found = self.graph.make(
                "{}.get({}, {})", entries, node, outside, shape=shape, kind=kind, light=True
            )
        return Array(found, bounds)

    def entries(self, walk: Walk) -> Node:
        """The dict, for reading an entry, which never changes once it is there."""
        if self.scope not in walk.nodes:
            walk.nodes[self.scope] = self.graph.name(walk.entries, (), NUMBER, self.scope)
        return walk.nodes[self.scope]

    def now(self, walk: Walk) -> Node:
        """The dict with the entries that it has so far."""
        if self.scope not in walk.now:
            walk.now[self.scope] = self.graph.name(walk.entries, (), NUMBER, self.scope)
        return walk.now[self.scope]

    def entry_bounds(self, store: Store, walk: Walk, key: Size) -> tuple[Bounds, ...]:
        if key in walk.singles:
            return walk.singles[key]
        result = []
        at = key + walk.loop.offsets.get(store.target, 0)
        for lower, extent in self.formula(store, walk):
            moved = [replaced(size, walk.loop.variable, at) for size in (lower, extent)]
            if moved[0] is None or moved[1] is None:
                raise NotImplementedError(f"{extent} at {key}")
            result.append((moved[0], moved[1]))
        return tuple(result)

    def formula(self, store: Store, walk: Walk) -> Sequence[Bounds]:
        """The ranges of the other axes at the loop's variable."""
        if walk.bounds:
            return walk.bounds
        tensor = self.code.tensors[store.target]
        at = Size.of(walk.loop.variable) - walk.loop.offsets.get(store.target, 0)
        result = []
        for number in store.axes:
            if number != walk.axis:
                axis = tensor.axes[number]
                letter = tensor.axes[walk.axis].letter
                moved = [replaced(size, letter, at) for size in (axis.lower, axis.extent)]
                if moved[0] is None or moved[1] is None:
                    raise NotImplementedError(f"{axis.extent} along a loop")
                result.append((moved[0], moved[1]))
        return result

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

    def recent(self, store: Store, walk: Walk, place: Where, env: Environment) -> Array | None:
        """Inside a loop, no more steps than a read of several asks for."""
        if walk.current is None or store.definitions or not isinstance(place, Affine):
            return None
        if len(place.terms) != 1 or place.terms[0][1] != 1:
            return None
        index = env.ranges[place.terms[0][0]]
        bounds = list(self.formula(store, walk))
        if any(replaced(s, walk.loop.variable, Size()) != s for pair in bounds for s in pair):
            return None
        axis = store.axes.index(walk.axis)
        first = index.lower + place.offset
        kind, sizes = self.kind(store.target), self.torch.sizes
        shape = [extent for _, extent in bounds]
        bounds.insert(axis, (first, index.extent))
        entries = self.now(walk)
        node = self.torch.helper(
            "stack",
            f"{{}}, {{}}, {{}}, {{}}, {axis}",
            entries,
            sizes.node(first),
            sizes.node(index.extent),
            self.torch.zeros(shape, kind),
            shape=[extent for _, extent in bounds],
            kind=kind,
            hint=store.target,
        )
        return Array(node, tuple(bounds))

    def stacked(self, store: Store, walk: Walk) -> Array:
        """The steps of a loop, one after the other along their axis."""
        torch = self.torch
        axis = store.axes.index(walk.axis)
        first, last, complete = self._span(store, walk)
        formula = self.formula(store, walk)
        varies = any(
            replaced(size, walk.loop.variable, Size()) != size for pair in formula for size in pair
        )
        bounds = list(self.bounds_without(store, walk) if varies else formula)
        shape = [extent for _, extent in bounds]
        whole = [*bounds[:axis], (first, last - first + 1), *bounds[axis:]]
        full = [extent for _, extent in whole]
        # As it is now; a loop that is finished may be stacked outside of the one that reads it.
        entries = self.graph.name(walk.entries, (), NUMBER, walk.around or self.scope)
        ends = torch.sizes.node(first), torch.sizes.node(last + 1)
        kind = self.kind(store.target)
        name = torch.sizes.variables[walk.loop.variable].node.template
        if not complete:
            arguments = [
                entries, ends[0], torch.sizes.node(last - first + 1), torch.zeros(shape, kind)
            ]  # fmt: skip
            node = torch.helper(
                "stack", f"{{}}, {{}}, {{}}, {{}}, {axis}", *arguments, shape=full, kind=kind,
                hint=store.target,
            )  # fmt: skip
            return Array(node, tuple(whole))
        step = f"{{}}[{name}]"
        arguments = [entries]
        if varies:
            for n, ((_, extent), (_, own)) in enumerate(zip(bounds, formula, strict=True)):
                if replaced(own, walk.loop.variable, Size()) != own:
                    self.torch.helpers["window"] = None
                    step = f"window({step}, {n}, 0, {{}})"
                    arguments.append(torch.sizes.node(extent))
        header = "range({})" if first.number == 0 else "range({}, {})"
        arguments += [ends[1]] if first.number == 0 else [*ends]
        node = self.graph.make(
            f"torch.stack([{step} for {name} in {header}], {axis})",
            *arguments,
            shape=full,
            kind=kind,
            hint=store.target,
        )
        return Array(node, tuple(whole))

    def bounds_without(self, store: Store, walk: Walk) -> list[Bounds]:
        full = self.bounds(store.target)
        return [full[a] for a in store.axes if a != walk.axis]

    def _span(self, store: Store, walk: Walk) -> tuple[Size, Size, bool]:
        """The first and the last step, and whether all between are there."""
        boxes: list[tuple[Bounds, ...]] = [((key, Size.of(1)),) for key in walk.singles]
        if walk.span is not None:
            low, high = walk.span
            boxes.append(((low, high - low + 1),))
        ((first, extent),) = hull(self.torch, boxes)
        last = first + extent - 1
        complete = walk.current is None
        if walk.span is not None:
            low, high = walk.span
            while low - 1 in walk.singles:
                low = low - 1
            while high + 1 in walk.singles:
                high = high + 1
            complete = complete and (first, last) == (low, high)
        return first, last, complete


__all__ = ["Tensors"]
