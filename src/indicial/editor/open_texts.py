"""The texts that an editor has open, each read again and again while it is changed.

    opened = Open("cell.eq", text, …)
    opened.change(…)                         edits are taken at once
    await opened.fresh(2.0)                  what is known is about the newest text, if that is soon enough

Reading begins when nothing was typed for a moment, with the newest text only; while it lasts, editing
goes on, and what is found is moved to where things are by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import PurePath

from indicial.editor.texts import Edit, Findings, Position, Text, before, moved, touched
from indicial.editor.worker import Lost, Worker

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
