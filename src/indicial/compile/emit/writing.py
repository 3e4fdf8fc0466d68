"""What the parts of an emission share: the program, the tools, and the text as far as it is.

writing.add(Assign("y", node))      one more line in the block where the text stands
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from indicial.compile.emit.identifiers import Identifiers
from indicial.compile.emit.lift import MEMBER
from indicial.compile.emit.loops import Walks
from indicial.compile.emit.nodes import INT, Graph, Node
from indicial.compile.emit.numbers import SizeTexts
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.printing import Assign, Block, Comment, Line
from indicial.compile.emit.ragged import Ragged, StartsBeyond
from indicial.compile.emit.tensors import Tensors
from indicial.compile.schedule.plan import Loop, Plan
from indicial.notation.source import NOWHERE
from indicial.program.ir import Code, Index, Statement
from indicial.program.meaning.arrays import BATCH
from indicial.program.show import show_statement


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
