r"""Letters of a document that number nothing: which scripts are parts of names, wherever they stand.

W^e x_t, W^h h_{t-1}, W^y h_t      e, h and y tell three matrices apart, and so does the h of b_h
q_i, k_j                           one letter each: nothing is told apart
x_u, x_v with Σ_v                  something runs over the v

A name that is numbered is numbered by one letter, or by letters that sums run over and people count with; a name
with several letters in the same place that do neither is several names. One display shows too few of them to
tell, so all of a document's prose decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeGuard

from indicial.notation import syntax as s
from indicial.program.names.letters import PARAMETERS, is_capital, is_lone, letters_bound
from indicial.program.vectors.labels import NUMBERING
from indicial.program.vectors.sums import letters_repeated

Slot = tuple[str, tuple[str, ...], str, int, int]
"""A letter, its accents, and the place below or above it, of so many."""


def with_labels(prose: list[s.Statement]) -> list[s.Statement]:
    """The statements of a document's prose, with letters that tell names apart as parts of them."""
    fillers: dict[Slot, set[str]] = defaultdict(set)
    counted: set[Slot] = set()
    for name in dict.fromkeys(n for n in s.every(prose, s.Name) if n.scripts):
        for slot, script in _slots(name):
            if _is_letter(script):
                fillers[slot].add(script.base)
            elif isinstance(script, s.Add | s.Number):
                counted.add(slot)
    if not any(len(letters) > 1 for letters in fillers.values()):
        return prose
    numbering = NUMBERING | _running(prose)
    telling = {
        slot: letters
        for slot, letters in fillers.items()
        if slot not in counted and len(letters - numbering) > 1
    }
    if not telling:
        return prose
    labels = set[str]().union(*telling.values()) - numbering

    def tells(slot: Slot, script: s.Expression, running: set[str]) -> bool:
        """The h of `W^h`, and of `b_h` beside it; the i of `W_i` beside W_f and W_o, if no Σ runs over it there."""
        if not _is_letter(script):
            return False
        return script.base in labels or (slot in telling and script.base not in running)

    def change(node: s.Expression, running: set[str]) -> s.Expression:
        if not isinstance(node, s.Name):
            return node.rebuild(partial(change, running=running))
        if not node.scripts:
            return node
        slots = [(slot, i) for slot, i in _slots(node) if tells(slot, i, running)]
        new = {id(i): replace(i, font="roman") for _, i in slots if isinstance(i, s.Name)}
        sub, sup = (tuple(new.get(id(i), i) for i in scripts) for scripts in (node.sub, node.sup))
        return replace(node, sub=sub, sup=sup) if new else node

    def concerns(statement: s.Statement) -> bool:
        """Whether a letter that tells names apart stands in it."""
        return any(
            (isinstance(i, s.Name) and i.base in labels) or slot in telling
            for name in statement.every(s.Name)
            if name.scripts
            for slot, i in _slots(name)
        )

    return [
        st.rebuild(partial(change, running=_running([st]))) if concerns(st) else st for st in prose
    ]


def _slots(name: s.Name) -> Iterator[tuple[Slot, s.Expression]]:
    for where, scripts in (("below", name.sub), ("above", name.sup)):
        for place, script in enumerate(scripts):
            yield (name.base, name.accents, where, place, len(scripts)), script


def _is_letter(script: s.Expression) -> TypeGuard[s.Name]:
    return (
        isinstance(script, s.Name)
        and is_lone(script)
        and not script.font
        and script.base not in PARAMETERS
        and not is_capital(script.base)
    )


def _running(statements: Sequence[s.Statement]) -> set[str]:
    """The letters that certainly number: below sums, in guards and conditions, in brackets, with a number.

    Where a sum is implied, all letters of the equation number: those on the left and those that occur twice.
    """
    found = letters_bound(statements) | letters_repeated(statements)
    for statement in statements:
        for node in statement.every(s.Name, s.Index, s.Call, s.Comparison):
            places: tuple[s.Expression, ...] = ()
            if isinstance(node, s.Name):
                places = tuple(i for i in node.scripts if not _is_letter(i))
            elif isinstance(node, s.Index):
                places = node.items
            elif isinstance(node, s.Call):
                places = (*node.arguments, *(node.given or ()))
                places = tuple(i for i in places if is_lone(i))
            elif isinstance(node, s.Comparison):
                places = node.operands
            found |= {n.base for place in places for n in place.every(s.Name) if is_lone(n)}
    return found
