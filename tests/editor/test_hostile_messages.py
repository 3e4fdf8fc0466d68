"""What no editor sends: it is answered, logged or left alone, and the next message is taken."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from indicial import IndicialError
from tests.editor.client import Client

pytest.importorskip("pygls")
from indicial.editor.open_texts import LARGEST, received

CELL = "y[t] = W[K] x[t,K]\n"
HOVER, CHANGE, CANCEL = "textDocument/hover", "textDocument/didChange", "$/cancelRequest"
TEXT = {"uri": Client.uri("hostile.eq")}
PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602


def place(line: Any, column: Any) -> dict[str, Any]:
    return {"line": line, "character": column}


def hover(line: Any, column: Any, **other: Any) -> dict[str, Any]:
    return {"textDocument": TEXT, "position": place(line, column), **other}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client() as made:
        made.open("hostile.eq", CELL)
        yield made


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{nonsense", PARSE),
        (b"\xff\xfe\x00", PARSE),
        (b"[" * 100_000, PARSE),
        (b'{"jsonrpc": "2.0", "id": ' + b"9" * 10_000 + b"}", PARSE),
        (b"[]", REQUEST),
        (b"null", REQUEST),
        (b'"x"', REQUEST),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}]', REQUEST),
        (b'{"id": null}', REQUEST),
        (b'{"jsonrpc": "2.0", "id": [1], "method": "shutdown"}', REQUEST),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}', REQUEST),
    ],
)
def test_what_is_no_message_gets_an_answer_that_says_so(
    client: Client, body: bytes, code: int
) -> None:
    client.answers.pop(None, None)
    client.send(body)
    client.ask("textDocument/documentSymbol", {"textDocument": TEXT})
    assert client.answers[None]["error"]["code"] == code
    assert client.errors == []


@pytest.mark.parametrize(
    ("message", "code", "said"),
    [
        ({"jsonrpc": "1.0", "method": HOVER, "params": hover(0, 0)}, REQUEST, "no message"),
        ({"method": 3}, REQUEST, "is a string"),
        ({"method": [1]}, REQUEST, "is a string"),
        ({}, REQUEST, "is a string"),
        ({"method": "nobody/knows", "params": {}}, METHOD, "nobody/knows"),
        ({"method": HOVER}, PARAMS, "textDocument/hover: required field missing at params"),
        ({"method": HOVER, "params": []}, PARAMS, "params.position"),
        ({"method": HOVER, "params": {"jsonrpc": "2.0", "method": "exit"}}, PARAMS, "position"),
        ({"method": HOVER, "params": hover("a", 0)}, PARAMS, "int at params.position.line"),
        ({"method": HOVER, "params": hover(-1, 0)}, PARAMS, "params.position"),
        ({"method": HOVER, "params": hover(10**30, 0)}, PARAMS, "params.position"),
        ({"method": "workspace/executeCommand", "params": {"command": "rm"}}, PARAMS, "rm"),
    ],
)
def test_a_request_that_is_wrong_is_answered(
    client: Client, message: dict[str, Any], code: int, said: str
) -> None:
    client.send(json.dumps({"jsonrpc": "2.0", "id": 7000, **message}).encode())
    while 7000 not in client.answers:
        client.take()
    error = client.answers.pop(7000)["error"]
    assert error["code"] == code and said in error["message"] and not error.get("data")
    assert client.errors == []


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("nobody/knows", {}, ""),
        (CANCEL, {"id": 99}, ""),
        (CANCEL, {"id": [9]}, ""),
        (CANCEL, None, "$/cancelRequest"),
        (CHANGE, {"textDocument": TEXT, "contentChanges": "abc"}, "version"),
        (
            CHANGE,
            {"textDocument": {**TEXT, "version": 2}, "contentChanges": [{"range": 4, "text": "q"}]},
            "range",
        ),
    ],
)
def test_a_wrong_notification_is_logged_and_nothing_changes(
    client: Client, method: str, params: Any, said: str
) -> None:
    client.logged.clear()
    client.tell(method, params)
    (symbol,) = client.about("documentSymbol", "hostile.eq")
    assert symbol["name"] == "y" and client.errors == []
    assert bool(client.logged) == bool(said) and all(said in line for line in client.logged)


@pytest.mark.parametrize(
    "uri", ["", "::: \x00 %%%", "file://[1:2/x.eq", "file:///a%00b.eq", "\ud800"]
)
def test_an_address_that_is_none(client: Client, uri: str) -> None:
    item = {"uri": uri, "languageId": "indicial", "version": 1, "text": "y = tnah(1)"}
    client.tell("textDocument/didOpen", {"textDocument": item})
    while uri not in client.published:
        client.take()
    client.ask(HOVER, {**hover(0, 0), "textDocument": {"uri": uri}})
    assert client.errors == []


def test_places_outside_of_the_text(client: Client) -> None:
    assert client.at("hover", "hostile.eq", 10**9, 10**9) is None
    far = {"start": place(9, 9), "end": place(0, 0)}
    assert client.about("inlayHint", "hostile.eq", range=far) == []


def test_before_the_beginning_and_after_the_end() -> None:
    from indicial.editor.server import made

    sent: list[dict[str, Any]] = []

    class Writer:
        def write(self, data: bytes) -> None:
            sent.append(json.loads(data))

    server = made()
    server.protocol.set_writer(Writer(), include_headers=False)

    def ask(method: str, params: Any = None) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        server.protocol.take(json.dumps(body).encode())
        return sent[-1]

    assert ask(HOVER, hover(0, 0))["error"]["code"] == -32002
    assert "result" in ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    ask("shutdown")
    assert ask(HOVER, hover(0, 0))["error"]["code"] == REQUEST


def test_frames() -> None:
    def frames(*data: bytes) -> list[bytes | None]:
        stream = io.BytesIO(b"".join(data))
        found = [received(stream)]
        while found[-1] is not None:
            found.append(received(stream))
        return found[:-1]

    assert frames(b"content-length:2\r\nContent-Type: x\r\n\r\n{}") == [b"{}"]
    noise = (
        b"Content-Length: 0\r\n\r\nContent-Length: -5\r\n\r\nContent-Length: x\r\n\r\n\r\nhello\n"
    )
    assert frames(noise, b"Content-Length: 1\r\n\r\n1", b"Content-Length: 2\r\n\r\n22") == [
        b"1",
        b"22",
    ]
    assert frames(b"Content-Length: 500\r\n\r\n{}") == []  # the editor is gone
    for digits in (str(LARGEST + 1), "1" + 12 * "0", 1000 * "9"):
        with pytest.raises(IndicialError, match="a message may have 268435456 bytes"):
            frames(b"Content-Length: " + digits.encode() + b"\r\n\r\nabc")
    with pytest.raises(IndicialError, match="has no end"):
        frames(b"x" * 100_000)
