"""A ReLU of a product that nobody else reads overwrites it: half the memory, half the traffic.

F.relu(F.linear(x, W))      F.relu(F.linear(x, W), inplace=True)

The gradient of a product does not need the product itself, so nothing is lost.
"""

from __future__ import annotations

from indicial.compile.emit.graph import Node
from indicial.compile.emit.patterns.pattern import Found, Missed, Pattern, Surroundings
from indicial.compile.emit.patterns.trees import only, sides


def match(node: Node, around: Surroundings) -> Found | Missed | None:
    inner = only("F.relu({})", node)
    if inner is None or not around.once(inner):
        return None
    terms = sides("{} + {}", inner) or sides("{} - {}", inner) or (inner,)
    products = [t for t in terms if t.template == "F.linear({}, {})" and around.once(t)]
    if len(products) != 1 or inner.shape != products[0].shape:
        return None
    if any(term.rank > 1 for term in terms if term is not products[0]):
        return None  # a sum with another tensor is not the product's own memory

    return Found(
        lambda become: around.torch.graph.make(
            "F.relu({}, inplace=True)", become(inner), shape=node.shape, hint=node.hint
        )
    )


IN_PLACE = Pattern("a ReLU in place", "relu", match)
