"""Places in a text as browsers count them: in UTF-16 units, where 𝔼 takes two.

>>> Units("𝔼 x").at(1)
2
"""

from __future__ import annotations

from bisect import bisect_left

from indicial.notation.source import Span


class Units:
    """Offsets of one text, converted."""

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self.wide = [n for n, c in enumerate(text) if ord(c) > 0xFFFF]

    def at(self, offset: int) -> int:
        offset = min(offset, self.length)
        return offset + bisect_left(self.wide, offset)

    def of(self, span: Span) -> tuple[int, int]:
        """Where a stretch begins and ends; of what stands in another text, the beginning of this."""
        return (self.at(span.start), self.at(span.end)) if span.source.text else (0, 0)
