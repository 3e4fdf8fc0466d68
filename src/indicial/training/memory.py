"""Too little memory → one sentence that says for what, and what to make smaller.

>>> with enough_memory("for a step of 64 x 128 tokens; make --batch-size smaller"):
...     loss.backward()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from indicial.program.messages import IndicialError


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """While this lasts, an error of PyTorch or NumPy about memory is told in these words."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        # PyTorch's words for it differ from device to device.
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise
        raise IndicialError(f"there is no memory {what}") from error
