"""What an answer is worth: a share from 0 to 1, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Grade:
    """What an answer is worth, from 0 to 1, and why."""

    share: float
    told: str
    state: str = ""
    """`unread` or `empty`; all else follows from the share."""

    @property
    def word(self) -> str:
        return self.state or ("right" if self.share == 1 else "partly" if self.share else "wrong")


RIGHT = Grade(1.0, "as in the sheet")
EMPTY = Grade(0.0, "not answered", "empty")
