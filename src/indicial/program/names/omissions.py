"""Indices that were left out, and are meant.

α[t_{in}] = softmax_{t_{in}} h[t-1,J] …     t is on the right only, and a recurrence runs over it:
                                            α is meant per step, α[t, t_{in}]
h̃(t) = α[t,S] h(S)      beside h(s)[N]      the trailing index is left out on both sides
"""

from __future__ import annotations

from collections import defaultdict

from indicial.notation import syntax as s
from indicial.program.lowering.places import describe
from indicial.program.names.letters import capital, family, index_name
from indicial.program.names.occurrences import (
    computed_uses,
    left_letters,
    loose_letters,
    recurrences,
    uses,
)
from indicial.program.names.outline import Definition, Outline


def lifts(outline: Outline) -> dict[str, list[s.Name]]:
    """For each defined name the indices that it is meant to have in front, and does not show."""
    over = recurrences(outline)
    lifted: dict[str, dict[str, s.Name]] = defaultdict(dict)
    reads: dict[str, set[str]] = defaultdict(set)
    for definition in outline.definitions:
        left = left_letters(definition)
        loose = loose_letters(outline, definition.body, set(left))
        for key, name in loose.items():
            if family(name) in over:
                lifted[definition.key][key] = name
        reads[definition.key].update(
            use.reference.key for use in uses(outline, definition.body) if use.kind == "tensor"
        )
    on_left = {d.key: left_letters(d) for d in outline.definitions}
    for _ in range(len(outline.definitions)):
        changed = False
        for definition in outline.definitions:
            for read in reads[definition.key]:
                for key, name in list(lifted.get(read, {}).items()):
                    if key not in on_left[definition.key] and key not in lifted[definition.key]:
                        lifted[definition.key][key] = name
                        changed = True
        if not changed:
            break
    return {k: list(v.values()) for k, v in lifted.items() if v}


def batch_lifts(outline: Outline) -> dict[str, s.Name]:
    """Inputs that are read without the batch index b where the left side has it."""
    result: dict[str, s.Name] = {}
    with_b = {
        key for key, (r, _) in outline.inputs.items() if any(describe(i) == "b" for i in r.items)
    }
    for definition in outline.definitions:
        for use in uses(outline, definition.body):
            if use.kind == "tensor" and any(describe(i) == "b" for i in use.reference.items):
                with_b.add(use.reference.key)
    for definition in outline.definitions:
        left = left_letters(definition)
        if "b" not in left:
            continue
        for use in uses(outline, definition.body):
            key = use.reference.key
            if use.kind != "tensor" or key in outline.defined or key in with_b:
                continue
            gathered = bool(use.reference.items) and (key in outline.inputs or outline.document)
            token_like = key in outline.inputs or key in ("w", "x", "y")
            if gathered and token_like:
                result[key] = left["b"]
    return result


def trailing_slices(outline: Outline, arity: dict[str, int]) -> dict[int, s.Name]:
    """Statements that leave a trailing index out on both sides, and the slice that was meant."""
    letters: dict[str, list[str]] = {}
    for use in computed_uses(outline):
        key = use.reference.key
        if use.kind == "tensor" and len(use.reference.items) == arity.get(key, -1):
            letters.setdefault(key, [describe(i) for i in use.reference.items])
    for definition in outline.definitions:
        if len(definition.items) == arity.get(definition.key, -1):
            letters.setdefault(definition.key, [describe(i) for i in definition.items])
    result: dict[int, s.Name] = {}
    for number, definition in enumerate(outline.definitions):
        for use in uses(outline, definition.body):
            key, items = use.reference.key, use.reference.items
            known = letters.get(key)
            if use.kind != "tensor" or known is None or len(items) != len(known) - 1 or not items:
                continue
            if key == definition.key and len(definition.items) == len(known):
                continue  # `h[t,j] = … h[t-1] …`: the left side has them all
            if known[-1] in ("#", "@") or known[-1] in _families(definition):
                continue  # the index is there, so it was not left out everywhere
            if [describe(i) for i in items] == known[:-1]:
                result[number] = s.Name(
                    capital(known[-1]).partition("_")[0], span=definition.left.span
                )
    return result


def _families(definition: Definition) -> set[str]:
    """The families of all letters that stand as an index in an equation."""
    return {
        family(name)
        for node in definition.equation.every(s.Name)
        if (name := index_name(node)) is not None
    }
