"""A small client of the language server: the real command over standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

SECONDS = 60.0
"""How long an answer may take on a machine that does much else."""


class Refused(Exception):
    """The server answered with an error."""


class Client:
    """`with Client() as client: client.open("cell.eq", text); client.diagnostics("cell.eq")`."""

    def __init__(
        self, encodings: Sequence[str] = ("utf-16",), patience: float = SECONDS, **options: Any
    ) -> None:
        self.patience = patience
        self.process = subprocess.Popen(
            [sys.executable, "-m", "indicial", "lsp"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.number = 0
        self.answers: dict[int | None, Any] = {}
        self.published: dict[str, list[dict[str, Any]]] = {}
        self.versions: dict[str, int] = {}
        self.logged: list[str] = []
        self.errors: list[bytes] = []
        self.came: Queue[dict[str, Any] | None] = Queue()
        Thread(target=self._listen, daemon=True).start()
        Thread(target=self._overhear, daemon=True).start()
        capabilities = {"general": {"positionEncodings": list(encodings)}}
        self.ready = self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": capabilities,
                "initializationOptions": options,
            },
        )
        self.tell("initialized", {})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.ask("shutdown", None)
            self.tell("exit", None)
            self.process.wait(SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    # ------------------------------------------------------------------ messages

    def _overhear(self) -> None:
        assert self.process.stderr is not None
        try:
            self.errors += self.process.stderr
        except ValueError:
            return

    def _listen(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        try:
            while header := stream.readline():
                length = 0
                while header.strip():
                    name, _, value = header.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                    header = stream.readline()
                self.came.put(json.loads(stream.read(length)))
        except ValueError:
            pass
        self.came.put(None)

    def _send(self, message: dict[str, Any]) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send(self, data: bytes) -> None:
        """Anything, as a message."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def take(self) -> None:
        """Takes in one message, or says that none came."""
        try:
            message = self.came.get(timeout=self.patience)
        except Empty:
            raise TimeoutError("the server says nothing") from None
        if message is None:
            raise EOFError(b"".join(self.errors).decode())
        if "method" not in message:
            self.answers[message.get("id")] = message
        elif message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            self.published[params["uri"]] = params["diagnostics"]
            self.versions[params["uri"]] = params.get("version", -1)
        elif message.get("method", "").startswith("window/"):
            self.logged.append(message["params"]["message"])

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def begin(self, method: str, params: Any) -> int:
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        return self.number

    def ask(self, method: str, params: Any) -> Any:
        number = self.begin(method, params)
        while number not in self.answers:
            self.take()
        answer = self.answers.pop(number)
        if "error" in answer:
            raise Refused(answer["error"]["message"])
        return answer["result"]

    # ------------------------------------------------------------------ texts

    @staticmethod
    def uri(name: str) -> str:
        return Path(name).absolute().as_uri()

    def open(self, name: str, text: str, language: str = "indicial") -> None:
        item = {"uri": self.uri(name), "languageId": language, "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})

    def change(self, name: str, version: int, *changes: dict[str, Any]) -> None:
        item = {"uri": self.uri(name), "version": version}
        params = {"textDocument": item, "contentChanges": list(changes)}
        self.tell("textDocument/didChange", params)

    def diagnostics(self, name: str, version: int = 1) -> list[dict[str, Any]]:
        """Those of a version, as soon as they come."""
        uri = self.uri(name)
        while self.versions.get(uri, -1) < version:
            self.take()
        return self.published[uri]

    def at(self, method: str, name: str, line: int, column: int, **more: Any) -> Any:
        where = {"line": line, "character": column}
        about = {"uri": self.uri(name)}
        return self.ask(
            f"textDocument/{method}", {"textDocument": about, "position": where, **more}
        )

    def about(self, method: str, name: str, **more: Any) -> Any:
        return self.ask(f"textDocument/{method}", {"textDocument": {"uri": self.uri(name)}, **more})


def place(text: str, wanted: str, number: int = 0) -> tuple[int, int]:
    """Line and column (in UTF-16) of an occurrence of a string."""
    offset = -1
    for _ in range(number + 1):
        offset = text.index(wanted, offset + 1)
    line = text.count("\n", 0, offset)
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line, len(before.encode("utf-16-le")) // 2


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """A text after the edits that a server asks for."""

    def offset(position: dict[str, int]) -> int:
        lines = text.split("\n")
        start = sum(len(line) + 1 for line in lines[: position["line"]])
        line = lines[position["line"]] if position["line"] < len(lines) else ""
        units = line.encode("utf-16-le")[: 2 * position["character"]]
        return start + len(units.decode("utf-16-le"))

    found = [(offset(e["range"]["start"]), offset(e["range"]["end"]), e["newText"]) for e in edits]
    for start, end, new in sorted(found, reverse=True):
        text = text[:start] + new + text[end:]
    return text
