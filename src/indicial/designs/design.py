"""A design: equations with an array for each of their parameters, or an equation for it.

>>> design = indicial.design("selects", Q=…, K=…, V=…, positions=…)
>>> print(design.check("content"))
content: all 1,092 sequences are right; …
>>> learned = design.train("content")
>>> design.save("mine.json"); Design.load("mine.json")
>>> defined(code, "W^Q[i,c] = 4 [i = c]", {"I": 3, "V": 3, "P": 1})["W^Q"].shape
(3, 4)

A design is saved as one JSON file that can be read and written by hand.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import parameters, resolve
from indicial.designs.checking import Check, Task, check, train
from indicial.inspect.subjects import Subject, Text, readings
from indicial.library.loading import load
from indicial.notation.parse import canonical_name
from indicial.program.inputs import named_text
from indicial.program.ir import Code, Tensor
from indicial.program.meaning.arrays import (
    InterpretError,
    solve_sizes,
    stored_extents,
    stored_shape,
    tie,
)
from indicial.program.messages import IndicialError, refused
from indicial.program.outputs import write_text
from indicial.program.program import Program
from indicial.tasks.predictions import token_inputs
from indicial.training.equations import Equations
from indicial.training.run import Run

if TYPE_CHECKING:
    from indicial.designs.comparison import Comparison


Array = np.ndarray[Any, np.dtype[np.float64]]


LEFT = re.compile(r"\s*[^\[\]=]+\[[^\[\]=]*\]\s*=")
"""The left side of an equation: `W^Q[i,c] =`."""


def parameter_name(code: Code, spelling: str) -> str:
    """The parameter that is meant: `W^Q` by any spelling, by `Q`, `pos` by `positions`."""
    names = [tensor.name for tensor in parameters(code)]
    canonical = canonical_name(spelling)
    for wanted in (canonical, f"W^{canonical}", f"W^{{{canonical}}}"):
        if wanted in names:
            return wanted
    longer = [n for n in names if len(n) > 1 and canonical.startswith(n)]
    return longer[0] if len(longer) == 1 else resolve(code, spelling, ("parameter",))


def equations(code: Code, given: Mapping[str, str]) -> str:
    """What is written for parameters, as equations: `{"Q": "4 [i = c]"}` → `W^Q[i,c] = 4 [i = c]`."""
    lines = []
    for spelling, text in given.items():
        tensor = code.tensors[parameter_name(code, spelling)]
        left = f"{tensor.name}[{','.join(axis.letter for axis in tensor.axes)}] = "
        lines.append(text if LEFT.match(text) else left + text)
    return "\n".join(lines)


def named(code: Code, given: Mapping[str, object]) -> dict[str, Array]:
    """The arrays by the names that the equations have for them."""
    found: dict[str, Array] = {}
    for spelling, values in given.items():
        name = parameter_name(code, spelling)
        if name in found:
            raise IndicialError(f"{name} is given twice, the second time as {spelling}")
        found[name] = _array(code.tensors[name], values)
    return found


def _array(tensor: Tensor, values: object) -> Array:
    try:
        if np.asarray(values).dtype.kind == "c":
            raise TypeError("its numbers are complex")
        array = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise IndicialError(f"{tensor.name} is not an array of numbers: {error}") from error
    if not array.size:
        raise IndicialError(f"{tensor.name} has no elements: its shape is {array.shape}")
    if not np.isfinite(array).all():
        raise IndicialError(f"{tensor.name} has an element that is not finite")
    if array.ndim != len(tensor.axes):
        letters = ",".join(axis.letter for axis in tensor.axes)
        raise IndicialError(
            f"{tensor.name}[{letters}] has {len(tensor.axes)} indices, and the array given for it "
            f"has {array.ndim}"
        )
    return array


def sizes_of(code: Code, arrays: Mapping[str, Array], given: Mapping[str, int]) -> dict[str, int]:
    """The sizes that follow from the arrays, those that were given, and those taken as another."""
    fixed = {name: value for name, value in code.sizes.items() if value is not None} | dict(given)
    ties = tie(code)
    for _ in range(len(ties) + 1):
        try:
            fixed = solve_sizes(code, arrays, frozenset(), fixed, set())
        except InterpretError as error:
            raise IndicialError(str(error)) from error
        for name, letter in ties.items():
            pair = {n: fixed[n] for n in (name, letter) if n in fixed}
            fixed |= dict.fromkeys((name, letter), *pair.values()) if len(pair) == 1 else {}
    return fixed


def defined(code: Code, text: str, sizes: Mapping[str, int]) -> dict[str, Array]:
    """The parameters that further equations define, at the sizes that the program has them."""
    program = load(text)
    if program.errors:
        raise refused(program.errors)
    own = [t for t in program.code.tensors.values() if t.role == "defined"]
    found: dict[str, Array] = {}
    wanted = {t.name: parameter_name(code, t.name) for t in own}
    known: dict[str, int] = {}
    for tensor in own:
        target = code.tensors[wanted[tensor.name]]
        if len(tensor.axes) != len(target.axes):
            raise IndicialError(
                f"{tensor.name} is defined with {len(tensor.axes)} indices; "
                f"{target.name} has {len(target.axes)}"
            )
        shape = stored_shape(target, sizes)
        for extent, value in zip(stored_extents(tensor), shape, strict=True):
            if extent.name is not None:
                known[extent.name] = value
    open_ = [t.name for t in program.code.tensors.values() if t.role in ("input", "parameter")]
    if open_:
        raise IndicialError(f"the definitions leave {', '.join(open_)} open: say what it is")
    result = program.interpret({}, {}, sizes=known, want=[t.name for t in own])
    for tensor in own:
        found[wanted[tensor.name]] = _array(code.tensors[wanted[tensor.name]], result[tensor.name])
    return found


FORMAT = 1
KIND = "indicial design"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Design:
    """Equations, sizes, and an array for each parameter. `tokens` are the names of the tokens."""

    program: Program
    sizes: Mapping[str, int]
    arrays: Mapping[str, Array] = field(repr=False)
    tokens: tuple[str, ...] = ()
    name: str = "design"
    remark: str = ""
    """Where the arrays come from: how they were learned."""

    # ------------------------------------------------------------------ running it

    @cached_property
    def module(self) -> ProgramModule:
        """In float64, so that margins are those of the design and not of rounding."""
        return self.compiled(torch.float64)

    def compiled(self, dtype: torch.dtype = torch.float32) -> ProgramModule:
        """A module with these arrays; in float32 it is like those that are trained."""
        start = {name: torch.from_numpy(array.copy()) for name, array in self.arrays.items()}
        made = self.program.compile(sizes=self.sizes, start=start, dtype=dtype)
        return made.eval()

    def encode(self, text: str) -> list[int]:
        """The tokens of a text: `"ABCA"` → `[0, 1, 2, 0]`; blanks between them are left out."""
        numbers = {token: n for n, token in enumerate(self.tokens)}
        longest = max(map(len, self.tokens), default=1)
        found, at = [], 0
        while at < len(text):
            pieces = [text[at : at + n] for n in range(longest, 0, -1)]
            token = next((piece for piece in pieces if piece in numbers), None)
            if token is not None:
                found.append(numbers[token])
            elif not text[at].isspace():
                raise IndicialError(
                    f"{self.name} has no token {text[at]!r}; it has {', '.join(self.tokens)}"
                )
            at += len(token or " ")
        return found

    def subject(
        self,
        text: str | None = None,
        target: str | None = None,
        arrays: Mapping[str, object] | None = None,
    ) -> Subject:
        """The design with what it is to read, for `attend` and `trace` (`inspect/`)."""

        def encode(_: object, said: str) -> tuple[list[int], list[str]]:
            tokens = self.encode(said)
            return tokens, [self.tokens[n] for n in tokens]

        return Subject.make(self.module, encode, text, target, arrays)

    def reading(self, tokens: Sequence[int]) -> Subject:
        """The same with the tokens of its one text."""
        (one,) = readings(self.program.code)
        labels = [self.tokens[n] for n in tokens]
        return Subject(self.module, (Text.cut(self.module, one, list(tokens), labels),))

    def run(self, text: str | Sequence[int], want: Sequence[str] | None = None) -> dict[str, Array]:
        """The tensors that the equations give for a text, as arrays."""
        tokens = self.encode(text) if isinstance(text, str) else list(text)
        if not tokens:
            raise IndicialError("the text is empty: give at least one token")
        with torch.no_grad():
            found = self.module(**{self.token_input: torch.tensor(tokens)}, want=want)
        return {name: value.numpy() for name, value in found.items()}

    @property
    def token_input(self) -> str:
        """The name of the input that takes tokens."""
        inputs = token_inputs(self.program.code)
        if len(inputs) != 1:
            raise IndicialError(
                f"{self.program.title} has {len(inputs)} inputs that take tokens; this needs one"
            )
        return inputs[0].name

    # ------------------------------------------------------------------ what can be asked of it

    def check(self, task: str | Task) -> Check:
        """Every case of a task: which are wrong, and how near the nearest comes."""
        return check(self, task)

    def train(self, task: str | Task, **settings: Any) -> Design:
        """The same equations and sizes, learned from random starts."""
        return train(self, task, **settings)

    def compare(self, other: Design, text: str | None = None) -> Comparison:
        """What is the same in two designs, and what is not (`comparison.py`)."""
        from indicial.designs.comparison import compare

        return compare(self, other, text)

    # ------------------------------------------------------------------ keeping it

    def save(self, path: str | os.PathLike[str]) -> Path:
        """One JSON file; numbers are written so that they read back the same."""
        content = {
            "kind": KIND,
            "format": FORMAT,
            "name": self.name,
            "remark": self.remark,
            **Equations.of(self.program).to_json(),
            "sizes": dict(self.sizes),
            "tokens": list(self.tokens),
            "arrays": {name: array.tolist() for name, array in self.arrays.items()},
        }
        write_text(path, json.dumps(content, ensure_ascii=False) + "\n")
        return Path(path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Design:
        """A design that was saved; what is wrong with a file is said."""
        try:
            content = json.loads(named_text(path))
            if not isinstance(content, dict) or content.get("kind") != KIND:
                raise IndicialError(f"{path} is not a design: make one with design.save")
            if content["format"] != FORMAT:
                raise IndicialError(
                    f"{path} has format {content['format']}, and this version of Indicial reads "
                    f"{FORMAT}"
                )
            program = Equations.from_json(content).program()
            arrays, sizes = content["arrays"], content["sizes"]
            return _made(program, named(program.code, arrays), sizes, content["tokens"],
                         content["name"], content["remark"])  # fmt: skip
        except OSError as error:
            raise IndicialError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise IndicialError(f"{path} is damaged: {error}") from error

    @staticmethod
    def of_run(folder: str | os.PathLike[str] | Run, checkpoint: str = "best") -> Design:
        """What a run learned, as a design of the same equations; its tokens are those of the run."""
        run = Run.open(folder)
        module, tokenizer = run.module(checkpoint), run.tokenizer()
        arrays = {n: module.parameter(n).detach().double().numpy() for n in module.state_keys}
        step = run.checkpoint(checkpoint).step
        return _made(
            run.program, arrays, module.sizes.known,
            [tokenizer.token(n) for n in range(tokenizer.size)],
            str(run.folder), f"trained by {step:,} steps, the {checkpoint} checkpoint",
        )  # fmt: skip


def design(
    what: str | os.PathLike[str],
    definitions: str | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    tokens: Sequence[str] = (),
    name: str = "design",
    **arrays: object,
) -> Design:
    """Equations, and an array for each of their parameters.

    >>> design("selects", Q=q, K=k, V=v, positions=p)
    >>> design("selects", Q="4 [i = c]", …, sizes={"I": 3, "V": 3, …})
    >>> design("selects", "W^Q[i,c] = 4 [i = c]", …, sizes={"I": 3, "V": 3, …})

    >>> design("position")                       # one made by hand, or a file that `save` wrote

    `what` is a model of the library, a file or equations. An array goes by any spelling of its
    parameter's name, by `Q` for `W^Q`; a text in its place is the right side of an equation with the
    indices that the parameter has. `definitions` are equations for several parameters; `sizes` says
    how large they are where the arrays do not. Tokens are A, B, C, …
    """
    if definitions is None and not arrays:
        from indicial.designs.hand import named_design

        made_already = named_design(what)
        if made_already is not None:
            return made_already
    program = load(what)
    if program.errors:
        raise refused(program.errors)
    written = {n: value for n, value in arrays.items() if isinstance(value, str)}
    given = named(program.code, {n: v for n, v in arrays.items() if n not in written})
    known = sizes_of(program.code, given, sizes or {})
    text = "\n".join(filter(None, [definitions, equations(program.code, written)]))
    if text:
        made = defined(program.code, text, known)
        twice = sorted(made.keys() & given.keys())
        if twice:
            raise IndicialError(f"{twice[0]} has an array and an equation: leave one out")
        given |= made
        known = sizes_of(program.code, given, known)
    return _made(program, given, known, tokens, name)


def _made(
    program: Program,
    arrays: Mapping[str, Array],
    sizes: Mapping[str, int],
    tokens: Sequence[str],
    name: str,
    remark: str = "",
) -> Design:
    """A design whose arrays fit its equations, or a message."""
    code = program.code
    owned = parameters(code)
    absent = [tensor.name for tensor in owned if tensor.name not in arrays]
    if absent:
        raise IndicialError(
            f"nothing is given for {', '.join(absent)}: a design has an array for each parameter"
        )
    settled = sizes_of(code, arrays, sizes)
    for tensor in owned:
        shape = stored_shape(tensor, settled)
        if arrays[tensor.name].shape != shape:
            raise IndicialError(
                f"{tensor.name} has shape {arrays[tensor.name].shape}; by the sizes it is {shape}"
            )
    inputs = token_inputs(code)
    count = inputs[0].values.value(settled) if inputs and inputs[0].values is not None else 0
    chosen = tuple(tokens) or _letters(count)
    if inputs and len(chosen) != count:
        raise IndicialError(f"there are {count} tokens and {len(chosen)} names for them")
    if len(set(chosen)) < len(chosen) or "" in chosen:
        raise IndicialError(
            f"each token needs a name of its own, and they are {', '.join(map(repr, chosen))}"
        )
    held = {tensor.name: np.ascontiguousarray(arrays[tensor.name]) for tensor in owned}
    return Design(program, settled, held, chosen, name, remark)


def _letters(count: int) -> tuple[str, ...]:
    """A, B, C, …, Z, AA, AB, …"""
    found = list(LETTERS)
    while len(found) < count:
        found.append(found[len(found) // len(LETTERS) - 1] + LETTERS[len(found) % len(LETTERS)])
    return tuple(found[:count])
