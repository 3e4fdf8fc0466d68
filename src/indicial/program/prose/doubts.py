r"""Which messages about prose are certain: the others are doubts, and a doubt accuses nobody.

An `.eq` file, an `indicial` block or environment is a program, and every message about it stands. A
lecture note is read as well as can be: there a message stands only where the author writes index
notation with square brackets, so that what is wrong can hardly be anything but a slip.

    h[t,j] = tanh(W[j,I] h[t-1])        an index is missing: an error
    h_t = \tanh(W h_{t-1} + U x)        x without its t may mean something else: a note
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.node import kept
from indicial.notation.source import Span
from indicial.program.messages import Message
from indicial.program.names.letters import (
    LAST,
    index_expression,
    is_capital,
)
from indicial.program.names.occurrences import uses
from indicial.program.names.outline import Outline
from indicial.program.slips.slips import CODES

CERTAIN = frozenset({"bracket", "softmax-variable", "given-subject", "rank"})
"""What is a slip in whatever notation."""

SLIPS = frozenset(
    {
        "index-count", "unbound-index", "unknown-name", "index-order", "batch-index", "softmax-index",
        "looks-ahead", "term-index", "step", "axis-order", "weights-axis", "similar-names",
        "sizes-joined",
        "shared-layers", "first-layer", "sum-index", "cycle", "left-alone", "unknown-function",
        "defined-twice", "script-factor",
    }
)  # fmt: skip
"""What can be nothing but a slip where all is in square brackets."""

_OWN_INDEX = re.compile(r"\w+\^\{?([a-z])\}?\s*\[[^\]]*\b\1\b")
"""`W^k[k,i,j]`: a small letter above, which is an index of its own."""

USUAL = "<usual>"
"""The source of functions that a text names and leaves to the reader to know."""

JUDGED = frozenset({"step", "step-start", "looks-ahead"})
"""What is said of equations that are read."""


class Doubts:
    """What may be said of a program some of whose statements are prose."""

    def __init__(self, prose: Iterable[s.Statement] = ()) -> None:
        self.prose = tuple(prose)

    def _in_several(self, statement: s.Statement) -> bool:
        """`b_{h_1} = a_{h_1} = …` beside `a_{h_2} = …`: a letter tells apart what has one name."""
        sides = [
            (side.stem, st)
            for st in self.prose
            if isinstance(st, s.Equation)
            for side in st.sides
            if isinstance(side, s.Name) and side.scripts
        ]
        stems = {stem for stem, st in sides if st is statement}
        return any(stem in stems for stem, st in sides if st is not statement)

    def doubtful(self, message: Message, outline: Outline) -> bool:
        """Whether a message is about prose, and not certain."""
        spans = [span for span, _ in message.sites]
        concerned = [st for st in self.prose if any(span.within(st.span) for span in spans)]
        if any(span.source.name == USUAL for span in spans):
            return True  # what everybody knows was put in by us
        if not concerned or message.code in CERTAIN or _as_written(message):
            return False
        if message.code == "step" and any(map(unrolled, concerned)):
            return True
        if message.code == "step" and any(map(self._in_several, concerned)):
            return True
        if message.code == "step" and all(
            (in_matrices(st) and not at_a_distance(st))
            or (_of_numbers(st, outline) and not _statistics(st, outline))
            for st in concerned
        ):
            return False
        # Where it is read the same is said once more, and with less to show.
        strays = message.code == "sum-index" and len(message.sites) > 2
        if strays and all(_strays(st, message.span.text) for st in concerned):
            return False
        if message.code == "sum-index" and all(
            _of_numbers(st, outline) and any(_indexed_below(st, span) for span, _ in message.sites)
            for st in concerned
        ):
            return False
        if message.code == "similar-names" and _OWN_INDEX.match(message.span.text):
            return False
        misspelt = message.span if message.code == "unknown-function" else None
        if message.code not in SLIPS or not all(in_full(st, outline, misspelt) for st in concerned):
            return True
        match message.code:
            case "index-count":
                return any(_whole(st, message.span) for st in concerned)
            case "unbound-index":
                sums = any(_sums(st) for st in self.prose)
                return not sums or not any(_in_brackets(st, message.span) for st in concerned)
            case "cycle":
                return not _to_and_fro(message)
            case "left-alone":
                return message.span.text in LAST or len(message.sites) < 3
            case "similar-names":
                return len(re.split(r"\W|_", message.span.text, maxsplit=1)[0]) < 3
            case "shared-layers":
                return "[" not in message.span.text
        return False

    def judged(self, message: Message, outline: Outline) -> Message:
        """The message with the severity that it deserves."""
        if message.severity != "note" and self.doubtful(message, outline):
            return replace(message, severity="note")
        return message


@kept
def indexed(statement: s.Statement) -> bool:
    """Whether a statement is in index notation: `h[t,j] = W[j,I] h[t-1,I]`, `P(w) = softmax_w …`."""
    if not isinstance(statement, s.Equation):
        return True
    return any(
        (isinstance(n, s.Index) and n.items != () and _bracketed(n))
        or (isinstance(n, s.Reduction) and n.operator == "softmax" and n.under != ())
        for n in statement.walk()
    )


def _bracketed(node: s.Index) -> bool:
    """`h[t]`, `e(w)[j]`; the i of `H(x)_i` stands in no brackets."""
    called = isinstance(node.base, s.Call) and node.span.text.rstrip().endswith("]")
    return called or isinstance(node.base, s.Name)


def in_matrices(statement: s.Statement) -> bool:
    """Whether a statement is matrix algebra: a transpose, and nothing but letters, sums and products."""
    if not isinstance(statement, s.Equation):
        return False
    nodes = [n for side in statement.sides for n in side.walk()]
    algebra = (
        s.Name | s.Add | s.Negative | s.Product | s.Transpose | s.Group | s.Number | s.Fraction
    )
    return any(isinstance(n, s.Transpose) for n in nodes) and all(
        isinstance(n, algebra) for n in nodes
    )


def _as_written(message: Message) -> bool:
    """Whether it is a slip that shows in what is written, which `slips.py` tells as a warning."""
    return message.severity == "warning" and message.code in CODES


def at_a_distance(statement: s.Statement) -> bool:
    """Whether a step uses a law of a name that no equation gives: `R_m^⊤ R_n = R_{n-m}`."""
    names = [n for n in statement.every(s.Name) if n.sub]
    far = {
        n.base
        for n in names
        for i in n.sub
        if isinstance(i, s.Add) and len({x.base for x in i.every(s.Name)}) > 1
    }
    return any(n.base in far for n in names for i in n.sub if isinstance(i, s.Name))


def unrolled(statement: s.Statement) -> bool:
    """`x_t = a x_{t-1} + z_{t-1} = a (a x_{t-2} + z_{t-2}) + z_{t-1}`: what is defined stands for itself.

    Later sides read it at steps that the first does not read; drawn at each step, these would contradict each other.
    """
    if not isinstance(statement, s.Equation) or len(statement.sides) < 3:
        return False
    head = s.head(statement.left)
    if not isinstance(head, s.Name):
        return False
    read = [set(_places(side, head)) for side in statement.sides[1:]]
    return bool(read[0]) and any(places - read[0] for places in read[1:])


def _places(side: s.Expression, name: s.Name) -> Iterator[tuple[s.Expression, ...]]:
    """Where a side reads a tensor: the t-2 of `x_{t-2}` and `x[t-2]`."""
    for node in side.every(s.Name):
        if node.stem == name.stem and node.sub:
            yield node.sub
    for index in side.every(s.Index):
        if isinstance(index.base, s.Name) and index.base.stem == name.stem:
            yield index.items


def in_full(statement: s.Statement, outline: Outline, misspelt: Span | None = None) -> bool:
    """Whether all of a statement is index notation: tensors with their indices, known functions.

    `misspelt` is where a function stands that is nearly a known one.
    """
    if not isinstance(statement, s.Equation):
        return True
    indices = list(statement.every(s.Index))
    if not indices or not all(index_expression(s.head(i)) for n in indices for i in n.items):
        return False
    if not all(map(_is_bracketed, indices)):
        return False  # `(h * z)_t`
    left = outline.use(statement.sides[0])
    if left is not None and left.kind == "function" and "[" not in statement.sides[0].span.text:
        return False  # `s(y) = Σ_n a[n,y[n]]`: all of y is its argument
    found = [use for side in statement.sides for use in uses(outline, side)]
    known = all(
        use.kind in ("tensor", "factor")
        or (use.kind == "function" and outline.is_function(use.reference.key))
        or (misspelt is not None and use.reference.span.start == misspelt.start)
        or (use.kind == "probability" and left is not None and left.kind == "probability")
        for use in found
    )
    return known and all(
        _runs(under) for node in statement.every(s.Reduction) for under in node.under
    )


def _of_numbers(statement: s.Statement, outline: Outline) -> bool:
    """Whether a chain is about numbers with their indices below: `y_t = x_t + x_t = 2 x_t`."""
    if not isinstance(statement, s.Equation):
        return False
    found = [use for side in statement.sides for use in uses(outline, side)]
    ends = [n.upper for n in statement.every(s.Reduction) if n.upper is not None]
    sizes = {n.base for end in ends for n in end.every(s.Name)}
    return all(
        (
            use.kind == "tensor"
            and not use.reference.key[:1].isupper()
            and use.reference.key[:1] != "∂"
        )
        or use.reference.key in sizes
        or (use.kind == "function" and outline.is_function(use.reference.key))
        for use in found
    ) and not any(n.font for n in statement.every(s.Name))


def _statistics(statement: s.Statement, outline: Outline) -> bool:
    """Whether a chain has a mean or a deviation that only the text defines: the m of `Σ_i (x_i - m)^2`."""
    names = [n for n in statement.every(s.Name) if not n.sub]
    return any(
        (n.base in ("m", "μ", "σ") or n.accents)
        and outline.naming.read(n).key not in outline.defined
        for n in names
    )


def _strays(statement: s.Statement, summed: str) -> bool:
    """`L = -Σ_j y_i log ŷ_i`: an i inside the sum over j, and nowhere else."""
    if not isinstance(statement, s.Equation) or summed not in _COUNTED:
        return False
    totals = [
        node
        for node in statement.every(s.Reduction)
        if any(n.base == summed for under in node.under for n in under.every(s.Name))
    ]
    letters = {
        i.base
        for node in totals
        for name in node.body.every(s.Name)
        for i in name.sub
        if isinstance(i, s.Name) and i.bare and i.base in _COUNTED
    }
    inside = s.ids(n for node in totals for n in node.body.walk())
    outside = {n.base for n in statement.every(s.Name) if id(n) not in inside}
    return len(totals) == 1 and len(letters) == 1 and letters.isdisjoint(outside)


_COUNTED = frozenset("ijkmn")


def _indexed_below(statement: s.Statement, span: Span) -> bool:
    """Whether what a Σ sums has an index, if not its own: `ĝ_i - g`, and not the `1 / n` of a constant.

    The y of `Σ_y exp(a_{y_i})` runs over whole sequences.
    """
    for node in statement.every(s.Reduction):
        names = node.body.every(s.Name) if node.body.span == span else []
        over = {n.base for under in node.under for n in under.every(s.Name)}
        if any(n.sub for n in names) and not any(n.base in over for n in names):
            return True
    return False


def _is_bracketed(node: s.Index) -> bool:
    """Whether indices stand in square brackets: behind a name they do, even inside a macro."""
    return isinstance(node.base, s.Name) or "[" in node.span.text[len(node.base.span.text) :]


def _runs(under: s.Expression) -> bool:
    """Whether what stands below a Σ is an index, or a condition on indices; `w_t` of a softmax too."""
    return not any(n.accents or n.sup for n in under.every(s.Name))


def _whole(statement: s.Statement, span: Span) -> bool:
    """Whether a name without indices may mean all of a tensor: an argument, a side in matrix style."""
    if not isinstance(statement, s.Equation) or not span.within(statement.span):
        return False
    for side in statement.sides:
        if not span.within(side.span):
            continue
        nodes = list(side.walk())
        bare = any(isinstance(n, s.Name) and n.span == span and not (n.sub or n.sup) for n in nodes)
        calls = [n for n in nodes if isinstance(n, s.Call) and span.within(n.span)]
        written = any(isinstance(n, s.Index) for n in nodes)
        return bare and (bool(calls) or not written)
    return False


def _in_brackets(statement: s.Statement, span: Span) -> bool:
    """Whether a letter stands in square brackets."""
    return any(any(span.within(item.span) for item in n.items) for n in statement.every(s.Index))


def _sums(statement: s.Statement) -> bool:
    """Whether a statement says what it sums: `Σ_i …`, `W[j,I] x[I]`."""
    return any(
        isinstance(n, s.Reduction)
        or (
            isinstance(n, s.Index)
            and any(isinstance(item, s.Name) and is_capital(item.base) for item in n.items)
        )
        for n in statement.walk()
    )


def _to_and_fro(message: Message) -> bool:
    """Whether a circle leads through several elements of one tensor: `h[0] → h[1] → h[0]`.

    A circle from an element to itself may be an update in place, one of several tensors an iteration.
    """
    elements = message.text.partition(": ")[2].split(" → ")
    return len(set(elements)) > 1 and len({e.partition("[")[0] for e in elements}) == 1


def about(statements: Sequence[s.Statement], message: Message) -> list[s.Statement]:
    """The statement that a message is about: the one at its first place that is in any."""
    for span, _ in message.sites:
        found = [st for st in statements if span.within(st.span)]
        if found:
            return found
    return []
