"""Weights whose superscript says what they multiply, beside one that multiplies something else.

W^{h,G}[j,I] h[t-1,I] + W^{x,G}[j,K] x[t,K]
W^{h,R}[j,I] h[t-1,I] + W^{x,R}[j,K] h'[t,K]        W^{x,…} multiplies x everywhere else
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from indicial.notation.printers import name_key
from indicial.notation.syntax import Equation, Index, Name, Product
from indicial.program.checks.similar import in_place
from indicial.program.lowering.context import Context
from indicial.program.names.letters import index_name, is_capital

LEAST = 2
"""So many products must say the same before one that does not is a slip."""


@dataclass(frozen=True)
class _Pair:
    """`W^{x,R}[j,K] h'[t,K]`: the weight with its first superscript, and what it multiplies."""

    weight: Index
    says: str
    factor: Index

    @property
    def agrees(self) -> bool:
        return isinstance(self.factor.base, Name) and self.factor.base.base == self.says


def misnamed_factors(context: Context) -> None:
    """Warns of the one weight that multiplies another tensor than its script says."""
    pairs = [
        pair for s in context.outline.statements if isinstance(s, Equation) for pair in _pairs(s)
    ]
    for says in sorted({pair.says for pair in pairs} & context.tensors.keys()):
        own = [pair for pair in pairs if pair.says == says]
        odd = [pair for pair in own if not pair.agrees]
        known = [pair for pair in own if pair.agrees]
        if len(known) < LEAST or len(odd) != 1:
            continue
        (one,) = odd
        assert isinstance(one.weight.base, Name) and isinstance(one.factor.base, Name)
        weight, factor = name_key(one.weight.base), name_key(one.factor.base)
        context.messages.warning(
            "script-factor",
            f"{weight} multiplies {factor} here, and every other weight of that kind multiplies {says}",
            (one.factor.span, f"not {says}"), (known[0].factor.span, f"{says} here"),
            hint=f"did you mean {says}, or is the weight another one?",
        )  # fmt: skip


def own_letters(context: Context) -> None:
    """`W^k[k,I,j]` beside `W^K[k,I,j]`: the k above is no label, but the index of W itself."""
    weights = [
        node for s in context.outline.statements if isinstance(s, Equation)
        for node in s.every(Index) if isinstance(node.base, Name) and len(node.base.sup) == 1
    ]  # fmt: skip
    known = {node.base: node for node in reversed(weights)}
    for node in weights:
        assert isinstance(node.base, Name)
        (script,) = node.base.sup
        if not isinstance(script, Name) or not script.bare or script not in node.items:
            continue
        meant = replace(node.base, sup=(replace(script, base=script.base.upper()),))
        if meant in known and meant != node.base:
            context.messages.warning(
                "similar-names", f"{name_key(node.base)} and {name_key(meant)} differ only in case",
                (node.span, f"{name_key(node.base)} here"), (known[meant].span, f"{name_key(meant)} here"),
                hint=f"did you mean {name_key(meant)}? {script.base} is an index of it",
                fix=(node.span, in_place(node.span, known[meant].span)),
            )  # fmt: skip


def _pairs(equation: Equation) -> Iterator[_Pair]:
    for node in (n for side in equation.sides for n in side.walk()):
        if not isinstance(node, Product):
            continue
        factors = [f for f in node.factors if isinstance(f, Index) and isinstance(f.base, Name)]
        for weight, factor in pairwise(factors):
            assert isinstance(weight.base, Name)
            script = weight.base.sup
            if (
                len(script) == 2
                and isinstance(script[0], Name)
                and _summed(weight) & _summed(factor)
            ):
                # In `W^{h,R}[j,I] G^r[t,I] h[t-1,I]` a gate stands between the weight and its h.
                met = [f for f in factors if _summed(weight) & _summed(f)]
                own = (f for f in met if isinstance(f.base, Name) and f.base.base == script[0].base)
                yield _Pair(weight, script[0].base, next(own, factor))


def _summed(node: Index) -> set[str]:
    names = (index_name(item) for item in node.items)
    return {name_key(name) for name in names if name is not None and is_capital(name.base)}
