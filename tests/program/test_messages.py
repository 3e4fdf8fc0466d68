"""Every kind of message, whole, as a person reads it in a terminal of 80 columns."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mistakes import ELSEWHERE, GROUPS
from slips import program

import indicial
from indicial.notation.source import Source, Span
from indicial.program.messages import Message, Messages, columns, there_is

WIDTH = 80
SOURCE = Path(indicial.__file__).resolve().parent


def rendered(group: str, code: str) -> str:
    """A text, and all that is said about it."""
    text = GROUPS[group][code]
    name = "text.md" if group == "latex" else "text.eq"
    found = program(text, name).messages
    said = [m.render(WIDTH) for m in found]
    assert code in [m.code for m in found], f"{code} is not said of:\n{text}\n" + "\n".join(said)
    return "\n".join([f"== {code}", *said, ""])


@pytest.mark.parametrize("group", GROUPS)
def test_messages_read_well(group: str, golden: Callable[[str, str], None]) -> None:
    golden(f"mistakes_{group}.txt", "\n".join(rendered(group, code) for code in GROUPS[group]))


@pytest.mark.parametrize("group", GROUPS)
def test_messages_keep_to_the_width(group: str) -> None:
    for code in GROUPS[group]:
        for line in rendered(group, code).splitlines():
            assert columns(line) <= WIDTH, line


def codes() -> Iterator[str]:
    """The codes of all messages in the source."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            first = node.args[0]
            says = name in ("error", "warning", "note", "join", "Refusal", "Fault")
            # A sentence is what a training notes; a code is one word.
            if says and isinstance(first, ast.Constant) and " " not in str(first.value):
                yield str(first.value)


def test_every_code_has_an_example() -> None:
    known = {code for group in GROUPS.values() for code in group} | set(ELSEWHERE)
    assert sorted(set(codes()) - known) == []


def test_places_of_one_line_share_it() -> None:
    source = Source("text.eq", "h[t,j] = G[t] h[t-1,j]")
    message = Message(
        "error", "index-count", "G has 2 indices",
        ((Span(source, 9, 13), "1 index"), (Span(source, 0, 6), "2 indices"), (Span(source, 14, 22), "1 index")),
    )  # fmt: skip
    assert message.render().splitlines() == [
        "text.eq:1:10: error: G has 2 indices [index-count]",
        "   1 | h[t,j] = G[t] h[t-1,j]",
        "     |          ^^^^ ^^^^^^^^ 1 index",
        "     | ^^^^^^ 2 indices",
    ]


def test_what_there_is_of_one_kind() -> None:
    assert there_is([]) == "there is none"
    assert there_is(["J"]) == "there is only J"
    assert there_is(["J", "K"]) == "there are J, K"


def test_a_long_line_is_cut_around_its_place() -> None:
    source = Source("text.eq", "x" * 200 + " here " + "y" * 200)
    message = Message(
        "error", "code", "it is", ((Span(source, 201, 205), "a remark of some length"),)
    )
    lines = message.render(WIDTH).splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    assert lines[1][lines[2].index("^") :].startswith("here")


def test_a_remark_without_room_goes_below() -> None:
    source = Source("text.eq", "y = " + "x" * 66)
    message = Message(
        "error", "code", "it is", ((Span(source, 4, 70), "too long to stand behind"),)
    )
    assert message.render(WIDTH).splitlines()[3].endswith(" too long to stand behind")


def test_the_same_thing_is_said_once() -> None:
    source = Source("text.eq", "a[i] = b[j] c[j]")
    found = Messages()
    left = (Span(source, 0, 4), "no j here")
    for start in (9, 14):
        found.join(
            "unbound-index", "j is bound nowhere", (Span(source, start, start + 1), ""), left
        )
    assert len(found.items) == 1
    assert [site.start for site, _ in found.items[0].sites] == [9, 0, 14]


def test_a_product_in_brackets_that_uses_the_index_up_is_pointed_at() -> None:
    (said,) = program("input g[t,i], x[t,i]\ny[t,j] = W[j,I] (g[t,I] x[t,I])", "text.eq").errors
    remarks = {span.text: remark for span, remark in said.sites}
    assert remarks["g[t,I] x[t,I]"] == "sums over its own I"
    assert said.hint == "leave the brackets out, and one sum over I takes all factors"
