"""`indicial lsp`: what is known of open texts, in the words of the Language Server Protocol.

An editor starts the command, and talks with it over its standard input and output. Everything that is
answered was found by `check` and `explain` in another process (`open_texts.py`); here it is only put into
the shapes of the protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import PurePath
from typing import Any, BinaryIO
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.exceptions import FeatureRequestError, JsonRpcException
from pygls.io_ import StdoutWriter
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from indicial import __version__, library
from indicial.editor.edits import CannotRename, at, completions, renamed, together
from indicial.editor.occurrences import MODEL, Diagnostic, Occurrence, Text
from indicial.editor.open_texts import Known, Lost, Open, Protocol, Workers

SOON, WHOLE = 1.0, 60.0
"""Seconds that an answer waits for the newest text to be read: for what is only shown, and for what
changes the text."""

_SEVERITY = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}
_UNITS = {
    lsp.PositionEncodingKind.Utf8: 8,
    lsp.PositionEncodingKind.Utf16: 16,
    lsp.PositionEncodingKind.Utf32: 32,
}
_KIND = {
    "variable": lsp.CompletionItemKind.Variable,
    "function": lsp.CompletionItemKind.Function,
    "keyword": lsp.CompletionItemKind.Keyword,
    "module": lsp.CompletionItemKind.Module,
    "snippet": lsp.CompletionItemKind.Snippet,
    "text": lsp.CompletionItemKind.Text,
}


class Server(LanguageServer):
    """The open texts, and the processes that read them."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__(
            "indicial", __version__, lsp.TextDocumentSyncKind.Incremental,
            protocol_cls=Protocol, max_workers=2,
        )  # fmt: skip
        self.texts: dict[str, Open] = {}
        self.workers = Workers()
        self.notes, self.claims = False, True
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, item: lsp.TextDocumentItem) -> None:
        units = _UNITS[lsp.PositionEncodingKind(self.workspace.position_encoding or "utf-16")]
        path, name = None, "untitled"
        with contextlib.suppress(ValueError):  # not all that is called an address is one
            address = urlparse(item.uri)
            path = to_fs_path(item.uri) if address.scheme == "file" else None
            name = path or PurePath(unquote(address.path)).name or name
        self.close(item.uri)
        self.texts[item.uri] = Open(
            name, Text(item.text, units), self.workers, lambda text: self.tell(item.uri, text),
            path=path or "", language=item.language_id, notes=self.notes, claims=self.claims,
        )  # fmt: skip
        self.texts[item.uri].version = item.version

    def close(self, uri: str) -> None:
        if uri in self.texts:
            self.texts.pop(uri).close()

    def tell(self, uri: str, text: Open) -> None:
        """Sends what is wrong with a text, where it stands by now."""
        if self.texts.get(uri) is not text:
            return
        listed = [(known, d) for known in (text.known, text.claimed) for d in _still(known)]
        places = _Places(text, listed)
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(
                uri, [_diagnostic(uri, places, known, d) for known, d in listed], text.version
            )
        )
        failure, text.known.findings.failure = text.known.findings.failure, ""
        if failure:
            message = f"{PurePath(text.name).name} is not checked: {failure}"
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Warning, message))

    async def ready(self, uri: str, seconds: float) -> Open | None:
        """The text of an address, read if that is possible in this time."""
        text = self.texts.get(uri)
        if text is not None:
            await text.fresh(seconds)
        return text

    async def whole(self, uri: str) -> Open:
        """The text of an address as it is now; what changes it must not be about another."""
        text = self.texts.get(uri)
        if text is None or not await text.fresh(WHOLE):
            raise _refused("the text is still being read; try again in a moment")
        return text

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """To the log, and not in front of who is writing; who asked is answered."""
        if source is FeatureRequestError:
            return
        message = f"{type(error).__name__}: {error}"
        self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, message))

    async def talk(self, stdin: BinaryIO) -> None:
        try:
            await self.protocol.talk(stdin)
        finally:
            for text in self.texts.values():
                text.close()
            await self.workers.ended()


def _refused(reason: str) -> JsonRpcException:
    return JsonRpcException(message=reason, code=lsp.LSPErrorCodes.RequestFailed.value)


class _Places:
    """Offsets of a text → ranges; all of them looked up in one walk."""

    def __init__(self, text: Open, listed: Iterable[tuple[Known, Diagnostic]] = ()) -> None:
        self.text = text
        offsets: list[int] = []
        for known, one in listed:
            offsets += known.now(one.start, one.end)
            for start, end, _ in one.related:
                offsets += known.now(start, end)
        self.known = text.text.positions(offsets)

    def range(self, start: int, end: int) -> lsp.Range:
        missing = {start, max(start, end)} - self.known.keys()
        if missing:
            self.known |= self.text.text.positions(missing)
        first, last = self.known[start], self.known[max(start, end)]
        return lsp.Range(lsp.Position(*first), lsp.Position(*last))


def _still(known: Known) -> Iterable[Diagnostic]:
    """The messages about what was not touched since."""
    for one in known.findings.diagnostics:
        if not (known.edits and known.changed(one.start, one.end)):
            yield one


def _diagnostic(uri: str, places: _Places, known: Known, one: Diagnostic) -> lsp.Diagnostic:
    hint = f"\nhint: {one.hint}" if one.hint else ""
    related = [
        lsp.DiagnosticRelatedInformation(
            lsp.Location(uri, places.range(*known.now(start, end))), remark or one.code
        )
        for start, end, remark in one.related
    ]
    return lsp.Diagnostic(
        places.range(*known.now(one.start, one.end)), one.text + hint, _SEVERITY[one.severity],
        code=one.code, source="indicial", related_information=related or None,
    )  # fmt: skip


def _offset(text: Open, position: lsp.Position) -> int:
    return text.text.offset(position.line, position.character)


def _here(text: Open, position: lsp.Position) -> Occurrence | None:
    return at(text.known.findings.names, text.known.then(_offset(text, position)))


def _edits(text: Open, changes: Sequence[tuple[int, int, str]]) -> list[lsp.TextEdit]:
    places = _Places(text)
    return [lsp.TextEdit(places.range(start, end), new) for start, end, new in changes]


# ---------------------------------------------------------------------- what the editor asks


def _model(name: str) -> lsp.Location:
    """The file of a model of the library."""
    start = lsp.Position(0, 0)
    return lsp.Location(from_fs_path(str(library.path(name))) or "", lsp.Range(start, start))


async def _definition(server: Server, params: lsp.DefinitionParams) -> list[lsp.Location]:
    return await _places_of(server, params, only_definitions=True)


async def _references(server: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    return await _places_of(server, params, only_definitions=False)


async def _places_of(
    server: Server, params: lsp.DefinitionParams | lsp.ReferenceParams, only_definitions: bool
) -> list[lsp.Location]:
    found = await _named(server, params)
    if found and found[0][0].kind == MODEL:
        return [_model(found[0][0].key)]
    if only_definitions:
        found = [one for one in found if one[0].defines] or found[:1]
    return [lsp.Location(params.text_document.uri, place) for _, place in found]


async def _named(
    server: Server,
    params: lsp.DefinitionParams | lsp.ReferenceParams | lsp.DocumentHighlightParams,
) -> list[tuple[Occurrence, lsp.Range]]:
    """The name at a position, wherever it stands; nothing if there is none."""
    text = await server.ready(params.text_document.uri, SOON)
    one = _here(text, params.position) if text else None
    if text is None or one is None:
        return []
    places, names = _Places(text), together(text.known.findings.names, one)
    return [(n, places.range(*text.known.now(n.start, n.end))) for n in names]


async def _highlights(
    server: Server, params: lsp.DocumentHighlightParams
) -> list[lsp.DocumentHighlight]:
    read, write = lsp.DocumentHighlightKind.Read, lsp.DocumentHighlightKind.Write
    return [
        lsp.DocumentHighlight(place, write if one.defines else read)
        for one, place in await _named(server, params)
    ]


async def _hover(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    text = await server.ready(params.text_document.uri, SOON)
    if text is None:
        return None
    known = text.known
    offset = known.then(_offset(text, params.position))
    one = at(known.findings.names, offset)
    said = known.findings.about.get((one.program, one.kind, one.key), "") if one else ""
    start, end = (one.start, one.end) if one else (0, 0)
    if not said:
        for equation in known.findings.equations:
            if equation.start <= offset <= equation.end:
                said, start, end = equation.text, equation.start, equation.end
    if not said:
        return None
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, said)
    return lsp.Hover(content, _Places(text).range(*known.now(start, end)))


async def _completion(server: Server, params: lsp.CompletionParams) -> lsp.CompletionList:
    text = server.texts.get(params.text_document.uri)
    if text is None:
        return lsp.CompletionList(False, [])
    offset = _offset(text, params.position)
    start, listed = completions(
        text.known.findings, text.name, str(text.text), offset, text.known.then(offset)
    )
    where = _Places(text).range(start, offset)
    items = [
        lsp.CompletionItem(
            c.label, kind=_KIND[c.kind], detail=c.detail or None, sort_text=f"{number:04}",
            filter_text=c.label, text_edit=lsp.TextEdit(where, c.insert or c.label),
            documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, c.documentation)
            if c.documentation else None,
        )
        for number, c in enumerate(listed)
    ]  # fmt: skip
    return lsp.CompletionList(False, items)


async def _prepare_rename(
    server: Server, params: lsp.PrepareRenameParams
) -> lsp.PrepareRenamePlaceholder | None:
    text = await server.whole(params.text_document.uri)
    one = _here(text, params.position)
    if one is None:
        return None
    place = (one.start, one.end) if one.bare or one.base is None else one.base
    return lsp.PrepareRenamePlaceholder(_Places(text).range(*place), one.key)


async def _rename(server: Server, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    uri = params.text_document.uri
    text = await server.whole(uri)
    names, offset = text.known.findings.names, _offset(text, params.position)
    try:
        changes = renamed(str(text.text), names, offset, params.new_name)
    except CannotRename as error:
        raise _refused(str(error)) from error
    return lsp.WorkspaceEdit({uri: _edits(text, changes)})


async def _code_actions(server: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """For every hint that says what to write, that; and a comment that silences the message."""
    uri = params.text_document.uri
    text = await server.ready(uri, SOON)
    if text is None:
        return []
    first, last = _offset(text, params.range.start), _offset(text, params.range.end)
    found: list[lsp.CodeAction] = []
    silencing: list[lsp.CodeAction] = []
    for known in (text.known, text.claimed):
        places = _Places(text)
        for one in _still(known):
            start, end = known.now(one.start, one.end)
            if start > last or end < first:
                continue
            about = [_diagnostic(uri, places, known, one)]
            if one.fix is not None and not known.changed(*one.fix[:2]):
                edit = (*known.now(*one.fix[:2]), one.fix[2])
                title = one.hint[:1].upper() + one.hint[1:]
                found.append(
                    lsp.CodeAction(
                        title, lsp.CodeActionKind.QuickFix, about, is_preferred=True,
                        edit=lsp.WorkspaceEdit({uri: _edits(text, [edit])}),
                    )
                )  # fmt: skip
            comment = _silence(text, start, one.code)
            if comment is not None:
                silencing.append(
                    lsp.CodeAction(
                        f"Silence {one.code} here", lsp.CodeActionKind.QuickFix, about,
                        edit=lsp.WorkspaceEdit({uri: _edits(text, [comment])}),
                    )
                )  # fmt: skip
    return found + silencing


def _silence(text: Open, start: int, code: str) -> tuple[int, int, str] | None:
    """A comment behind the line of equations, or above the line of LaTeX."""
    whole = str(text.text)
    begin = whole.rfind("\n", 0, start) + 1
    stop = whole.find("\n", start)
    stop = len(whole) if stop < 0 else stop
    if text.is_equations:
        line = whole[begin:stop].rstrip("\r")
        if "#" in line:
            return None
        return begin + len(line.rstrip()), begin + len(line), f"  # indicial: ignore[{code}]"
    if PurePath(text.name).suffix.lower() == ".tex":
        return begin, begin, f"% indicial: ignore[{code}]\n"
    return None


async def _formatting(
    server: Server, params: lsp.DocumentFormattingParams
) -> list[lsp.TextEdit] | None:
    """Of files of equations; in documents nothing is formatted."""
    text = server.texts.get(params.text_document.uri)
    if text is None or not text.is_equations:
        return None
    whole = str(text.text)
    try:
        changes = await server.workers.of(whole).ask("format", whole)
    except Lost as error:
        raise _refused(str(error)) from error
    return _edits(text, changes) if isinstance(changes, list) and str(text.text) == whole else []


async def _inlay_hints(server: Server, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    text = await server.ready(params.text_document.uri, SOON)
    if text is None:
        return []
    first, last = _offset(text, params.range.start), _offset(text, params.range.end)
    places, found = _Places(text), []
    for known in (text.known, text.claimed):
        for shape in known.findings.shapes:
            offset, _ = known.now(shape.at, shape.at)
            if first <= offset <= last:
                position = places.range(offset, offset).start
                found.append(lsp.InlayHint(position, shape.text, tooltip=shape.reason))
    return found


async def _symbols(server: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    """What is defined, in the order of the text."""
    text = await server.ready(params.text_document.uri, SOON)
    if text is None:
        return []
    places, known, found = _Places(text), text.known, []
    for n in known.findings.names:
        if n.defines:
            where = places.range(*known.now(n.start, n.end))
            said = known.findings.about.get((n.program, n.kind, n.key), "").partition("\n")[0]
            found.append(
                lsp.DocumentSymbol(n.key, lsp.SymbolKind.Variable, where, where,
                                   detail=said.replace("**", ""))
            )  # fmt: skip
    return found


def _changed(server: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    text = server.texts.get(params.text_document.uri)
    if text is None:
        return
    for change in params.content_changes:
        if isinstance(change, lsp.TextDocumentContentChangePartial):
            start, end = change.range.start, change.range.end
            text.change((start.line, start.character), (end.line, end.character), change.text)
        else:
            text.replace(change.text)
    text.version = params.text_document.version


def _closed(server: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    server.close(uri)
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def _started(server: Server, params: lsp.InitializeParams) -> None:
    options = params.initialization_options
    said = options if isinstance(options, dict) else {}
    server.notes = bool(said.get("notes", False))
    server.claims = bool(said.get("claims", True))


async def _warm(server: Server) -> None:
    """The process that reads is there before the first text is."""
    with contextlib.suppress(Lost):
        await server.workers.short.ask("find", "", "text.eq")


def serve(stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Talks with an editor until it is gone."""
    server = made()
    server.protocol.set_writer(StdoutWriter(stdout))
    try:
        with contextlib.suppress(SystemExit):  # what was asked for
            asyncio.run(server.talk(stdin))
    finally:
        server.shutdown()  # type: ignore[no-untyped-call]


def made() -> Server:
    """A server with all that it can do."""
    server = Server()
    feature = server.feature
    feature(lsp.INITIALIZE)(lambda params: _started(server, params))
    feature(lsp.INITIALIZED)(lambda params: server.later(_warm(server)))
    feature(lsp.TEXT_DOCUMENT_DID_OPEN)(lambda params: server.open(params.text_document))
    feature(lsp.TEXT_DOCUMENT_DID_CHANGE)(lambda params: _changed(server, params))
    feature(lsp.TEXT_DOCUMENT_DID_CLOSE)(lambda params: _closed(server, params))
    asked: dict[str, Callable[..., Any]] = {
        lsp.TEXT_DOCUMENT_HOVER: _hover,
        lsp.TEXT_DOCUMENT_DEFINITION: _definition,
        lsp.TEXT_DOCUMENT_REFERENCES: _references,
        lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: _highlights,
        lsp.TEXT_DOCUMENT_PREPARE_RENAME: _prepare_rename,
        lsp.TEXT_DOCUMENT_FORMATTING: _formatting,
        lsp.TEXT_DOCUMENT_INLAY_HINT: _inlay_hints,
        lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _symbols,
    }
    for method, answer in asked.items():
        feature(method)(answer)
    feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))(_rename)
    kinds = [lsp.CodeActionKind.QuickFix]
    feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(kinds))(_code_actions)
    triggers = lsp.CompletionOptions(trigger_characters=["\\"])
    feature(lsp.TEXT_DOCUMENT_COMPLETION, triggers)(_completion)
    return server
