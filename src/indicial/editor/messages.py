"""What an editor sends, message for message: none of it ends the server, or stays without an answer.

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

from indicial.program.messages import IndicialError

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
