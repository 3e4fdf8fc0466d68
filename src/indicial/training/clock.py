"""The clock that a training goes by.

>>> begun = clock.now()
>>> clock.now() - begun
0.031

`--minutes` are those of the wall. Who measures on a machine where others work, or tests what
happens on one that becomes slow, puts another clock in its place: `clock.now = time.process_time`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

now: Callable[[], float] = time.monotonic
