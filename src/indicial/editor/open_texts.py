"""The texts that an editor has open, each read again and again while it is changed.

    opened = Open("cell.eq", text, …)
    opened.change(…)                         edits are taken at once
    await opened.fresh(2.0)                  what is known is about the newest text, if that is soon enough

Reading begins when nothing was typed for a moment, with the newest text only; while it lasts, editing goes on, and what
is found is moved to where things are by then. What an editor sends must be taken at once, and reading a long text takes
seconds, so a process of its own does it. It is ended where a text takes too long, or all memory.

What an editor sends, message for message: none of it ends the server, or stays without an answer.

    Content-Length: 77                                     what comes
    {"jsonrpc": "2.0", "id": 7, "method": "textDocument/hover", "params": []}
    {"id": 7, "error": {"code": -32602, "message": "textDocument/hover: … text_document"}}

pygls has the methods of the protocol. What it does with a message that is none it does by exceptions, tracebacks and
silence; so messages are read and looked through here, before it gets them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import pickle
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, BinaryIO

from cattrs import transform_error
from lsprotocol import types as lsp
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage

from indicial.editor.occurrences import Edit, Findings, Position, Text, before, moved, touched
from indicial.program.messages import IndicialError

LONGEST = 120.0
"""Seconds that one text may take."""


class Lost(Exception):
    """There is no answer: the process took too long, or died."""


class Worker:
    """Asks one thing after the other; the process begins when it is first needed."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def ask(self, what: str, *arguments: Any) -> Any:
        async with self._turn:
            try:
                return await asyncio.wait_for(self._answer(what, arguments), LONGEST)
            except TimeoutError as error:
                self.end()
                raise Lost(f"reading it takes more than {LONGEST:.0f} seconds") from error
            except (asyncio.IncompleteReadError, OSError) as error:
                self.end()
                raise Lost("the process that reads it has died") from error
            except asyncio.CancelledError:
                self.end()  # half an answer is on its way
                raise

    async def _answer(self, what: str, arguments: tuple[Any, ...]) -> Any:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "indicial.editor.open_texts",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        data = pickle.dumps((what, arguments))
        stdin.write(struct.pack(">Q", len(data)) + data)
        await stdin.drain()
        (length,) = struct.unpack(">Q", await stdout.readexactly(8))
        return pickle.loads(await stdout.readexactly(length))

    def end(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        self._process = None

    async def ended(self) -> None:
        """When this is over nothing of the process is left."""
        process = self._process
        self.end()
        if process is not None:
            await process.wait()


def serve(asked: BinaryIO, answered: BinaryIO) -> None:
    """Answers until nobody asks any more: who has started this process may be gone."""
    from indicial.editor.edits import formatted
    from indicial.editor.occurrences import Findings
    from indicial.editor.reading import find, try_the_claims

    known: dict[str, Callable[..., Any]] = {
        "find": find,
        "claims": try_the_claims,
        "format": formatted,
    }
    while len(head := asked.read(8)) == 8:
        (length,) = struct.unpack(">Q", head)
        what, arguments = pickle.loads(asked.read(length))
        try:
            answer: Any = known[what](*arguments)
        except Exception as error:  # a fault of ours must not end the editing
            answer = Findings(failure=f"{type(error).__name__}: {error}")
        data = pickle.dumps(answer)
        answered.write(struct.pack(">Q", len(data)) + data)
        answered.flush()


def main() -> None:
    answered, sys.stdout = sys.stdout.buffer, sys.stderr  # nothing that is printed gets between
    serve(sys.stdin.buffer, answered)


PAUSE = 0.12
"""Seconds without an edit after which a text is read."""
PATIENCE = 2.0
"""It is read after so many seconds even if somebody types on."""
LONG = 100_000
"""Characters from which on a text has a process of its own, so that others need not wait for it."""

SUFFIXES = {"indicial": ".eq", "latex": ".tex", "tex": ".tex", "markdown": ".md"}
"""What a text without a name is, by the language that the editor says it is in."""


class Workers:
    """The processes: for short texts, for long ones, and for claims, which may take a while."""

    def __init__(self) -> None:
        self.short, self.long, self.claims = Worker(), Worker(), Worker()

    def of(self, text: str) -> Worker:
        return self.long if len(text) > LONG else self.short

    async def ended(self) -> None:
        for worker in (self.short, self.long, self.claims):
            await worker.ended()


@dataclass(eq=False)
class Known:
    """What was found in a text, and the edits since."""

    findings: Findings = field(default_factory=Findings)
    edits: list[Edit] = field(default_factory=list)

    def now(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the text that was read is now."""
        return moved(start, self.edits), moved(end, self.edits)

    def then(self, offset: int) -> int:
        """Where a place was in the text that was read."""
        return before(offset, self.edits)

    def changed(self, start: int, end: int) -> bool:
        """Whether what was read there is another text by now."""
        return touched(start, end, self.edits)


class Open:
    """One text. `told` is called when there is something new to show."""

    def __init__(
        self, name: str, text: Text, workers: Workers, told: Callable[[Open], None],
        *, path: str = "", language: str = "", notes: bool = False, claims: bool = True,
    ) -> None:  # fmt: skip
        suffix = SUFFIXES.get(language, "")
        known = PurePath(name).suffix.lower() in (".eq", ".tex", ".md", ".markdown", ".ltx", ".sty")
        self.name = name if known or not suffix else name + suffix
        self.path, self.text, self.version = path, text, 0
        self.known, self.claimed = Known(), Known()
        self.notes, self._with_claims = notes, claims
        self._workers, self._told = workers, told
        self._followed: list[Known] = [self.known, self.claimed]
        self._dirty, self._fresh = asyncio.Event(), asyncio.Event()
        self._first = self._last = 0.0
        self._reading = asyncio.create_task(self._read_on())
        self._trying: asyncio.Task[None] | None = None
        self._touch()

    @property
    def is_equations(self) -> bool:
        return PurePath(self.name).suffix.lower() == ".eq"

    def change(self, start: Position, end: Position, new: str) -> None:
        edit = self.text.edit(start, end, new)
        for known in self._followed:
            known.edits.append(edit)
        self._touch()

    def replace(self, text: str) -> None:
        """The whole text anew."""
        length = sum(map(len, self.text.lines))
        self.text = Text(text, self.text.units)
        for known in self._followed:
            known.edits.append((0, length, len(text)))
        self._touch()

    def _touch(self) -> None:
        self._last = time.monotonic()
        if not self._dirty.is_set():
            self._first = self._last
        self._fresh.clear()
        self._dirty.set()

    async def fresh(self, seconds: float) -> bool:
        """Waits until what is known is about the newest text, but not longer than this."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._fresh.wait(), seconds)
        return self._fresh.is_set()

    def close(self) -> None:
        self._reading.cancel()
        if self._trying is not None:
            self._trying.cancel()

    # ------------------------------------------------------------------ reading

    async def _read_on(self) -> None:
        while True:
            await self._dirty.wait()
            while True:
                now = time.monotonic()
                wait = min(self._last + PAUSE, self._first + PATIENCE) - now
                if wait <= 0:
                    break
                await asyncio.sleep(wait)
            self._dirty.clear()
            text = str(self.text)
            asked = self._workers.of(text).ask("find", text, self.name, self.path, self.notes)
            self.known = await self._learn(self.known, asked)
            if not self._dirty.is_set() and not self.known.edits:  # edits are left if it was lost
                self._fresh.set()
            self._told(self)
            if self._with_claims and "claim" in text and not self._dirty.is_set():
                self._try_claims(text)
            elif "claim" not in text:
                self.claimed.findings = Findings()

    async def _learn(self, old: Known, asked: Awaitable[Findings]) -> Known:
        """What was found, with the edits that were made meanwhile; if nothing was, what was known."""
        new = Known()
        self._followed.append(new)
        try:
            new.findings = await asked
        except Lost as lost:
            new.findings = Findings(failure=str(lost))
        finally:
            self._followed.remove(new if new.findings.failure else old)
        if new.findings.failure:
            old.findings.failure = new.findings.failure
            return old
        return new

    def _try_claims(self, text: str) -> None:
        if self._trying is None or self._trying.done():
            self._trying = asyncio.create_task(self._claims(text))

    async def _claims(self, text: str) -> None:
        asked = self._workers.claims.ask("claims", text, self.name, self.path)
        self.claimed = await self._learn(self.claimed, asked)
        self._told(self)
        now = str(self.text)
        if now != text and not self._dirty.is_set() and "claim" in now:
            self._trying = asyncio.create_task(self._claims(now))


if __name__ == "__main__":
    main()


LARGEST, LONGEST_LINE = 1 << 28, 1 << 13
"""Bytes of a message, and of a line of its head."""

logging.getLogger("pygls").setLevel(logging.CRITICAL)  # it logs tracebacks; all is answered here


def received(stdin: BinaryIO) -> bytes | None:
    """The next message, or nothing if the editor is gone."""
    length = 0
    while line := stdin.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise IndicialError("this is no message of an editor: a line of it has no end")
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            digits = value.strip()
            length = int(digits[:20]) if digits.isdigit() else 0
            if length > LARGEST:
                raise IndicialError(
                    f"a message may have {LARGEST} bytes, and this one has {length}"
                )
        if length and not line.strip():
            body = stdin.read(length)
            return body if len(body) == length else None
    return None


class Protocol(LanguageServerProtocol):
    """Texts are kept in `Open` alone: a second copy would double the work of every edit."""

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    async def talk(self, stdin: BinaryIO) -> None:
        """Takes message after message, until there are no more."""
        loop, threads = asyncio.get_running_loop(), self._server.thread_pool
        with contextlib.suppress(BrokenPipeError):  # nobody is there to be told anything
            while (body := await loop.run_in_executor(threads, received, stdin)) is not None:
                self.take(body)

    def take(self, body: bytes) -> None:
        """One message: handed on if it is one, and answered if it is none."""
        said: Any = None
        try:
            try:
                said = json.loads(body)
            except (ValueError, RecursionError) as error:
                raise JsonRpcParseError(f"this is not JSON: {error}") from error
            if not isinstance(said, dict) or said.get("jsonrpc") != self.VERSION:
                raise JsonRpcInvalidRequest('this is no message: {"jsonrpc": "2.0", "method": …}')
            if "method" in said or not {"result", "error"} & said.keys():  # nothing is asked here
                self.handle_message(self._message(said))
        except JsonRpcException as error:
            told = said if isinstance(said, dict) else {"id": None}
            if "id" in told:
                asked = told["id"] if isinstance(told["id"], int | str) else None
                self._send_response(asked, error=error.to_response_error())
            else:
                warning = lsp.LogMessageParams(lsp.MessageType.Warning, str(error))
                self.notify(lsp.WINDOW_LOG_MESSAGE, warning)

    def _message(self, said: dict[str, Any]) -> Any:
        """The message as pygls has it."""
        method = said.get("method")
        if not isinstance(method, str):
            raise JsonRpcInvalidRequest("the method of a message is a string")
        if not isinstance(said.get("id", 0), int | str):
            raise JsonRpcInvalidRequest(f"{method}: the id of a message is a number or a string")
        if self._shutdown and method != lsp.EXIT:
            raise JsonRpcInvalidRequest(f"{method}: the server was told to end")
        if self._workspace is None and method not in (lsp.INITIALIZE, lsp.EXIT):
            raise JsonRpcServerNotInitialized(f"{method}: `initialize` comes first")
        known = self.get_message_type(method)
        if known is None:
            kind = JsonRPCRequestMessage if "id" in said else JsonRPCNotification
            return self._converter.structure({"params": None, **said}, kind)
        try:
            return self._converter.structure(said, known)
        except Exception as error:  # there are many converters, and each raises what it likes
            wrong = "; ".join(transform_error(error, path=""))
            raise JsonRpcInvalidParams(f"{method}: {wrong.replace('@ .', 'at ')}") from error

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        if isinstance(msg_id, int | str):
            super()._handle_cancel_notification(msg_id)

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        if error is not None:
            error.data = None  # a traceback is nothing to show
        super()._send_response(msg_id, result, error)
