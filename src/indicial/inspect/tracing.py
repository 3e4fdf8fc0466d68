"""The values of any tensor of a model, on one text: `indicial trace`.

>>> trace(subject, ["alpha", "W^Q"])[0].name
'α'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indicial.compile.module.names import resolve
from indicial.inspect.attention import Array, values
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
        raise IndicialError("say which tensors: --want alpha,h")
    wanted = [resolve(code, name) for name in names]
    odd = [n for n in wanted if code.tensors[n].role not in ("defined", "parameter")]
    if odd:
        role = code.tensors[odd[0]].role
        raise IndicialError(
            f"{odd[0]} is given, not computed: it is {'an' if role == 'input' else 'a'} {role}"
        )
    defined = [n for n in wanted if code.tensors[n].role == "defined"]
    found = values(module, subject.tokens, defined) if defined else {}
    for name in wanted:
        if name not in found:
            found[name] = module.parameter(name).detach().double().numpy()
    return [_traced(subject, name, found[name]) for name in wanted]


def _traced(subject: Subject, name: str, array: Array) -> Traced:
    tensor = subject.module.code.tensors[name]
    sizes = {**subject.module.sizes.known}
    lowers = tuple(axis.lower.value(sizes) if not axis.lower.names - sizes.keys() else 0
                   for axis in tensor.axes)  # fmt: skip
    letters = tuple(axis.letter or "·" for axis in tensor.axes)
    return Traced(name, letters, lowers, array, tensor.values is not None)


def _listed(found: Any) -> Any:
    if isinstance(found, list):
        return [_listed(item) for item in found]
    return found if -float("inf") < found < float("inf") else None
