"""Sizes, places and elementwise expressions as C.

2 J + 1                      →  (2 * n0 + 1)       or 513, if J is known to be 256
tanh(R[t,j] + -B[j])         →  tanh_float(r0[i0] - r1[i0])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

from indicial.compile.passes.scan import Unsupported
from indicial.program import ir
from indicial.program.sizes import Size

C_FUNCTIONS = {
    "tanh": "tanh", "σ": "sigmoid", "ReLU": "relu", "GELU": "gelu", "exp": "exp", "ln": "ln",
    "sqrt": "sqrt", "abs": "abs", "sign": "sign", "cos": "cos", "sin": "sin", "min": "min",
    "max": "max", "softplus": "softplus", "floor": "floor", "erf": "erf", "lse": "log_add_exp",
}  # fmt: skip
"""The functions of the language by their names in vector_math.h."""

_COMPARE = dict(zip(ir.COMPARISONS, ("==", "!=", "<", "<=", ">", ">="), strict=True))
_MOST_FACTORS = 8
"""Up to this power a product is written out."""


@dataclass
class CSizes:
    """Sizes as C: numbers where they are fixed, else variables; by member where they are ragged."""

    fixed: Mapping[str, int]
    ragged: frozenset[str]
    names: dict[str, str] = field(default_factory=dict)

    def c(self, size: Size, member: bool = False) -> str:
        """The size for all, or (`member`) for the member `b` that the text is about."""
        known = size.substitute({n: v for n, v in self.fixed.items() if n not in self.ragged})
        number = known.number
        if number is not None:
            return str(_whole(number))
        return "(" + " + ".join(self._term(m, c, member) for m, c in known.terms) + ")"

    def place(self, place: ir.Affine, indices: Mapping[str, str]) -> str:
        """Index arithmetic, given what each index is called: `t-1` → `v - 1`."""
        parts = []
        for name, factor in place.terms:
            if name not in indices:
                raise Unsupported(f"the index {name} is bound nowhere")
            text = indices[name]
            parts.append(text if factor == 1 else f"{factor} * {text}")
        if place.offset.terms or not parts:
            parts.append(self.c(place.offset, member=True))
        return parts[0] if len(parts) == 1 else "(" + " + ".join(parts) + ")"

    def varies(self, size: Size) -> bool:
        return bool(size.names & self.ragged)

    def variable(self, name: str) -> str:
        return self.names.setdefault(name, f"n{len(self.names)}")

    def _term(self, monomial: object, coefficient: int | Fraction, member: bool) -> str:
        factors = [str(_whole(coefficient))]
        assert isinstance(monomial, tuple)
        for atom, power in monomial:
            if not isinstance(atom, str):
                raise Unsupported(f"the extent {atom} depends on a layer")
            text = self.variable(atom)
            if member and atom in self.ragged:
                text = f"{text}_b"
            factors += [text] * power
        if len(factors) > 1 and factors[0] == "1":
            del factors[0]
        return " * ".join(factors)


def _whole(number: int | Fraction) -> int:
    if number.denominator != 1:
        raise Unsupported(f"a size with a fraction, {number}")
    return int(number)


class Lines:
    """Lines of C so far: blocks, lines for another place, fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.known: dict[str, str] = {}
        """The variables of values that have been found."""
        self.heads: list[str] | None = None
        """The lines that find values, while those that read them are written."""
        self.scratch: list[tuple[str, str]] = []
        """Memory of each part: a name, and how many numbers."""
        self.zeros: list[str] = ["1"]
        """How long the row of zeros must be: each of these at least."""

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(f"{head} {{".lstrip())
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    @contextmanager
    def aside(self, depth: int | None = None) -> Iterator[list[str]]:
        """Lines for another place, and as deep there."""
        before, self.lines = self.lines, []
        depth_before, self.depth = self.depth, self.depth if depth is None else depth
        yield self.lines
        self.lines = before
        self.depth = self.depth if depth is None else depth_before

    @contextmanager
    def behind(self, heads: Sequence[str]) -> Iterator[None]:
        """Lines behind others, which are known when these are written."""
        with self.aside() as own:
            yield
        for head in heads:
            self.line(head)
        self.lines += own

    @contextmanager
    def heads_first(self) -> Iterator[None]:
        """Lines behind those that find what they read."""
        before = self.known, self.heads
        self.known, self.heads = {}, []
        with self.behind(self.heads):
            yield
        self.known, self.heads = before

    def memory(self) -> list[str]:
        """Scratch memory, and a row of zeros behind it; `scratch` is to be freed."""
        lines = ["  long need = 0, empty = 0;"]
        for name, width in self.scratch:
            lines += [f"  const long at_{name} = need;", f"  need += padded({width});"]
        lines += [f"  if ({zeros} > empty) empty = {zeros};" for zeros in dict.fromkeys(self.zeros)]
        lines += [
            "  real *scratch = allocate((need + padded(empty)) * sizeof(real));",
            "  const real *zero = scratch + need; (void)zero;",
            "  for (long i = 0; i < empty; i++) scratch[need + i] = 0;",
        ]
        pointers = [
            f"  real *{name} = scratch + at_{name}; (void){name};" for name, _ in self.scratch
        ]
        return [*lines, *pointers]

    def once(self, kind: str, letter: str, value: str) -> str:
        """The variable of a value that is found once."""
        if value not in self.known:
            self.known[value] = self.fresh(letter)
            put = self.line if self.heads is None else self.heads.append
            put(f"{kind}{self.known[value]} = {value};")
        return self.known[value]


def declarations(sizes: CSizes, arguments: Sequence[str], kept: Sequence[str]) -> list[str]:
    """The sizes, lengths and tensors that a kernel is called with, as variables."""
    lines = size_declarations(sizes)
    for number, name in enumerate(sorted(sizes.ragged)):
        lines.append(f"  const int64_t *lengths_{sizes.variable(name)} = call->lengths[{number}];")
    for number, name in enumerate((*arguments, *kept)):
        const = "const " if number < len(arguments) else ""
        comment = name.replace("*/", "* /")
        lines.append(f"  {const}real *t{number} = call->tensors[{number}];  /* {comment} */")
        lines.append(
            f"  const long q{number} = call->rows[{number}]; (void)t{number}, (void)q{number};"
        )
    return lines


def size_declarations(sizes: CSizes) -> list[str]:
    return [
        f"  const long {variable} = call->sizes[{number}]; (void){variable};"
        for number, variable in enumerate(sizes.names.values())
    ]


@dataclass(frozen=True)
class CScope:
    """What the names in an expression are at some point of the text."""

    real: str
    sizes: CSizes
    indices: Mapping[str, str]
    read: Callable[[ir.Read], str]
    constants: Mapping[str, float]
    settled: Callable[[ir.Expression, str], str] = lambda condition, text: text
    """What stands for a condition, which is written as C."""

    def number(self, value: float) -> str:
        if value != value or value in (float("inf"), float("-inf")):
            name = '__builtin_nan("")' if value != value else "__builtin_inf()"
            return f"({self.real}){'-' if value < 0 else ''}{name}"
        return f"({self.real}){float(value)!r}"

    def c(self, node: ir.Expression) -> str:
        """An expression without reductions."""
        match node:
            case ir.Constant(value):
                return self.number(value)
            case ir.SizeValue(size):
                return f"({self.real}){self.sizes.c(size, member=True)}"
            case ir.IndexValue(place):
                return f"({self.real}){self.sizes.place(place, self.indices)}"
            case ir.Read():
                if node.tensor in self.constants:
                    return self.number(self.constants[node.tensor])
                return self.read(node)
            case ir.Select(branches, otherwise):
                text = self.c(otherwise)
                for condition, chosen in reversed(branches):
                    test, own = self.truth(condition), self.c(chosen)
                    if condition.every(ir.IndexValue):  # what is chosen may lie outside
                        text = f"({test} ? {own} : {text})"
                    else:
                        text = f"choose({test}, {own}, {text})"
                return text
            case ir.Apply(function, arguments):
                return self.apply(function, arguments)
            case _:
                raise Unsupported(f"a {type(node).__name__.lower()} inside an expression")

    def truth(self, condition: ir.Expression) -> str:
        """A condition, as C has them."""
        if isinstance(condition, ir.Apply) and condition.function in _COMPARE:
            left, right = (self.c(a) for a in condition.arguments)
            return self.settled(condition, f"({left} {_COMPARE[condition.function]} {right})")
        if isinstance(condition, ir.Apply) and condition.function == "and":
            return "(" + " && ".join(self.truth(a) for a in condition.arguments) + ")"
        return f"({self.c(condition)} != 0)"

    def apply(self, function: str, arguments: tuple[ir.Expression, ...]) -> str:
        if function in _COMPARE or function == "and":
            return (
                f"({self.truth(ir.Apply(function, arguments))} ? ({self.real})1 : ({self.real})0)"
            )
        if function == "+":
            return self._sum(arguments)
        if function == "neg":
            return f"(-{self.c(arguments[0])})"
        if function == "ln" and getattr(arguments[0], "function", "") in (*_COMPARE, "and"):
            none = self.number(float("-inf"))
            return f"({self.truth(arguments[0])} ? {self.number(0.0)} : {none})"
        if function == "stop":  # the adjoint equations know what it is for
            return self.c(arguments[0])
        if function == "^":
            return self._power(*arguments)
        texts = [self.c(a) for a in arguments]
        if function in ("*", "/"):
            return "(" + f" {function} ".join(texts) + ")"
        if function not in C_FUNCTIONS:
            raise Unsupported(f"no kernel knows the function {function}")
        name = f"{C_FUNCTIONS[function]}_{self.real}"
        if function in ("min", "max", "lse"):
            text = texts[0]
            for other in texts[1:]:
                text = f"{name}({text}, {other})"
            return text
        return f"{name}({', '.join(texts)})"

    def _sum(self, arguments: tuple[ir.Expression, ...]) -> str:
        text = self.c(arguments[0])
        for argument in arguments[1:]:
            if isinstance(argument, ir.Apply) and argument.function == "neg":
                text += f" - {self.c(argument.arguments[0])}"
            else:
                text += f" + {self.c(argument)}"
        return f"({text})"

    def _power(self, base: ir.Expression, exponent: ir.Expression) -> str:
        text = self.c(base)
        if isinstance(exponent, ir.Constant) and exponent.value in range(1, _MOST_FACTORS + 1):
            # A leaf is repeated as it is; anything else is computed once, in a statement expression.
            times = int(exponent.value)
            if isinstance(base, ir.Read | ir.Constant):
                return "(" + " * ".join([text] * times) + ")"
            product = " * ".join(["p_"] * times)
            return f"({{ const {self.real} p_ = {text}; {product}; }})"
        return f"pow_{self.real}({text}, {self.c(exponent)})"
