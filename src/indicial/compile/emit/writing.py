"""What the parts of an emission share: the program, the tools, and the text as far as it is.

writing.add(Assign("y", node))      one more line in the block where the text stands

Conditions on loop variables: statements that run at some values of a loop only.

N_ℓ for ℓ = 0..L, h_{ℓ+1} for ℓ = 0..L-1        for l in range(L + 1):
                                                    N[l] = …
                                                    if l < L:
                                                        h[l + 1] = …
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from indicial.compile.emit.lift import MEMBER
from indicial.compile.emit.nodes import INT, NUMBER, Graph, Identifiers, Node, Scope
from indicial.compile.emit.numbers import SizeTexts, Variable, number
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.printing import Assign, Block, Comment, Line
from indicial.compile.emit.ragged import Ragged, StartsBeyond
from indicial.compile.emit.reads import Array
from indicial.compile.emit.storage import Definition, Fixed, Store, Walked, Walks
from indicial.compile.emit.tensors import Tensors
from indicial.compile.schedule.plan import Loop, Plan
from indicial.notation.source import NOWHERE
from indicial.program.ir import Code, Index, Statement
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
        names: Identifiers,
        letters: dict[str, str],
        ragged: Collection[str],
        empty: Collection[str],
        starts: StartsBeyond,
    ) -> None:
        self.code = code
        self.names = names
        self.graph = Graph()
        self.sizes = SizeTexts(self.graph, letters, empty)
        self.torch = Torch(self.graph, self.sizes)
        self.lengths = {name: names.new(f"{letters[name]}_own") for name in ragged}
        self.ragged = Ragged(self.torch, *self._told())
        self.tensors = Tensors(code, self.graph, self.torch, names, self.ragged, starts)
        self.walks = Walks(code, plan, want)
        targets = dict.fromkeys(s.target for s in code.statements)
        self.identifiers = {name: names.new(name) for name in targets}
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
            key = walk.key(store.target)
            if test.whole and walk.entries:  # what reads the steps finds them all the same
                zeros = self.zeros(store.definitions[0].array)
                none = Assign(walk.entries, zeros, self.sizes.node(key), store.target)
                test.outer.items.insert(test.outer.items.index(test.inner), none)
            store.definitions = [
                Definition(d.order, Array(self.maybe(walk, key, d.array), d.array.bounds))
                for d in store.definitions
            ]
            store.merged = None

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
