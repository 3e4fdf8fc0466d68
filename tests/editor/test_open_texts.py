"""What is known of a text follows its edits, whatever happens to the process that reads."""

import asyncio
from typing import Any

from indicial.editor.occurrences import Diagnostic, Findings, Text
from indicial.editor.open_texts import Lost, Open


class Readers:
    """Readers that find a mistake at each `!`, and die of a `?`."""

    def __init__(self) -> None:
        self.claims = self
        self.asked: list[tuple[str, str]] = []

    def of(self, text: str) -> "Readers":
        return self

    async def ask(self, what: str, text: str, *_: Any) -> Findings:
        self.asked.append((what, text))
        await asyncio.sleep(0)
        if "?" in text:
            raise Lost("it has died")
        places = [n for n, sign in enumerate(text) if sign == "!"]
        return Findings([Diagnostic(n, n + 1, "error", what, "!") for n in places])


async def edited() -> None:
    readers, told = Readers(), 0

    def hear(_: Open) -> None:
        nonlocal told
        told += 1

    async def heard(times: int) -> None:
        assert await text.fresh(9)
        while told < times:
            await asyncio.sleep(0.01)

    text = Open("a.eq", Text("\n"), readers, hear)  # type: ignore[arg-type]
    await heard(1)
    text.change((0, 0), (0, 0), "a")
    await heard(2)  # nothing is found, and nothing is claimed: the two are told apart
    text.change((0, 0), (0, 1), "claim !")
    await heard(4)
    text.change((0, 0), (0, 0), "ab ")
    text.change((0, 0), (0, 0), "c ")
    for known in (text.known, text.claimed):
        assert [known.now(d.start, d.end) for d in known.findings.diagnostics] == [(11, 12)]
        assert known.then(11) == 6
    assert await text.fresh(9)
    assert text.known.edits == []
    read = [asked for what, asked in readers.asked if what == "find"]
    assert read == ["\n", "a\n", "claim !\n", "c ab claim !\n"]
    # Nobody can read the next one: what was known stays, and nothing that needs the whole is answered.
    text.change((0, 0), (0, 2), "?")
    assert not await text.fresh(0.5)
    assert [text.known.now(d.start, d.end) for d in text.known.findings.diagnostics] == [(10, 11)]
    text.change((0, 0), (0, 1), "")
    assert await text.fresh(9)
    assert [(d.start, d.end) for d in text.known.findings.diagnostics] == [(9, 10)]
    text.close()


def test_an_open_text() -> None:
    asyncio.run(asyncio.wait_for(edited(), 60))
