"""Tokens one by one → pieces of text, as soon as their characters are complete.

    stream = TextStream(tokenizer, context=[])      bytes are tokens: b is token b + 1
    stream.add(0xC3 + 1)      →  ""                 half an ü
    stream.add(0xBC + 1)      →  "ü"

What the pieces give together is what decoding all tokens at once gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from indicial.data.tokenizers import Tokenizer

HALF = "�"
"""How a character that is not complete is decoded."""
LOOKED_BACK = 4
"""Tokens before a piece that are decoded with it: a word after another begins with a blank."""


class TextStream:
    """`context` are the tokens before the first, which are not part of the text."""

    def __init__(self, tokenizer: Tokenizer, context: Sequence[int]) -> None:
        self._decode = tokenizer.decode
        self._before = list(context[-LOOKED_BACK:])
        self._pending: list[int] = []

    def add(self, token: int) -> str:
        """What can be said now that this token is known."""
        self._pending.append(token)
        piece = self._piece()
        return "" if piece.endswith(HALF) else self._said(piece)

    def end(self) -> str:
        """What is left when no token comes any more."""
        return self._said(self._piece()) if self._pending else ""

    def _piece(self) -> str:
        return self._decode(self._before + self._pending)[len(self._decode(self._before)) :]

    def _said(self, piece: str) -> str:
        self._before = (self._before + self._pending)[-LOOKED_BACK:]
        self._pending = []
        return piece


class InOrder:
    """Several texts that grow at once, written one after the other: the first as it is made.

    >>> texts = InOrder(begin=lambda n: print(f"[{n}]"), write=print)
    >>> texts.add(1, "b", False); texts.add(0, "a", True); texts.add(1, "c", True)
    [0]
    a
    [1]
    b
    c
    """

    def __init__(self, begin: Callable[[int], object], write: Callable[[str], object]) -> None:
        self._begin = begin
        self._write = write
        self._now = 0
        self._begun = False
        self._waiting: dict[int, list[str]] = {}
        self._ended: set[int] = set()

    def add(self, number: int, piece: str, last: bool) -> None:
        """A piece of a text, and whether it is its last one."""
        self._waiting.setdefault(number, []).append(piece)
        if last:
            self._ended.add(number)
        while self._now in self._waiting:
            self._write_what_waits()
            if self._now not in self._ended:
                return
            del self._waiting[self._now]
            self._now, self._begun = self._now + 1, False

    def _write_what_waits(self) -> None:
        if not self._begun:
            self._begin(self._now)
            self._begun = True
        for piece in self._waiting[self._now]:
            if piece:
                self._write(piece)
        self._waiting[self._now] = []
