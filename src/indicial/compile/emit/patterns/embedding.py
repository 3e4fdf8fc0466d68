"""Rows of a matrix at tokens are `F.embedding`.

e[w[t], j]      embedding(w, e)

The text has the call already: a read at a token is made as one. Here it is only told.
"""

from __future__ import annotations

from indicial.compile.emit.graph import Node
from indicial.compile.emit.patterns.pattern import Found, Pattern, Surroundings
from indicial.compile.emit.patterns.trees import sides


def match(node: Node, around: Surroundings) -> Found | None:
    pair = sides("embedding({}, {})", node)
    if pair is None:
        return None
    tokens, rows = pair
    return Found(
        lambda become: around.torch.helper(
            "embedding", "{}, {}", become(tokens), become(rows), shape=node.shape,
            kind=node.kind, hint=node.hint,
        )
    )  # fmt: skip


EMBEDDING = Pattern("embedding", "embedding", match)
