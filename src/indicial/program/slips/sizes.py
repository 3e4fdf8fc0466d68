r"""Products whose factors do not have the sizes that the text gives them.

C ∈ ℝ^{N×D},  h_t ∈ ℝ^N,  y_t = C h_t        C^⊤ h_t is meant
U ∈ ℝ^{m×r},  V ∈ ℝ^{r×n},  W = U V^⊤        U V is meant

A message wants a mend that fits: two factors that do not fit as they stand, and do if one of them is transposed.
What is only called otherwise in two places (`d_h` and `d_{hidden}`) fits in no way, and is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.printers import unicode
from indicial.notation.vocabulary import SPACE
from indicial.program.names.letters import COUNTING, MATRICES, shifted
from indicial.program.vectors.kinds import sizes

CODES = frozenset({"sizes"})

Sizes = tuple[s.Expression, ...]
Declared = Mapping[s.Name, Sizes]


def declared(statements: Sequence[s.Statement]) -> Declared:
    """The sizes of what is said to be a vector or a matrix, and is nowhere said to be another."""
    found: dict[s.Name, set[Sizes]] = {}
    for statement in statements:
        if isinstance(statement, s.Declaration) and statement.keyword == SPACE:
            for item in statement.items:
                if isinstance(item, s.Name):
                    found.setdefault(_unstepped(item), set()).add(sizes(statement.domain or item))
    alone = {name: some.pop() for name, some in found.items() if len(some) == 1}
    return {
        name: size for name, size in alone.items() if 0 < len(size) < 3 and all(map(_named, size))
    }


def _named(size: s.Expression) -> bool:
    """`d`, `d_k`; the `d_l` of a layer is another for each."""
    letters = [i for i in size.sub if isinstance(i, s.Name)] if isinstance(size, s.Name) else []
    return isinstance(size, s.Name) and not any(i.base in ("l", "ℓ", "i", "t") for i in letters)


def _unstepped(name: s.Name) -> s.Name:
    """`h` for `h_t`, `h_{t-1}`, `h^{(l)}`: each step has the size of all. Letters below a weight are labels."""

    def steps(script: s.Expression) -> bool:
        found = shifted(s.inner(script))
        return found is not None and found[0].bare and found[0].base in COUNTING

    if name.base in MATRICES:
        return replace(name, sup=tuple(x for x in name.sup if not _turns(x)))
    sub = tuple(x for x in name.sub if not steps(x))
    return replace(name, sub=sub, sup=tuple(x for x in name.sup if not steps(x) and not _turns(x)))


def _turns(script: s.Expression) -> bool:
    return isinstance(script, s.Name) and script.bare and script.base in ("T", "⊤", "top")


def _size(node: s.Expression, known: Declared) -> Sizes | None:
    """The rows and columns of a factor; a column has one of these. None if it is not known."""
    node = s.inner(node)
    if isinstance(node, s.Transpose):
        inside = _size(node.body, known)
        return inside[::-1] if inside is not None and len(inside) == 2 else None
    if isinstance(node, s.Power) and _turns(node.exponent):
        return _size(s.Transpose(node.base), known)
    if not isinstance(node, s.Name):
        return None
    size = known.get(_unstepped(node))
    turned = any(_turns(script) for script in node.sup)
    if size is None or (turned and len(size) < 2):
        return None
    return size[::-1] if turned else size


def misfits(statements: Sequence[s.Statement]) -> Iterator[Fault]:
    """The products under a heading that do not fit, and would if a factor were transposed; each in its first place."""
    known = declared(statements)
    rows = [st for st in statements if isinstance(st, s.Equation)] if len(known) > 1 else []
    for row in rows:
        for product in row.every(s.Product):
            for one, two in pairwise(product.factors):
                left, right = _size(one, known), _size(two, known)
                if left is None or right is None or len(left) != 2 or left[1] == right[0]:
                    continue
                turns = [_turned(f) for f, fits in (
                    (one, left[0] == right[0]), (two, len(right) == 2 and left[1] == right[1])) if fits
                ]  # fmt: skip
                if turns and left[0] != left[1]:
                    text = f"{_written(one, left)}, and {_written(two, right)}: they do not fit"
                    hint = f"is {' or '.join(turns)} meant?"
                    yield warned(
                        "sizes", text, one.span.to(two.span), one.span, two.span, hint=hint
                    )


def _written(node: s.Expression, size: Sizes) -> str:
    return f"{unicode(node)} is {' × '.join(map(unicode, size))}"


def _turned(node: s.Expression) -> str:
    """The transpose of a factor as it is written; that of a transpose is the factor."""
    node = s.inner(node)
    if isinstance(node, s.Transpose):
        return unicode(node.body)
    if isinstance(node, s.Name) and any(map(_turns, node.sup)):
        return unicode(replace(node, sup=tuple(x for x in node.sup if not _turns(x))))
    return unicode(s.Transpose(node))
