"""What can be a column or a matrix in vector style: names, with the indices that are written.

k_i^⊤ q + h_Φ(e(w))^⊤ e[w,I]      →  k_i, q, h_Φ(e(w)), e(w); and e[w,I], which is indexed in full
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.program.names.gradients import below
from indicial.program.names.letters import index_name, is_capital, is_letter
from indicial.program.names.naming import activates
from indicial.program.names.outline import Outline
from indicial.program.names.uses import BUILT_IN, Use

JOINING = frozenset({"concat", "Concat", "CONCAT", "cat", "Cat"})
TRACE = frozenset({"tr", "Tr", "trace", "Trace"})
MATRIX_FUNCTIONS = JOINING | TRACE | {"diag", "Diag"}


@dataclass(frozen=True)
class Leaf:
    """A name with its indices, as far as they are written."""

    stem: str
    key: str
    use: Use
    capital: bool | None
    """Whether it is written with a capital letter; None for a word."""
    base: s.Name
    """As it is written."""

    @property
    def letter(self) -> str:
        """The A of `ΔA` too, which is of A's kind."""
        return self.base.base.lstrip("Δ") or self.base.base


class Leaves:
    """Finds the names of a program that have a rank."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.known: dict[int, tuple[s.Expression, Leaf | None]] = {}

    def leaf(self, node: s.Expression) -> Leaf | None:
        """The node as a name that can be a column or a matrix; None for all else."""
        if not isinstance(node, s.Name | s.Index | s.Call):
            return None
        if id(node) not in self.known:
            self.known[id(node)] = node, self._leaf(node)  # the node is kept: its id stays its own
        return self.known[id(node)][1]

    def _leaf(self, node: s.Name | s.Index | s.Call) -> Leaf | None:
        use = self.outline.use(node)
        if use is None or use.kind not in ("tensor", "function"):
            return None
        base: s.Expression = node
        base = s.head(base)
        assert isinstance(base, s.Name)
        if use.kind == "function" and (
            base.base in BUILT_IN | MATRIX_FUNCTIONS
            or use.rest
            or self.defined(use)
            or elementwise(node)
        ):
            return None
        if base.ends:
            base = below(base) or base  # `∂L/∂W` is of W's kind
        words = tuple(i for i in base.sub if isinstance(i, s.Name) and not is_letter(i.base))
        sup = base.sup if use.reference.power is None else ()
        stem = name_key(s.Name(base.base, base.accents, base.primes, words, sup))
        case = base.base[-1].isupper() if is_letter(base.base) else None
        return Leaf(stem, use.reference.key, use, case, base)

    def defined(self, use: Use) -> bool:
        """Whether it is a function that the program defines or fills."""
        return use.reference.key in {*self.outline.functions, *self.outline.fills}

    def values(self, node: s.Expression) -> Iterator[s.Expression]:
        """The names that an expression takes the values of: not those inside indices."""
        leaf = self.leaf(node)
        if leaf is None and is_element(node):
            yield from self.values(node.base)
            return
        if leaf is not None or isinstance(node, s.Name | s.Index):
            yield node
            for argument in leaf.use.call.arguments if leaf and leaf.use.call is not None else ():
                yield from self.values(argument)
            return
        if isinstance(node, s.Call):
            use = self.outline.use(node)
            opaque = use is None or use.kind == "probability"
            children: Sequence[s.Node] = () if opaque else node.arguments
        elif isinstance(node, s.Reduction):
            children = (node.body,)
        else:
            children = list(node.children())
        for child in children:
            if isinstance(child, s.Expression):
                yield from self.values(child)


def chain(node: s.Node) -> list[s.Name]:
    """The derivatives of `∂L/∂h ∂h/∂W`, from what is derived to what it is derived by; else nothing.

    Each is by what the next one is of; in the other layout they stand in the other order.
    """
    factors = node.factors if isinstance(node, s.Product) else ()
    found = [f for f in factors if isinstance(f, s.Name) and f.ends]
    if not found or len(found) < len(factors):
        return []
    if all(map(_links, found, found[1:])):
        return found
    return found[::-1] if all(map(_links, found[1:], found)) else []


def chained(statements: list[s.Statement]) -> list[s.Statement]:
    """`η ∂L/∂h ∂h/∂W`: the derivatives of a chain as one factor."""

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name):
            return node
        node = node.rebuild(change)
        if not isinstance(node, s.Product) or len(node.factors) < 3 or chain(node):
            return node
        factors: list[s.Expression] = []
        for factor in node.factors:
            last = s.factors(factors[-1]) if factors else ()
            joined = s.Product((*last, factor), span=last[0].span.to(factor.span)) if last else node
            if last and chain(joined):
                factors[-1] = joined
            else:
                factors.append(factor)
        return replace(node, factors=tuple(factors))

    return [st.rebuild(change) if _derives(st) else st for st in statements]


def _links(one: s.Name, other: s.Name) -> bool:
    return len(other.ends) == 2 and one.ends[-1] == other.ends[0]


def _derives(statement: s.Statement) -> bool:
    return {*[n.ends for n in statement.every(s.Name)]} != {()}


def is_element(node: s.Node) -> TypeGuard[s.Index]:
    """`[W x]_j`, `σ(W x)_j`: an element of something that is computed."""
    computed = s.Group | s.Call | s.Reduction | s.Product
    return isinstance(node, s.Index) and isinstance(node.base, computed)


def elementwise(node: s.Expression) -> bool:
    """`φ(W x + b)`: a letter that is a function, with one argument, is taken for each element."""
    if not isinstance(node, s.Call):
        return False
    name = node.function
    if node.given is not None or not node.arguments:
        return False
    if activates(node):  # `φ_l` too
        return len(node.arguments) == 1 and not any(isinstance(i, s.Index) for i in name.sub)
    return name.base in BUILT_IN - {"onehot", "softmax"} and not name.sub


def numbered(parts: tuple[s.Expression, ...]) -> tuple[s.Name, s.Name] | None:
    """`head_1, …, head_h`: the name, and an index for the heads."""
    if len(parts) < 3 or not isinstance(parts[-2], s.Dots):
        return None
    first, last = parts[0], parts[-1]
    if not isinstance(first, s.Name) or not isinstance(last, s.Name):
        return None
    if len(first.sub) != 1 or replace(first, sub=()) != replace(last, sub=()):
        return None
    return (first, s.Name("i", span=first.span)) if isinstance(first.sub[0], s.Number) else None


def in_scripts(statement: s.Statement) -> set[int]:
    """The nodes above and below names: the z of `d_z` is a word, and no value."""
    return s.ids(script for node in statement.every(s.Name) for script in node.scripts)


def labelled(name: s.Name, leaf: Leaf) -> s.Name:
    """The name without its indices; what is left of its scripts are labels, and set as such."""
    taken = list(leaf.use.reference.items)
    letters = {i.base for i in taken if isinstance(i, s.Name)}

    def is_label(script: s.Expression) -> bool:
        if script in taken:
            return False
        word = script.base if isinstance(script, s.Name) else ""
        return not (word and all(c in letters for c in word))

    labels = tuple(roman(x) for x in name.sub if is_label(x))
    raised = () if leaf.use.reference.power is not None else name.sup
    sup = tuple(roman(x) for x in raised if x not in taken)
    found = replace(name, sub=labels, sup=sup)
    digits = any(isinstance(x, s.Number) for x in labels) and labels != name.sub
    if digits or name_key(found) == leaf.key:
        return found
    return s.Name(leaf.key, span=name.span)


def roman(script: s.Expression) -> s.Expression:
    if isinstance(script, s.Name) and script.base.isdigit():
        return s.Number(script.base, span=script.span)  # the 1 of `W_1^{(l)}`
    return replace(script, font="roman") if isinstance(script, s.Name) else script


def full_counts(outline: Outline, statements: Sequence[s.Statement]) -> dict[str, int]:
    """How many indices a name has where it is indexed in full.

    `h[t,J]` is, and so is `y[t,j]` beside `y_t`; but `α[t,s]` alone may be a column at t and s.
    """
    counts: dict[str, set[int]] = defaultdict(set)
    full: set[str] = set()
    bracketed: set[str] = set()
    for statement in statements:
        inside = {id(n.base) for n in statement.every(s.Index)}
        inside |= in_scripts(statement)
        summed = {u for n in statement.every(s.Reduction) for u in n.under}
        for node in statement.walk():
            use = outline.use(node) if isinstance(node, s.Name | s.Index) else None
            if use is None or use.kind != "tensor" or id(node) in inside:
                continue
            key, items = use.reference.key, use.reference.items
            counts[key].add(len(items))
            names = [index_name(i) for i in items]
            if isinstance(node, s.Index) and any(n and is_capital(n.base) for n in names):
                full.add(key)
            elif isinstance(node, s.Index) and len(items) > 1 and summed & {*items}:
                full.add(key)  # `Σ_j g[b,j] W[i,j]`: whoever writes Σ writes all indices
            elif isinstance(node, s.Index) and isinstance(node.base, s.Name):
                bracketed.add(key)  # `s = W h`, and `s[y]`: an element
    elements = _elements(outline, statements)
    elements |= in_parts(outline, statements)
    return {
        k: max(c)
        for k, c in counts.items()
        if k in full or (len(c) > 1 and (min(c) > 0 or k in elements | bracketed))
    }


def in_parts(outline: Outline, statements: Sequence[s.Statement]) -> set[str]:
    """The small letters that stand as a whole, `u = x^⊤ a`, and elsewhere with two indices, `Σ_n a_{nj}`."""
    counts: dict[str, set[int]] = defaultdict(set)
    stepped: set[str] = set()
    for statement in statements:
        inside = {id(n.base) for n in statement.every(s.Index)} | in_scripts(statement)
        for node in statement.every(s.Name):
            use = outline.use(node) if id(node) not in inside else None
            if use is not None and use.kind == "tensor":
                key, items = use.reference.key, use.reference.items
                counts[key].add(len(items))
                letters = [index_name(i) for i in items]
                steps = any(n is None or n.base in ("t", "τ") for n in letters)
                if steps or node.font or is_capital(node.base):
                    stepped.add(key)
    return {key for key, count in counts.items() if count == {0, 2}} - stepped


def _elements(outline: Outline, statements: Sequence[s.Statement]) -> set[str]:
    """The names of which a Σ or an index on the left picks elements: the x of `Σ_i x_i`.

    Not `\\mathbf x_i`, which is a vector, nor a state `h_t` beside a vector h.
    """
    found: set[str] = set()
    vectors: set[str] = set()
    for statement in statements:
        for node in statement.walk():
            use = outline.use(node) if isinstance(node, s.Name) and node.sub else None
            if use is None or use.kind != "tensor":
                continue
            assert isinstance(node, s.Name)
            if len(use.reference.items) == 2 and node.base.isupper():
                found.add(use.reference.key)  # `\\mathbf X_{ij}`
            if len(use.reference.items) != 1:
                continue
            letter = index_name(use.reference.items[0])
            stepped = letter is None or letter.base in ("t", "τ")
            (vectors if node.font == "bold" or stepped else found).add(use.reference.key)
            if node.base.isupper():
                vectors.add(use.reference.key)
        for body in in_vector_places(statement):
            use = outline.use(body) if isinstance(body, s.Name) and body.sub else None
            if use is not None:
                vectors.add(use.reference.key)
    return found - vectors


def in_vector_places(statement: s.Statement) -> Iterator[s.Expression]:
    """What is transposed, in a norm, or behind something transposed: the x_i of `w^⊤ x_i`."""
    for node in statement.walk():
        if isinstance(node, s.Transpose | s.Norm):
            yield node.body
        elif isinstance(node, s.Product):
            for one, two in zip(node.factors, node.factors[1:], strict=False):
                if isinstance(one, s.Transpose):
                    yield two


_BOLD_ONE = re.compile(r"\\(?:mathbf|boldsymbol|bm|bf|mathbbm|mathds|mathbb)\s*\{?\s*$")
_SO_MANY = re.compile(r"_\s*(?:[A-Za-z]|\{\s*[A-Za-z](?:_\{?\w+\}?)?\s*\})")


def is_ones(node: s.Node) -> bool:
    """The `\\mathbf 1` of `X \\mathbf 1`, the `1_n` of `X 1_n`; before a square bracket it is an indicator."""
    if not isinstance(node, s.Number) or node.text != "1" or not node.span.source.text:
        return False
    text, start, end = node.span.source.text, node.span.start, node.span.end
    if is_so_many(node):
        return True
    behind = text[end : end + 12].lstrip("}").lstrip()
    return bool(_BOLD_ONE.search(text[max(0, start - 14) : start])) and not behind.startswith(
        ("[", "\\[", "\\left[", "\\big", "(", "\\left(", "_", "\\{", "\\left\\{")
    )


def is_so_many(node: s.Number) -> bool:
    """The `1_n` of `X 1_n`, whatever it is set in."""
    behind = node.span.source.text[node.span.end : node.span.end + 12].lstrip("}").lstrip()
    return node.text == "1" and bool(_SO_MANY.match(behind))
