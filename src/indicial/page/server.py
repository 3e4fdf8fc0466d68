"""The server of the page: on this machine only, for whoever has the link.

    http://127.0.0.1:8765/?token=…      sets a cookie, and leads to the page
    POST /ask/read                       {"page": "p1", "question": {…}}  →  {"answer": {…}}

Everything is computed in worker processes (`workers.py`); nothing that comes over the wire is the
name of a file. A question needs the cookie, this host and this origin. Pages of other sites can
therefore neither ask nor read, whatever names they give this address.

What the lab begins with: from the words of a call to a text, folders of runs and a link.

beginning(["ugrnn"])        →   the text of that model; the runs in ./runs
beginning(["runs/names"])   →   that run
beginning(["texts/"])       →   an empty text; the files there can be trained on
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from indicial import __version__, library
from indicial.notation.files import load
from indicial.page.equations import LONGEST_TEXT
from indicial.page.protocol import QUESTIONS, Start
from indicial.page.runs import Trainings, data_in, found, is_run, runs_in
from indicial.page.wire import checked
from indicial.page.workers import Busy, Superseded, Workers
from indicial.program.messages import IndicialError

LONGEST_QUESTION = 2 << 20
LONGER = dict.fromkeys(("generate", "attend", "answer", "inputs", "learn"), 60.0)
"""Seconds for what opens a model first, or trains a small one."""
STATIC = files("indicial.page") / "static"
KINDS = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "woff2": "font/woff2",
    "md": "text/markdown; charset=utf-8",
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; font-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
REFUSED = """<!doctype html><meta charset="utf-8"><title>Indicial lab</title>
<h1>This link is not complete</h1>
<p>Open the link that <code>indicial lab</code> printed in its terminal: it ends in a token.</p>
"""


@dataclass
class Lab:
    """What one server shows, and to whom."""

    start: Start
    port: int
    workers: Workers
    trainings: Trainings
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def cookie(self) -> str:
        """Cookies know no ports, so the name says which of several labs is meant."""
        return f"indicial-lab-{self.port}"

    @property
    def link(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"


def application(lab: Lab) -> Starlette:
    """The server as an ASGI application."""

    @asynccontextmanager
    async def alive(_: Starlette) -> AsyncIterator[None]:
        await lab.workers.start()
        try:
            yield
        finally:
            lab.workers.stop()
            lab.trainings.close()

    def guarded(
        handler: Callable[[Lab, Request], Awaitable[Response]],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def guard(request: Request) -> Response:
            response = refused(lab, request) or await handler(lab, request)
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return guard

    return Starlette(
        routes=[
            Route("/", guarded(_page)),
            Route("/static/{name:path}", guarded(_static)),
            Route("/ask/{name}", guarded(_ask), methods=["POST"]),
        ],
        lifespan=alive,
    )


def refused(lab: Lab, request: Request) -> Response | None:
    """Why this request is none of ours, if it is not."""
    host = request.headers.get("host", "").lower()
    if host not in [f"{name}:{lab.port}" for name in ("127.0.0.1", "localhost", "[::1]")]:
        return JSONResponse({"error": "this host is not served here"}, 421)
    origin = request.headers.get("origin")
    if origin is not None and origin.lower() != f"http://{host}":
        return JSONResponse({"error": "this origin may not ask"}, 403)
    own = request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    # A link on another page may lead here; what it brings along may not ask anything.
    led = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
    return None if own or led else JSONResponse({"error": "this site may not ask"}, 403)


def allowed(lab: Lab, request: Request) -> bool:
    return secrets.compare_digest(request.cookies.get(lab.cookie, "").encode(), lab.token.encode())


async def _page(lab: Lab, request: Request) -> Response:
    token = request.query_params.get("token")
    if token is not None and secrets.compare_digest(token.encode(), lab.token.encode()):
        # The token leaves the address, so that a copied link does not hold it.
        response: Response = RedirectResponse("/", 303)
        response.set_cookie(lab.cookie, lab.token, httponly=True, samesite="strict")
        response.headers["Cache-Control"] = "no-store"
        return response
    if not allowed(lab, request):
        return HTMLResponse(REFUSED, 403)
    nonce = secrets.token_urlsafe(16)
    text = (STATIC / "index.html").read_text(encoding="utf-8").replace("NONCE", nonce)
    headers = {"Content-Security-Policy": POLICY.format(nonce=nonce), "Cache-Control": "no-store"}
    return HTMLResponse(text, headers=headers)


async def _static(lab: Lab, request: Request) -> Response:
    """A file of the bundle, by its name alone."""
    name = request.path_params["name"]
    kind = KINDS.get(name.rpartition(".")[2])
    if kind is None or name not in {entry.name for entry in STATIC.iterdir() if entry.is_file()}:
        return JSONResponse({"error": "there is no such file"}, 404)
    data = (STATIC / name).read_bytes()
    return Response(data, media_type=kind, headers={"Cache-Control": "no-cache"})


async def _ask(lab: Lab, request: Request) -> Response:
    if not allowed(lab, request):
        return JSONResponse({"error": "open the link that the terminal shows"}, 403)
    name = request.path_params["name"]
    if name not in QUESTIONS:
        return JSONResponse({"error": f"nobody knows the question {name}"}, 404)
    if not request.headers.get("content-type", "").startswith("application/json"):
        return JSONResponse({"error": "a question is JSON"}, 415)
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > LONGEST_QUESTION:
                return JSONResponse({"error": "the text is too long for the page"}, 413)
        asked = json.loads(body)
        page, question = str(asked["page"])[:64], asked["question"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return JSONResponse({"error": "this is not a question"}, 400)
    except ClientDisconnect:
        return Response(status_code=400)
    if name in HERE:
        return _told_here(lab, name, question)
    try:
        told = await lab.workers.ask(page, name, question, LONGER.get(name))
        return Response(told, media_type="application/json")
    except Superseded:
        return JSONResponse({"superseded": True}, 409)
    except Busy:
        return JSONResponse({"error": "too many questions wait; try again"}, 503)


HERE = ("start", "training", "train", "stop", "resume")
"""What the server answers itself: what it was called with, and the training that it started."""


def _told_here(lab: Lab, name: str, question: Any) -> Response:
    try:
        question = checked(QUESTIONS[name][0], question)
        match name:
            case "start":
                return JSONResponse({"answer": lab.start})
            case "train":
                told = lab.trainings.start(question)
            case "resume":
                runs = found(lab.workers.folders)
                if question["run"] not in runs:
                    raise IndicialError(
                        f"there is no run {question['run']} in the folders of this lab"
                    )
                told = lab.trainings.go_on(question["run"], runs[question["run"]])
            case "stop":
                told = lab.trainings.stop()
            case _:
                told = lab.trainings.status()
        return JSONResponse({"answer": told})
    except IndicialError as error:
        return JSONResponse({"error": str(error)})
    except OSError as error:
        return JSONResponse({"error": f"this cannot be done: {error.strerror}"})


def door_at(port: int) -> socket.socket:
    """Where the page is served: this machine only."""
    # With its protocol named, answers go out at once: asyncio sets TCP_NODELAY on no other socket,
    # and an answer in two pieces waits 40 ms for the browser to acknowledge the first.
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(("127.0.0.1", port))
    return door


def serve(lab: Lab, ready: Callable[[], Any]) -> None:
    """Serves until Ctrl-C; `ready` is called once the page can be opened."""
    import asyncio

    import uvicorn

    door = door_at(lab.port)
    settings = uvicorn.Config(
        application(lab), log_level="critical", access_log=False, server_header=False,
        timeout_keep_alive=30, timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(settings)

    async def main() -> None:
        serving = asyncio.create_task(server.serve(sockets=[door]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            ready()
        await serving

    asyncio.run(main())


FOLDER = "runs"
"""Where trainings put their runs."""


def beginning(what: Sequence[str]) -> tuple[Start, list[str], str]:
    """The first answer, the folders that runs are looked for in, and the fragment of a link."""
    start: Start = {
        "version": __version__,
        "file": "",
        "text": "",
        "view": "equations",
        "run": "",
        "models": [{"name": n, "summary": library.summary(n)} for n in library.names()],
    }
    folders: list[str] = []
    fragment = ""
    for word in what:
        path = Path(word)
        if word.startswith(("http://", "https://")):
            fragment = f"#{urlsplit(word).fragment}"
        elif word in library.names():
            start["file"] = f"{word}.eq"
            start["text"] = library.path(word).read_text(encoding="utf-8")
        elif path.is_dir():
            folders.append(os.path.abspath(path))
            if any(runs_in(path)):
                start["view"] = "runs"
                start["run"] = path.resolve().name if is_run(path) else ""
            elif not data_in([word]):
                raise IndicialError(f"there is neither a run in {word} nor data to train on")
        else:
            source, faults = load(path, word)
            if not source.text and faults:
                raise IndicialError(f"cannot show {word}: {faults[0].message}")
            if len(source.text) > LONGEST_TEXT:
                raise IndicialError(
                    f"{word} has {len(source.text):,} characters; {LONGEST_TEXT:,} is the limit here"
                )
            start["file"], start["text"] = path.name, source.text
    # The first is where a training that is started goes.
    full = [f for f in folders if any(runs_in(Path(f))) and not is_run(Path(f))]
    first = full[0] if full else os.path.abspath(FOLDER)
    return start, [first, *(folder for folder in folders if folder != first)], fragment
