"""The logarithm of a softmax at the actual token is a cross entropy.

log_P = scores.log_softmax(-1)
torch.where(w >= 0, log_P.gather(-1, …).squeeze(-1), 0)     →  log_likelihood(scores, w)
"""

from __future__ import annotations

from indicial.compile.emit.graph import Node
from indicial.compile.emit.patterns.pattern import Found, Missed, Pattern, Surroundings
from indicial.compile.emit.patterns.trees import only, sides


def match(node: Node, around: Surroundings) -> Found | Missed | None:
    if node.template != "torch.where({}, {}, {})" or node.arguments[2].value != 0:
        return None
    present, found, _ = node.arguments
    picked = sides("{}.gather(-1, {}).squeeze(-1)", found)
    tokens = only("{} >= 0", present)
    if picked is None or tokens is None:
        return None
    logs, places = picked
    scores = only("{}.log_softmax(-1)", logs)
    if scores is None or only("{}.clamp(min=0)", _unindexed(places)) is not tokens:
        return None
    if not around.once(logs):
        return Missed("the other logarithms of the distribution are needed as well")
    torch = around.torch
    return Found(
        lambda become: torch.helper(
            "log_likelihood", "{}, {}", become(scores), become(tokens), shape=node.shape,
            kind=node.kind, hint="likelihood",
        )
    )  # fmt: skip


def _unindexed(node: Node) -> Node:
    """`w.clamp(min=0)[..., None]` without its last axis."""
    if node.light and node.template.endswith("None]"):
        return node.arguments[0]
    return node


CROSS_ENTROPY = Pattern("cross entropy", "cross_entropy", match)
