"""The server answers whoever has the link, on this machine, and nobody else; workers can be ended."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indicial.page.runs import Trainings
from indicial.page.server import LONGEST_QUESTION, STATIC, Lab, application, door_at
from indicial.page.workers import Superseded, Workers

TEXT = "input x[i]\ny[j] = W[j,I] x[I]"
SLOW = {
    "text": "input x[i,k]\ny[i,j,m] = x[i,K] W[K,j,m]",
    "program": 0,
    "sizes": {"I": 40, "J": 40, "K": 40, "M": 40},
    "seed": 0,
}
"""Seconds of work."""


class Client:
    """Calls the application as a server would."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.app, self.cookie = lab, application(lab), f"{lab.cookie}={lab.token}"

    async def call(
        self, path: str, body: Any = None, headers: dict[str, str] | None = None, query: str = ""
    ) -> tuple[int, dict[str, str], bytes]:
        known = {"host": f"127.0.0.1:{self.lab.port}", "cookie": self.cookie}
        if body is not None:
            known |= {"content-type": "application/json"}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        scope = {
            "type": "http", "method": "GET" if body is None else "POST", "path": path,
            "raw_path": path.encode(), "query_string": query.encode(), "http_version": "1.1",
            "headers": [
                (k.encode(), v.encode()) for k, v in (known | (headers or {})).items() if v
            ],
            "server": ("127.0.0.1", self.lab.port), "scheme": "http", "root_path": "",
        }  # fmt: skip
        sent: list[dict[str, Any]] = []
        waiting = [{"type": "http.request", "body": data, "more_body": False}]

        async def receive() -> dict[str, Any]:
            return waiting.pop() if waiting else await asyncio.Event().wait()  # type: ignore[func-returns-value,return-value]

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        first = sent[0]
        found = {k.decode(): v.decode() for k, v in first["headers"]}
        return first["status"], found, b"".join(m.get("body", b"") for m in sent[1:])


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    start: Any = {"version": "", "file": "", "text": TEXT, "view": "equations", "run": "",
                  "models": []}  # fmt: skip
    yield Client(Lab(start, 8765, Workers(1, warm=False), Trainings([str(tmp_path)])))


def call(client: Client, *arguments: Any, **named: Any) -> tuple[int, dict[str, str], bytes]:
    return asyncio.run(client.call(*arguments, **named))


def test_the_link_sets_a_cookie_and_leaves_the_address(client: Client) -> None:
    status, headers, _ = call(
        client, "/", headers={"cookie": ""}, query=f"token={client.lab.token}"
    )
    assert (status, headers["location"]) == (303, "/")
    assert client.lab.token in headers["set-cookie"]
    assert "HttpOnly" in headers["set-cookie"]
    assert "samesite=strict" in headers["set-cookie"].lower()


def test_the_page_may_load_nothing_from_elsewhere(client: Client) -> None:
    status, headers, body = call(client, "/")
    assert status == 200
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy.replace("http-equiv", "")
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert f'content="{nonce}"'.encode() in body
    assert call(client, "/")[1]["content-security-policy"] != policy


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"cookie": ""}, 403),
        ({"cookie": "indicial-lab-8765=wrong"}, 403),
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:8765"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
        ({"host": ""}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({}, 200),
        ({"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_who_may_ask(client: Client, headers: dict[str, str], status: int) -> None:
    body = {"page": "p", "question": {}}
    assert call(client, "/ask/start", body, headers)[0] == status


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/ask/shell", {"page": "p", "question": {}}, 404),
        ("/ask/read", b"no json", 400),
        ("/ask/read", b"[" * 100_000, 400),
        ("/ask/read", {"question": {}}, 400),
        ("/ask/read", [], 400),
        ("/ask/read", b" " * (LONGEST_QUESTION + 1), 413),
        ("/ask/read", None, 405),
        ("/static/../server.py", None, 404),
        ("/static/%2e%2e/server.py", None, 404),
        ("/static/..%2fserver.py", None, 404),
        ("/static//etc/passwd", None, 404),
        ("/static/index.html", None, 404),
        ("/static/page.js", None, 200),
        ("/static/copying.md", None, 200),
        ("/static/KaTeX_Main-Regular.woff2", None, 200),
        ("/nothing", None, 404),
    ],
)
def test_what_may_be_asked(client: Client, path: str, body: Any, status: int) -> None:
    assert call(client, path, body)[0] == status


def test_the_bundle_is_small_and_whole() -> None:
    files = {entry.name: entry.read_bytes() for entry in STATIC.iterdir()}
    assert {"index.html", "page.js", "page.css", "LICENSES.txt"} <= set(files)
    assert sum(map(len, files.values())) < 1_500_000
    for name in files:
        if name.endswith(".md"):
            sheet = Path(__file__).resolve().parents[2] / "docs" / "problems" / name
            assert files[name] == sheet.read_bytes(), "a sheet has changed: run `make page`"
    for name in ("index.html", "page.css"):
        links = files[name].replace(b"http://www.w3.org/2000/svg", b"")
        assert b"http:" not in links
        assert b"https:" not in links


def test_answers_do_not_wait_for_each_other() -> None:
    """Without TCP_NODELAY the second piece of an answer waits until the first is acknowledged."""

    async def main() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def met(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            line = writer.get_extra_info("socket")
            found.set_result(line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(met, sock=door_at(0)) as server:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            told = await found
            writer.close()
        return told

    assert asyncio.run(main()) != 0


def test_workers_answer_and_are_ended() -> None:
    """One start of the process for all of it, since that takes half a second."""

    async def main() -> None:
        workers = Workers(1, warm=False)
        await workers.start()

        async def ask(*arguments: Any, **named: Any) -> Any:
            return json.loads(await workers.ask(*arguments, **named))

        try:
            first = await ask("one", "read", {"text": TEXT})
            assert first["answer"]["messages"] == []
            [worker] = workers.every
            assert "not" in (await ask("one", "read", {"text": 1}))["error"]

            late = await ask("one", "try", SLOW, seconds=0.2)
            assert "longer than 0.2 s" in late["error"]
            again = await ask("one", "read", {"text": TEXT})
            assert again == first
            assert worker not in workers.every
            await gone(worker.process)

            # Of one page's questions only the newest counts; another page is not concerned.
            running = asyncio.create_task(ask("one", "try", SLOW))
            await asyncio.sleep(0.05)
            old = asyncio.create_task(ask("one", "read", {"text": "a"}))
            other = asyncio.create_task(ask("two", "read", {"text": TEXT}))
            await asyncio.sleep(0)
            new = asyncio.create_task(ask("one", "read", {"text": TEXT}))
            stopped = asyncio.create_task(ask("one", "try", {**SLOW, "sizes": {}}))
            with pytest.raises(Superseded):
                await old
            with pytest.raises(Superseded):
                await running
            assert (await new, await other) == (first, first)
            assert "answer" in await stopped
        finally:
            workers.stop()

    asyncio.run(main())


def test_all_begins_anew_where_everything_was_killed() -> None:
    async def main() -> None:
        workers = Workers(1, warm=False)
        await workers.start()
        try:
            first = await workers.ask("one", "read", {"text": TEXT})
            assert workers._zygote is not None
            workers._zygote.kill()
            workers._zygote.wait()
            [worker] = workers.every
            os.kill(worker.process, signal.SIGKILL)
            assert b"error" in await workers.ask("one", "read", {"text": TEXT})
            assert await workers.ask("one", "read", {"text": TEXT}) == first
        finally:
            workers.stop()

    asyncio.run(main())


async def gone(process: int) -> None:
    for _ in range(200):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"process {process} is still there")


def test_memory_is_limited() -> None:
    code = (
        "from indicial.exercises.apart import bound_memory\nbound_memory(64 << 20)\n"
        "try:\n    bytearray(512 << 20)\nexcept MemoryError:\n    print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "refused\n", done.stderr
