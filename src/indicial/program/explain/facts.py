"""How a program was read: the facts that `explain` shows, before any layout.

facts = read(program, {"J": 256})
facts.names[0]      →   Named(name="x", role="input", shown="x[t,k]", …)
facts.ranges[0]     →   Range(letters=("t",), lower=0, upper=T - 1)
facts.taken         →   {"I_{Value}": "I"}: sizes that are taken as their letter's
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from indicial.program import ir
from indicial.program.cost.cost import order
from indicial.program.explain.numbers import tight, value
from indicial.program.explain.outside import Outside, outside, small
from indicial.program.meaning.arrays import tie, tied_sizes
from indicial.program.names.letters import MADE_FAMILY, capital, is_capital
from indicial.program.sizes import Size, Strided

if TYPE_CHECKING:
    from indicial.program.program import Program


_SIGNS = ("Σ_", "∑_", "sum_", "\\sum", "mean_", "E_", "𝔼_", "\\mathbb{E}")
"""What a sum over small letters begins with where it is written."""


@dataclass(frozen=True)
class Named:
    """A name of the program, as it is shown."""

    tensor: ir.Tensor
    letters: tuple[str, ...]
    """Its indices, those of one letter numbered: `k`, `t_1`, `t_2`."""
    made: bool
    """Made by the analysis; nobody wrote it."""

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def role(self) -> str:
        return self.tensor.role

    @property
    def shown(self) -> str:
        """With its indices: `W^Q[ℓ,k,i,j]`, `w[t] in V`."""
        text = self.name + (f"[{','.join(self.letters)}]" if self.letters else "")
        values = self.tensor.values
        return text + (f" in {tight(values)}" if values is not None else "")


@dataclass(frozen=True)
class Range:
    """Letters that run over the same values: `i, j = 0..J-1`."""

    letters: tuple[str, ...]
    lower: Size
    upper: Size
    within: tuple[str, ...] = ()
    """The tensors that it holds in, where the letter runs over something else elsewhere."""

    @property
    def values(self) -> str:
        return f"{tight(self.lower)}..{tight(self.upper)}"


@dataclass
class Facts:
    """Everything that there is to say about a program without errors."""

    program: Program
    sizes: dict[str, int]
    """The sizes that are known, those that are taken as another included."""
    taken: dict[str, str]
    """Sizes that nobody set, with the letter whose size they are taken as."""

    @cached_property
    def code(self) -> ir.Code:
        return self.program.code

    # ------------------------------------------------------------------ names

    @cached_property
    def names(self) -> list[Named]:
        tokens = _token_axes(self.code)
        return [
            Named(t, _letters(self.code, t, tokens), made(self.code, t))
            for t in self.code.tensors.values()
        ]

    def role(self, role: str, everything: bool = False) -> list[Named]:
        return [n for n in self.names if n.role == role and (everything or not n.made)]

    @cached_property
    def guesses(self) -> dict[tuple[str, str], list[str]]:
        """The names that were guessed, by role and reason."""
        found: dict[tuple[str, str], list[str]] = {}
        for named in self.names:
            if named.tensor.guess:
                found.setdefault((named.role, named.tensor.guess), []).append(named.name)
        return found

    # ------------------------------------------------------------------ ranges and sizes

    @cached_property
    def ranges(self) -> list[Range]:
        return _ranges(self)

    @cached_property
    def same(self) -> list[tuple[str, str]]:
        """Letters that are one size: `("I", "J")` for I = J."""
        found: dict[str, set[str | None]] = {}
        for tensor in self.code.tensors.values():
            if "." in tensor.name:
                continue  # the letters inside a function are its own
            for axis in tensor.axes:
                letter = axis.letter
                if letter[:1].islower() and not _is_token(self.code, letter):
                    found.setdefault(capital(letter), set()).add(self.tied(axis.extent).name)
        alone = {own: next(iter(sizes)) for own, sizes in found.items() if len(sizes) == 1}
        return [(own, size) for own, size in alone.items() if size is not None and size != own]

    @cached_property
    def summed(self) -> dict[str, list[str]]:
        """The letters that each equation and claim sums over without a sign: `{"h": ["I", "K"]}`."""
        made = {n.name for n in self.names if n.made}
        bodies = [(s.target, s.body) for s in self.code.statements if s.target not in made]
        for test in self.code.tests:
            name = f"“{test.text}”" if test.text else test.span.text
            bodies += [(name, test.left), (name, test.right)]
        found: dict[str, set[str]] = {}
        for name, body in bodies:
            waiting, seen = [body], set[str]()
            while waiting:
                for node in waiting.pop().walk():
                    if isinstance(node, ir.Read) and node.tensor in made - seen:
                        seen.add(node.tensor)  # the argument of a function is part of its equation
                        waiting += [s.body for s in self.code.of(node.tensor)]
                    if isinstance(node, ir.Reduce) and node.operator in ("sum", "mean"):
                        written = node.span.text.startswith(_SIGNS)
                        for letter in (i.name for i in node.indices):
                            if letter != MADE_FAMILY and (not written or is_capital(letter)):
                                found.setdefault(name, set()).add(re.split("[·°]", letter)[0])
        return {name: sorted(letters) for name, letters in found.items()}

    @cached_property
    def outside(self) -> list[Outside]:
        made = tuple(f"{n.name}[" for n in self.names if n.made)
        return [found for found in outside(self.code) if not found.read.startswith(made)]

    # ------------------------------------------------------------------ costs

    def tied(self, size: Size) -> Size:
        """A formula in which the sizes that are taken as another are written as that."""
        return size.substitute({name: Size.of(letter) for name, letter in self.taken.items()})

    def shown(self, size: Size) -> Size:
        """A formula with what is known put in."""
        return self.tied(size).substitute(self.sizes)

    def number(self, size: Size) -> int | None:
        return value(size, self.sizes)

    @property
    def missing(self) -> list[str]:
        """The sizes that are still needed for numbers."""
        return [n for n in self.code.sizes if n not in self.sizes and n not in self.taken]

    @cached_property
    def lengths(self) -> set[str]:
        """The sizes that a program's cost is measured against: lengths of data, layers."""
        found = set(self.tied(self.program.cost.parallel_time).names)
        for tensor in self.code.tensors.values():
            if tensor.role == "input":
                axes = tensor.axes if tensor.values is not None else tensor.axes[:-1]
                found |= {name for axis in axes for name in self.tied(axis.extent).names}
        return found

    def growth(self, size: Size) -> str:
        """`O(T)`: how a cost grows with the lengths."""
        return order(self.tied(size), self.lengths)

    @property
    def walked(self) -> list[str]:
        """The indices that are walked one step after the other."""
        return list(self.program.cost.state)


def read(program: Program, sizes: Mapping[str, int] | None = None) -> Facts:
    """The facts of a program without errors, at some sizes."""
    known = program.sizes(sizes or {})
    taken = {n: letter for n, letter in tie(program.code).items() if n not in known}
    return Facts(program, tied_sizes(program.code, known), taken)


# ---------------------------------------------------------------------- names


def _token_axes(code: ir.Code) -> dict[tuple[str, int], str]:
    """The axes that are read at tokens: `("e", 0)` → `w`."""
    found: dict[tuple[str, int], str] = {}
    for statement in code.statements:
        for node in statement.body.every(ir.Read):
            for number, place in enumerate(node.places):
                if isinstance(place, ir.Gather):
                    found.setdefault((node.tensor, number), place.read.tensor)
    return found


def _letters(
    code: ir.Code, tensor: ir.Tensor, tokens: Mapping[tuple[str, int], str]
) -> tuple[str, ...]:
    """The letters of a tensor's axes; two of one letter as its equation has them, else numbered."""
    letters = [a.letter or tokens.get((tensor.name, n), "·") for n, a in enumerate(tensor.axes)]
    times, seen = Counter(letters), Counter[str]()
    written = [s.left for s in code.of(tensor.name)][-1:]
    for number, letter in enumerate(letters):
        if times[letter] > 1 and letter != "·":
            seen[letter] += 1
            mark = "'" * (seen[letter] - 1) if "_" in letter else f"_{seen[letter]}"
            place = written[0][number] if written else None
            shift = place.shift if place is not None else None
            letters[number] = small(shift[0]) if shift is not None else letter + mark
    return tuple(letters)


def _is_token(code: ir.Code, letter: str) -> bool:
    tensor = code.tensors.get(letter)
    return tensor is not None and tensor.values is not None


def made(code: ir.Code, tensor: ir.Tensor) -> bool:
    """Arguments of functions (`layernorm1.1`) and masks (`dropout_1`)."""
    before, dot, after = tensor.name.rpartition(".")
    if dot and after.isdigit() and before[-1:].isdigit():
        return True
    return any(d.tensor == tensor.name and d.distribution == "dropout" for d in code.draws)


# ---------------------------------------------------------------------- ranges


def _ranges(facts: Facts) -> list[Range]:
    """Every letter with its values; the letters of one range together."""
    Ends = tuple[Size, Size]
    uses: dict[str, dict[Ends, list[str]]] = {}
    tokens = _token_axes(facts.code)
    for named in facts.names:
        if named.made:
            continue
        for number, axis in enumerate(named.tensor.axes):
            letter = axis.letter or tokens.get((named.name, number), "")
            if letter:
                lower, extent = facts.tied(axis.lower), facts.tied(axis.extent)
                ends = (lower, lower + extent - 1)
                uses.setdefault(letter, {}).setdefault(ends, []).append(named.name)
    by_ends: dict[Ends, list[str]] = {}
    for letter, ranges in uses.items():
        # What holds in most places, those inside functions not counted.
        written = Counter({e: sum("." not in name for name in ns) for e, ns in ranges.items()})
        by_ends.setdefault(written.most_common(1)[0][0], []).append(letter)
    found: list[Range] = []
    for ends, letters in by_ends.items():
        found.append(Range(tuple(letters), *ends))
        for letter in letters:
            others = [(e, names) for e, names in uses[letter].items() if e != ends]
            found.extend(Range((letter,), *e, _short(names)) for e, names in others)
    return [*found, *_strided(facts.code)]


def _short(names: Iterable[str]) -> tuple[str, ...]:
    """Names of one function together: CELL.W, CELL.B → CELL."""
    return tuple(dict.fromkeys(name.partition(".")[0] for name in names))


def _strided(code: ir.Code) -> list[Range]:
    """Ranges that depend on the layer."""
    found = []
    for statement in code.statements:
        for index in statement.indices:
            if any(isinstance(atom, Strided) for atom in index.extent.atoms):
                left = ",".join(str(p) if isinstance(p, ir.Affine) else "·" for p in statement.left)
                where = f"{statement.target}[{left}]"
                found.append(Range((index.name,), index.lower, index.upper, (where,)))
    return found
