"""Running a program on many draws at once: emitted PyTorch in float64, or the interpreter.

>>> stage = Stage(code, ("y",))
>>> stage.run({"x": x}, {"T": 3})["y"].shape        # x: (200, 3)
(200, 3)
>>> stage.exact({"x": x[7]}, {"T": 3})["y"]          # one draw, by the interpreter: the truth

The derivatives that claims speak of: all of `∂y[t]/∂x[i]`, from the adjoint equations.

The adjoint equations of y take what is passed back to y as an input. With a 1 at one element of it
and zeros elsewhere they give one row of the derivative; that is done for each element of y.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from indicial.program.ir import Axis, Code, Statement, Tensor
from indicial.program.meaning.arrays import InterpretError, stored_shape, writes_batch
from indicial.program.meaning.interpret import interpret
from indicial.program.meaning.sample import extent_value, work
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    import numpy as np

    from indicial.compile.emit.source import Source

    Array = np.ndarray[Any, np.dtype[np.float64]]

Values = Mapping[str, "Array"]


MOST_INTERPRETED = 3_000_000
"""Numbers that the interpreter computes for a claim, where the compiler cannot."""


class TooSlow(IndicialError):
    """Sizes or draws that would take minutes."""


class Stage:
    """Some tensors of a program whose open names are all inputs."""

    def __init__(self, code: Code, want: tuple[str, ...]) -> None:
        from indicial.compile.schedule.schedule import needed
        from indicial.program.rewrite import tensors_read

        self.code = code
        self.want = want
        read = tensors_read(needed(code, want))
        self.reads = [
            name for name, t in code.tensors.items() if name in read and t.role == "input"
        ]
        self.by_hand = writes_batch(code)
        """The text writes its batch index: draws are run one by one."""
        self._source: Source | None = None
        self.compiles = True

    def shape(self, name: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return stored_shape(self.code.tensors[name], sizes)

    def run(self, values: Values, sizes: Mapping[str, int], count: int) -> dict[str, Array]:
        """The wanted tensors on `count` draws, batch first."""
        import numpy as np

        if self.compiles:
            try:
                return self._compiled(values, sizes, count)
            except Exception:
                # Whatever the compiler cannot do, the interpreter does, slowly.
                self.compiles = False
        if count * work(self.code, sizes) > MOST_INTERPRETED:
            raise TooSlow(
                "this cannot be compiled, and takes too long to interpret at these sizes; set "
                "smaller ones with --set"
            )
        rows = [self.exact({n: v[d] for n, v in values.items()}, sizes) for d in range(count)]
        return {name: np.stack([row[name] for row in rows]) for name in self.want}

    def exact(self, values: Values, sizes: Mapping[str, int]) -> dict[str, Array]:
        """The wanted tensors on one draw, without a batch axis, by the interpreter."""
        given = {name: values[name] for name in self.reads}
        known = {name: sizes[name] for name in self.code.sizes if name in sizes}
        try:
            found = interpret(self.code, given, {}, sizes=known, want=self.want)
        except (InterpretError, KeyError, ValueError, ArithmeticError) as error:
            raise IndicialError(f"it has no value: {error}") from error
        return {name: found[name] for name in self.want}

    def _compiled(self, values: Values, sizes: Mapping[str, int], count: int) -> dict[str, Array]:
        import numpy as np
        import torch

        given = {name: self._tensor(name, values[name]) for name in self.reads}
        with torch.no_grad(), _double():
            if self.by_hand:
                runs = [self._run({n: v[d] for n, v in given.items()}, sizes) for d in range(count)]
                return {name: np.stack([run[name].numpy() for run in runs]) for name in self.want}
            found = self._run(given, sizes)
        result: dict[str, Array] = {}
        for name in self.want:
            array = found[name].numpy().astype(np.float64)
            if array.ndim == len(self.code.tensors[name].axes):  # the same for all draws
                array = np.broadcast_to(array, (count, *array.shape))
            result[name] = array
        return result

    def _tensor(self, name: str, values: Array) -> Any:
        import numpy as np
        import torch

        whole = self.code.tensors[name].values is not None
        kind = np.dtype(np.int64 if whole else np.float64)
        fits = values.dtype == kind and values.flags.writeable
        return torch.from_numpy(values if fits else np.array(values, dtype=kind))

    def _run(self, given: dict[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
        from indicial.compile.emit.source import emit
        from indicial.compile.schedule.schedule import schedule

        if self._source is None:
            # No kernels and no library calls: plain operations, near to the text.
            self._source = emit(self.code, schedule(self.code, self.want), self.want, patterns=())
        return self._source.run({}, given, dict(sizes), {}, {})


@contextmanager
def _double() -> Iterator[None]:
    """What no input says the type of is float64 too; one thread, as the arrays are small."""
    import torch

    before, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
        torch.set_num_threads(threads)


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
