"""Which of several processes writes: the first.

>>> writes()                     # alone, or rank 0 of torch.distributed
True
"""

from __future__ import annotations

import torch.distributed as distributed


def writes() -> bool:
    """Whether this process writes files and shows progress: always, unless it has a rank above 0."""
    if not (distributed.is_available() and distributed.is_initialized()):
        return True
    return distributed.get_rank() == 0
