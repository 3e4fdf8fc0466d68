"""Whether two contenders compute the same numbers; only then is comparing their times fair.

>>> difference({"h": torch.ones(3)}, {"h": torch.ones(3) + 1e-7})
('h', 1e-07)

The measure is the length of the difference. A largest element would not do: among millions of
ReLUs some stand so near to their kink that two orders of summing put them on different sides.
"""

from __future__ import annotations

import torch

# Single precision through a few hundred steps; one wrong step, unit or example is far beyond it.
TOLERANCE = 1e-3


class Different(Exception):
    """The two do not compute the same."""


def difference(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> tuple[str, float]:
    """The worst of the values that both have, as a fraction of that value's length."""
    worst = ("", 0.0)
    for name in ours.keys() & theirs.keys():
        scale = torch.linalg.vector_norm(theirs[name]).clamp_min(1e-30)
        gap = float(torch.linalg.vector_norm(ours[name] - theirs[name]) / scale)
        if not gap <= worst[1]:  # a nan is not small
            worst = (name, gap)
    return worst


def check(
    ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor], what: str, required: set[str]
) -> None:
    """Raise unless both have all that is required and agree on it."""
    missing = required - (ours.keys() & theirs.keys())
    if missing:
        raise Different(f"{what}: nothing to compare {', '.join(sorted(missing))} with")
    name, gap = difference(ours, theirs)
    if not gap <= TOLERANCE:
        raise Different(f"{what}: {name} differs by {gap:.2g} of its length")
