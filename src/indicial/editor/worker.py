"""The process that reads texts, apart from the one that talks to the editor.

>>> worker = Worker()
>>> found = await worker.ask("find", text, "cell.eq")        # a `Findings`

What an editor sends must be taken at once, and reading a long text takes seconds. A process of its own
can also be ended: where a text takes too long, or all memory, the next one is read by a new process.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

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
                sys.executable, "-m", "indicial.editor.worker",
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
    from indicial.editor.reading import find, try_the_claims
    from indicial.editor.texts import Findings

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


if __name__ == "__main__":
    main()
