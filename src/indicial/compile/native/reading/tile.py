"""A tile: what a kernel takes through time, and states that fade as multiples that do not.

    S[t,i,j] = g[t,i] S[t-1,i,j] + k[t,i] v[t,j]        y[t,j] = Σ_i q[t,i] S[t,i,j]

    S = D S',  D[t,i] = g[t,i] D[t-1,i]

    S'[t,i,j] = S'[t-1,i,j] + k[t,i] v[t,j] / D[t,i]    y[t,j] = Σ_i q[t,i] D[t,i] S'[t,i,j]

D has fewer elements than the state, so it is computed before, and multiplied into what has as few:
two operations for an element and a step in the place of three. Where D leaves the range in which nothing
is lost it begins again at 1, and that step multiplies the state after all.

    ḡ[t,i] = Σ_j S[t-1,i,j] S̄[t,i,j]                    where both sweeps meet

    g[t] ḡ[t] = g[t+1] ḡ[t+1] + q[t] q̄[t] - k[t] k̄[t]   from Σ_j S S̄ at t, written out in two ways

So the gradient of a decay follows from the gradients of what is added (`meetings`), and neither sweep
has to wait for the other. It is divided by g in the end: where g is near 0 both are taken through time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from indicial.compile.passes.algebra import ONE, flat, numeral, plus, signed, times
from indicial.compile.passes.new_tensors import derived_name
from indicial.program import ir
from indicial.program.moving import moved
from indicial.program.rewrite import with_reads
from indicial.program.sizes import Size

TIME = "v"
PARTS = "°parts"
"""The size that says into how many parts the columns of a member are divided."""
Range = tuple[Size, Size]


@dataclass(frozen=True)
class Item:
    """One tensor of a step. `left` has the common name of the index at each of its axes.

    A `state` has all indices; so has a `local`, which nothing carries from step to step. A `sum` is
    over the indices that its left side has not; `low` is pointwise, in fewer indices.
    """

    kind: str
    target: str
    left: tuple[str, ...]
    body: ir.Expression
    scale: ir.Expression = ONE


@dataclass(frozen=True)
class Sweep:
    """Items that run together through time, in an order in which they can."""

    direction: int
    items: tuple[Item, ...]

    def item(self, name: str) -> Item | None:
        return next((i for i in self.items if i.target == name), None)


@dataclass(frozen=True)
class Fading:
    """A state that is kept as a multiple: `before`, times `decay`, and `rest` (see `faded`)."""

    state: str
    role: str | None
    """The index besides time that the decay has."""
    decay: ir.Expression
    before: ir.Read
    rest: tuple[ir.Expression, ...]
    direction: int

    @property
    def scale(self) -> str:
        return f"{self.state}°D"

    @property
    def inverse(self) -> str:
        return f"{self.state}°R"

    def at(self, name: str, read: ir.Read, tile: Tile) -> ir.Read:
        """The scale, or its inverse, of what is read of the state."""
        left = tile.item(self.state).left
        places = [read.places[left.index(TIME)]]
        return ir.Read(name, (*places, *([ir.Affine.of(self.role)] if self.role else ())))


@dataclass(frozen=True)
class Meeting:
    """A sum of both sweeps' states: `other`, times the running sum of `terms`, divided by the decay."""

    item: Item
    ahead: Fading
    """Of the first sweep's state; its decay is the one that is meant."""
    back: Fading
    other: ir.Expression
    terms: tuple[tuple[ir.Expression, str], ...]
    """What is added at each step of the second sweep: sums of either state, after their factors."""


@dataclass(frozen=True)
class Tile:
    """One kernel. The second of two sweeps goes back, and reads what the first one computes."""

    ranges: dict[str, Range]
    row: str
    vec: str
    outer: tuple[str, ...]
    coupled: bool
    """Whether a step adds up over the rows, so that a tile has all of them."""
    sweeps: tuple[Sweep, ...]
    finals: tuple[Item, ...]
    """What is read of the last step of the last sweep: the adjoint of a start."""
    starts: dict[str, ir.Expression]
    """The states before their first step, where they are not 0."""
    fadings: tuple[Fading, ...] = ()
    meetings: tuple[Meeting, ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """Those of all sweeps."""
        return tuple(i for sweep in self.sweeps for i in sweep.items)

    @property
    def outputs(self) -> tuple[str, ...]:
        own = [i for i in self.items if i.kind in ("sum", "low")]
        return tuple(i.target for i in (*own, *self.finals))

    @property
    def whole(self) -> frozenset[str]:
        """The outputs whose every element is written, by one tile of columns."""
        apart = {TIME, self.vec, *self.outer}
        own = (i for i in self.items if i.kind in ("sum", "low"))
        return frozenset(i.target for i in own if apart <= set(i.left))

    @property
    def reads(self) -> set[str]:
        """The tensors that it reads, its own among them."""
        bodies = [body for i in self.items for body in (i.body, i.scale)]
        bodies += [*self.starts.values(), *(i.body for i in self.finals)]
        bodies += [fading.decay for fading in self.fadings]
        return {read.tensor for body in bodies for read in body.every(ir.Read)}

    def item(self, name: str) -> Item:
        return next(i for i in (*self.items, *self.finals) if i.target == name)


def places_of(node: ir.Expression) -> set[str]:
    """The indices that a node names itself."""
    if isinstance(node, ir.Read):
        return {n for p in node.places if isinstance(p, ir.Affine) for n, _ in p.terms}
    return {n for n, _ in node.place.terms} if isinstance(node, ir.IndexValue) else set()


def faded(tile: Tile) -> Tile:
    """The same tile, where every state that can be is kept as a multiple of itself."""
    found = {f.state: f for sweep in tile.sweeps for f in _fadings(tile, sweep)}
    if not found:
        return tile

    def change(node: ir.Read) -> ir.Expression:
        own = found.get(node.tensor)
        return node if own is None else times(own.at(own.scale, node, tile), node)

    def changed(item: Item) -> Item:
        own = found.get(item.target)
        if own is None:
            return replace(item, body=with_reads(item.body, change))
        inverse = own.at(own.inverse, now(tile, own), tile)
        rest = (times(inverse, with_reads(term, change)) for term in own.rest)
        return replace(item, body=plus(own.before, *rest))

    sweeps = tuple(replace(s, items=tuple(map(changed, s.items))) for s in tile.sweeps)
    finals = tuple(map(changed, tile.finals))
    return replace(
        tile, sweeps=sweeps, finals=finals, fadings=tuple(found.values()),
        meetings=_meetings(tile, found),
    )  # fmt: skip


def _fadings(tile: Tile, sweep: Sweep) -> Iterator[Fading]:
    computed = {item.target for item in tile.items}
    for item in sweep.items:
        terms = flat("+", (item.body,))
        own = [term for term in terms if item.target in term.tensors()]
        if item.kind != "state" or len(own) != 1 or len(terms) < 2:
            continue
        sign, product = signed(own[0])
        factors = flat("*", (product,))
        before = [f for f in factors if isinstance(f, ir.Read) and f.tensor == item.target]
        decay = times(sign, *(f for f in factors if f not in before))
        if len(before) != 1 or _reads_before(sweep, item, before[0]) != 1:
            continue
        roles = {name for node in decay.walk() for name in places_of(node)}
        wide = {tile.row, tile.vec} & roles
        if len(wide) < 2 and numeral(decay) != 1 and decay.tensors().isdisjoint(computed):
            rest = tuple(term for term in terms if term is not own[0])
            yield Fading(
                item.target, next(iter(wide), None), decay, before[0], rest, sweep.direction
            )


def _reads_before(sweep: Sweep, item: Item, before: ir.Read) -> int:
    """How often a step reads what the state was: more than the state itself may not."""
    reads = (read for other in sweep.items for read in other.body.every(ir.Read))
    return sum(read.tensor == item.target and read.places == before.places for read in reads)


def _meetings(tile: Tile, fadings: dict[str, Fading]) -> tuple[Meeting, ...]:
    """The sums in which the sweeps meet, if all of them follow from others."""
    if tile.coupled or len(tile.sweeps) < 2:
        return ()
    first, second = tile.sweeps
    meet = [i for i in second.items if any(map(first.item, i.body.tensors()))]
    found = [_meeting(tile, item, fadings) for item in meet]
    return tuple(m for m in found if m is not None) if None not in found else ()


def _meeting(tile: Tile, item: Item, fadings: dict[str, Fading]) -> Meeting | None:
    one, two, other = None, None, []
    for factor in flat("*", (item.body,)):
        own = fadings.get(factor.tensor) if isinstance(factor, ir.Read) else None
        if own is None or not isinstance(factor, ir.Read):
            other.append(factor)
        elif own.direction == tile.sweeps[0].direction and factor == own.before:
            one = own
        elif own.direction == tile.sweeps[1].direction and factor == now(tile, own):
            two = own
    if one is None or two is None or item.kind != "sum" or not _by_columns(tile, other):
        return None
    later = {TIME: ir.Affine.of(TIME, one.direction)}
    if two.decay != moved(one.decay, later) or two.state in tile.starts:
        return None
    if one.role == tile.row or tile.row in item.left or TIME not in item.left:
        return None
    terms = [_as_sum(tile, one, term) for term in two.rest]
    terms += [_as_sum(tile, two, times(ir.Constant(-1.0), term)) for term in one.rest]
    known = tuple(term for term in terms if term is not None)
    return Meeting(item, one, two, times(*other), known) if len(known) == len(terms) else None


def written_out(code: ir.Code, tile: Tile) -> ir.Code:
    """The program in which what a forward tile computes is said by the equations that it computes it by."""
    (sweep,) = tile.sweeps
    wide = next(item for item in tile.items if item.kind == "state")
    names = map(ir.index_at, code.of(wide.target)[-1].left)
    index = {
        role: ir.Index(name or role, *tile.ranges[role])
        for role, name in zip(wide.left, names, strict=True)
    }
    here = {role: ir.Affine.of(own) for role, own in index.items()}
    tensors, made = dict(code.tensors), list[ir.Statement]()
    instead: dict[str, tuple[str, tuple[ir.Affine, ...]]] = {}
    """What is called by another name, and the places of outer loops that it has besides."""

    def said(body: ir.Expression) -> ir.Expression:
        def change(read: ir.Read) -> ir.Expression:
            name, more = instead.get(read.tensor, (read.tensor, ()))
            known = replace(read, tensor=name, places=(*read.places[:1], *more, *read.places[1:]))
            return ir.Apply("/", (ONE, known)) if read.tensor in inverses else known

        return moved(with_reads(body, change), here)

    def define(name: str, left: Sequence[str], body: ir.Expression) -> None:
        own = tuple(index[role] for role in left)
        tensors[name] = ir.Tensor(
            name, tuple(ir.Axis(i.name, i.lower, i.extent) for i in own), "defined"
        )
        made.append(ir.Statement(name, tuple(map(ir.Affine.of, own)), own, body))

    def begin(name: str, left: Sequence[str], body: ir.Expression) -> None:
        own = tuple(index[role] for role in left if role != TIME)
        time = index[TIME]
        at = time.lower - 1 if sweep.direction > 0 else time.upper + 1
        places = tuple(ir.Affine((), at) if role == TIME else here[role] for role in left)
        made.append(ir.Statement(name, places, own, body))

    inverses = {own.inverse for own in tile.fadings}
    for own in tile.fadings:
        decay, kept = (derived_name(tensors, own.state, mark) for mark in ("decay", "kept"))
        met = {role for node in own.decay.walk() for role in places_of(node)}
        outer = tuple(role for role in tile.outer if role in met)
        more = tuple(map(ir.Affine.of, outer))
        instead |= dict.fromkeys((own.scale, own.inverse), (decay, more))
        instead[own.state] = kept, ()
        left = (TIME, *outer, *([own.role] if own.role else ()))
        define(decay, left, times(said(own.decay), said(own.at(own.scale, own.before, tile))))
        begin(decay, left, ONE)
        factors = said(own.at(own.scale, now(tile, own), tile)), said(now(tile, own))
        define(own.state, tile.item(own.state).left, times(*factors))
    for item in sweep.items:
        summed = tuple(index[role] for role in tile.ranges if role not in item.left)
        body = said(item.body)
        if item.kind == "sum":
            body = times(said(item.scale), ir.Reduce("sum", summed, None, body))
        name, _ = instead.get(item.target, (item.target, False))
        define(name, item.left, body)
        if item.target in tile.starts:
            begin(name, item.left, said(tile.starts[item.target]))
    gone = {item.target for item in sweep.items}
    kept_as_is = tuple(s for s in code.statements if s.target not in gone)
    return replace(code, tensors=tensors, statements=(*kept_as_is, *made))


def now(tile: Tile, own: Fading) -> ir.Read:
    """The state at the step itself."""
    return ir.Read(own.state, tuple(ir.Affine.of(role) for role in tile.item(own.state).left))


def _by_columns(tile: Tile, factors: Sequence[ir.Expression]) -> bool:
    """Whether some factors are given, and the same for all rows."""
    computed = {item.target for item in tile.items}
    return all(
        factor.tensors().isdisjoint(computed)
        and not any(tile.row in places_of(node) for node in factor.walk())
        for factor in factors
    )


def _as_sum(tile: Tile, own: Fading, term: ir.Expression) -> tuple[ir.Expression, str] | None:
    """A term times a state, over the rows: a sum that the tile has, and what it is multiplied with."""
    sign, product = signed(term)
    for item in tile.items:
        rest = [sign, *flat("*", (product,)), now(tile, own)]
        summed = flat("*", (item.body,))
        columns = item.kind == "sum" and {TIME, tile.vec} <= set(item.left)
        if not columns or tile.row in item.left:
            continue
        for factor in summed:
            if factor not in rest:
                break
            rest.remove(factor)
        else:
            if _by_columns(tile, rest):
                return times(*rest), item.target
    return None
