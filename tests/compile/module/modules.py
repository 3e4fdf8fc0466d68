"""Library models as modules in float64, with random parameters, beside the oracle."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch

from indicial import load
from indicial.compile.module.module import ProgramModule
from indicial.program.meaning.arrays import stored_shape
from indicial.program.meaning.interpret import Result
from indicial.program.program import Program

SIZES = {"T": 5, "S": 4, "T_{in}": 4, "J": 3, "K": 2, "I": 2, "D": 4, "V": 6, "U": 5, "L": 2, "N": 3,
         "M": 2, "X": 3, "Y": 2, "C": 2, "O": 2, "P": 3, "R": 4}  # fmt: skip


@cache
def program(name: str) -> Program:
    return load(name)


def compiled(name: str, **options: Any) -> ProgramModule:
    """A model of the library at small sizes, its parameters random."""
    return random(program(name).compile(**small(program(name)), dtype=torch.float64, **options))


def small(program: Program) -> dict[str, Any]:
    known = {n: SIZES[n] for n in program.code.sizes if n in SIZES}
    return {"sizes": known}


def random(module: ProgramModule, seed: int = 0) -> ProgramModule:
    """Every parameter drawn, so that no bias is 0 and no gain 1."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
    return module


def inputs(module: ProgramModule, *batch: int, seed: int = 0, **sizes: int) -> dict[str, Any]:
    """Random inputs, with a batch in front if one is given."""
    generator = torch.Generator().manual_seed(seed)
    every = {**SIZES, **module.sizes.known, **sizes}
    found = {}
    for tensor in module.code.tensors.values():
        if tensor.role == "input":
            shape = (*batch, *stored_shape(tensor, every))
            if tensor.values is not None:
                count = tensor.values.value(every)
                found[tensor.name] = torch.randint(count, shape, generator=generator)
            else:
                found[tensor.name] = torch.randn(shape, generator=generator, dtype=torch.float64)
    return found


def oracle(module: ProgramModule, given: dict[str, Any], **options: Any) -> Result:
    """The interpreter on the same inputs and parameters; dropout masks are 1 unless given."""
    code = module.code
    known = {**module.sizes.fixed}
    lifted = frozenset(n for n, v in given.items() if v.dim() > len(code.tensors[n].axes))
    told = module.sizes.at_call(given, lifted)
    held = {}
    for name in module.state_keys:
        corner = tuple(slice(n) for n in stored_shape(code.tensors[name], told))
        held[name] = module.parameter(name).detach().numpy()[corner]
    draws = {
        d.tensor: np.ones(stored_shape(code.tensors[d.tensor], told))
        for d in code.draws
        if code.tensors[d.tensor].role == "draw"
    }
    draws |= {n: v.numpy() for n, v in options.pop("draws", {}).items()}
    from indicial.program.meaning.interpret import interpret

    sizes = {n: v for n, v in told.items() if n not in options.get("lengths", {})}
    return interpret(
        code,
        {n: v.numpy() for n, v in given.items()},
        held,
        sizes={**known, **sizes},
        draws=draws,
        **options,
    )


def close(found: torch.Tensor, expected: Any) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-10, rtol=1e-9)
