"""Processes that compute answers, and that can be ended.

    workers = Workers(count=2)
    await workers.start()
    await workers.ask("page 1", "read", {"text": "y[j] = W[j,I] x[I]"})    →    b'{"answer": {…}}'

Each is a copy of one process that has imported everything (`main`), so a new one is there in
milliseconds. A question that takes too long ends its worker, and another takes its place. Of the
questions of one page with one name only the newest counts: an older one that waits is not answered,
and one that runs for long is ended. Once the first workers are there, PyTorch is imported too, so that a page
does not wait for it; workers that were there before are then replaced.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

SECONDS = 20.0
"""A computation may take this long."""
PATIENCE = 0.5
"""What nobody waits for any more may run this long."""
WAITING = 200
"""Questions that may wait; whoever comes then is asked to come again."""
LONGEST = 64 << 20
"""Bytes of an answer."""


class Superseded(Exception):
    """The page has asked the same again since."""


class Busy(Exception):
    """Too many questions wait."""


@dataclass(eq=False)
class Worker:
    process: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    page: str = ""
    """Whom it answered last; what it remembers is theirs."""
    retired: bool = False
    """It ends once it has answered: another one has more imported."""

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        self.writer.close()


@dataclass(eq=False)
class Job:
    page: str
    name: str
    seconds: float
    told: asyncio.Future[bytes]
    started: float = 0.0
    running: asyncio.Task[None] | None = field(default=None, repr=False)


class Workers:
    """A few processes, and the questions that wait for one."""

    def __init__(
        self, count: int, seconds: float = SECONDS, folders: Sequence[str] = (), warm: bool = True
    ) -> None:
        self.count, self.seconds, self.folders = count, seconds, list(folders)
        self.warm = warm
        """Whether PyTorch is imported before anybody needs it."""
        self.free: list[Worker] = []
        self.every: set[Worker] = set()
        self.newest: dict[tuple[str, str], Job] = {}
        self.waiting: list[tuple[Job, Any]] = []
        self._forking = asyncio.Lock()
        self._zygote: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """The process that is copied, and the first copies of it."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._zygote = subprocess.Popen(
                [
                    sys.executable, "-m", "indicial.page.workers", str(theirs.fileno()),
                    json.dumps(self.folders),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            )  # fmt: skip
        ours.setblocking(False)
        self._door = ours
        self._soon(self._first())

    async def _first(self) -> None:
        for _ in range(self.count):
            self._add(await self._fork())
        if self.warm:
            await self._warm_up()

    async def _warm_up(self) -> None:
        """Lets PyTorch be imported, and takes new workers, which have it, for the first ones."""
        assert self._door is not None
        async with self._forking:
            await asyncio.get_running_loop().sock_sendall(self._door, b"w")
            await self._number()
        for old in list(self.every):
            self._add(await self._fork())
            old.retired = True
            if old in self.free:
                self.free.remove(old)
                self._retire(old)

    def _retire(self, worker: Worker) -> None:
        worker.end()
        self.every.discard(worker)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for worker in self.every:
            worker.end()
        if self._door is not None:
            self._door.close()
        if self._zygote is not None:
            self._zygote.kill()
            self._zygote.wait()

    # ------------------------------------------------------------------ questions

    async def ask(self, page: str, name: str, question: Any, seconds: float | None = None) -> bytes:
        """The answer, or what is wrong, as JSON: `{"answer": …}` or `{"error": "…"}`."""
        key = page, name
        old = self.newest.get(key)
        if old is not None:
            self._supersede(old)
        if len(self.waiting) >= WAITING:
            raise Busy
        told: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        job = Job(page, name, seconds or self.seconds, told)
        self.newest[key] = job
        self.waiting.append((job, question))
        self._next()
        try:
            return await told
        finally:
            if self.newest.get(key) is job:
                del self.newest[key]
            if not told.done() or told.cancelled():
                self._supersede(job)  # whoever asked is gone

    def _supersede(self, job: Job) -> None:
        if not job.told.done():
            job.told.set_exception(Superseded())
        self.waiting = [(j, q) for j, q in self.waiting if j is not job]
        if job.running is not None:
            self._soon(self._end_later(job))

    async def _end_later(self, job: Job) -> None:
        await asyncio.sleep(max(0.0, job.started + PATIENCE - monotonic()))
        if job.running is not None:
            job.running.cancel()

    def _next(self) -> None:
        """Hands what waits longest to a worker that is free, the one that knows its page if it can."""
        while self.free and self.waiting:
            job, question = self.waiting.pop(0)
            known = [worker for worker in self.free if worker.page == job.page]
            worker = (known or self.free)[0]
            self.free.remove(worker)
            worker.page = job.page
            job.started = monotonic()
            job.running = self._soon(self._run(worker, job, question))

    async def _run(self, worker: Worker, job: Job, question: Any) -> None:
        told: bytes | None = None
        done = False
        try:
            async with asyncio.timeout(job.seconds):
                asked = json.dumps({"name": job.name, "question": question})
                worker.writer.write(asked.encode() + b"\n")
                await worker.writer.drain()
                line = await worker.reader.readline()
            if not line.endswith(b"\n"):
                told = _wrong("the computation took more memory than it may have, and was ended")
            else:
                told = line
                done = True
        except TimeoutError:
            told = _wrong(f"this takes longer than {job.seconds:g} s, and was ended")
        except (ConnectionError, ValueError):
            told = _wrong("the computation failed; its process ended")
        finally:
            job.running = None
            if told is not None and not job.told.done():
                job.told.set_result(told)
            if done and not worker.retired:
                self.free.append(worker)
            else:  # it may still compute, or be gone: another takes its place
                self._retire(worker)
                if not worker.retired:
                    self._soon(self._replace())
            self._next()

    # ------------------------------------------------------------------ processes

    async def _replace(self) -> None:
        try:
            self._add(await self._fork())
        except OSError:  # what is copied is gone too: all of it begins anew, once no copy is left
            if not self.every:
                await self.start()

    def _add(self, worker: Worker) -> None:
        self.every.add(worker)
        self.free.append(worker)
        self._next()

    async def _fork(self) -> Worker:
        assert self._door is not None
        ours, theirs = socket.socketpair()
        async with self._forking:
            with theirs:
                socket.send_fds(self._door, [b"f"], [theirs.fileno()])
                number = await self._number()
        ours.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=LONGEST)
        return Worker(number, reader, writer)

    async def _number(self) -> int:
        """What the process that is copied says: the number of a copy."""
        assert self._door is not None
        number = b""
        while len(number) < 4:
            piece = await asyncio.get_running_loop().sock_recv(self._door, 4 - len(number))
            if not piece:
                raise ConnectionError("the process that is copied is gone")
            number += piece
        return int.from_bytes(number, "little")

    def _soon(self, what: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(what)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _wrong(text: str) -> bytes:
    return json.dumps({"error": text}).encode()


LIGHT = ("indicial.page.wire", "indicial.exercises.apart")
HEAVY = (
    "torch", "indicial.compile.explain.gradient", "indicial.compile.explain.schedule_page",
    "indicial.compile.module.module", "indicial.claims.trying", "indicial.inspect.graph",
    "indicial.inspect.svg", "indicial.inspect.layers", "indicial.decode.text",
    "indicial.training.run", "indicial.inspect.attention", "indicial.inspect.subjects",
    "indicial.designs.comparison", "indicial.designs.hand", "indicial.designs.checking",
)  # fmt: skip
MEMORY = 2 << 30
"""Bytes that a worker may take on top of what it begins with."""


def main(door: socket.socket) -> None:
    """Copies itself for whoever asks, until the server hangs up."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the copies here
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends on Ctrl-C, and this with it
    for name in LIGHT:
        importlib.import_module(name)
    warm = False
    while True:
        message, files, _, _ = socket.recv_fds(door, 1, 1)
        if not message:
            return
        if message == b"w":
            if not warm:
                for name in HEAVY:
                    importlib.import_module(name)
                warm = True
            door.sendall(bytes(4))
            continue
        gc.collect()
        gc.freeze()  # what is here now is never garbage, and stays shared between the copies
        child = os.fork()
        if child == 0:
            door.close()
            work(socket.socket(fileno=files[0]))
            os._exit(0)
        os.close(files[0])
        door.sendall(child.to_bytes(4, "little"))


def work(line: socket.socket) -> None:
    """Answers questions, one line of JSON each, until nobody asks any more."""
    from indicial.exercises.apart import bound_memory
    from indicial.page.wire import answer

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with open(os.devnull, "r+b") as nowhere:  # what a computation prints is not an answer
        os.dup2(nowhere.fileno(), 1)
    bound_memory(MEMORY)
    gc.set_threshold(100_000, 50, 50)
    reader, writer = line.makefile("r", encoding="utf-8"), line.makefile("w", encoding="utf-8")
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for asked in reader:
            question = json.loads(asked)
            told: dict[str, Any] = answer(question["name"], question["question"])
            writer.write(json.dumps(told, ensure_ascii=False, allow_nan=False) + "\n")
            writer.flush()


if __name__ == "__main__":
    from indicial.page import runs

    runs.folders_from(sys.argv[2])
    main(socket.socket(fileno=int(sys.argv[1])))
