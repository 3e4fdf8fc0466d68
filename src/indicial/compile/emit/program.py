"""A plan → blocks of assignments and loops, one block for each equation.

Run(h[t,j] = …)             h = torch.tanh(…)
Loop(t, …)                  for t in range(T):
  Run(h[t,j] = …)               h[t] = torch.tanh(F.linear(h[t - 1], W) + x[:, t])
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from indicial.compile.emit.calls import Finding
from indicial.compile.emit.expressions import Evaluator
from indicial.compile.emit.helpers import HELPERS
from indicial.compile.emit.nodes import FLOAT, INT, NUMBER, Graph, Identifiers, Listed, Node, Scope
from indicial.compile.emit.numbers import SizeTexts, Variable
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.printing import Assign, Block, Comment, Line
from indicial.compile.emit.ragged import Ragged, at_letters
from indicial.compile.emit.reads import Array, choose, separated
from indicial.compile.emit.steps import Conditions, Steps
from indicial.compile.emit.storage import Definition, Fixed, Store, Walks, at_this_step, fixings
from indicial.compile.emit.tensors import Tensors
from indicial.compile.emit.values import Environment, aligned
from indicial.compile.passes.batch import MEMBER, with_guarded_starts
from indicial.compile.schedule.schedule import Call, Loop, Piece, Plan, Run, Step
from indicial.notation.source import NOWHERE
from indicial.program.ir import Affine, Code, Index, Read, Statement
from indicial.program.meaning.arrays import BATCH
from indicial.program.show import show_statement
from indicial.program.sizes import Size


class Writing:
    """A text that is being written."""

    def __init__(
        self,
        code: Code,
        plan: Plan,
        want: Sequence[str],
        ragged: Collection[str],
        empty: Collection[str],
        zeros: Collection[str],
    ) -> None:
        self.code, self.plan, starts = with_guarded_starts(code, plan, ragged)
        self.want = list(dict.fromkeys(want))
        self.names = Identifiers(HELPERS)
        self.letters = {name: self.names.new(name) for name in code.sizes}
        if str(MEMBER.extent) not in self.letters:
            self.letters[str(MEMBER.extent)] = self.names.new("B")
        self.graph = Graph()
        self.sizes = SizeTexts(self.graph, self.letters, empty)
        self.torch = Torch(self.graph, self.sizes)
        self.lengths = {n: self.names.new(f"{self.letters[n]}_own") for n in sorted(ragged)}
        self.ragged = Ragged(self.torch, *self._told())
        self.tensors = Tensors(
            self.code, self.torch, self.names, self.ragged, starts, zeros, want, self.plan
        )
        self.walks = Walks(self.code, self.plan, want)
        targets = dict.fromkeys(s.target for s in self.code.statements)
        self.identifiers = {name: self.names.new(name) for name in targets}
        self.block = Block(self.graph.root)
        self.loops: list[Loop] = []
        self._said = ""

    def add(self, item: Assign | Line | Comment | Block) -> None:
        self.block.items.append(item)

    def stand(self, block: Block) -> None:
        """What comes next goes into this block."""
        self.block, self.tensors.scope, self._said = block, block.scope, ""

    def say(self, statement: Statement) -> None:
        """The equation, once for all statements that it was taken apart into."""
        text = statement.span.text if statement.span is not NOWHERE else show_statement(statement)
        if text != self._said:
            self.add(Comment(text))
        self._said = text

    def _told(self) -> tuple[str, dict[str, Node]]:
        """The index of the batch, and the lengths of its members."""
        member = MEMBER
        for tensor in self.code.tensors.values():
            for axis in tensor.axes:
                if axis.letter == BATCH:
                    member = Index(BATCH, axis.lower, axis.extent)
        nodes = {
            name: self.graph.name(text, [member.extent], INT) for name, text in self.lengths.items()
        }
        return member.name, nodes


class Emission:
    """Emits the statements of one program."""

    def __init__(self, writing: Writing, patterns: Collection[str]) -> None:
        self.writing = writing
        self.code = writing.code
        self.torch = writing.torch
        self.sizes = writing.sizes
        self.tensors = writing.tensors
        self.conditions = Conditions(writing)
        self.steps = Steps(writing, self.conditions)
        self.evaluator = Evaluator(self.tensors, _usual(self.code), self.tell)
        self.target = ""
        self.variables: dict[str, list[str]] = {}
        self.patterns = patterns
        self.findings: list[Finding] = []
        self.functions: dict[str, Callable[..., object]] = {}

    def tell(self, pattern: str, call: str, reason: str = "") -> bool:
        """Whether a call that was found is to be one; what was found, or why not, is kept to be told."""
        if pattern in self.patterns:
            self.findings.append(Finding(pattern, call, self.target, reason))
        return pattern in self.patterns and not reason

    def emit(self) -> Block:
        self.all(self.writing.plan.steps)
        return self.writing.block

    def all(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if isinstance(step, Run):
                order = self.code.of(step.statement.target).index(step.statement)
                self.run(separated(step.statement), order)
            elif isinstance(step, Call):
                self.call(step)
            else:
                self.conditions.close()
                self.loop(step)
        self.conditions.close()

    def call(self, step: Call) -> None:
        """A loop that a function runs: one line, `h, = scan([R_in, W_hR], [T, J], lengths)`.

        The function is no part of the text; `Source` hands it over.
        """
        self.open_test(step)
        for statement in step.loop.statements():
            self.writing.say(statement)
        function = self.writing.names.new("scan")
        self.functions[function] = step.function
        arguments = [self.argument(piece) for piece in step.arguments]
        sizes = [self.sizes.node(Size.of(name)) for name in step.names]
        names = {piece: self.writing.names.new(piece.tensor) for piece in step.results}
        graph = self.writing.graph
        found = graph.make(function, Listed(arguments), Listed(sizes), graph.number("lengths"))
        left = ", ".join(names.values()) + ("," if len(names) == 1 else "")
        self.writing.add(Line(f"{left} = ", found))
        for piece, name in names.items():
            self.called(step, piece, name)

    def open_test(self, step: Call) -> None:
        """The call runs when its statements do, if all of them do at the same time."""
        fixed = [fixings(statement, self.writing.loops) for statement in step.loop.statements()]
        tests = [self.conditions.tests(some) for some in fixed]
        if all(some == tests[0] for some in tests):
            self.conditions.open(tests[0], fixed[0])
        else:
            self.conditions.close()

    def argument(self, piece: Piece) -> Node:
        """A tensor, or a step of it, with all its other axes whole."""
        bounds = self.tensors.bounds(piece.tensor)
        names = self.axis_names(piece.tensor)
        indices = {n: Index(names[n], *bounds[n]) for n, p in enumerate(piece.places) if p is None}
        places = tuple(
            Affine.of(indices[n]) if place is None else _at_variables(place)
            for n, place in enumerate(piece.places)
        )
        env = Environment().bind(indices.values())
        value = self.tensors.read(Read(piece.tensor, places), env)
        return aligned(self.torch, value, [i.name for i in indices.values()])

    def called(self, step: Call, piece: Piece, name: str) -> None:
        """A result, where reads look for it."""
        code = self.code
        statement, *more = (s for s in step.loop.statements() if s.target == piece.tensor)
        fixed = fixings(statement, self.writing.loops)
        store = self.steps.current(piece.tensor, len(fixed))
        bounds = tuple(
            axis.range
            for axis, place in zip(code.tensors[piece.tensor].axes, piece.places, strict=True)
            if place is None
        )
        node = self.writing.graph.name(
            name, [e for _, e in bounds], FLOAT, self.writing.block.scope
        )
        order = code.of(piece.tensor).index(statement)
        merging = bool(fixed) and self.steps.conflicts(
            statement, store, more and [statement, *more]
        )
        definition = Definition(order, Array(node, bounds))
        self.keep(statement, store, definition, fixed, self.conditions.tests(fixed), merging)

    def axis_names(self, name: str) -> list[str]:
        """Indices for the axes of a tensor; that of members, between whom `T-1` differs, is theirs."""
        letters = [axis.letter for axis in self.code.tensors[name].axes]
        member = self.writing.ragged.member
        return [member if letter == member else f"axis·{n}" for n, letter in enumerate(letters)]

    def result(self, name: str) -> Node:
        """A wanted tensor, in its own ranges."""
        axes = self.code.tensors[name].axes
        names = self.axis_names(name)
        places = tuple(map(Affine.of, names))
        env = Environment().bind(
            Index(n, a.lower, at_letters(a.extent, axes, places))
            for n, a in zip(names, axes, strict=True)
        )
        value = self.tensors.read(Read(name, places), env)
        zero = self.writing.graph.literal(-1 if value.node.kind == INT else 0)
        for number, n in enumerate(names):
            mask = self.writing.ragged.within(env.own[n], env)
            if mask is not None and not self._ends(name, number):
                value = choose(self.torch, mask, value, zero, env)
        return aligned(self.torch, value, names)

    def _ends(self, name: str, axis: int) -> bool:
        """Whether a tensor is 0 beyond an axis, because what it is computed from is."""
        statements = self.code.of(name)
        if len(statements) != 1 or statements[0].guard is not None:
            return False
        (statement,) = statements
        place = statement.left[axis]
        index = next((i for i in statement.indices if place == Affine.of(i)), None)
        return index is not None and self.tensors.vanishes(statement.body, index)

    def run(self, statement: Statement, order: int) -> None:
        name = self.target = statement.target
        fixed = fixings(statement, self.writing.loops)
        store = self.steps.current(name, len(fixed))
        merging = bool(fixed) and self.steps.conflicts(statement, store)
        tests = self.conditions.tests(fixed)
        if merging:
            self.conditions.close()
        else:
            self.conditions.open(tests, fixed)
        self.writing.say(statement)
        places = {f.index: f.place for f in fixed if f.index}
        env = Environment(fixed=places)
        inside = {
            i.name: Index(i.name, env.size(i.lower), env.size(i.extent)) for i in statement.indices
        }
        env = replace(env, own=inside).bind(i for i in statement.indices if i.name not in places)
        definition = self.evaluator.define(at_this_step(statement, fixed), order, store, env)
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
        single = self.steps.single(statement, store)
        if merging:
            self.steps.merge_step(
                store, replace(definition, test=self.conditions.both(tests, definition.test))
            )
        elif fixed and store.walk is None:
            self.steps.step(store, definition)
        elif single is not None and definition.mask is None and definition.test is None:
            self.steps.enter(store, single, definition)
        else:
            self.assign(store, definition)

    def assign(self, store: Store, definition: Definition) -> None:
        """A definition outside all loops."""
        name = self.writing.identifiers[store.target]
        if len(self.code.of(store.target)) > 1:
            name = self.writing.names.new(name)
        store.add(definition)
        self.writing.add(Assign(name, definition.array.node, tensor=store.target))

    def loop(self, loop: Loop) -> None:
        name = self.variable(loop)
        outer = self.writing.block
        scope = Scope(outer.scope)
        node = self.writing.graph.name(name, (), NUMBER, scope)
        variable = Variable(loop.variable, loop.lower, loop.extent, node)
        self.sizes.variables[loop.variable] = variable
        stores = self.steps.walked(loop)
        block = Block(scope, self.header(loop, name))
        self.writing.loops.append(loop)
        self.writing.stand(block)
        self.steps.begin(stores)
        self.all(loop.steps)
        self.steps.finish(stores)
        self.writing.loops.pop()
        self.writing.stand(outer)
        for item in (Line(), block, Line()):
            self.writing.add(item)
        for store in stores:
            store.walked.current, store.walked.around = None, outer.scope
            store.merged = None

    def variable(self, loop: Loop) -> str:
        """A name for the loop's variable; one whose loop has ended is taken again."""
        variables = self.sizes.variables
        open_ = {variables[other.variable].node.operation for other in self.writing.loops}
        known = self.variables.setdefault(loop.letter, [])
        free = [name for name in known if name not in open_]
        if not free:
            free = [self.writing.names.new(loop.letter)]
            known += free
        return free[0]

    def header(self, loop: Loop, name: str) -> Line:
        values = self.sizes.range(loop.lower, loop.lower + loop.extent)
        if loop.direction < 0:
            values = self.writing.graph.number("reversed", values)
        return Line(f"for {name} in ", values, ":")


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


def _at_variables(place: Affine) -> Affine:
    """Here the variable of a loop is a size like others."""
    offset = place.offset
    for name, factor in place.terms:
        offset = offset + factor * Size.of(name)
    return Affine((), offset)
