r"""The last layer or step above a name, `a^{[L]}`, where the text numbers that name above → one of them, written below.

z^l = W^l a^{l-1},  ŷ = softmax(a^L)          →  ŷ = softmax(a_L)          under whatever headings
δ^{(n_l)} beside δ^{(l)},  h^{⟨N⟩} beside h^{⟨t⟩}

Without it L is a part of the name, and a^L an input that nothing computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.program.names.letters import COUNTING, LAST, family, is_lone, shifted
from indicial.program.names.numbering import NAMED_BY_LETTERS

Stem = tuple[str, tuple[str, ...]]
"""The letter of a name and its accents."""
Above = dict[Stem, s.Name]
"""The letter that numbers each name above."""


def numbered_above(statements: Iterable[s.Statement]) -> Above:
    """The letter that each name is numbered with above, if the text takes steps by that letter: the l of `a^{l-1}`."""
    names = [n for st in statements for n in st.every(s.Name) if n.sup]
    steps = [(n, step) for n in names for i in n.sup if (step := shifted(i)) is not None]
    stepped = {letter for _, (letter, by) in steps if by and _counts(letter)}
    return {stem(n): letter for n, (letter, _) in steps if letter in stepped}


def ends(statements: Sequence[s.Statement], above: Above) -> set[Stem]:
    """The names of some statements that occur at the last layer or step."""
    names = [n for st in statements for n in st.every(s.Name) if n.sup and stem(n) in above]
    return {stem(n) for n in names if any(_is_last(i, above[stem(n)]) for i in n.sup)}


def below(name: s.Name, above: Above, letters: set[s.Name]) -> s.Name:
    """A name with its layer or step below, and what numbers it beside: `a^{[L](i)}` → `a_{L,i}`."""
    letter = above.get(stem(name)) if name.sup else None
    if letter is None or letter not in letters:
        return name
    step = [i for i in name.sup if _is_last(i, letter) or _steps_by(i, letter) or _is_first(i)]
    beside = [i for i in name.sup if isinstance(i, s.Group) and is_lone(i.body)]
    if len(step) != 1:
        return name
    moved = (*step, *(i for i in beside if i not in step))
    rest = tuple(i for i in name.sup if i not in moved)
    own = tuple(_label(i) if name.base in NAMED_BY_LETTERS else i for i in name.sub)
    return replace(name, sub=(*map(s.inner, moved), *own), sup=rest)


def _label(script: s.Expression) -> s.Expression:
    """The x of `W_x^{(l)}` tells weights apart."""
    apart = isinstance(script, s.Name) and is_lone(script) and not _counts(script)
    return replace(script, font="roman") if apart and isinstance(script, s.Name) else script


def _is_first(script: s.Expression) -> bool:
    """The `(0)` of `h^{(0)} = x`."""
    return isinstance(script, s.Group) and isinstance(script.body, s.Number)


def _steps_by(script: s.Expression, letter: s.Name) -> bool:
    step = shifted(script)
    return step is not None and step[0] == letter


def stem(name: s.Name) -> Stem:
    return name.base, name.accents


def _counts(letter: s.Name) -> bool:
    return is_lone(letter) and letter.base in COUNTING


def _is_last(script: s.Expression, letter: s.Name) -> bool:
    """The L, `[L]`, `(L-1)`, `n_l` beside l, the ⟨N⟩ beside ⟨t⟩; not the T of `W^T`."""
    inner = s.inner(script)
    if isinstance(inner, s.Add):
        inner = inner.terms[0]
    if not isinstance(inner, s.Name) or inner.font or inner.accents or inner.sup:
        return False
    if inner.sub:
        return inner.base in "nN" and inner.sub == (letter,)
    alike = family(inner) == family(letter) and inner.base != "T"
    return inner.base in LAST and (alike or isinstance(script, s.Group))
