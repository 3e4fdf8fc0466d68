"""What needs what: a program as a graph, for drawing.

    h[t,j] = G[t,j] h[t-1,j] + (1 - G[t,j]) R[t,j]
      →  edges G → h, R → h, and h → h that goes back a step: `t-1`

A node is a tensor; what a definition with a number gives (`L_0`, `h[-1]`) is a node of its own. The
tensors that need each other form a group, drawn in a frame: what happens at each step, or layer.
A parameter that only one tensor reads belongs to that tensor's node.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from indicial.program import ir
from indicial.program.cost.dependence import edges, groups
from indicial.program.explain.facts import Facts, Named, read
from indicial.program.program import Program


@dataclass
class Node:
    """A box of the drawing."""

    key: str
    label: str
    kind: str
    """`input`, `parameter`, `defined`, `start` or `loss`."""
    hint: str = ""
    """The function that is applied last: tanh, softmax over t_2."""
    tip: str = ""
    """The equation."""
    parameters: list[str] = field(default_factory=list)
    group: int = -1


@dataclass(frozen=True)
class Line:
    """An arrow from what is read to what reads it."""

    source: str
    target: str
    label: str = ""
    back: bool = False
    """It goes to the next step or layer."""
    residual: bool = False
    """The source is added to the target as it is."""


@dataclass
class Graph:
    nodes: dict[str, Node]
    lines: list[Line]
    frames: dict[int, str]
    """The groups, with what they are repeated for: `for ℓ = 0..L-1`."""


def draw(program: Program) -> str:
    """The graph of a program without errors as an SVG picture."""
    from indicial.inspect.layers import lay_out
    from indicial.inspect.svg import picture

    graph = graph_of(program)
    return picture(graph, lay_out(graph), program.title)


def graph_of(program: Program) -> Graph:
    """The nodes, arrows and frames of a program."""
    return _Builder(read(program)).graph()


class _Builder:
    def __init__(self, facts: Facts) -> None:
        self.code = facts.code
        self.named = {named.name: named for named in facts.names}
        defined = list(dict.fromkeys(s.target for s in self.code.statements))
        found = list(edges(self.code))
        circles = groups(defined, found)
        looping = {e.ends for e in found}
        self.circles = [
            g for g in circles if len(g) > 1 or (g[0], g[0]) in looping
        ]  # fmt: skip
        self.walked = facts.walked

    def graph(self) -> Graph:
        nodes: dict[str, Node] = {}
        lines: dict[Line, None] = {}
        for statement in self.code.statements:
            if self.named[statement.target].made:
                continue
            node = self.node(statement)
            known = nodes.setdefault(node.key, node)
            known.tip = "\n".join(dict.fromkeys([*known.tip.splitlines(), *node.tip.splitlines()]))
            for read_, residual, reader in self.reads(statement, statement):
                for line in self.lines(node.key, reader, read_, residual):
                    lines.setdefault(line)
        self.others(nodes, lines)
        return self.finish(nodes, list(lines))

    # ------------------------------------------------------------------ nodes

    def key(self, statement: ir.Statement) -> str:
        start = self.start(statement)
        return statement.target if start is None else f"{statement.target} {start}"

    def start(self, statement: ir.Statement) -> str | None:
        """`0` for the definition of `L_0[t,j]`, if there is another one for the rest."""
        general = [s for s in self.code.of(statement.target) if not _numbers(s)]
        numbers = _numbers(statement)
        return ",".join(numbers.values()) if numbers and general else None

    def node(self, statement: ir.Statement) -> Node:
        named = self.named[statement.target]
        start = self.start(statement)
        kind = "start" if start is not None else "defined"
        kind = "loss" if statement.target == self.code.loss else kind
        group = -1
        if start is None:
            group = next((n for n, c in enumerate(self.circles) if statement.target in c), -1)
        hint = self.hint(statement)
        span = statement.span
        if statement.guard is not None:
            span = span.to(statement.guard.span)
        tip = " ".join(span.text.split())
        return Node(
            self.key(statement), _label(named, statement, start), kind, hint, tip, [], group
        )

    def hint(self, statement: ir.Statement) -> str:
        body = statement.body
        if isinstance(body, ir.Softmax):
            return "softmax over " + ", ".join(i.name for i in body.indices)
        if isinstance(body, ir.Apply) and body.function.isalpha() and body.function != "neg":
            return body.function
        if isinstance(body, ir.Reduce) and body.operator in ("argmax", "argmin"):
            return f"{body.operator} over {', '.join(i.name for i in body.indices)}"
        text = statement.span.text
        for name in ("layernorm", "rmsnorm"):
            if name in text:
                return name
        return ""

    def others(self, nodes: dict[str, Node], lines: dict[Line, None]) -> None:
        """Inputs and parameters; one that a single node reads is put into that node."""
        readers: dict[str, list[str]] = {}
        for line in lines:
            if line.target not in readers.setdefault(line.source, []):
                readers[line.source].append(line.target)
        for source, targets in readers.items():
            if source in nodes:
                continue
            tensor = self.code.tensors[source]
            if tensor.role == "parameter" and len(targets) == 1:
                owner = nodes[targets[0]]
                prefix = owner.key.rpartition(".")[0]
                owner.parameters.append(source.removeprefix(f"{prefix}.") if prefix else source)
                for line in [one for one in lines if one.source == source]:
                    del lines[line]
            else:
                kind = tensor.role if tensor.role in ("input", "parameter") else "input"
                nodes[source] = Node(source, self.named[source].shown, kind)

    # ------------------------------------------------------------------ arrows

    def reads(
        self, statement: ir.Statement, reader: ir.Statement
    ) -> Iterator[tuple[ir.Read, bool, ir.Statement]]:
        """What a statement reads, seeing through tensors that the analysis made."""
        terms = _terms(statement.body)
        guard = [statement.guard] if statement.guard is not None else []
        for root in (statement.body, *guard):
            for node in root.every(ir.Read):
                tensor = self.code.tensors[node.tensor]
                if tensor.role == "constant" or (
                    self.named[node.tensor].made and tensor.role == "draw"
                ):
                    continue
                if self.named[node.tensor].made:
                    for inner in self.code.of(node.tensor):
                        # It is defined at the same values of the indices as what reads it.
                        yield from self.reads(inner, reader)
                    continue
                direct = len(terms) > 1 and any(node is term for term in terms)
                yield node, direct and tensor.role in ("defined", "input"), reader

    def lines(
        self, target: str, reader: ir.Statement, node: ir.Read, residual: bool
    ) -> Iterator[Line]:
        """The arrows of one read: from the tensor, or from the definitions of its parts."""
        name = node.tensor
        tensor = self.code.tensors[name]
        thick = residual and bool(tensor.axes)
        moved = _moved(reader, node)
        back = bool(moved) and any(name in c and target in c for c in self.circles)
        fixed = _fixed(tensor, node)
        label = ", ".join(moved.values()) or ", ".join(f"{x} = {n}" for x, n in fixed.values())
        starts = [s for s in self.code.of(name) if self.start(s) is not None]
        own = {index.name for index in reader.indices}
        exact = False
        for start in starts:
            axis, at = next(iter(_numbers(start).items()))
            place = node.places[axis]
            if axis in fixed:
                same = fixed[axis][1] == at
                exact = exact or same
            else:
                same = axis in moved or not isinstance(place, ir.Affine) or not own.intersection(
                    index for index, _ in place.terms
                )  # fmt: skip
            if same:
                yield Line(self.key(start), target, "", False, thick)
        if not exact:
            yield Line(name, target, label, back, thick)

    # ------------------------------------------------------------------ frames

    def finish(self, nodes: dict[str, Node], lines: list[Line]) -> Graph:
        frames: dict[int, str] = {}
        for number, circle in enumerate(self.circles):
            of = [{axis.letter for axis in self.code.tensors[name].axes} for name in circle]
            steps = [letter for letter in self.walked if all(letter in letters for letters in of)]
            frames[number] = "for each " + " and ".join(steps) if steps else ""
        alive = {node.group for node in nodes.values()}
        kept = [one for one in lines if one.source in nodes and one.target in nodes]
        # Two arrows between the same boxes are one, with both labels.
        merged: dict[tuple[str, str, bool], Line] = {}
        for line in kept:
            ends = (line.source, line.target, line.back)
            old = merged.get(ends, line)
            labels = dict.fromkeys(x for both in (old, line) for x in both.label.split(", ") if x)
            plain = not old.label or not line.label
            label = "" if plain and not line.back else ", ".join(labels)
            thick = old.residual or line.residual
            merged[ends] = Line(line.source, line.target, label, line.back, thick)
        return Graph(nodes, list(merged.values()), {n: f for n, f in frames.items() if n in alive})


def _numbers(statement: ir.Statement) -> dict[int, str]:
    """The places of a left side that are numbers: `{0: "-1"}` for `h[-1,j]`."""
    return {
        axis: str(p.offset) for axis, p in enumerate(statement.left)
        if isinstance(p, ir.Affine) and not p.terms
    }  # fmt: skip


def _fixed(tensor: ir.Tensor, node: ir.Read) -> dict[int, tuple[str, str]]:
    """A read at one element: `L_L[t,j]` is at ℓ = L."""
    return {
        number: (axis.letter or "at", str(place.offset))
        for number, (axis, place) in enumerate(zip(tensor.axes, node.places, strict=True))
        if isinstance(place, ir.Affine) and not place.terms
    }


def _moved(statement: ir.Statement, node: ir.Read) -> dict[int, str]:
    """Where a read is at another step than what is defined: `t-1`; `ℓ` where that defines `ℓ+1`."""
    left = dict(p.shift for p in statement.left if p.shift is not None)
    found = {}
    for axis, place in enumerate(node.places):
        if place.shift is not None:
            name, by = place.shift
            if name in left and by != left[name]:
                step = f"{name} → {name}+{left[name] - by}"
                found[axis] = str(place) if left[name] == 0 else step
    return found


def _terms(body: ir.Expression) -> list[ir.Expression]:
    if isinstance(body, ir.Apply) and body.function == "+":
        return [t for argument in body.arguments for t in _terms(argument)]
    return [body]


def _label(named: Named, statement: ir.Statement, start: str | None) -> str:
    if start is None:
        return named.shown
    letters = []
    for letter, place in zip(named.letters, statement.left, strict=True):
        fixed = isinstance(place, ir.Affine) and not place.terms
        letters.append(str(place) if fixed else letter)
    return f"{named.name}[{','.join(letters)}]"
