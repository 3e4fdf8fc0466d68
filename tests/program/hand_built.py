"""Small programs as `Code`, built by hand, so that these tests need no parser.

>>> read("h", "t-1", "i")
Read(tensor='h', places=(…))
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from indicial.program.ir import (
    Affine,
    Apply,
    Axis,
    Code,
    Constant,
    Expression,
    Gather,
    Index,
    IndexValue,
    Place,
    Read,
    Reduce,
    Softmax,
    Statement,
    Tensor,
)
from indicial.program.sizes import Size


def index(name: str, lower: int | Size = 0, extent: int | Size | None = None) -> Index:
    """`index("t_2")` ranges over 0..T-1."""
    size = Size.of(name[0].upper()) if extent is None else Size.of(extent)
    return Index(name, Size.of(lower), size)


def place(text: str | int | Place | Read) -> Place:
    """`place("2t+Δt-1")`; a capital is a size; a read is a gather."""
    if isinstance(text, Read):
        return Gather(text)
    if not isinstance(text, (str, int)):
        return text
    terms: list[tuple[str, int]] = []
    offset = Size()
    for sign, number, name in re.findall(r"([+-]?)(\d*)([^\W\d]\w*|)", str(text)):
        if not number and not name:
            continue
        factor = int(number or 1) * (-1 if sign == "-" else 1)
        if not name:
            offset = offset + factor
        elif name[0].isupper() and name[0] != "Δ":
            offset = offset + factor * Size.of(name)
        else:
            terms.append((name, factor))
    return Affine(tuple(terms), offset)


def read(tensor: str, *places: str | int | Place | Read) -> Read:
    return Read(tensor, tuple(place(p) for p in places))


def value(text: str | int) -> IndexValue:
    at = place(text)
    assert isinstance(at, Affine)
    return IndexValue(at)


def apply(function: str, *arguments: Expression | float) -> Apply:
    return Apply(
        function, tuple(Constant(float(a)) if isinstance(a, (int, float)) else a for a in arguments)
    )


def plus(*arguments: Expression | float) -> Apply:
    return apply("+", *arguments)


def times(*arguments: Expression | float) -> Apply:
    return apply("*", *arguments)


def minus(argument: Expression | float) -> Apply:
    return apply("neg", argument)


def total(
    over: str | Index | Sequence[Index],
    body: Expression,
    condition: Expression | None = None,
    operator: str = "sum",
) -> Reduce:
    return Reduce(operator, _indices(over), condition, body)


def softmax(
    over: str | Index | Sequence[Index], body: Expression, condition: Expression | None = None
) -> Softmax:
    return Softmax(_indices(over), condition, body)


def _indices(over: str | Index | Sequence[Index]) -> tuple[Index, ...]:
    if isinstance(over, str):
        return tuple(index(name) for name in over.split())
    return (over,) if isinstance(over, Index) else tuple(over)


def tensor(role: str, text: str, **options: object) -> Tensor:
    """`tensor("input", "x t k")`; an axis is a letter, with a size of its own after a colon."""
    name, *letters = text.split()
    axes = []
    for letter in letters:
        letter, _, size = letter.partition(":")
        extent = place(size or letter[0].upper())
        assert isinstance(extent, Affine)
        axes.append(Axis(letter, Size(), extent.offset))
    return Tensor(name, tuple(axes), role, **options)  # type: ignore[arg-type]


def define(
    left: str,
    body: Expression,
    guard: Expression | None = None,
    indices: Sequence[Index] | None = None,
) -> Statement:
    """`define("h t j", …)`; places on the left are separated by spaces."""
    name, *places = left.split()
    lefts = tuple(place(p) for p in places)
    if indices is None:
        names = [n for p in lefts if isinstance(p, Affine) for n, _ in p.terms]
        indices = [index(n) for n in dict.fromkeys(names)]
    return Statement(name, lefts, tuple(indices), body, guard)  # type: ignore[arg-type]


def program(
    tensors: Sequence[Tensor],
    statements: Sequence[Statement],
    loss: str | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Code:
    names: set[str] = set()
    for t in tensors:
        names |= set().union(*(a.extent.names for a in t.axes), t.values.names if t.values else ())
    known: dict[str, int | None] = dict.fromkeys(sorted(names))
    return Code(
        {t.name: t for t in tensors}, tuple(statements), known | dict(sizes or {}), loss=loss
    )


# ---- programs that several tests use ----


def rnn() -> Code:
    """`h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])`."""
    body = apply(
        "tanh",
        plus(
            total(index("i", 0, Size.of("J")), times(read("W", "j", "i"), read("h", "t-1", "i"))),
            total("k", times(read("U", "j", "k"), read("x", "t", "k"))),
        ),
    )
    tensors = [
        tensor("input", "x t k"),
        tensor("parameter", "W j i:J"),
        tensor("parameter", "U j k"),
        tensor("defined", "h t j"),
    ]
    return program(tensors, [define("h t j", body)])


def ugrnn() -> Code:
    """The update-gate RNN, as on the first page of the language."""

    def gate(name: str) -> Expression:
        return plus(
            total(
                index("i", 0, Size.of("J")),
                times(read(f"W^{name}", "j", "i"), read("h", "t-1", "i")),
            ),
            total("k", times(read(f"U^{name}", "j", "k"), read("x", "t", "k"))),
            minus(read(f"B^{name}", "j")),
        )

    tensors = [tensor("input", "x t k")]
    for name in "RG":
        tensors += [
            tensor("parameter", f"W^{name} j i:J"),
            tensor("parameter", f"U^{name} j k"),
            tensor("parameter", f"B^{name} j"),
            tensor("defined", f"{name} t j"),
        ]
    tensors.append(tensor("defined", "h t j"))
    mixed = plus(
        times(read("G", "t", "j"), read("h", "t-1", "j")),
        times(plus(1, minus(read("G", "t", "j"))), read("R", "t", "j")),
    )
    return program(
        tensors,
        [
            define("h t j", mixed),
            define("R t j", apply("tanh", gate("R"))),
            define("G t j", apply("σ", gate("G"))),
        ],
    )


def attention(sign: str = "≤") -> Code:
    """`α[t_1,t_2] = softmax_{t_2 ≤ t_1} q[t_1,I] q[t_2,I] / √I`, `y[t,i] = α[t,T] v[T,i]`."""
    score = apply(
        "/",
        total("i", times(read("q", "t_1", "i"), read("q", "t_2", "i"))),
        apply("sqrt", size_value("I")),
    )
    causal = apply(sign, value("t_2"), value("t_1"))
    return program(
        [
            tensor("input", "q t i"),
            tensor("input", "v t i"),
            tensor("defined", "α t_1 t_2"),
            tensor("defined", "y t i"),
        ],
        [
            define("α t_1 t_2", softmax("t_2", score, causal)),
            define("y t i", total("t_2", times(read("α", "t", "t_2"), read("v", "t_2", "i")))),
        ],
    )


def size_value(name: str) -> Expression:
    from indicial.program.ir import SizeValue

    return SizeValue(Size.of(name))


def language_model() -> Code:
    """`P(w_t|…) = softmax_{w_t} e[w_t,I] h[t-1,I]`, `h` the sum of the embeddings, and its loss."""
    v = index("v")
    body = softmax(v, total("i", times(read("e", "v", "i"), read("h", "t-1", "i"))))
    return program(
        [
            tensor("input", "w t", values=Size.of("V")),
            tensor("parameter", "e v i"),
            tensor("defined", "h t i"),
            tensor("defined", "P t v", probability=True),
            tensor("defined", "loss"),
        ],
        [
            define("h t i", plus(read("h", "t-1", "i"), read("e", read("w", "t"), "i"))),
            define("P t v", body),
            define(
                "loss",
                minus(total("t", apply("ln", read("P", "t", read("w", "t"))), operator="mean")),
            ),
        ],
        loss="loss",
    )


def stack() -> Code:
    """`h[ℓ+1,t,j] = tanh(W[ℓ+1,j,I] h[ℓ+1,t-1,I] + U[ℓ+1,j,I] h[ℓ,t,I])`, `h[0,t,j] = x[t,j]`."""
    over = index("i", 0, Size.of("J"))
    layer = index("ℓ", 0, Size.of("L"))
    axes = (Axis("ℓ", Size.of(1), Size.of("L")),)
    weights = [
        Tensor(n, (*axes, *tensor("parameter", f"{n} j i:J").axes), "parameter") for n in "WU"
    ]
    body = apply(
        "tanh",
        plus(
            total(over, times(read("W", "ℓ+1", "j", "i"), read("h", "ℓ+1", "t-1", "i"))),
            total(over, times(read("U", "ℓ+1", "j", "i"), read("h", "ℓ", "t", "i"))),
        ),
    )
    return program(
        [tensor("input", "x t j"), *weights, tensor("defined", "h ℓ:L+1 t j")],
        [
            define("h 0 t j", read("x", "t", "j")),
            define("h ℓ+1 t j", body, indices=[layer, index("t"), index("j")]),
        ],
    )
