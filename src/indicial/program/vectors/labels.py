"""Letters that tell names apart, and number nothing: labels.

Γ_u = σ(W_u …), Γ_r = σ(W_r …)       u and r are parts of the names, of W_u too
H_v = Z_v W + b                       so is the v: nobody numbers with it, and nothing runs over it
α_i = … for i ∉ {a, b}               →  `label a, b`: then v_a is a name of its own, unless v_i says that
                                        a is an element
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.program.messages import Messages
from indicial.program.names.letters import COUNTING, LAST, index_name, is_capital, is_lone
from indicial.program.vectors.regular import COUNTED, changed, index_letters, rebuilt


def lettered(statements: list[s.Statement], known: Collection[str] = ()) -> list[s.Statement]:
    """`Γ_u = …`, `Γ_r = …`: what a letter tells apart; it is a part of the names, of `W_u` too.

    `known` are letters that are indices elsewhere.
    """
    lefts = [st.sides[0] for st in statements if isinstance(st, s.Equation)]
    defined = {n.stem for n in lefts if isinstance(n, s.Name) and any(map(is_lone, n.sub))}
    letters: dict[s.Name, set[str]] = defaultdict(set)
    running: set[str] = {*known}
    for statement in statements:
        for node in statement.every(s.Name, s.Reduction, s.Index, s.Call):
            places: tuple[s.Expression, ...] = ()
            if isinstance(node, s.Reduction):
                places = node.under
            elif isinstance(node, s.Call):  # the o and c of `p(o | c)` are values, as words are
                places = (*node.arguments, *node.given) if node.given else ()
                places = tuple(i for i in places if isinstance(i, s.Name) and is_lone(i))
            elif isinstance(node, s.Index):  # vectors in brackets, `[h_u, x_t]`, number nothing
                places = tuple(i for i in node.items if all(n.bare for n in i.every(s.Name)))
            elif (
                isinstance(node, s.Name) and node.base != "ℝ"
            ):  # the v of `ℝ^{d_v}` runs over nothing
                places = tuple(i for i in node.scripts if not is_lone(i))
                below = node.sub[0] if len(node.sub) == 1 else None
                if isinstance(below, s.Number):  # `x_1, …, x_d`
                    defined.discard(node.stem)
                if isinstance(below, s.Name) and is_lone(below) and not is_capital(below.base):
                    letters[node.stem].add(below.base)  # T is the last t
            running |= {n.base for place in places for n in place.every(s.Name)}
    labels = {
        letter
        for stem, told in letters.items()
        if stem in defined and len(told) > 1 and not told <= COUNTED and not told & running
        for letter in told
        # The i of `cos θ_i` beside `θ_y`, that of the target, numbers; beside `Γ_f` and `Γ_o` it does not.
        if letter not in COUNTED or len(told - COUNTED) > 1
    }
    ends = {
        n.base for r in s.every(statements, s.Reduction) if r.upper for n in r.upper.every(s.Name)
    }
    numbering = {letter.upper() for told in letters.values() for letter in told} | ends | LAST
    for left in lefts:  # the G of `h_G = Σ_i h_i`: the last g is none
        below = left.sub[0] if isinstance(left, s.Name) and len(left.sub) == 1 else None
        if isinstance(below, s.Name) and is_lone(below) and is_capital(below.base):
            labels |= {below.base} - numbering
    labels |= {c for told in letters.values() for c in told} & set(_updated(statements)) - running
    labels |= (
        {c for told in letters.values() for c in told if _only_tells(c, statements)}
        - running
        - ends
    )
    scripted = {n.base for n in s.every(statements, s.Name) if n.scripts}

    def is_label(stem: s.Name, script: s.Expression) -> bool:
        if not isinstance(script, s.Name) or not is_lone(script):
            return False
        # The x of `W_t h_{t-1} + W_x x_t` says whose weights these are.
        owned = script.base in scripted - running - COUNTED and len(letters[stem]) > 1
        return script.base in labels or owned

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and any(is_lone(i) for i in node.sub):
            below = (
                replace(i, font="roman") if is_label(node.stem, i) and isinstance(i, s.Name) else i
                for i in node.sub
            )
            return replace(node, sub=tuple(below))
        return rebuilt(node, change)

    return [changed(statement, change) for statement in statements]


def _updated(statements: Sequence[s.Statement]) -> Iterator[str]:
    """The w of `w^{(t)} = w^{(t-1)} - η m_w^{(t)}`: what has values of its own numbers nothing."""
    for statement in statements:
        left, *rest = statement.sides if isinstance(statement, s.Equation) else (None,)
        again = {n.stem for n in s.every(rest, s.Name)}
        if isinstance(left, s.Name) and not left.sub and left.base not in COUNTING:
            yield from [left.base] if left.stem in again else []


def _only_tells(letter: str, statements: Sequence[s.Statement]) -> bool:
    """The v of `H_v = Z_v W + b`: no letter to number with, below names on a left side and alone there.

    Nor does it stand by itself, as the v of `for each v` does.
    """
    if letter in NUMBERING:
        return False
    below = [n for n in s.every(statements, s.Name) if s.Name(letter) in n.sub]
    scripts = s.ids(i for n in below for i in n.sub)
    alone = any(n.base == letter and id(n) not in scripts for n in s.every(statements, s.Name))
    left = any(st.left in below for st in statements if isinstance(st, s.Equation))
    return left and not alone and all(len(n.scripts) == 1 for n in below)


NUMBERING = COUNTING | set("pqub")
"""Letters that number things where nothing else shows it: places, steps, users, examples of a batch."""


def worded(statements: list[s.Statement]) -> list[s.Statement]:
    """`ESS = N / (1 + 2 ρ)`: capitals right behind one another on a left side are a word, here and elsewhere."""
    lefts = [st.sides[0] for st in statements if isinstance(st, s.Equation)]
    products = [left.factors for left in lefts if isinstance(left, s.Product)]
    spelt = {spelling(run) for f in products for _, run in runs(f) if len(run) == len(f)}
    letters = Counter(n.base for n in s.every(statements, s.Name))
    inside = [run for p in s.every(statements, s.Product) for _, run in runs(p.factors)]
    for word, count in Counter(map(spelling, inside)).items():  # the BIS of `|g - BIS_t|`
        if all(letters[letter] == count * word.count(letter) for letter in word):
            spelt.add(word)
    words = {word for word in spelt if len(word) >= SHORTEST_WORD and SELDOM_MATRICES & set(word)}
    if not words:
        return statements

    def change(node: s.Expression) -> s.Expression:
        if not isinstance(node, s.Product):
            return node if isinstance(node, s.Name) else node.rebuild(change)
        factors = list(map(change, node.factors))
        for start, run in reversed(runs(factors)):
            if (word := spelling(run)) in words:
                span = run[0].span.to(run[-1].span)
                name = replace(run[-1], base=word, font="roman", span=span)
                factors[start : start + len(run)] = [name]
        return factors[0] if len(factors) == 1 else replace(node, factors=tuple(factors))

    return [changed(statement, change) for statement in statements]


def runs(factors: Sequence[s.Expression]) -> list[tuple[int, list[s.Name]]]:
    """The capitals that stand right behind one another, the last perhaps with an index, and where."""
    found: list[tuple[int, list[s.Name]]] = []
    for number, factor in enumerate(factors):
        if not isinstance(factor, s.Name) or factor.accents or factor.font:
            continue
        if len(factor.base) != 1 or not is_capital(factor.base):
            continue
        last = found[-1][1][-1] if found else None
        if last is not None and last.bare and last.span.end == factor.span.start:
            found[-1][1].append(factor)
        else:
            found.append((number, [factor]))
    return found


def spelling(run: Sequence[s.Name]) -> str:
    return "".join(name.base for name in run)


SHORTEST_WORD = 3
"""How many capitals side by side may be a word."""
SELDOM_MATRICES = frozenset("EFGIJLMNOTZ")
"""Capitals by which a word is told from a product of matrices: `VIX`, and not `AXW`."""


def labelled(statements: list[s.Statement], messages: Messages) -> list[s.Statement]:
    """The letters of a set (`i ∉ {a, b}`) are labels; a guard about labels only says nothing."""
    labels: dict[str, s.Name] = {}
    asked: set[str] = set()
    kept: list[s.Statement] = []
    for statement in statements:
        guard = statement.guard if isinstance(statement, s.Equation) else None
        if isinstance(statement, s.Equation) and isinstance(guard, s.Comparison):
            subject, container = guard.operands[0], guard.operands[-1]
            if guard.operators in (("∈",), ("∉",)) and isinstance(container, s.SetLiteral):
                letters = [i for i in container.items if index_name(i) is not None]
                labels |= {name_key(i): i for i in letters if isinstance(i, s.Name)}
                if any(n == subject for n in statement.sides[0].walk()):
                    asked |= {name_key(i) for i in letters if isinstance(i, s.Name)}
                else:
                    text = "what the guard speaks of is not on the left: it is read as a label"
                    messages.note("label-guard", text, guard.span)
                    statement = replace(statement, guard=None)
        kept.append(statement)
    bound = index_letters(kept)
    scripted = [
        (replace(n, sub=(), sup=()), name_key(letter))
        for n in s.every(kept, s.Name)
        if len(n.sub) == 1
        for letter in n.sub if isinstance(letter, s.Name) and index_name(letter) is not None
    ]  # fmt: skip
    indexed = {stem for stem, letter in scripted if letter in bound and letter not in labels}
    elements = {letter for stem, letter in scripted if stem in indexed}
    labels = {key: name for key, name in labels.items() if key in elements | asked}
    if not labels:
        return kept

    def change(node: s.Expression) -> s.Expression:
        """`v_a` becomes a name of its own, where v has no other index."""
        if isinstance(node, s.Name) and len(node.sub) == 1 and isinstance(node.sub[0], s.Name):
            stem = replace(node, sub=(), sup=())
            if name_key(node.sub[0]) in labels and stem not in indexed:
                base = name_key(replace(stem, sub=node.sub))
                return replace(node, base=base, accents=(), primes=0, sub=())
        return rebuilt(node, change)

    names = tuple(labels.values())
    return [
        s.Declaration("label", names, span=names[0].span),
        *(changed(statement, change) for statement in kept),
    ]
