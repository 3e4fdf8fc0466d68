"""Is a letter below or above a name an index, or a part of the name? What prose leaves to its reader.

c_i = Σ_j r_j                   an index, though nothing else shows it: people count with i
W_i x + b_i, W_f x + b_f        a part: weights are told apart by letters, and beside f it counts nothing
p_j^{(i)} = softmax h_j         an index, in brackets above
a_k^L                           who knows? then the display is left alone

What shows by itself (a Σ, a range, `t-1`, brackets) is found by `letters.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.program.names.letters import COUNTING, LAST, OFTEN_VECTORS, WORDS, is_lone

NAMED_BY_LETTERS = frozenset("WUVRbdn")
"""Letters whose scripts tell them apart: the i of `W_i`, beside W_f and W_o, the k of `d_k`."""


def numbering(statements: Sequence[s.Statement]) -> tuple[set[str], set[str]]:
    """The letters below and those above names that number, by habit alone.

    Letters that people count with do, unless they tell names apart: below weights and sizes, beside
    others that nobody counts with, beside the bare name (`a_m` is the measured a), and where something
    is called so (the i of `b_i`, beside a gate i_t).
    """
    below: dict[tuple[str, tuple[str, ...]], set[s.Expression | None]] = defaultdict(set)
    above: dict[tuple[str, tuple[str, ...]], set[str]] = defaultdict(set)
    named: set[str] = set()
    for name in s.every(statements, s.Name):
        below[name.base, name.accents].update(name.sub or (None,))
        if name.sub or name.sup:
            named.add(name.base)
        for script in name.sup:
            inside = script.body if isinstance(script, s.Group) else None
            if isinstance(inside, s.Name) and is_lone(inside):
                above[name.base, name.accents].add(inside.base)
    found: set[str] = set()
    for (base, _), scripts in below.items():
        letters = {i.base for i in scripts if isinstance(i, s.Name) and is_lone(i) and not i.font}
        often = set("ij") | (COUNTING if base in OFTEN_VECTORS else set())
        if letters <= often and len(letters) == len(scripts) and base not in NAMED_BY_LETTERS:
            found |= letters - named
    return found, set[str]().union(*(x for x in above.values() if x <= COUNTING)) - named


def doubted(
    statement: s.Statement,
    every: Sequence[s.Statement],
    bound: Collection[str],
    tensors: Collection[str],
) -> str:
    """Why a statement is in doubt: the (i) of `p_j^{(i)} = …` was taken for a part of the name.

    So was a number of examples, layers or steps that nothing else in the text shows to be one. Nobody
    names things by the letters that everybody numbers with, but weights, sizes, and what has names
    by other letters beside it: the k of `H^k`, beside H^q.
    """
    asked = (c for cases in statement.every(s.Cases) for _, c in cases.branches if c is not None)
    sides = (c.operands for condition in asked for c in condition.every(s.Comparison))
    compared = {n for operands in sides for n in operands if is_lone(n)}
    for name in statement.every(s.Name):
        if not name.scripts or name.base in NAMED_BY_LETTERS:
            continue
        for part in (name, replace(name, sub=()), replace(name, sup=())):
            # The s of `w_s^⊤ s` says whose weights these are.
            open_ = [
                i
                for i in part.scripts
                if unicode(i) not in tensors and (_may_number(i, part) or _is_bound(i, bound))
            ]
            asked_of = [i for i in part.scripts if i in compared]  # `∂L/∂p_a = … if a = j`
            if not (open_ or asked_of) or name_key(part) not in tensors:
                continue
            if asked_of or not _told_apart(part, every):
                script = unicode((asked_of or open_)[0])
                return f"the {script} of {unicode(name)} may number something"
    return ""


def _may_number(script: s.Expression, name: s.Name) -> bool:
    """Whether a part of a name may be an index that was not seen to be one."""
    inside = s.inner(script)
    if not isinstance(inside, s.Name) or inside.sub or inside.sup:
        return any(_may_number(n, n) for n in inside.every(s.Name) if n is not inside)
    if inside.font or inside.accents or inside.base in WORDS:
        return False
    if inside.base == "T" or (inside is not script and inside.base in LAST | {"K"}):
        return True
    pair = script in name.sub and len(inside.base) == 2  # `S_{jz}`
    if pair and any(c in COUNTING for c in inside.base):
        return True
    if script in name.sub and not name.base.isascii():
        return False  # the noise σ_n, the weight α_t of a class
    return len(inside.base) <= 3 and COUNTING.issuperset(inside.base)


def _is_bound(script: s.Expression, bound: Collection[str]) -> bool:
    """The [h] of `z^{[h]}`, beside `Σ_h`."""
    inside = s.inner(script)
    return inside is not script and unicode(inside) in bound


def _told_apart(name: s.Name, every: Sequence[s.Statement]) -> bool:
    """Whether there are others by the name, whose letters nobody numbers with."""
    alike = (n for n in s.every(every, s.Name) if n.base == name.base)
    others = (n for n in alike if n.accents == name.accents and len(n.scripts) == len(name.scripts))
    return any(n.scripts and not any(_may_number(i, n) for i in n.scripts) for n in others)
