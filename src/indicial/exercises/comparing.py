"""Two programs that define the same tensor → a claim that it is the same in both.

    h[t] = G[t] h[t-1] + (1 - G[t]) R[t]      as the sheet has it, `h^{key}`
    h[t] = R[t] + G[t] (h[t-1] - R[t])        as it was answered

    claim h[t] = h^{key}[t]                   tried on draws, at corner sizes

Inputs, parameters and draws are shared; all that equations define is there twice.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.program.ir import Affine, Code, Draw, Expression, Index, Read, Statement, Tensor, Test
from indicial.program.rewrite import rebuild


class Unlike(Exception):
    """Why there is nothing to compare, in words."""


def equality(code: Code, key: Code, name: str) -> tuple[Code, Test]:
    """A program that has both, and the claim."""
    if name not in code.tensors:
        raise Unlike(f"{name} is not defined by it")
    if len(code.tensors[name].axes) != len(key.tensors[name].axes):
        raise Unlike(
            f"{name} has {len(key.tensors[name].axes)} indices, and with this answer "
            f"{len(code.tensors[name].axes)}"
        )
    _require_same_sizes(code, key)
    own = {n for n, tensor in key.tensors.items() if tensor.role == "defined"}
    names = {n: _fresh(n, code) for n in own}
    tensors = {**{n: t for n, t in key.tensors.items() if n not in own}, **code.tensors}
    tensors |= {names[n]: replace(key.tensors[n], name=names[n]) for n in own}
    statements = (*code.statements, *(_renamed(s, names) for s in key.statements))
    drawn = {draw.tensor for draw in code.draws}
    draws = (*code.draws, *(_renamed_draw(d, names) for d in key.draws if d.tensor not in drawn))
    merged = replace(
        code,
        tensors=tensors,
        statements=statements,
        draws=draws,
        sizes={**key.sizes, **code.sizes},
        constants={**key.constants, **code.constants},
        tests=(),
        loss=None,
    )
    axes = key.tensors[name].axes
    letters = [axis.letter for axis in axes]
    indices = tuple(
        Index(a.letter if letters.count(a.letter) == 1 else f"{a.letter}_{n}", a.lower, a.extent)
        for n, a in enumerate(axes)
    )
    places = tuple(map(Affine.of, indices))
    test = Test(Read(name, places), "=", Read(names[name], places), indices, kind="claim",
                text=f"{name} is as in the sheet")  # fmt: skip
    return merged, test


def _fresh(name: str, code: Code) -> str:
    made = f"{name}^{{key}}"
    while made in code.tensors:
        made += "'"
    return made


def _require_same_sizes(code: Code, key: Code) -> None:
    """Whether what both read is of one shape; an answer may make two sizes one."""
    for name, tensor in key.tensors.items():
        other = code.tensors.get(name)
        if other is None:
            continue
        if tensor.role != other.role and "defined" in (tensor.role, other.role):
            raise Unlike(
                f"{name} is {_role(tensor)} in the sheet, and {_role(other)} with this answer"
            )
        for axis, mine in zip(tensor.axes, other.axes, strict=False):
            if axis.extent != mine.extent:
                raise Unlike(
                    f"{name}[{','.join(a.letter for a in tensor.axes)}] has the size {axis.extent} at "
                    f"{axis.letter}; with this answer it would have to be {mine.extent}"
                )


def _role(tensor: Tensor) -> str:
    words = {"input": "given", "draw": "drawn", "defined": "defined"}
    return words.get(tensor.role, f"a {tensor.role}")


def _renamed(statement: Statement, names: dict[str, str]) -> Statement:
    return replace(
        statement,
        target=names.get(statement.target, statement.target),
        body=_expression(statement.body, names),
        guard=None if statement.guard is None else _expression(statement.guard, names),
    )


def _renamed_draw(draw: Draw, names: dict[str, str]) -> Draw:
    return replace(draw, arguments=tuple(_expression(a, names) for a in draw.arguments))


def _expression(node: Expression, names: dict[str, str]) -> Expression:
    def leaf(e: Expression) -> Expression:
        return replace(e, tensor=names.get(e.tensor, e.tensor)) if isinstance(e, Read) else e

    return rebuild(node, leaf=leaf)
