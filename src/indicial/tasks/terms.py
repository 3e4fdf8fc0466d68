"""The terms that a loss is a sum of, so that each can be watched.

ℒ_{total} = ℒ_{LM} + λ ℒ_{focus}     →  ("ℒ_{LM}", "ℒ_{focus}")
loss = 1/T Σ_t -ln P(w_t | …)        →  ()
"""

from __future__ import annotations

from indicial.program.ir import Apply, Code, Expression, Read


def loss_terms(code: Code) -> tuple[str, ...]:
    """The numbers with a name that the loss adds up, each alone or times a constant."""
    if code.loss is None or len(code.of(code.loss)) != 1:
        return ()
    body = code.of(code.loss)[0].body
    if not (isinstance(body, Apply) and body.function == "+"):
        return ()
    found = [_named(code, part) for part in body.arguments]
    return tuple(dict.fromkeys(name for name in found if name is not None))


def _named(code: Code, part: Expression) -> str | None:
    """The one defined number in a term: the ℒ_{focus} of λ ℒ_{focus}."""
    names = {
        node.tensor
        for node in part.walk()
        if isinstance(node, Read)
        and code.tensors[node.tensor].role == "defined"
        and not code.tensors[node.tensor].axes
    }
    return names.pop() if len(names) == 1 else None
