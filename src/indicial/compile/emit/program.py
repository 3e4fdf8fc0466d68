"""A plan → blocks of assignments and loops, one block for each equation.

Run(h[t,j] = …)             h = torch.tanh(…)
Loop(t, …)                  for t in range(T):
  Run(h[t,j] = …)               h[t] = torch.tanh(F.linear(h[t - 1], W) + x[:, t])
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from indicial.compile.emit.calls import call
from indicial.compile.emit.elementwise import singular
from indicial.compile.emit.expressions import Evaluator
from indicial.compile.emit.graph import ATOM, COMPARE, INT, NUMBER, Graph, Node, Scope
from indicial.compile.emit.left import covered, separated, shaped
from indicial.compile.emit.lift import MEMBER
from indicial.compile.emit.loops import Fixed, Walks, fixings
from indicial.compile.emit.names import Names
from indicial.compile.emit.numbers import number
from indicial.compile.emit.operations import ALL, Item, Torch
from indicial.compile.emit.patterns.convolution import CONVOLUTION, Convolution
from indicial.compile.emit.patterns.pattern import Finding, Missed
from indicial.compile.emit.picks import choose
from indicial.compile.emit.printing import Assign, Block, Comment, Line
from indicial.compile.emit.ragged import Ragged, at_letters, with_starts
from indicial.compile.emit.reads import Array, Bounds, read
from indicial.compile.emit.sizes import SizeTexts, Variable
from indicial.compile.emit.storage import Definition, Store, Walk, hull, merge
from indicial.compile.emit.tensors import Tensors
from indicial.compile.emit.values import Environment, Value, aligned
from indicial.compile.schedule.plan import Call, Loop, Plan, Run, Step
from indicial.notation.source import NOWHERE
from indicial.program.ir import Affine, Code, Flat, Index, Read, Statement
from indicial.program.meaning.arrays import BATCH
from indicial.program.show import show_statement
from indicial.program.sizes import Size


@dataclass
class Test:
    """An open block `if …:`, and what is put back when it closes."""

    nodes: list[Node]
    outer: Block
    variables: dict[str, Variable]
    made: list[tuple[Store, Walk]]


class Emission:
    """Emits the statements of one program."""

    def __init__(
        self,
        code: Code,
        plan: Plan,
        want: Sequence[str],
        names: Names,
        sizes: dict[str, str],
        ragged: Collection[str] = (),
    ) -> None:
        code, plan, starts = with_starts(code, plan, ragged)
        self.code = code
        self.plan = plan
        self.names = names
        self.graph = Graph()
        self.sizes = SizeTexts(self.graph, sizes)
        self.torch = Torch(self.graph, self.sizes)
        self.lengths = {name: names.new(f"{sizes[name]}_own") for name in ragged}
        self.ragged = Ragged(self.torch, *self._told(code))
        self.tensors = Tensors(code, self.graph, self.torch, names, self.ragged, starts)
        self.evaluator = Evaluator(
            self.torch,
            self.ragged,
            self.tensors.read,
            _usual(code),
            self.tensors.vanishes,
            self.convolves,
        )
        self.block = Block(self.graph.root)
        self.loops: list[Loop] = []
        self.test: Test | None = None
        self.walks = Walks(code, plan.steps, want)
        targets = dict.fromkeys(s.target for s in code.statements)
        self.identifiers = {name: names.new(name) for name in targets}
        self.said = ""
        self.target = ""
        self.convolutions = True
        self.findings: list[Finding] = []
        self.functions: dict[str, Callable[..., object]] = {}
        for name, loops in self.walks.loops.items():
            self.tensors.store(name).walk = Walk(loops[0], loops[0].axes[name])

    def convolves(self, found: object) -> bool:
        """Whether a convolution is to be one; what was found is kept to be told."""
        if not self.convolutions:
            return False
        call, reason = "", ""
        if isinstance(found, Missed):
            reason = found.reason
        elif isinstance(found, Convolution):
            call = f"conv{len(found.windows)}d"
        self.findings.append(Finding(CONVOLUTION, call, self.target, reason))
        return not reason

    def _told(self, code: Code) -> tuple[str, dict[str, Node]]:
        """The index of the batch, and the lengths of its members."""
        member = MEMBER
        for tensor in code.tensors.values():
            for axis in tensor.axes:
                if axis.letter == BATCH:
                    member = Index(BATCH, axis.lower, axis.extent)
        nodes = {
            name: self.graph.name(text, [member.extent], INT) for name, text in self.lengths.items()
        }
        return member.name, nodes

    def emit(self) -> Block:
        self.steps(self.plan.steps)
        return self.block

    def steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, Run):
                self.run(
                    separated(step.statement),
                    self.code.of(step.statement.target).index(step.statement),
                )
            elif isinstance(step, Call):
                call(self, step)
            else:
                self.close_test()
                self.loop(step)
        self.close_test()

    def result(self, name: str) -> Node:
        """A wanted tensor, in its own ranges."""
        axes = self.code.tensors[name].axes
        names = [
            a.letter if a.letter == self.ragged.member else f"axis·{n}" for n, a in enumerate(axes)
        ]
        places = tuple(map(Affine.of, names))
        env = Environment().bind(
            Index(n, a.lower, at_letters(a.extent, axes, places))
            for n, a in zip(names, axes, strict=True)
        )
        value = self.tensors.read(Read(name, places), env)
        zero = self.graph.literal(-1 if value.node.kind == INT else 0)
        for n in names:
            mask = self.ragged.within(env.own[n], env)
            if mask is not None:
                value = choose(self.torch, mask, value, zero, env)
        return aligned(self.torch, value, names)

    # ---- statements ----

    def run(self, statement: Statement, order: int) -> None:
        name = self.target = statement.target
        fixed = fixings(statement, self.loops)
        store = self.current(name, len(fixed))
        merging = bool(fixed) and self.conflicts(statement, store)
        tests = self.tests(fixed)
        if merging:
            self.close_test()
        else:
            self.open_test(tests, fixed)
        self.say(statement)
        places = {f.index: f.place for f in fixed if f.index}
        env = Environment(fixed=places)
        inside = {
            i.name: Index(i.name, env.size(i.lower), env.size(i.extent)) for i in statement.indices
        }
        env = replace(env, own=inside).bind(i for i in statement.indices if i.name not in places)
        definition = self.define(statement, order, store, env)
        self.keep(statement, store, definition, fixed, tests, merging)

    def keep(
        self,
        statement: Statement,
        store: Store,
        definition: Definition,
        fixed: Sequence[Fixed],
        tests: Sequence[Node],
        merging: bool,
    ) -> None:
        """A definition goes where reads look for it."""
        single = self.single(statement, store)
        if merging:
            self.merge_step(store, replace(definition, test=self.both(tests, definition.test)))
        elif fixed and store.walk is None:
            self.step(store, definition)
        elif single is not None and definition.mask is None and definition.test is None:
            self.enter(store, single, definition)
        else:
            self.assign(store, definition)

    def say(self, statement: Statement) -> None:
        """The equation, once for all statements that it was taken apart into."""
        text = statement.span.text if statement.span is not NOWHERE else show_statement(statement)
        if text != self.said:
            self.block.items.append(Comment(text))
        self.said = text

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
        places: list[Affine | Flat] = []
        for axis in store.axes:
            place = env.place(statement.left[axis])
            assert isinstance(place, Affine | Flat)
            places.append(place)
        array = shaped(self.torch, self.owned(statement, value, env), places, env)
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

    def assign(self, store: Store, definition: Definition) -> None:
        """A definition outside all loops."""
        name = self.identifiers[store.target]
        if len(self.code.of(store.target)) > 1:
            name = self.names.new(name)
        store.add(definition)
        self.block.items.append(Assign(name, definition.array.node, tensor=store.target))

    # ---- conditions on the variables of loops ----

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
        return self.graph.make(
            f"{{}} {sign} {{}}", variable.node, self.sizes.node(size), kind=NUMBER, level=COMPARE,
            needs=(COMPARE + 1, COMPARE + 1), plain=True,
        )  # fmt: skip

    def both(self, tests: Sequence[Node], test: Node | None) -> Node | None:
        every = [*tests, *([test] if test is not None else [])]
        return number(self.graph, "and", every) if every else None

    def open_test(self, tests: list[Node], fixed: Sequence[Fixed]) -> None:
        """Statements that run at the same values share a block."""
        if self.test is not None and self.test.nodes == tests:
            return
        self.close_test()
        if not tests:
            return
        gaps = " and ".join("{}" for _ in tests)
        inner = Block(Scope(self.block.scope), Line(f"if {gaps}:", tuple(tests)))
        self.test = Test(tests, self.block, dict(self.sizes.variables), [])
        self.block.items += [Line(""), inner]
        self.block, self.tensors.scope = inner, inner.scope
        for f in fixed:
            variable = self.sizes.variables[f.loop.variable]
            low = f.low if self.sizes.certain(f.low - variable.lower) else variable.lower
            high = f.high if self.sizes.certain(variable.upper - f.high) else variable.upper
            # What is certain in here need not be so outside, where it must not be computed.
            node = self.graph.name(variable.node.template, (), NUMBER, inner.scope)
            moved = Variable(variable.name, low, high - low + 1, node)
            self.sizes.variables[f.loop.variable] = moved

    def close_test(self) -> None:
        """From here on, what was made in the block may be missing."""
        test, self.test = self.test, None
        if test is None:
            return
        self.block, self.tensors.scope = test.outer, test.outer.scope
        self.sizes.variables.update(test.variables)
        for store, walk in test.made:
            key = walk.key(store.target)
            store.definitions = [
                Definition(d.order, Array(self.maybe(store, walk, key, d.array), d.array.bounds))
                for d in store.definitions
            ]
            store.merged = None

    def maybe(self, store: Store, walk: Walk, key: Size, array: Array) -> Node:
        """An entry that need not be there."""
        zeros = self.torch.zeros(array.node.shape, array.node.kind)
        arguments = self.tensors.entries(walk), self.sizes.node(key), zeros
        return self.graph.make(
            "{}.get({}, {})", *arguments, shape=zeros.shape, kind=zeros.kind, needs=(ATOM, 0, 0)
        )

    # ---- steps ----

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

    def conflicts(self, statement: Statement, store: Store) -> bool:
        """Whether another statement defines elements of the same step."""
        name, loop = store.target, self.loops[-1]
        if store.walk is not None or name not in loop.axes:
            return False
        outer = self.parent(store)
        assert outer.walk is not None
        if outer.definitions or statement.guard is not None:
            return True
        keys = self.walks.keys(loop, name)
        if len(keys) > 1:
            return True
        low, high = keys[0]
        return not all(
            self.sizes.certain(low - 1 - key) or self.sizes.certain(key - 1 - high)
            for key in outer.walk.singles
        )

    def step(self, store: Store, definition: Definition) -> None:
        """The only definition of the current step."""
        store.add(definition)
        walk = self.parent(store).walk
        assert walk is not None
        walk.bounds = definition.array.bounds
        self.put(store, walk, definition.array.node)
        if self.test is not None:
            self.test.made.append((store, walk))

    def put(self, store: Store, walk: Walk, node: Node) -> None:
        if not walk.entries:
            self.block.items.append(
                Assign(self.identifiers[store.target], node, tensor=store.target)
            )
            return
        key = self.sizes.node(walk.key(store.target))
        self.block.items.append(Assign(f"{walk.entries}[{{}}]", node, key, store.target))

    def merge_step(self, store: Store, definition: Definition) -> None:
        """One of several definitions of the current step; the last to come puts them together."""
        name, loop = store.target, self.loops[-1]
        outer = self.parent(store)
        walk = outer.walk
        assert walk is not None
        if not store.definitions:
            self.outside(outer, walk, store)
        store.add(definition)
        inside = sum(s.target == name for s in loop.statements())
        done = sum(d.order in self.orders(loop, name) for d in store.definitions)
        if done < inside:
            self.block.items.append(
                Assign(self.names.new(name), definition.array.node, tensor=name)
            )
            return
        array = self.tensors.whole(store)
        walk.bounds = array.bounds
        self.put(store, walk, array.node)

    def orders(self, loop: Loop, name: str) -> set[int]:
        inside = {id(s) for s in loop.statements()}
        return {n for n, s in enumerate(self.code.of(name)) if id(s) in inside}

    def outside(self, outer: Store, walk: Walk, store: Store) -> None:
        """What statements outside the loop say about the current step."""
        key = walk.key(store.target)
        variable = self.sizes.variables[walk.loop.variable]
        for single, bounds in walk.singles.items():
            at = single + walk.loop.offsets.get(store.target, 0)
            array = self.tensors.entry(outer, walk, single)
            test = self.compare(variable, "==", at)
            store.add(Definition(walk.orders[single], Array(array.node, bounds), None, test))
        axis = outer.axes.index(walk.axis)
        for definition in outer.definitions:
            low, extent = definition.array.bounds[axis]
            pieces = [self.slice(definition.array.node, definition.array, axis, key)]
            if definition.mask is not None:
                pieces.append(self.slice(definition.mask, definition.array, axis, key))
            bounds = tuple(b for n, b in enumerate(definition.array.bounds) if n != axis)
            shift = walk.loop.offsets.get(store.target, 0)
            tests = []
            if not self.sizes.certain(variable.lower - low - shift):
                tests.append(self.compare(variable, ">=", low + shift))
            if not self.sizes.certain(low + shift + extent - 1 - variable.upper):
                tests.append(self.compare(variable, "<", low + shift + extent))
            mask = pieces[1] if len(pieces) > 1 else None
            both = self.both(tests, definition.test)
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
        if isinstance(place, Affine) and not place.terms:
            return place.offset
        return None

    def enter(self, store: Store, key: Size, definition: Definition) -> None:
        """A definition outside the loop becomes an entry."""
        walk = store.walk
        assert walk is not None
        self.open_entries([store])
        axis = store.axes.index(walk.axis)
        array = definition.array
        items: list[Item] = [ALL] * array.node.rank
        items[axis] = self.graph.literal(0)
        node = self.torch.index(array.node, items)
        walk.singles[key] = tuple(b for n, b in enumerate(array.bounds) if n != axis)
        walk.orders[key] = definition.order
        self.block.items.append(
            Assign(f"{walk.entries}[{{}}]", node, self.sizes.node(key), store.target)
        )

    def open_entries(self, stores: Sequence[Store]) -> None:
        """A dict of steps for each of these, if it has none yet."""
        new = []
        for store in stores:
            walk = store.walk
            assert walk is not None
            if not walk.begun:
                name = self.identifiers[store.target]
                nested = len(store.axes) < len(self.code.tensors[store.target].axes)
                walk.entries = self.names.new(f"{name}_{walk.loop.letter}") if nested else name
                walk.begun = True
                new.append(walk.entries)
        for first in range(0, len(new), 6):
            some = new[first : first + 6]
            dicts = ", ".join("{}" for _ in some)
            self.block.items.append(Line(f"{', '.join(some)} = {dicts}"))

    def before(self, store: Store, walk: Walk) -> None:
        """Zeros for the steps outside that the loop itself reads."""
        assert walk.span is not None
        first, last = walk.span
        before, behind = self.walks.reach(store, walk)
        keys = [first - n - 1 for n in range(before)] + [last + n + 1 for n in range(behind)]
        missing = [key for key in keys if key not in walk.singles]
        bounds = self.steady(store, walk)
        if missing and bounds is None:
            before = behind = 0
        for key in missing if bounds is not None else ():
            assert bounds is not None
            zeros = self.torch.zeros([e for _, e in bounds], self.tensors.kind(store.target))
            if store.definitions:
                array = merge(self.torch, store.definitions)
                zeros = self.slice(array.node, array, store.axes.index(walk.axis), key)
            self.block.items.append(
                Assign(f"{walk.entries}[{{}}]", zeros, self.sizes.node(key), store.target)
            )
        walk.first, walk.last = first - before, last + behind
        while walk.first - 1 in walk.singles:
            walk.first = walk.first - 1
        while walk.last + 1 in walk.singles:
            walk.last = walk.last + 1

    def steady(self, store: Store, walk: Walk) -> tuple[Bounds, ...] | None:
        """The ranges of the other axes, if they are the same at all steps."""
        axes = self.code.tensors[store.target].axes
        bounds = [(axes[a].lower, axes[a].extent) for a in store.axes if a != walk.axis]
        atoms = {atom for pair in bounds for size in pair for atom in size.atoms}
        if any(not isinstance(atom, str) and atom.index for atom in atoms):
            return None
        return tuple(bounds)

    # ---- loops ----

    def loop(self, loop: Loop) -> None:
        name = self.names.new(loop.letter)
        scope = Scope(self.block.scope)
        node = self.graph.name(name, (), NUMBER, scope)
        variable = Variable(loop.variable, loop.lower, loop.extent, node)
        self.sizes.variables[loop.variable] = variable
        stores = self.walked(loop)
        outer = self.block
        self.block = Block(scope, self.header(loop, name))
        self.loops.append(loop)
        self.tensors.scope, self.said = scope, ""
        self.steps(loop.steps)
        self.finish(stores)
        self.loops.pop()
        outer.items += [Line(""), self.block, Line("")]
        self.block, self.tensors.scope, self.said = outer, outer.scope, ""
        for store in stores:
            assert store.walk is not None
            store.walk.current = None
            store.merged = None

    def header(self, loop: Loop, name: str) -> Line:
        ends = [self.sizes.node(loop.lower + loop.extent)]
        if loop.lower.number != 0:
            ends.insert(0, self.sizes.node(loop.lower))
        text = f"range({', '.join('{}' for _ in ends)})"
        if loop.direction < 0:
            text = f"reversed({text})"
        return Line(f"for {name} in {text}:", tuple(ends))

    def walked(self, loop: Loop) -> list[Store]:
        """The tensors that the loop walks along, with a first step to come."""
        stores = []
        for name in dict.fromkeys(s.target for s in loop.statements()):
            store = self.tensors.store(name)
            while store.walk is not None and store.walk.current is not None:
                store = store.walk.current
            if store.walk is None or store.walk.loop is not loop:
                store.walk = Walk(loop, loop.axes[name])
            stores.append(store)
            keys = self.walks.keys(loop, name)
            boxes = [((low, high - low + 1),) for low, high in keys]
            ((first, extent),) = hull(self.torch, boxes)
            store.walk.span = first, first + extent - 1
        kept = [s for s in stores if not self.walks.local(s.target, loop)]
        self.open_entries(kept)
        for store in stores:
            walk = store.walk
            assert walk is not None
            if store in kept:
                self.before(store, walk)
            walk.begun = True
            walk.current = Store(store.target, tuple(a for a in store.axes if a != walk.axis))
        return stores

    def finish(self, stores: Sequence[Store]) -> None:
        """At the end of a step: what was walked inside it becomes an entry."""
        for store in stores:
            walk = store.walk
            assert walk is not None and walk.current is not None
            if walk.current.walk is not None and walk.entries:
                array = self.tensors.whole(walk.current)
                walk.bounds = array.bounds
                self.put(walk.current, walk, array.node)


def _usual(code: Code) -> dict[str, int]:
    """How large the sizes are taken to be when two ways to multiply are compared."""
    known = {name: value for name, value in code.sizes.items() if value is not None}
    vocabularies = {
        name: 10000
        for tensor in code.tensors.values()
        if tensor.values is not None and tensor.role == "input"
        for name in tensor.values.names
    }
    return vocabularies | known
