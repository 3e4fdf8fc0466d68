"""The values of any tensor of a model, on one text: `indicial trace`.

>>> trace(subject, ["alpha", "W^Q"])[0].name
'α'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indicial.compile.module.sizes import resolve
from indicial.inspect.subjects import Array
from indicial.program import ir
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.inspect.subjects import Subject


@dataclass(frozen=True)
class Traced:
    """A tensor with its values; `lowers` are the index values of the first elements."""

    name: str
    letters: tuple[str, ...]
    lowers: tuple[int, ...]
    values: Array
    whole: bool
    labels: tuple[str, ...] = ()
    """Where the rows of a matrix are places of a text, the token that each of them reads."""

    def to_json(self) -> dict[str, Any]:
        """Numbers that are not finite are null: JSON has none."""
        return {
            "indices": list(self.letters),
            "from": list(self.lowers),
            "shape": list(self.values.shape),
            "values": _listed(self.values.tolist()),
        }


def trace(subject: Subject, names: Sequence[str]) -> list[Traced]:
    """The tensors by any spelling of their names, in the order asked for."""
    code, module = subject.module.code, subject.module
    if not names:
        raise IndicialError("name the tensors: --want alpha,h")
    wanted = [resolve(code, name) for name in names]
    odd = [n for n in wanted if code.tensors[n].role not in ("defined", "parameter")]
    if odd:
        role = code.tensors[odd[0]].role
        raise IndicialError(
            f"{odd[0]} is given, not computed: it is {'an' if role == 'input' else 'a'} {role}"
        )
    defined = [n for n in wanted if code.tensors[n].role == "defined"]
    found = subject.values(defined) if defined else {}
    for name in wanted:
        if name not in found:
            found[name] = module.parameter(name).detach().double().numpy()
    return [_traced(subject, name, found[name]) for name in wanted]


def _traced(subject: Subject, name: str, array: Array) -> Traced:
    tensor = subject.module.code.tensors[name]
    sizes = subject.module.sizes.known
    lowers = tuple(axis.lower.value(sizes) if not axis.lower.names - sizes.keys() else 0
                   for axis in tensor.axes)  # fmt: skip
    labels: tuple[str, ...] = ()
    for text in subject.texts:
        down = tensor.axes[-2:-1]
        if down and down[0].extent.name == text.reading.length:
            places = range(lowers[-2], lowers[-2] + array.shape[-2])
            labels = text.reading.labels(text.labels, places)
    letters = _letters(subject.module.code, tensor)
    return Traced(name, letters, lowers, array, tensor.values is not None, labels)


def _letters(code: ir.Code, tensor: ir.Tensor) -> tuple[str, ...]:
    """As the equation has them, `t_1` and `t_2`, where two axes would have the same letter."""
    own = [axis.letter or "·" for axis in tensor.axes]
    for statement in code.of(tensor.name):
        left = [p.terms[0][0] if isinstance(p, ir.Affine) and len(p.terms) == 1 else None
                for p in statement.left]  # fmt: skip
        if len(set(own)) < len(own):
            own = [given or letter for given, letter in zip(left, own, strict=True)]
    return tuple(own)


def _listed(found: Any) -> Any:
    if isinstance(found, list):
        return [_listed(item) for item in found]
    return found if -float("inf") < found < float("inf") else None
