r"""Names in a display that are others than the ones that are meant.

\frac{1}{B} \sum_b x[b,j] - B[j]                                B is a size, and a tensor
i_t = σ(W_i x_t + b_i),  f_t = σ(W_f x_t + b_i)                 b_i is that of the line above
Γ_f = σ(W_f x + b_f),  Γ_o = σ(W_f x + b_o)                     W_f is that of another gate
i_t = …,  f_t = …,  o_t = …,  h_t = o_t ⊙ g_t                   i_t and f_t are used nowhere
KL = ‖u_1 - μ_2‖^2,  with μ_1 and μ_2 around it                 u_1 looks like μ_1
τ = α_{TS} - α_{TS}                                             the difference of a thing and itself
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.printers import unicode
from indicial.program.checks.similar import mistyped
from indicial.program.names.letters import is_capital, shifted
from indicial.program.slips.one_sided import Pairs, examples, indices
from indicial.program.slips.sizes import misfits

CODES = frozenset(
    {"two-meanings", "lost-accent", "copied-label", "unused-gate", "look-alike", "no-difference",
     "unused-argument"}
)  # fmt: skip


class Heading:
    """All that stands under a heading; what is asked of it for each display is found once."""

    def __init__(self, statements: Sequence[s.Statement], skipped: bool = False) -> None:
        self.statements = statements
        self.skipped = skipped
        """Whether something there is not known."""

    @cached_property
    def equations(self) -> list[s.Equation]:
        return [st for st in self.statements if isinstance(st, s.Equation)]

    @cached_property
    def examples(self) -> Pairs:
        return examples(self.equations)

    def recalls(self, left: s.Name) -> bool:
        """Whether the equation of a name reads the name itself: `c_t = f_t ⊙ c_{t-1} + …`."""
        rows = (row for row in self.equations if row.sides[0] is left)
        return any(n.stem == left.stem for row in rows for n in _read(row.sides[-1]))

    @cached_property
    def gates(self) -> dict[int, Gate]:
        """The equations that are gates, by their id."""
        found = ((id(row), _gate(row)) for row in self.equations)
        return {key: gate for key, gate in found if gate is not None}

    @cached_property
    def read(self) -> frozenset[s.Name]:
        """The names of all right sides."""
        sides = (side for row in self.equations for side in row.sides[1:])
        return frozenset(n for side in sides for n in side.every(s.Name))

    @cached_property
    def defined(self) -> dict[s.Name, s.Equation]:
        rows = ((row.sides[0], row) for row in self.equations)
        return {left: row for left, row in rows if isinstance(left, s.Name)}

    @cached_property
    def activated(self) -> dict[s.Expression, s.Equation]:
        """The gates that a function closes or opens, by their left sides."""
        active = {i for i, gate in self.gates.items() if gate.activated}
        return {row.sides[0]: row for row in self.equations if id(row) in active}

    @cached_property
    def idle_gates(self) -> list[s.Name]:
        """Those that nothing reads."""
        sides = [side for row in self.equations for side in row.sides[1:]]
        stems = {n.stem for side in sides for n in _read(side)}
        return [g for g in self.activated if isinstance(g, s.Name) and g.stem not in stems]

    @cached_property
    def written(self) -> Counter[tuple[str, tuple[str, ...]]]:
        """How often each letter stands there with its accents."""
        return Counter((n.base, n.accents) for n in s.every(self.statements, s.Name))

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(map(unicode, s.every(self.statements, s.Name)))

    @cached_property
    def often(self) -> Counter[s.Name]:
        """How often each name stands there."""
        return Counter(s.every(self.statements, s.Name))

    @cached_property
    def misfits(self) -> list[Fault]:
        """The products of sizes that do not fit, each once."""
        return list(
            {fault.message: fault for fault in reversed(list(misfits(self.statements)))}.values()
        )

    @cached_property
    def heads(self) -> dict[s.Name, list[s.Name]]:
        """What is defined, by its stem: the `c_t` of `c_t = …`, the `α_t` of `α_t(j) = …`."""
        found: dict[s.Name, list[s.Name]] = {}
        for row in self.equations:
            if isinstance(head := s.head(row.sides[0]), s.Name):
                found.setdefault(head.stem, []).append(head)
        return found

    @cached_property
    def initials(self) -> frozenset[str]:
        """The letters that are defined, and how words begin."""
        return frozenset(h.base if len(h.base) < 6 else h.base[:3] + "…" for h in self.heads)

    @cached_property
    def words(self) -> dict[str, list[s.Name]]:
        """The words that are defined, by how they begin."""
        found: dict[str, list[s.Name]] = {}
        for stem in self.heads:
            if len(stem.base) > 5:
                found.setdefault(stem.base[:3], []).append(stem)
        return found

    @cached_property
    def stems(self) -> Counter[s.Name]:
        """How often each letter stands there, with whatever scripts."""
        return Counter(name.stem for name in s.every(self.equations, s.Name))

    @cached_property
    def numbered(self) -> Counter[tuple[s.Name, str]]:
        """How often each letter has each index; without any the index is empty."""
        names = s.every(self.equations, s.Name)
        return Counter((n.stem, i) for n in names for i in (indices(n) if n.scripts else [""]))

    @cached_property
    def read_stems(self) -> frozenset[s.Name]:
        sides = (side for row in self.equations for side in row.sides[1:])
        return frozenset(n.stem for side in sides for n in _read(side))

    @cached_property
    def left_sides(self) -> dict[tuple[s.Name, int], list[s.Name]]:
        """The names that are defined, by their stems and how many scripts they have."""
        found: dict[tuple[s.Name, int], list[s.Name]] = {}
        for row in self.equations:
            if isinstance(left := row.sides[0], s.Name):
                found.setdefault((left.stem, len(left.scripts)), []).append(left)
        return found


def misnamed(display: Sequence[s.Statement], section: Heading) -> Iterator[Fault]:
    """The slips in the names of a display."""
    yield from _two_meanings(display)
    for rule_of_section in (
        _lost_accents,
        _other_labels,
        _unused_gates,
        _old_states,
        _look_alikes,
        _other_cases,
        _other_spellings,
    ):
        yield from rule_of_section(display, section)
    for row in display:
        if isinstance(row, s.Equation):
            yield from _no_difference(row)
            yield from _unused_arguments(row)


# ---------------------------------------------------------------------- letters


def _two_meanings(display: Sequence[s.Statement]) -> Iterator[Fault]:
    """`1/B Σ_b …` beside `B[j]`: the size of the batch, and a tensor."""
    nodes = [n for statement in display for n in statement.walk()]
    for node in nodes:
        if not isinstance(node, s.Fraction) or node.above != s.Number("1"):
            continue
        size = node.below
        if not isinstance(size, s.Name) or not size.bare or not is_capital(size.base):
            continue
        small = size.base.lower()
        indexed = [n for n in nodes if isinstance(n, s.Index)]
        numbered = any(i == s.Name(small) for n in indexed for i in n.items)
        tensors = [
            n.base.span
            for n in indexed
            if isinstance(n.base, s.Name)
            and n.base.base.split(".")[0] == size.base
            and not n.base.sup
        ]
        if numbered and tensors:
            text = (
                f"{size.base} is the size of {small} in 1/{size.base}, and a tensor in this display"
            )
            yield warned(
                "two-meanings", text, tensors[0], size.span, hint="give one of them another letter"
            )
            return


def _lost_accents(display: Sequence[s.Statement], section: Heading) -> Iterator[Fault]:
    """`s_t[i] = … ĝ_t[i]^2`, `Φ_{t+1}[i] = … g_t[i] …`: a g that stands nowhere else under the heading."""
    rows = [st for st in display if isinstance(st, s.Equation)]
    for row in rows:
        for node in row.every(s.Index):
            if not isinstance(node.base, s.Name) or node.base.accents:
                continue
            name = node.base
            if (
                not name.sub
                or name.primes
                or section.written[name.base, ()] != 1
                or row.sides[0] == node
            ):
                continue
            same = [
                other
                for st in rows
                for other in st.every(s.Index)
                if isinstance(other.base, s.Name)
                and other.base.accents
                and other.items == node.items
                and replace(other.base, accents=()) == name
            ]
            accented = {other.base for other in same}
            if len(accented) == 1 and not any(
                n is other for n in row.every(s.Index) for other in same
            ):
                meant = unicode(same[0].base)
                text = f"{unicode(name)} stands only here; did you mean {meant}?"
                yield warned("lost-accent", text, name.span, same[0].base.span)


def _relabelled(name: s.Name, label: str) -> s.Name:
    last = name.sub[-1]
    assert isinstance(last, s.Name)
    return replace(name, sub=(*name.sub[:-1], replace(last, base=label)))


# ---------------------------------------------------------------------- gates


@dataclass(frozen=True)
class Gate:
    """`f_t = σ(W_f x_t + b_f)`: its letter, the weights that have a label, and whether it is activated."""

    letter: str
    weights: tuple[s.Name, ...]
    activated: bool

    @property
    def labels(self) -> list[str]:
        return [_label(name) for name in self.weights]

    @property
    def regular(self) -> bool:
        """Whether all its weights have its own letter."""
        return set(self.labels) == {self.letter}

    def like(self, other: Gate) -> bool:
        return [n.base for n in self.weights] == [n.base for n in other.weights]


def _gate(equation: s.Equation) -> Gate | None:
    """An equation as a gate, or as a projection: `q_t = W_q x_t + b_q`."""
    left, right = equation.sides[0], s.inner(equation.sides[-1])
    if len(equation.sides) != 2 or not isinstance(left, s.Name):
        return None
    activated = isinstance(right, s.Call) and right.word in ("σ", "sigmoid", "tanh", "Sigmoid")
    weights = tuple(n for n in right.every(s.Name) if n.base in WEIGHTS and _label(n))
    return Gate(_letter(left), weights, activated) if len(weights) > 1 else None


def _label(name: s.Name) -> str:
    script = name.sub[-1] if name.sub else None
    return script.base if isinstance(script, s.Name) and len(script.base) == 1 else ""


WEIGHTS = frozenset("WURVbB")


def _letter(left: s.Name) -> str:
    """What tells a gate from others: the f of `f_t`, the o of `Γ_o`."""
    script = left.sub[0] if left.sub else None
    own = left.base.isascii() and left.base.islower()
    return left.base if own or not isinstance(script, s.Name) else script.base


def _other_labels(display: Sequence[s.Statement], section: Heading) -> Iterator[Fault]:
    """`Γ_o = σ(W_f x + b_o)`: each gate has weights with its own letter, and this one has another's."""
    for row in display:
        gate = section.gates.get(id(row))
        if gate is None or not isinstance(row, s.Equation):
            continue
        strange = [name for name in gate.weights if _label(name) != gate.letter]
        if not strange:
            continue
        kin = [other for i, other in section.gates.items() if i != id(row) and gate.like(other)]
        regular = [other.letter for other in kin if other.regular]
        again = [r for r in section.equations if r is not row and r.sides[0] == row.sides[0]]
        if not regular or len(regular) < len(kin) - 1:
            continue
        wrong, left = strange[0], row.sides[0]
        if len(strange) == 1:
            meant = unicode(_relabelled(wrong, gate.letter))
            if _label(wrong) in regular and meant not in section.names:
                text = f"{unicode(wrong)} belongs to another line; did you mean {meant}?"
                yield warned("copied-label", text, wrong.span, left.span)
        elif (
            gate.activated
            and len(regular) > 1
            and again
            and len(set(gate.labels)) == 1
            and _label(wrong) not in regular
        ):
            text = (
                f"{unicode(left)} has the weights of {_label(wrong)} here, and is defined once more"
            )
            yield warned("copied-label", text, left.span, again[0].sides[0].span)


def _unused_gates(display: Sequence[s.Statement], section: Heading) -> Iterator[Fault]:
    """`i_t = σ(…)`, `f_t = σ(…)`, `o_t = σ(…)`, `h_t = o_t ⊙ g_t`: nothing reads i_t and f_t.

    The state that reads the other gates is the one that the gates read themselves, so that nothing is to follow.
    """
    gates, idle = section.activated, section.idle_gates
    if len(gates) < 2 or section.skipped or not idle:
        return
    active = {id(row) for row in gates.values()}
    recalled = {n.stem for row in gates.values() for n in _read(row.sides[1])}
    for row in display:
        if not isinstance(row, s.Equation) or id(row) in active:
            continue
        left = row.sides[0]
        closes = isinstance(left, s.Name) and left.stem in recalled
        coupled = any(map(_less_one, row.every(s.Add)))  # `f ⊙ c + (1 - f) ⊙ g`: f is both gates
        if closes and not coupled and any(n in gates for n in row.sides[-1].every(s.Name)):
            listed = " and ".join(unicode(gate) for gate in idle)
            text = f"nothing reads {listed}, though {unicode(left)} reads another gate"
            yield warned("unused-gate", text, row.span, *(gate.span for gate in idle))


def _less_one(node: s.Add) -> bool:
    """`1 - f_t`."""
    match node.terms:
        case (s.Number(text="1"), s.Negative(body=s.Name())):
            return True
    return False


def _read(side: s.Expression) -> Iterator[s.Name]:
    """The names that are computed with, and no labels; those in `W [h, x]` too."""
    for node in s.values(side):
        if isinstance(node, s.Name):
            yield node
        if isinstance(node, s.Index):
            yield from (n for item in node.items for n in s.values(item) if isinstance(n, s.Name))


def _old_states(display: Sequence[s.Statement], section: Heading) -> Iterator[Fault]:
    """`c_t = … c_{t-1} …`, `h_t = o_t ⊙ tanh(c_{t-1})`: nothing reads c_t."""
    read, defined = section.read, section.defined
    for row in display:
        if not isinstance(row, s.Equation) or len(row.sides) != 2 or section.skipped:
            continue
        for call in row.sides[1].every(s.Call):
            old = call.arguments[0] if call.word == "tanh" and len(call.arguments) == 1 else None
            if not isinstance(old, s.Name) or not isinstance(row.sides[0], s.Name):
                continue
            new = [
                n
                for n in defined
                if n.stem == old.stem and n != old and old in defined[n].sides[-1].every(s.Name)
            ]
            step = [shifted(s.inner(script)) for script in old.scripts]
            if (
                len(new) == 1
                and new[0] not in read
                and any(found and found[1] == -1 for found in step)
            ):
                text = f"{unicode(old)} is read here, and nothing reads {unicode(new[0])}"
                yield warned(
                    "unused-gate", text, old.span, new[0].span, hint=f"is {unicode(new[0])} meant?"
                )


# ---------------------------------------------------------------------- names that look like others

TWINS = {"u": "μ", "v": "ν", "w": "ω", "p": "ρ", "a": "α", "n": "η", "x": "χ"}
"""Letters that are taken for one another."""
LATIN = {greek: latin for latin, greek in TWINS.items()}


def _look_alikes(display: Sequence[s.Statement], section: Heading) -> Iterator[Fault]:
    """`‖u_1 - μ_2‖` beside `μ_1`: a u that stands nowhere else."""
    names = list(s.every(display, s.Name))
    for name in names:
        twin = replace(name, base=TWINS.get(name.base, ""))
        if not twin.base or not name.sub or section.written[name.base, name.accents] != 1:
            continue
        alike = [n for n in names if n.base == twin.base and n.accents == name.accents]
        if any(n == twin for n in alike) and len({n.sub for n in alike}) > 1:
            text = f"{unicode(name)} stands only here; did you mean {unicode(twin)}?"
            yield warned("look-alike", text, name.span, next(n.span for n in alike if n == twin))


def _other_cases(display: Sequence[s.Statement], section: Heading) -> Iterator[Fault]:
    """`c_t = f_t ⊙ C_{t-1} + i_t ⊙ g_t`: the state of the step before is small in one place, capital in another."""
    for row in display:
        if not isinstance(row, s.Equation):
            continue
        for name in (n for side in row.sides[1:] for n in _read(side) if len(n.base) == 1):
            steps = [found for script in name.scripts if (found := shifted(s.inner(script)))]
            other = replace(name.stem, base=name.base.swapcase())
            state = section.left_sides.get((other, 1))
            known = (name.stem, 1) in section.left_sides
            if known or not state or len(steps) != 1 or steps[0][1] != -1 or len(name.scripts) != 1:
                continue
            if section.often[name] == 1 and section.recalls(state[0]) != (row.sides[0] is state[0]):
                text = f"{unicode(name)} stands only here; is it the {unicode(state[0].stem)} of the step before?"
                yield warned(
                    "look-alike", text, name.span, state[0].span, hint="write both in the same case"
                )


def _other_spellings(display: Sequence[s.Statement], section: Heading) -> Iterator[Fault]:
    """`α_{ij} = …`, `c_i = Σ_j a_{ij} h_j`: nothing defines the a that is read, and nothing reads the α."""
    for row in display:
        if not isinstance(row, s.Equation):
            continue
        for name in (n for side in row.sides[1:] for n in side.every(s.Name)):
            if name.base in section.initials or not _candidates(name.base) & section.initials:
                continue
            for stem in _alike(name, section) if section.stems[name.stem] == 1 else ():
                same = [h for h in section.heads.get(stem, ()) if h.scripts == name.scripts]
                read = any(n is name for side in row.sides[1:] for n in _read(side))
                # Not `C_t = f_t ⊙ c_t`.
                if same and read and not any(head is s.head(row.left) for head in same):
                    meant = unicode(same[0])
                    text = f"{unicode(name)} stands only here, and nothing defines it; did you mean {meant}?"
                    yield warned("look-alike", text, name.span, same[0].span)


@cache
def _candidates(base: str) -> frozenset[str]:
    """The letters that one may be meant to be; of a word how it begins."""
    if len(base) > 5:
        return frozenset({base[:3] + "…"})
    return frozenset({base.swapcase(), TWINS.get(base, ""), LATIN.get(base, "")}) - {""}


def _alike(name: s.Name, section: Heading) -> Iterator[s.Name]:
    """What a name may be meant to be: a word mistyped, a letter in the other case, or its twin if that is idle."""
    if len(name.base) > 5 and "." not in name.base:
        some = section.words.get(name.base[:3], ())
        yield from (stem for stem in some if mistyped(stem.base, name.base))
    elif len(name.base) == 1 and name.scripts:
        yield replace(name.stem, base=name.base.swapcase())
        for twin in (TWINS.get(name.base), LATIN.get(name.base)):
            stem = replace(name.stem, base=twin or "")
            if twin and stem not in section.read_stems:
                yield stem


def _no_difference(equation: s.Equation) -> Iterator[Fault]:
    """`τ = α_{TS} - α_{TS}`."""
    if any(side == s.Number("0") for side in equation.sides):
        return
    for node in equation.every(s.Add):
        if len(node.terms) == 2 and isinstance(node.terms[1], s.Negative):
            one, two = node.terms[0], s.inner(node.terms[1].body)
            if s.inner(one) == two and not isinstance(two, s.Number | s.Dots):
                text = "this is the difference of a thing and itself"
                holders = [
                    n.span for n in equation.every(s.Name) if n is not two and _holds(n, node)
                ]
                yield warned(
                    "no-difference",
                    text,
                    node.span,
                    *holders[:1],
                    hint="is another name meant in one of the places?",
                )


def _holds(name: s.Name, node: s.Node) -> bool:
    """Whether a node stands in the scripts of a name: the `s - s` of `A^{s - s}`."""
    return any(n is node for script in name.scripts for n in script.walk())


def _unused_arguments(equation: s.Equation) -> Iterator[Fault]:
    r"""`Attention(Q, K, V) = softmax(Q K^⊤) W^V`: V is not used."""
    left = equation.sides[0]
    if (
        not isinstance(left, s.Call)
        or len(left.word) < 4
        or left.given is not None
        or len(left.arguments) < 3
    ):
        return
    arguments = [a for a in left.arguments if isinstance(a, s.Name) and a.bare]
    right = [n for n in s.values(equation.sides[-1]) if isinstance(n, s.Name)]
    unused = [a for a in arguments if not any(n.base == a.base for n in right)]
    opaque = any(
        isinstance(n, s.Dots) or (isinstance(n, s.Call) and n.word == left.word)
        for n in equation.sides[-1].walk()
    )
    if len(arguments) == len(left.arguments) and len(unused) == 1 and not opaque:
        text = f"{unicode(unused[0])} is an argument of {left.word}, and is not used"
        yield warned("unused-argument", text, unused[0].span, equation.sides[-1].span)
