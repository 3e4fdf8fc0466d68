"""Running a program on many draws at once: emitted PyTorch in float64, or the interpreter.

>>> stage = Stage(code, ("y",))
>>> stage.run({"x": x}, {"T": 3})["y"].shape        # x: (200, 3)
(200, 3)
>>> stage.exact({"x": x[7]}, {"T": 3})["y"]          # one draw, by the interpreter: the truth
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from indicial.program.ir import Code
from indicial.program.meaning.arrays import BATCH, InterpretError, stored_shape
from indicial.program.meaning.interpret import interpret
from indicial.program.meaning.sample import work
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
        self.by_hand = any(a.letter == BATCH for t in code.tensors.values() for a in t.axes)
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
