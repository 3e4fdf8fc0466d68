"""Names of the equations → what Python wants: any spelling is found, and parameters get attributes.

>>> resolve(code, "W^{h, R}", ("parameter",))
'W^{h,R}'
>>> attribute_names(["W^{h,R}", "CELL1.B^R", "α"], taken=())
{'W^{h,R}': 'W_hR', 'CELL1.B^R': 'CELL1_B_R', 'α': 'α'}

The attribute names are the keys of a state dict, and the variables of the emitted source. They
depend on the parameters' names only; where two become the same, the second gets `_2`.
"""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterable, Sequence

from indicial.compile.emit.identifiers import identifier
from indicial.notation.parse import canonical_name
from indicial.notation.signs import ASCII_LETTERS
from indicial.program.ir import Code, Tensor
from indicial.program.messages import IndicialError


def resolve(code: Code, spelling: str, roles: Sequence[str] = ()) -> str:
    """The tensor that a spelling means, among those of some roles."""
    names = [n for n, t in code.tensors.items() if not roles or t.role in roles]
    if spelling in names:
        return spelling
    canonical = canonical_name(spelling)
    if canonical in names:
        return canonical
    kind = roles[0] if len(roles) == 1 else "tensor"
    other = code.tensors.get(canonical)
    if other is not None:
        missing = "not defined" if kind == "defined" else f"no {kind}"
        raise IndicialError(f"{canonical} is {missing}: {_is(other)}")
    kind = "tensor" if kind == "defined" else kind
    raise IndicialError(f"the program has no {kind} {spelling}{_near(canonical, names)}")


def _is(tensor: Tensor) -> str:
    if tensor.role == "defined":
        return "the equations define it"
    article = "an" if tensor.role == "input" else "a"
    return f"it is {article} {tensor.role}"


def _near(name: str, names: Sequence[str]) -> str:
    close = [n for n in names if n.casefold() == name.casefold()]
    close = close or difflib.get_close_matches(name, names, 1)
    if close:
        return f"; did you mean {close[0]}?"
    spelled = {_typed(n): n for n in names}  # `alhpa` is nothing like α, but like alpha
    if meant := difflib.get_close_matches(_typed(name), spelled, 1):
        return f"; did you mean {meant[0]} ({spelled[meant[0]]})?"
    return f"; it has {', '.join(names)}" if names else "; it has none"


def _typed(name: str) -> str:
    """`"α^K"` → `"alpha^K"`: as it is typed where there are no Greek letters."""
    return "".join(ASCII_LETTERS.get(letter, letter) for letter in name)


def attribute_names(names: Iterable[str], taken: Container[str]) -> dict[str, str]:
    """A Python identifier for each name, none of them twice and none that is taken."""
    result: dict[str, str] = {}
    used: set[str] = set()
    for name in names:
        stem = identifier(name)
        chosen, number = stem, 2
        while chosen in used or chosen in taken:
            chosen, number = f"{stem}_{number}", number + 1
        used.add(chosen)
        result[name] = chosen
    return result


def with_indices(tensor: Tensor) -> str:
    """`x[t,k]`, `w[t] in V`: as the equations write it."""
    letters = ",".join(axis.letter or "·" for axis in tensor.axes)
    values = f" in {tensor.values}" if tensor.values is not None else ""
    return tensor.name + (f"[{letters}]" if letters else "") + values
