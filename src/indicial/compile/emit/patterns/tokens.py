"""The logarithm of a softmax at the actual token is a cross entropy.

log_P = scores.log_softmax(-1)
torch.where(w >= 0, log_P.gather(-1, …).squeeze(-1), 0)     →  log_likelihood(scores, w)

Rows of a matrix at tokens are `F.embedding`.

e[w[t], j]      embedding(w, e)

The text has the call already: a read at a token is made as one. Here it is only told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from indicial.compile.emit.nodes import ALL, Node
from indicial.compile.emit.operations import Item, Torch
from indicial.compile.emit.patterns.pattern import Found, Missed, Pattern, Surroundings, only, sides


def likelihood(node: Node, around: Surroundings) -> Found | Missed | None:
    if node.operation != "torch.where" or node.arguments[2].value != 0:
        return None
    present, found, _ = node.arguments
    gathered = only(".squeeze", found, -1)
    there = sides(">=", present)
    if gathered is None or gathered.operation != ".gather" or there is None or there[1].value != 0:
        return None
    tokens, _ = there
    logs, places = gathered.arguments
    torch = around.torch
    whole, items = torch.unindexed(logs)
    scores = only(".log_softmax", whole, -1)
    near = torch.unsqueeze(torch.at_least_0(tokens), [tokens.rank])
    if scores is None or places is not near:
        return None
    if len(items) == whole.rank and items[-1] is not ALL:
        return None
    if not around.once(whole) or not around.once(logs):
        return Missed("the other logarithms of the distribution are needed as well")

    def build(become: Callable[[Node], Node]) -> Node:
        arguments = _part(torch, scores, items, around, become), become(tokens)
        return torch.helper(
            "log_likelihood", *arguments, shape=node.shape, kind=node.kind,
            hint="likelihood",
        )  # fmt: skip

    return Found(build)


def _part(
    torch: Torch,
    scores: Node,
    items: Sequence[Item],
    around: Surroundings,
    become: Callable[[Node], Node],
) -> Node:
    """The scores of some steps only, computed for those only if they are a linear map."""
    linear = sides("F.linear", scores)
    if linear is None or not items or not around.once(scores):
        return torch.index(become(scores), items) if items else become(scores)
    x = torch.index(become(linear[0]), items)
    shape = [*x.shape[:-1], scores.shape[-1]]
    return torch.graph.make("F.linear", x, become(linear[1]), shape=shape, hint="scores")


CROSS_ENTROPY = Pattern("cross entropy", "cross_entropy", likelihood)


def embedded(node: Node, around: Surroundings) -> Found | None:
    if node.operation != "embedding":
        return None
    return Found(lambda become: around.torch.graph.again(node, become))


EMBEDDING = Pattern("embedding", "embedding", embedded)
