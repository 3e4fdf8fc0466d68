"""A recurrent program as a function of a state and an input, put in the place of a call.

    h[ℓ+1,t,J] = CELL_{Φ[ℓ]}(h[ℓ+1,t-1,J], h[ℓ,t,J])        with the cell ugrnn becomes

    CELL.R[ℓ+1,t,j] = tanh(CELL.W^{h,R}[ℓ,j,I] h[ℓ+1,t-1,I] + CELL.W^{x,R}[ℓ,j,K] h[ℓ,t,K] - …)
    CELL.G[ℓ+1,t,j] = …
    h[ℓ+1,t,j]      = CELL.G[ℓ+1,t,j] h[ℓ+1,t-1,j] + …

The cell's state `h[t-1,·]` is the first argument, its input `x[t,·]` the second (several are
joined), and `h[t,·]` is what the call gives. All else that the cell defines gets the indices of the
call; a second state (the `c` of an LSTM) steps along with the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from indicial.notation import syntax as s
from indicial.notation.parse import parse_name
from indicial.notation.source import Span
from indicial.program.messages import Messages
from indicial.program.names.letters import family, index_name, is_capital
from indicial.program.names.occurrences import recurrences, uses
from indicial.program.names.outline import Outline
from indicial.program.names.sorting import outline

Resolver = Callable[[str], list[s.Statement] | None]
"""The name of a model → its statements."""


@dataclass(frozen=True)
class Cell:
    """A recurrent program as a function of a state and an input."""

    name: str
    outline: Outline
    state: str
    inputs: tuple[str, ...]
    time: str
    """The family that it recurs over."""


def find_cell(name: str, span: Span, resolve: Resolver, messages: Messages) -> Cell | None:
    """The model of that name as a cell; a message at `span` if there is none."""
    statements = resolve(name)
    if statements is None:
        messages.error("unknown-cell", f"unknown model {name}", span,
                       hint=_hint(name))  # fmt: skip
        return None
    inner = outline(statements, messages, document=False)
    over = recurrences(inner)
    if len(over) != 1 or not inner.inputs:
        messages.error(
            "unknown-cell", f"{name} is not a cell: it must recur over one index and read an input",
            span, hint="a cell has a line like `h[t,j] = … h[t-1,I] … x[t,K] …`",
        )  # fmt: skip
        return None
    time = next(iter(over))
    state = "h" if "h" in inner.defined else inner.definitions[-1].key
    return Cell(name, inner, state, tuple(inner.inputs), time)


def _hint(name: str) -> str:
    if not name.replace("_", "").isalnum():
        return "there is no such file"
    return (
        f"`indicial models` lists those of the library: rnn, ugrnn, gru, lstm, …; {name}.eq beside this text, "
        "or in a folder of INDICIAL_PATH, is one too"
    )


class Filling:
    """One call of a hole, with a cell put in its place."""

    def __init__(
        self, cell: Cell, name: str, host: s.Equation, call: s.Call, messages: Messages
    ) -> None:
        self.cell = cell
        self.name = name
        self.host = host
        self.call = call
        self.messages = messages
        self.extra: list[s.Statement] = []
        group = [g for g in call.function.sub if isinstance(g, s.Index)]
        self.group: tuple[s.Expression, ...] = group[0].items if group else ()

    def statements(self) -> list[s.Statement]:
        """The cell's equations, with what the call gives them and the names of this place."""
        left = self.host.sides[0]
        if len(self.call.arguments) < 2 or not isinstance(left, s.Index):
            self.messages.error(
                "cell-call",
                f"{self.name} is filled by {self.cell.name}, which needs a state and an input",
                self.call.span, hint=f"write h[t,J] = {self.name}(h[t-1,J], x[t,K])",
            )  # fmt: skip
            return [self.host]
        self.left = left
        self.state_argument = self.call.arguments[0]
        self.input_argument = self._one_input()
        self.letters = self._letters()
        result: list[s.Statement] = list(self.extra)
        for definition in self.cell.outline.definitions:
            if any(isinstance(i, s.Number | s.Negative) for i in definition.items):
                continue  # the cell's own start: the host says how its states begin
            equation = definition.equation
            first, *others = (self._rewrite(side) for side in equation.sides)
            first = replace(first, span=left.span)  # it is the host that defines it
            result.append(replace(equation, sides=(first, *others)))
        for reference, value in self.cell.outline.constants.values():
            moved = self._parameter(reference.key, ())
            result.append(s.Declaration("constant", (moved,), None, value, span=reference.span))
        return result

    def _one_input(self) -> s.Expression:
        """The cell's input: the second argument, or all further ones joined."""
        rest = self.call.arguments[1:]
        if len(rest) == 1 and not isinstance(s.inner(rest[0]), s.Join):
            return rest[0]
        parts = tuple(p for a in rest for p in _joined(s.inner(a)))
        name = s.Name(f"{self.name}.x", span=self.call.span)
        joined = s.Index(name, (*self.left.items[:-1], s.Name("Z")), span=self.call.span)
        self.extra.append(
            s.Equation((joined, s.Join(parts, span=self.call.span)), ("=",), span=self.call.span)
        )
        return joined

    def _letters(self) -> dict[str, tuple[str, int]]:
        """For the families of the cell's slices the host's letters: `h[t-1,N]` makes j an n.

        A second letter for the state (the I of `W[j,I] h[t-1,I]`) gets a prime: `W[n,N'] h[t-1,N']`.
        """
        found: dict[str, tuple[str, int]] = {}
        state, given = _slice_letter(self.left), _slice_letter(self.input_argument)
        for definition in self.cell.outline.definitions:
            if definition.key == self.cell.state and definition.items and state:
                found.setdefault(_family(definition.items[-1]), (state, 0))
        for definition in self.cell.outline.definitions:
            for node in definition.equation.sides:
                for use in uses(self.cell.outline, node):
                    key, items = use.reference.key, use.reference.items
                    if use.kind != "tensor" or not items:
                        continue
                    letter = _family(items[-1])
                    if key == self.cell.state and state and letter and letter not in found:
                        primes = sum(1 for base, _ in found.values() if base == state)
                        found[letter] = (state, primes)
        for definition in self.cell.outline.definitions:
            for use in uses(self.cell.outline, definition.body):
                if use.reference.key in self.cell.inputs and use.reference.items and given:
                    letter = _family(use.reference.items[-1])
                    primes = sum(1 for base, _ in found.values() if base == given)
                    found.setdefault(letter, (given, primes))
        return found

    def _renamed(self, item: s.Expression) -> s.Expression:
        name = index_name(item)
        if name is None:
            return item if isinstance(item, s.Name) else item.rebuild(self._renamed)
        target = self.letters.get(family(name))
        if target is None:
            return item
        base, primes = target
        base = base.upper() if is_capital(name.base) else base
        return replace(name, base=base, primes=name.primes + primes)

    def _rewrite(self, node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name | s.Index | s.Call):
            use = self.cell.outline.use(node)
            if use is not None and use.kind == "tensor":
                moved = self._tensor(use.reference.key, use.reference.items, node.span)
                power = use.reference.power
                return moved if power is None else s.Power(moved, power)
        if isinstance(node, s.Name):
            return node
        if isinstance(node, s.Reduction):
            moved = node.rebuild(self._rewrite, keep=("under", "upper"))
            return replace(moved, under=tuple(self._renamed(u) for u in node.under))
        return node.rebuild(self._rewrite, keep=("function",))

    def _tensor(self, key: str, items: tuple[s.Expression, ...], span: Span) -> s.Expression:
        cell = self.cell
        items = tuple(self._renamed(item) for item in items)
        if key in cell.inputs:
            return _sliced(self.input_argument, items[1:])
        if key in cell.outline.defined:
            position = next((n for n, i in enumerate(items) if _family(i) == cell.time), None)
            if position is None:
                return self._own(key, self.left, items, span)
            rest = (*items[:position], *items[position + 1 :])
            stepped = not isinstance(items[position], s.Name)
            if key == cell.state:
                return _sliced(self.state_argument if stepped else self.left, rest)
            return self._own(key, self.state_argument if stepped else self.left, rest, span)
        if not items and key in ("σ", "tanh"):
            return s.Name(key, span=span)
        if not items and len(key) == 1 and (is_capital(key) or key in "tijk"):
            return s.Name(key, span=span)
        return self._parameter(key, items, span)

    def _own(
        self, key: str, like: s.Expression, rest: tuple[s.Expression, ...], span: Span
    ) -> s.Expression:
        """A tensor of the cell's own, with the indices of the call in front."""
        outer = like.items[:-1] if isinstance(like, s.Index) else ()
        scripts = _scripts(like)
        return s.Index(_prefixed(key, self.name, span), (*scripts, *outer, *rest), span=span)

    def _parameter(
        self, key: str, items: tuple[s.Expression, ...], span: Span | None = None
    ) -> s.Expression:
        name = _prefixed(key, self.name, span or self.call.span)
        every = (*self.group, *items)
        return s.Index(name, every, span=span or self.call.span) if every else name


def _family(item: s.Expression) -> str:
    name = index_name(s.terms(item)[0])
    return family(name) if name is not None else ""


def _slice_letter(node: s.Expression) -> str:
    """The letter of an argument's slice: `n` for `h[t-1,N]`."""
    node = s.inner(node)
    name = index_name(node.items[-1]) if isinstance(node, s.Index) else None
    if name is None or not is_capital(name.base) or name.sub or name.primes:
        return ""
    return name.base.lower()


def _joined(node: s.Expression) -> tuple[s.Expression, ...]:
    return node.parts if isinstance(node, s.Join) else (node,)


def _scripts(node: s.Expression) -> tuple[s.Expression, ...]:
    """The indices that the host writes as subscripts: the `ℓ+1` of `h_{ℓ+1}[t,J]`."""
    base = node.base if isinstance(node, s.Index) else node
    if not isinstance(base, s.Name):
        return ()
    return tuple(i for i in base.sub if not isinstance(i, s.Name) or index_name(i) is not None)


def _prefixed(key: str, name: str, span: Span) -> s.Name:
    parsed = parse_name(key) or s.Name(key)
    return replace(parsed, base=f"{name}.{parsed.base}", span=span)


def _sliced(argument: s.Expression, rest: tuple[s.Expression, ...]) -> s.Expression:
    """An argument with its slice's capital replaced by the index at which it is read.

    It stands where the author wrote it, at the call: messages must not point into the cell.
    """
    argument = s.inner(argument)
    if not isinstance(argument, s.Index) or not rest:
        return argument
    return replace(argument, items=(*argument.items[: -len(rest)], *rest))
