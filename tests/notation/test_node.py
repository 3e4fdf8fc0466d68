"""Questions that are answered once, and walking, which rests on them."""

from collections.abc import Iterator
from dataclasses import replace

from indicial.notation.node import kept
from indicial.notation.parse import parse_text
from indicial.notation.syntax import Name, Node


def test_a_question_is_asked_once_of_each_node() -> None:
    asked: list[str] = []

    @kept
    def question(name: Name) -> str:
        asked.append(name.base)
        return name.base * 2

    a, b = Name("a"), Name("b")
    assert [question(a), question(a), question(b), question(a)] == ["aa", "aa", "bb", "aa"]
    assert asked == ["a", "b"]


def test_answers_are_no_part_of_a_node() -> None:
    @kept
    def question(name: Name) -> str:
        return name.base

    a = Name("a")
    assert question(a) == "a"
    assert a == Name("a")
    assert hash(a) == hash(Name("a"))
    assert question(replace(a, base="b")) == "b"


def _slowly(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children():
        yield from _slowly(child)


def test_walking_is_in_the_order_of_writing() -> None:
    text = "P(w_t | w_0, …) = softmax_{w_t} (W^{h,R}[j,I] h_{ℓ+1}[t-1,I] + x^2)/2 for t > 0"
    (statement,) = parse_text(text).statements
    for _ in range(2):  # the second time it is known
        assert [id(n) for n in statement.walk()] == [id(n) for n in _slowly(statement)]
