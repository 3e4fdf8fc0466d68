"""Reading the tensors of the program, wherever their elements are.

L[ℓ,t,j] inside the loop over ℓ     L[l - 1]
h[t-1,j] after the loop over t      torch.stack([h[t] for t in range(-1, T)], 1)[:, :T]
x[t,k], W[j,k]                      x, W
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from indicial.compile.emit.entries import Entries
from indicial.compile.emit.identifiers import Identifiers
from indicial.compile.emit.nodes import INT, Graph
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.picks import Pick, choose
from indicial.compile.emit.ragged import Ragged, StartsBeyond, at_letters, position, varies
from indicial.compile.emit.reads import Array, Where, read
from indicial.compile.emit.storage import Definition, Store
from indicial.compile.emit.values import Environment, Value
from indicial.program import ir
from indicial.program.meaning.differing import stays_inside


class Tensors(Entries):
    """All tensors of a program, by name."""

    def __init__(
        self,
        code: ir.Code,
        graph: Graph,
        torch: Torch,
        names: Identifiers,
        ragged: Ragged,
        starts: StartsBeyond,
    ) -> None:
        super().__init__(code, graph, torch)
        self.names = names
        self.ragged = ragged
        self.starts = starts
        self.stores: dict[str, Store] = {}
        self.zeros: frozenset[str] = frozenset()
        """Those of them that are 0 beyond their lengths."""
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
