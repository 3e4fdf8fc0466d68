"""What was generated: new tokens, why they end, how likely they are.

>>> Continuation(tokens=[5, 2, 0], ended="eos", log_probability=-3.2)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from indicial.decode.repeats import Repeat

Ended = Literal["eos", "length", "repeat"]


@dataclass(frozen=True)
class Continuation:
    """`tokens` are the new ones, with the end-of-text token where there is one.

    `log_probability` is what the model gives them in nats, whatever was cut off or scaled; `score` is
    what beam search ranks by. `repeat` is the loop in which they end. `window` is how many tokens the
    model sees at most, where the text outgrew that.
    """

    tokens: list[int]
    ended: Ended
    log_probability: float
    repeat: Repeat | None = None
    score: float | None = None
    window: int | None = None
