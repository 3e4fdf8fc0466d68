"""What the emitter does not know how to write, said to whoever wrote the equations."""

from __future__ import annotations

from indicial.program.messages import IndicialError


class NotEmitted(IndicialError):
    """`NotEmitted("the extent T - t")`: the oracle runs such a program, a module does not yet."""

    def __init__(self, what: str) -> None:
        super().__init__(f"no PyTorch is known for {what}; `interpret` evaluates it, slowly")
