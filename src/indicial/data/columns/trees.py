"""Heads of words as trees: what is wrong with some, and the likeliest of all.

    cycle([1, 2, 1, 3])            →  [1, 2]      these hang on each other, and on nothing else
    likeliest_tree(ln_p)           →  [1, 1, 1]   the head of each word; the root is its own head

The likeliest tree is the maximum spanning tree of the scores (Chu and Liu 1965, Edmonds 1967): take the best head of
each word; where that closes a cycle, make one word of it and begin again. There is one root, as Universal
Dependencies want it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

LEAST = -80.0
"""ln P of what is as good as impossible; nothing is quite, so that there is always a tree."""


def cycle(heads: Sequence[int]) -> list[int] | None:
    """Places that lead to each other and not to a root (a place that is its own head); None if there are none."""
    done = [False] * len(heads)
    for start in range(len(heads)):
        path: list[int] = []
        at = start
        while not done[at]:
            done[at] = True
            path.append(at)
            at = heads[at]
        if at in path and heads[at] != at:
            return path[path.index(at) :]
    return None


def is_tree(heads: Sequence[int]) -> bool:
    """Whether all places lead to one, which is its own head."""
    roots = sum(head == place for place, head in enumerate(heads))
    return roots == 1 and cycle(heads) is None


def likeliest_tree(scores: Any) -> list[int]:
    """The heads of the tree with the largest sum of `scores[t, s]`: that of s as the head of t, or, with s = t,
    of t as the root."""
    scores = np.maximum(np.nan_to_num(np.asarray(scores, np.float64), nan=LEAST), LEAST)
    quick: list[int] = scores.argmax(1).tolist()
    if is_tree(quick):
        return quick
    count = len(scores)
    # The root becomes a place of its own before the others. It costs so much that one word alone hangs on it.
    wide = np.full((count + 1, count + 1), -np.inf)
    wide[1:, 1:] = scores
    np.fill_diagonal(wide, -np.inf)
    wide[1:, 0] = scores.diagonal() - (count + 1) * (np.ptp(scores) + 1)
    heads = _spanning(wide)[1:] - 1
    return [place if head < 0 else head for place, head in enumerate(heads.tolist())]


def _spanning(scores: Any) -> Any:
    """The best head of every place but 0, on which all hang in the end."""
    heads = scores.argmax(1)
    heads[0] = 0
    loop = cycle(heads.tolist())
    if loop is None:
        return heads
    ring = np.asarray(loop)
    rest = np.setdiff1d(np.arange(len(scores)), ring)
    last = len(rest)  # where the cycle stands, as one place
    small = np.full((last + 1, last + 1), -np.inf)
    small[:last, :last] = scores[np.ix_(rest, rest)]
    # A link into the cycle takes the place of the one that its word has inside.
    entering = scores[np.ix_(ring, rest)] - scores[ring, heads[ring]][:, None]
    leaving = scores[np.ix_(rest, ring)]
    small[last, :last] = entering.max(0)
    small[:last, last] = leaving.max(1)
    found = _spanning(small)
    from_loop = ring[leaving.argmax(1)]
    heads[rest] = np.where(
        found[:last] == last, from_loop, rest[np.minimum(found[:last], last - 1)]
    )
    heads[ring[entering[:, found[last]].argmax()]] = rest[found[last]]
    return heads
