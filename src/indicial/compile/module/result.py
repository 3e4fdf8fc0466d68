"""What a module returns: tensors by name, in any spelling.

>>> result = module(x=x, want=["alpha"])
>>> result["α"] is result["alpha"] is result[r"\\alpha"]
True
>>> result.loss.backward()
"""

from __future__ import annotations

from typing import Any

import torch

from indicial.compile.torch_inside import register_container
from indicial.notation.parse import canonical_name
from indicial.program.messages import IndicialError


class Result(dict[str, torch.Tensor]):
    """A dictionary by the names of the equations; other spellings are looked up as well."""

    loss_name: str | None = None

    @property
    def loss(self) -> torch.Tensor:
        """What the program minimises: one number, the mean over the batch."""
        if self.loss_name is None:
            raise IndicialError("the program has no loss")
        return self[self.loss_name]

    def __missing__(self, spelling: str) -> torch.Tensor:
        name = canonical_name(spelling)
        if name in self.keys():
            return self[name]
        held = ", ".join(self) or "nothing"
        raise KeyError(f'{spelling} was not asked for (want=["{spelling}"]); this holds {held}')

    def __contains__(self, spelling: object) -> bool:
        return dict.__contains__(self, spelling) or (
            isinstance(spelling, str) and canonical_name(spelling) in self.keys()
        )

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {tuple(value.shape)}" for name, value in self.items())
        return f"Result({shapes})"


def result(values: dict[str, torch.Tensor], loss: str | None) -> Result:
    found = Result(values)
    found.loss_name = loss
    return found


def _flatten(found: Result) -> tuple[list[Any], Any]:
    return list(found.values()), (tuple(found), found.loss_name)


def _unflatten(values: Any, context: Any) -> Result:
    names, loss = context
    return result(dict(zip(names, values, strict=True)), loss)


# So that torch.export and torch.func look into it.
register_container(Result, _flatten, _unflatten, "indicial.compile.module.result.Result")
