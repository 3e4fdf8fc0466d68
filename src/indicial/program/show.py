"""Code as readable text, for debugging and for golden files; explicit, so not the notation itself.

input x[t: 0..T-1, k: 0..K-1]
defined h[t: 0..T-1, j: 0..J-1]
h[t,j] = tanh(sum{i: 0..J-1}(W[j,i] * h[t-1,i]) + x[t,j])    for t: 0..T-1, j: 0..J-1
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.program import ir
from indicial.program.sizes import Size

_SIGN = {"+": " + ", "*": " * ", "/": " / ", "^": "^", **{c: f" {c} " for c in ir.COMPARISONS}}
_SIGN |= {word: f" {word} " for word in ir.LOGIC}
_BINDING = ("and", *ir.COMPARISONS, "+", "*", "/", "neg", "^")
"""From the loosest to the tightest."""
_ATOM = len(_BINDING)


def show(code: ir.Code) -> str:
    """All of a program, one tensor or statement a line."""
    lines = [
        f"size {name}" + (f" = {n}" if n is not None else "") for name, n in code.sizes.items()
    ]
    lines += [_tensor(tensor) for tensor in code.tensors.values()]
    lines += [show_statement(statement) for statement in code.statements]
    lines += [
        f"draw {draw.tensor} ~ {draw.distribution}"
        f"({', '.join(map(show_expression, draw.arguments))})"
        for draw in code.draws
    ]
    for test in code.tests:
        text = f"{test.kind} {show_expression(test.left)} {test.relation} "
        text += show_expression(test.right)
        if test.tolerance is not None:
            text += f" within {show_expression(test.tolerance)}"
        if test.guard is not None:
            text += f" where {show_expression(test.guard)}"
        lines.append(text + _for(test.indices))
    if code.loss is not None:
        lines.append(f"loss {code.loss}")
    if code.generated is not None:
        lines.append(f"generated {code.generated}")
    return "\n".join(lines) + "\n"


def show_statement(statement: ir.Statement) -> str:
    """`h[t,j] = …    for t: 0..T-1, j: 0..J-1 where t > 0`."""
    text = f"{show_left(statement)} = {show_expression(statement.body)}{_for(statement.indices)}"
    if statement.guard is not None:
        text += f" where {show_expression(statement.guard)}"
    return text


def show_left(statement: ir.Statement) -> str:
    """`h[t,j]`."""
    return statement.target + _brackets(statement.left)


def show_expression(expression: ir.Expression) -> str:
    """`tanh(W[j,i] * h[t-1,i])`."""
    return _show(expression)[0]


def show_range(index: ir.Index | ir.Axis) -> str:
    """`t: 0..T-1`."""
    name = index.name if isinstance(index, ir.Index) else index.letter
    return f"{name}: {_tight(index.lower)}..{_tight(index.lower + index.extent - 1)}"


def _tensor(tensor: ir.Tensor) -> str:
    text = f"{tensor.role} {tensor.name}"
    if tensor.axes:
        text += f"[{', '.join(map(show_range, tensor.axes))}]"
    if tensor.values is not None:
        text += f" in {tensor.values}"
    marks = [mark for mark in ("probability", "batched") if getattr(tensor, mark)]
    return text + (f"    ({', '.join(marks)})" if marks else "")


def _for(indices: tuple[ir.Index, ...]) -> str:
    return "    for " + _ranges(indices) if indices else ""


def _ranges(indices: tuple[ir.Index, ...]) -> str:
    return ", ".join(map(show_range, indices))


def _tight(size: Size) -> str:
    return str(size).replace(" + ", "+").replace(" - ", "-")


def _brackets(places: Sequence[ir.Place]) -> str:
    return f"[{','.join(map(_place, places))}]" if places else ""


def _place(place: ir.Place) -> str:
    if isinstance(place, ir.Flat):
        return f"({','.join(index.name for index in place.indices)})"
    return show_expression(place.read) if isinstance(place, ir.Gather) else str(place)


def _show(expression: ir.Expression) -> tuple[str, int]:
    """The text, and how tightly its outermost sign binds."""
    match expression:
        case ir.Constant(value):
            text = f"{value:g}" if float(f"{value:g}") == value else repr(value)
            return text, _ATOM if value >= 0 else _BINDING.index("neg")
        case ir.SizeValue(size):
            return f"⟨{size}⟩", _ATOM
        case ir.IndexValue(place):
            return f"⟨{place}⟩", _ATOM
        case ir.Read(tensor, places):
            return tensor + _brackets(places), _ATOM
        case ir.Apply("neg", (argument,)):
            level = _BINDING.index("neg")
            return "-" + _inside(argument, level), level
        case ir.Apply(function, arguments) if function in _SIGN and len(arguments) > 1:
            # A sign inside the same sign keeps its brackets: the tree is what is shown.
            level = _BINDING.index(function)
            return _SIGN[function].join(_inside(a, level) for a in arguments), level
        case ir.Apply(function, arguments):
            return f"{function}({', '.join(map(show_expression, arguments))})", _ATOM
        case ir.Reduce(operator, indices, condition, body):
            return f"{operator}{_binder(indices, condition)}({show_expression(body)})", _ATOM
        case ir.Softmax(indices, condition, body):
            return f"softmax{_binder(indices, condition)}({show_expression(body)})", _ATOM
        case ir.Statistic(operator, body):
            return f"{operator} of ({show_expression(body)})", _ATOM
        case ir.Quantity(what, of):
            return f"{what} of {of}" if of else what, _ATOM
        case ir.Growth(body):
            return f"O({show_expression(body)})", _ATOM
        case ir.Derivative(above, below):
            return f"∂{show_expression(above)}/∂{show_expression(below)}", _ATOM
        case ir.Select(branches, otherwise):
            cases = [f"{show_expression(v)} if {show_expression(c)}" for c, v in branches]
            return f"cases({'; '.join([*cases, show_expression(otherwise)])})", _ATOM
        case ir.Join(place, parts):
            shown = [f"{{{show_range(p.index)}}} {show_expression(p.body)}" for p in parts]
            return f"join{{{place}}}({'; '.join(shown)})", _ATOM
        case _:
            return repr(expression), _ATOM


def _inside(expression: ir.Expression, level: int) -> str:
    text, binding = _show(expression)
    return text if binding > level else f"({text})"


def _binder(indices: tuple[ir.Index, ...], condition: ir.Expression | None) -> str:
    where = f" where {show_expression(condition)}" if condition is not None else ""
    return f"{{{_ranges(indices)}{where}}}"
