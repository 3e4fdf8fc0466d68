"""Signs that authors of vector style leave out, written before anything is inferred.

c_t = f_t c_{t-1}          →  f_t ⊙ c_{t-1}             states of one step, where ⊙ and ⊤ never occur
softmax(X)_{ij}            →  softmax(X)_{i,j}          two letters below what is computed
z_t^j = σ(W x_t)^j         →  z_{t,j} = σ(W x_t)_j      a letter above a bracket and on the left
U [r_t ⊙ h_{t-1}]          →  U (r_t ⊙ h_{t-1})         what no index can be is a factor
e^{u + k_t}                →  exp(u + k_t)              an e that never has an index
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.program.names.letters import index_name, is_letter
from indicial.program.vectors.leaves import elementwise, is_element
from indicial.program.vectors.regular import changed, rebuilt


def spelt_out(statements: list[s.Statement]) -> list[s.Statement]:
    """The statements with all of these but the last, which is done before: it may show vectors."""
    return juxtaposed(grouped(elements_below(elements_above(statements))))


# ---------------------------------------------------------------------- indices above


def elements_above(statements: list[s.Statement]) -> list[s.Statement]:
    """`z_t^j = σ(W x_t)^j`: nothing is raised to the power j, it is the element j on both sides."""
    above: set[s.Name] = set()
    for statement in statements:
        if isinstance(statement, s.Equation):
            left = statement.sides[0]
            letter = _above(left) if isinstance(left, s.Name) else None
            powers = [n.exponent for n in statement.every(s.Power)]
            if letter is not None and letter in powers:
                above.add(letter)
    if not above:
        return statements

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and _above(node) in above:
            return replace(node, sub=node.scripts, sup=())
        if isinstance(node, s.Power) and node.exponent in above:
            return s.Index(change(node.base), (node.exponent,), span=node.span)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def elements_below(statements: list[s.Statement]) -> list[s.Statement]:
    """`softmax(X)_{ij}`: two letters below something that is computed are two indices."""

    def change(node: s.Expression) -> s.Expression:
        if is_element(node) and len(node.items) == 1:
            (word,) = node.items
            bare = isinstance(word, s.Name) and word.bare and not word.font
            letters = word.base if bare and isinstance(word, s.Name) else ""
            if 1 < len(letters) < 4 and letters.isascii() and letters.islower():
                items = tuple(s.Name(c, span=word.span) for c in letters)
                return replace(node, base=change(node.base), items=items)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def _above(name: s.Name) -> s.Name | None:
    """The j of `h_t^j`."""
    (letter,) = name.sup if len(name.sup) == 1 else (None,)
    bare = isinstance(letter, s.Name) and letter.bare and is_letter(letter.base)
    if not bare or not isinstance(letter, s.Name) or not letter.base.islower() or not name.sub:
        return None
    return letter


# ---------------------------------------------------------------------- brackets


def grouped(statements: list[s.Statement]) -> list[s.Statement]:
    """`U [r ⊙ h]`: square brackets that hold a product element by element only group."""

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Index) and len(node.items) == 1:
            (item,) = node.items
            if isinstance(item, s.Hadamard) and isinstance(node.base, s.Name):
                body = s.Group(change(item), span=item.span)
                return s.Product((node.base, body), span=node.span)
        new = rebuilt(node, change)
        return s.flat(new) if isinstance(new, s.Product) else new

    return [changed(statement, change) for statement in statements]


# ---------------------------------------------------------------------- e


def exponentials(statements: list[s.Statement]) -> list[s.Statement]:
    """`e^{…}` is exp(…), unless e is a name of its own."""
    letter = s.Name("e")
    bracketed = [n.base for n in s.every(statements, s.Index)]
    called = [n.function for n in s.every(statements, s.Call)]
    names = [n for n in s.every(statements, s.Name) if n.base == "e"]
    own = any(n.sub or n.accents or n.primes or not n.sup or n.font == "bold" for n in names)
    if own or not names or letter in (*bracketed, *called):
        return statements

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and node.base == "e" and len(node.sup) == 1:
            inside = (s.inner(node.sup[0]),)
            return s.Call(s.Name("exp", span=node.span), inside, span=node.span)
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


# ---------------------------------------------------------------------- states side by side


def juxtaposed(statements: list[s.Statement], beside: bool = False) -> list[s.Statement]:
    """`f_t c_{t-1} + i_t tanh(…)`: of an author who writes neither ⊙ nor ⊤, element by element.

    It is the same for numbers; for columns it is the only product that gives a column. `beside` takes
    it so where ⊙ occurs as well: `z_t h_{t-1}` beside `r_t ⊙ h_{t-1}`.
    """
    signs = (s.Transpose,) if beside else (s.Hadamard, s.Transpose)
    if any(s.every(statements, *signs)):
        return statements
    steps = {letter for n in s.every(statements, s.Name) if (letter := _step(n, shifted=True))}

    def state(node: s.Expression) -> bool:
        node = s.inner(node)
        if isinstance(node, s.Add):  # 1 - z_t
            terms = (t.body if isinstance(t, s.Negative) else t for t in node.terms)
            return all(isinstance(t, s.Number) or state(t) for t in terms)
        return elementwise(node) or _step(node) in steps

    def change(node: s.Expression) -> s.Expression:
        new = rebuilt(node, change)
        if isinstance(new, s.Product) and all(map(state, new.factors)):
            return s.Hadamard(new.factors, span=new.span)
        return new

    return [changed(statement, change) for statement in statements]


def _step(node: s.Node, shifted: bool = False) -> str:
    """The letter that numbers a small Latin letter: the t of `h_t` and of `h_{t-1}`."""
    if not isinstance(node, s.Name) or len(node.sub) != 1 or node.sup:
        return ""
    if not (is_letter(node.base) and node.base.isascii() and node.base.islower()):
        return ""
    name = index_name(s.terms(node.sub[0])[0])
    alone = shifted and not isinstance(node.sub[0], s.Add)
    return "" if name is None or alone else name.base
