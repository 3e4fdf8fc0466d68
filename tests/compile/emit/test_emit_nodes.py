"""Nodes become text that Python reads as they are: brackets where an operand binds less, and only there."""

from __future__ import annotations

import operator
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from indicial.compile.emit.nodes import ALL, NUMBER, Graph, Identifiers, Listed, Node, Slice
from indicial.compile.emit.numbers import SizeTexts
from indicial.compile.emit.operations import NEW, Torch
from indicial.compile.emit.printing import Printer
from indicial.program.sizes import Size

NAMES = {"a": 2, "b": -3, "c": 5}
BINARY: dict[str, Callable[[int, int], object]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<": operator.lt, "==": operator.eq,
    "and": lambda x, y: x and y,
}  # fmt: skip
PREFIX: dict[str, Callable[[int], object]] = {"-": operator.neg, "not ": operator.not_}


def text(node: Node) -> str:
    return Printer(Identifiers(), {}).inline(node)


@st.composite
def numbers(draw: st.DrawFn, graph: Graph, depth: int) -> tuple[Node, int]:
    """A node, and what it is, computed beside it."""
    kind = draw(st.sampled_from(["leaf", "binary", "prefix", "if"])) if depth else "leaf"
    if kind == "leaf":
        name = draw(st.sampled_from([*NAMES, ""]))
        value = NAMES[name] if name else draw(st.integers(-3, 3))
        return (graph.number(name) if name else graph.literal(value)), value
    (one, x), (two, y), (three, z) = (draw(numbers(graph, depth - 1)) for _ in range(3))
    if kind == "prefix":
        sign = draw(st.sampled_from(list(PREFIX)))
        return graph.prefix(sign, one), int(PREFIX[sign](x))  # type: ignore[call-overload]
    if kind == "if":
        return graph.make("if", one, two, three, kind=NUMBER, plain=True), x if y else z
    sign = draw(st.sampled_from(list(BINARY)))
    return graph.binary(sign, one, two), int(BINARY[sign](x, y))  # type: ignore[call-overload]


@given(st.data())
def test_brackets(data: st.DataObject) -> None:
    node, value = data.draw(numbers(Graph(), 4))
    assert eval(text(node), dict(NAMES)) == value


def test_calls_items_and_views() -> None:
    graph = Graph()
    torch = Torch(graph, SizeTexts(graph, {"T": "T", "J": "J"}))
    x = graph.name("x", [Size.of("T"), Size.of("J"), Size.of("J")], "float")
    one = graph.literal(1)
    assert text(torch.index(x, [ALL, ALL, ALL, NEW])) == "x[..., None]"
    assert text(torch.index(x, [Slice(one), NEW])) == "x[1:, None]"
    assert text(torch.index(torch.index(x, [ALL, one]), [ALL, NEW])) == "x[:, None, 1]"
    assert text(torch.permute(x, [0, 2, 1])) == "x.mT"
    mean = torch.reduce("mean", x, [2])
    assert text(torch.unsqueeze(mean, [2])) == "x.mean(-1, keepdim=True)"
    padded = torch.pad(torch.pad(x, 2, Size.of(1), Size()), 0, Size(), Size.of(2))
    assert text(padded) == "F.pad(x, (1, 0, 0, 0, 0, 2))"
    assert torch.unpadded(padded) == (x, {2: (Size.of(1), Size()), 0: (Size(), Size.of(2))})
    assert text(torch.cat([x, x], 0)) == "torch.cat([x, x], 0)"
    assert graph.make("f", Listed([x]), (1,)) is graph.make("f", Listed([x]), (1,))
    assert text(graph.make("f", Listed([x]), (1,))) == "f([x], (1,))"
