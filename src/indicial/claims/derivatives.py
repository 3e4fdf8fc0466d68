"""The derivatives that claims speak of: all of `∂y[t]/∂x[i]`, from the adjoint equations.

The adjoint equations of y take what is passed back to y as an input. With a 1 at one element of it
and zeros elsewhere they give one row of the derivative; that is done for each element of y.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from indicial.claims.running import Stage, Values
from indicial.program.ir import Axis, Code, Statement, Tensor
from indicial.program.meaning.sample import extent_value
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Slope:
    """All elements of `∂above/∂below`, as a tensor with the axes of both."""

    tensor: Tensor
    above: Tensor
    stage: Stage
    bar: str
    """The adjoint of what is differentiated by; empty if nothing depends on it."""
    seed: str
    """The input that says which element is differentiated; empty for a single number."""

    def at(self, values: Values, sizes: Mapping[str, int], count: int) -> Array:
        """(count, *above, *below) for `count` draws."""
        import numpy as np

        above = _shape(self.above, sizes)
        whole = (count, *_shape(self.tensor, sizes))
        if not self.bar:
            return np.zeros(whole)
        rows = []
        for place in np.ndindex(*above):
            row = self.stage.run(self._given(values, above, place, count), sizes, count)
            rows.append(row[self.bar])
        return np.stack(rows, axis=1).reshape(whole)

    def exact(self, values: Values, sizes: Mapping[str, int]) -> Array:
        """(*above, *below) for one draw, by the interpreter."""
        import numpy as np

        above, whole = _shape(self.above, sizes), _shape(self.tensor, sizes)
        if not self.bar:
            return np.zeros(whole)
        rows = [
            self.stage.exact(self._given(values, above, place, None), sizes)[self.bar]
            for place in np.ndindex(*above)
        ]
        return np.stack(rows).reshape(whole)

    def _given(
        self, values: Values, shape: tuple[int, ...], place: tuple[int, ...], count: int | None
    ) -> dict[str, Array]:
        import numpy as np

        if not self.seed:
            return dict(values)
        one = np.zeros(shape)
        one[place] = 1.0
        return {
            **values,
            self.seed: one if count is None else np.broadcast_to(one, (count, *shape)),
        }


def slope(code: Code, above: str, below: str, name: str) -> Slope:
    """The derivative of one tensor by another."""
    from indicial.compile.passes.adjoint import adjoint
    from indicial.program.moving import Unmovable

    upper, lower = code.tensors[above], code.tensors[below]
    axes: list[Axis] = []
    for axis in (*upper.axes, *lower.axes):
        letter = axis.letter
        while any(letter == known.letter for known in axes):
            letter += "'"
        axes.append(replace(axis, letter=letter))
    tensor = Tensor(name, tuple(axes), "input")
    if upper.role != "defined":
        raise IndicialError(f"{above} is given, but no equation says how it depends on {below}")
    if lower.role != "input":
        raise IndicialError(
            f"{below} is not an input, a parameter or a draw: a claim can differentiate only by these"
        )
    if upper.values is not None or lower.values is not None:
        raise IndicialError("a token cannot be differentiated, nor differentiated by")
    if not _depends(code, above, below):
        return Slope(tensor, upper, Stage(code, ()), "", "")
    try:
        made = adjoint(code, [above], [below])
    except (IndicialError, Unmovable) as error:
        raise IndicialError(f"∂{above}/∂{below} is not known: {error}") from error
    if below not in made.names:  # it is read only where nothing passes back, as in an argmax
        return Slope(tensor, upper, Stage(code, ()), "", "")
    bar = made.names[below]
    return Slope(tensor, upper, Stage(made.code, (bar,)), bar, made.given.get(above, ""))


def _depends(code: Code, above: str, below: str) -> bool:
    from indicial.compile.schedule.schedule import needed
    from indicial.program.rewrite import tensors_read

    statements: list[Statement] = needed(code, [above])
    return below in tensors_read(statements)


def _shape(tensor: Tensor, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(extent_value(axis.extent, sizes) for axis in tensor.axes)
