"""A recurrence whose state is a matrix → kernels that keep a tile of the state in registers.

    S[t,i,j] = g[t,i] S[t-1,i,j] + k[t,i] v[t,j]        each (i,j) goes its own way through time
    y[t,j]   = Σ_i q[t,i] S[t,i,j]                      and only sums of it are read

    for each tile of (i, j):  for each t:  S, and what the tile adds to y

So the state is in memory for no step: not even for the gradient, where S̄ runs back through time and
meets S, which is computed again, some steps at a time, from checkpoints. Where the steps couple one
index (`Σ_i k[t,i] S[t-1,i,j]`), a tile has all of its values, and lies in the cache.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from indicial.compile.native.reading.tile import TIME, Item, Range, Sweep, Tile, places_of
from indicial.compile.passes.algebra import ONE, flat, times
from indicial.compile.passes.forms import Pointwise, Product, form
from indicial.compile.passes.scan import Unsupported
from indicial.compile.passes.simplify import is_function
from indicial.compile.schedule.schedule import Loop, Plan
from indicial.program import ir
from indicial.program.moving import moved
from indicial.program.rewrite import reached, tensors_read, with_reads


@dataclass(frozen=True)
class Tiling:
    """A whole program: what is computed before, the kernels of its tiles, and what is computed after."""

    code: ir.Code
    """The program, in which a sum that says the same as another reads that."""
    before: tuple[ir.Statement, ...]
    tiles: tuple[Tile, ...]
    after: tuple[ir.Statement, ...]


def wide_states(code: ir.Code, loop: Loop, fixed: int = 0) -> list[str]:
    """The tensors of a loop that are matrices at each step, besides what outer loops fix."""
    if any(isinstance(step, Loop) for step in loop.steps):
        return []
    ranks = {name: len(code.tensors[name].axes) - 1 - fixed for name in loop.axes}
    most = max(ranks.values())
    return [name for name, rank in ranks.items() if rank == most] if most >= 2 else []


def tiling(code: ir.Code, plan: Plan, want: Collection[str]) -> Tiling:
    """The kernels of a program in normal form; `Unsupported` where it is not of this kind."""
    return _Analysis(code, plan, want).tiling()


@dataclass
class _Analysis:
    code: ir.Code
    plan: Plan
    want: Collection[str]
    ranges: dict[str, Range] = field(default_factory=dict)
    roles: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of the tensors that tiles compute: the common name of the index at each axis."""
    items: dict[str, Item] = field(default_factory=dict)
    inside: dict[str, int] = field(default_factory=dict)
    """Of those that a loop computes: its direction."""
    temporaries: dict[str, Item] = field(default_factory=dict)
    before: list[ir.Statement] = field(default_factory=list)
    after: list[ir.Statement] = field(default_factory=list)
    starts: dict[str, ir.Expression] = field(default_factory=dict)
    finals: list[Item] = field(default_factory=list)

    def tiling(self) -> Tiling:
        self.find_states()
        late: set[str] = set()
        for step in self.plan.steps:
            loop = step if isinstance(step, Loop) else None
            for statement in step.statements():
                if self.add(statement, loop, late):
                    continue
                if loop is not None:
                    raise Unsupported(f"{statement.target} is not of the kind that tiles compute")
                depends = tensors_read([statement]) & (self.items.keys() | late)
                if depends:
                    late.add(statement.target)
                (self.after if depends else self.before).append(statement)
        wide = {n for n, i in self.items.items() if i.kind in ("state", "local")}
        if not (wide | self.temporaries.keys()).isdisjoint(self.want):
            raise Unsupported("the state itself is wanted, or what is as wide")
        for statement in [*self.after]:
            self.take_multiple(statement)
        return Tiling(self.code, tuple(self.before), tuple(self.tiles()), tuple(self.after))

    def find_states(self) -> None:
        for loop in self.plan.steps:
            if not isinstance(loop, Loop):
                continue
            for name in wide_states(self.code, loop):
                axes = self.code.tensors[name].axes
                walked = loop.axes[name]
                inner = [n for n in range(len(axes)) if n != walked]
                role = {walked: TIME, **{n: f"x{at}" for at, n in enumerate(inner)}}
                self.roles[name] = tuple(role[n] for n in range(len(axes)))
                for n, axis in enumerate(axes):
                    known = self.ranges.setdefault(role[n], axis.range)
                    if known != axis.range:
                        raise Unsupported("states of different sizes")
        if not self.roles:
            raise Unsupported("no state is a matrix")
        for name in [*self.roles]:
            for statement in self.code.of(name):
                self.find_factors(statement)

    def find_factors(self, statement: ir.Statement) -> None:
        """What a state's equation reads that has all indices too, and is computed in the tile."""
        roles = dict(
            zip((str(p) for p in statement.left), self.roles[statement.target], strict=True)
        )
        for node in statement.body.walk():
            if not isinstance(node, ir.Read) or node.tensor in self.roles:
                continue
            own = self.code.of(node.tensor)
            if len(own) != 1 or len(node.places) != len(self.ranges) or own[0].guard is not None:
                continue
            if not isinstance(form(own[0]), Pointwise):
                continue
            found = tuple(
                roles.get(place.shift[0], "")
                if isinstance(place, ir.Affine) and place.shift
                else ""
                for place in node.places
            )
            if set(found) == self.ranges.keys():
                self.roles[node.tensor] = found

    # ---- statements → items ----

    def add(self, statement: ir.Statement, loop: Loop | None, late: set[str]) -> bool:
        """Take a statement into a tile, if it belongs there."""
        name = statement.target
        read = tensors_read([statement])
        wide = {n for n in read if n in self.roles and self.is_wide(n)}
        if name in self.roles and loop is None and not self.walks(statement):
            return self.add_start(statement)
        if loop is None and not wide and name not in self.roles:
            return False
        if statement.guard is not None:
            raise Unsupported(f"{name} has a condition")
        found = form(statement)
        names = self.mapping(statement, found)
        if names is None or read & late:
            return False
        if isinstance(found, Product):
            if found.condition is not None:
                raise Unsupported(f"{name} is a sum with a condition")
            body, kind = times(*found.factors), "sum"
            scale = found.scale
        elif isinstance(found, Pointwise):
            body, kind, scale = found.body, "low", ONE
        else:
            raise Unsupported(f"{name} is neither a sum nor elementwise")
        places = {own: ir.Affine.of(common) for own, common in names.items()}
        body = self.inlined(moved(body, places))
        left = tuple(self.left(statement, names))
        if kind == "low" and len(left) == len(self.ranges):
            kind = "state" if loop is not None else "local"
        if kind == "low" and loop is None:
            return self.add_final(statement, left, body)
        item = Item(kind, name, left, body, scale)
        if kind == "sum" and loop is None and (other := self.equal(item)) is not None:
            copy = replace(statement, body=ir.Read(other.target, statement.left))
            every = (copy if s is statement else s for s in self.code.statements)
            self.code = replace(self.code, statements=tuple(every))
            self.after.append(copy)
            late.add(name)
            return True
        self.roles[name] = left
        if kind == "local" and not has_functions(body):
            self.temporaries[name] = item
            return True
        self.items[name] = item
        if loop is not None:
            self.inside[name] = loop.direction
        return True

    def take_multiple(self, statement: ir.Statement) -> None:
        """`k̄[t,i] = p[t] s[t,i]`, where nobody else reads the sum s: that sum, with a scale."""
        factors = flat("*", (statement.body,))
        own = [f for f in factors if isinstance(f, ir.Read) and f.tensor in self.items]
        sums = [f for f in own if f.places == statement.left and f.tensor not in self.want]
        if len(own) != 1 or own != sums or statement.guard is not None:
            return
        item, rest = self.items[sums[0].tensor], [f for f in factors if f is not sums[0]]
        bodies = [*(s.body for s in self.after), *(i.body for i in self.items.values())]
        readers = [body for body in bodies if item.target in body.tensors()]
        late = {s.target for s in self.after}.union(self.items)
        if len(readers) > 1 or item.kind != "sum" or TIME not in item.left:
            return
        if item.target in self.inside or any(f.tensors() & late or has_functions(f) for f in rest):
            return
        names = [ir.index_at(place) for place in statement.left]
        roles = {n: ir.Affine.of(r) for n, r in zip(names, item.left, strict=True) if n is not None}
        scale = times(item.scale, *(moved(f, roles) for f in rest))
        taken = replace(item, target=statement.target, scale=scale)
        every = (taken if i is item else i for i in self.items.values())
        self.items = {i.target: i for i in every}
        self.roles[taken.target] = item.left
        self.after.remove(statement)

    def equal(self, item: Item) -> Item | None:
        """A sum that is there already, and says the same."""
        own = (i for i in self.items.values() if i.kind == "sum" and i.left == item.left)
        return next((i for i in own if (i.body, i.scale) == (item.body, item.scale)), None)

    def walks(self, statement: ir.Statement) -> bool:
        """Whether a statement is of all steps, and not a start."""
        place = statement.left[self.roles[statement.target].index(TIME)]
        return isinstance(place, ir.Affine) and bool(place.terms)

    def is_wide(self, name: str) -> bool:
        return len(self.roles[name]) == len(self.ranges)

    def left(self, statement: ir.Statement, names: dict[str, str]) -> Iterator[str]:
        for place in statement.left:
            name = ir.index_at(place)
            if name is None:
                raise Unsupported(f"{statement.target} has arithmetic on its left side")
            yield names[name]

    def mapping(self, statement: ir.Statement, found: object) -> dict[str, str] | None:
        """The common names of a statement's indices; None where it has others besides."""
        names: dict[str, str] = {}
        pairs: list[tuple[Sequence[ir.Place], tuple[str, ...]]] = [
            (node.places, self.roles[node.tensor])
            for node in statement.body.every(ir.Read)
            if node.tensor in self.roles
        ]
        if statement.target in self.roles:
            pairs.append((statement.left, self.roles[statement.target]))
        for places, roles in pairs:
            for place, role in zip(places, roles, strict=True):
                if not isinstance(place, ir.Affine):
                    raise Unsupported("a state is read at a computed place")
                if not place.terms and role == TIME:
                    continue
                if place.shift is None or (role != TIME and place.shift[1] != 0):
                    raise Unsupported("a state is read at another element")
                if names.setdefault(place.shift[0], role) != role:
                    raise Unsupported("a state is read at exchanged places")
        own = [*statement.indices, *(found.indices if isinstance(found, Product) else ())]
        for index in own:
            known = self.ranges.get(names.get(index.name, ""))
            if known != index.range:
                return None
        return names if len(set(names.values())) == len(names) else None

    def inlined(self, body: ir.Expression) -> ir.Expression:
        """With the right side in the place of every temporary."""

        def change(node: ir.Read) -> ir.Expression:
            if node.tensor not in self.temporaries:
                return node
            item = self.temporaries[node.tensor]
            at = node.places[item.left.index(TIME)]
            assert isinstance(at, ir.Affine)
            return moved(item.body, {TIME: at})

        return with_reads(body, change)

    def add_start(self, statement: ir.Statement) -> bool:
        """`S[-1,i,j] = …`: what a state is before its first step, or after its last one."""
        name, roles = statement.target, self.roles[statement.target]
        axis = roles.index(TIME)
        at = ir.number_at(statement.left[axis])
        if at is None or statement.guard is not None:
            raise Unsupported(f"{name} is defined in two ways")
        others = [p for n, p in enumerate(statement.left) if n != axis]
        inner = [role for role in roles if role != TIME]
        places = {}
        for place, role in zip(others, inner, strict=True):
            own = ir.index_at(place)
            if own is None:
                raise Unsupported(f"{name} has arithmetic on its left side")
            places[own] = ir.Affine.of(role)
        if not statement.body.tensors().isdisjoint(self.roles):
            raise Unsupported(f"{name} begins with more than a value")
        lower, extent = self.ranges[TIME]
        if at not in (lower - 1, lower + extent):
            raise Unsupported(f"{name} begins at a step of its own")
        self.starts[f"{name}@{at}"] = moved(statement.body, places)
        return True

    def add_final(
        self, statement: ir.Statement, left: tuple[str, ...], body: ir.Expression
    ) -> bool:
        """`z̄[i,j] = … S̄[0,i,j] …`: what the states are in the end."""
        if TIME in left or any(TIME in places_of(node) for node in body.walk()):
            raise Unsupported(f"{statement.target} reads the state element by element")
        self.roles[statement.target] = left
        self.items[statement.target] = Item("final", statement.target, left, body)
        return True

    # ---- items → kernels ----

    def tiles(self) -> Iterator[Tile]:
        sums = [i for i in self.items.values() if i.kind == "sum"]
        inner = [name for name in self.ranges if name != TIME]
        coupled = {
            role
            for item in sums
            if item.target in self.inside
            for role in inner
            if role not in item.left
        }
        if len(coupled) > 1:
            raise Unsupported("a step couples two indices of the state")
        # What every sum leaves alone is as good as a member; of the rest two make the tile.
        ends = [i for i in self.items.values() if i.kind in ("sum", "final")]
        alone = [r for r in inner if r not in coupled and all(r in i.left for i in ends)]
        pair = [r for r in inner if r not in alone]
        pair = [*alone[len(alone) - max(0, 2 - len(pair)) :], *pair]
        pair = pair if len(pair) == 2 else [*coupled, *[r for r in pair if r not in coupled][-1:]]
        if len(pair) < 2:
            pair = inner[-2:]
        outer = tuple(r for r in inner if r not in pair)
        if coupled:
            (row,) = coupled
            (vec,) = (r for r in pair if r != row)
            # Given what the steps add up, the states are coupled no more: the other sums can follow.
            given = {n for n in self.inside if self.items[n].kind in ("sum", "low")}
            here = [i for i in ends if i.target in given or self.suits(i, vec, pair)]
            yield self.tile(row, vec, outer, True, [*here, *(self.items[n] for n in given)])
            if across := [i for i in ends if i not in here]:
                yield self.tile(vec, row, outer, False, across, given)
            return
        one, two = pair
        groups = {vec: [i for i in ends if not self.suits(i, other, pair)]
                  for vec, other in ((two, one), (one, two))}  # fmt: skip
        if not all(groups.values()):
            vec = next((vec for vec, some in groups.items() if some), two)
            yield self.tile(one if vec == two else two, vec, outer, False, ends)
            return
        for item in ends:
            if not any(item in some for some in groups.values()):
                min(
                    groups.values(), key=lambda some: self.cost([*some, item]) - self.cost(some)
                ).append(item)
        yield self.tile(one, two, outer, False, groups[two])
        yield self.tile(two, one, outer, False, groups[one])

    def cost(self, ends: Sequence[Item]) -> int:
        """How many tensors of all indices a kernel computes for some sums, those twice that it saves."""
        own = [self.items[n] for n in self.needed(ends, ())]
        wide = [i for i in own if i.kind in ("state", "local")]
        meet = any(len({self.direction(r) for r in self.read_by(i)} - {0}) > 1 for i in own)
        return len(wide) + meet * len([i for i in wide if self.direction(i) != self.later])

    def read_by(self, item: Item) -> list[Item]:
        read = item.body.tensors()
        return [self.items[name] for name in read if name in self.items]

    def suits(self, item: Item, vec: str, pair: Sequence[str]) -> bool:
        """Whether a sum leaves the vectors as they are; one over both indices suits any."""
        return vec in item.left or not any(role in item.left for role in pair)

    def tile(
        self,
        row: str,
        vec: str,
        outer: tuple[str, ...],
        coupled: bool,
        ends: Sequence[Item],
        given: Collection[str] = (),
    ) -> Tile:
        """The kernel of some sums; `given` are results of an earlier one."""
        needed = self.needed(ends, given)
        finals = tuple(i for i in ends if i.kind == "final")
        own = [i for i in self.items.values() if i.target in needed and i.kind != "final"]
        turns = {i.target: self.direction(i) for i in own}
        directions = {d for d in turns.values() if d}
        if not directions:
            raise Unsupported("nothing is walked")
        first = self.first_direction(own, turns, directions)
        sweeps = []
        for direction in (first, -first):
            items = tuple(i for i in own if (turns[i.target] or first) == direction)
            if items:
                sweeps.append(Sweep(direction, items))
        last = sweeps[-1].direction
        starts = {}
        lower, extent = self.ranges[TIME]
        for item in own:
            if item.kind == "state":
                before = lower - 1 if turns[item.target] > 0 else lower + extent
                behind = lower + extent if turns[item.target] > 0 else lower - 1
                if (start := self.starts.get(f"{item.target}@{before}")) is not None:
                    starts[item.target] = start
                if f"{item.target}@{behind}" in self.starts:
                    raise Unsupported(f"{item.target} goes on behind its last step")
        end = lower if last < 0 else lower + extent - 1
        for item in finals:
            for node in item.body.every(ir.Read):
                if node.tensor in self.items:
                    at = node.places[self.roles[node.tensor].index(TIME)]
                    if turns.get(node.tensor) != last or at != ir.Affine((), end):
                        raise Unsupported(f"{item.target} reads a state in the middle")
        return Tile(
            dict(self.ranges), row, vec, outer, coupled, tuple(sweeps), finals, starts
        )  # fmt: skip

    def needed(self, ends: Iterable[Item], given: Collection[str]) -> set[str]:
        inner = self.items.keys() - set(given)
        return reached(
            (i.target for i in ends), lambda name: self.items[name].body.tensors() & inner
        )

    def direction(self, item: Item) -> int:
        """The way that an item goes: its loop's, or that of the later sweep that it reads; 0: any."""
        if item.target in self.inside:
            return self.inside[item.target]
        read = {self.direction(other) for other in self.read_by(item)} - {0}
        if len(read) < 2:
            return next(iter(read), 0)
        return self.later

    @property
    def later(self) -> int:
        """The direction of the loops that read others, or of the last ones."""
        for name, direction in self.inside.items():
            read = self.items[name].body.tensors()
            if any(self.inside.get(other, direction) != direction for other in read):
                return direction
        return list(self.inside.values())[-1]

    def first_direction(
        self, own: Sequence[Item], turns: dict[str, int], directions: set[int]
    ) -> int:
        if len(directions) == 1:
            return next(iter(directions))
        first = -self.later
        for item in own:
            if (turns[item.target] or first) == first:
                read = item.body.tensors()
                if any(turns.get(other, first) not in (first, 0) for other in read):
                    raise Unsupported("two sweeps through time need each other")
        return first


def has_functions(expression: ir.Expression) -> bool:
    """Whether more than sums and products is computed."""
    return any(map(is_function, expression.walk()))
