"""A number of parameters → sizes, beside the parameters of a module with these sizes."""

from __future__ import annotations

import pytest

from indicial import IndicialError
from indicial.lab.trials import sizes_for
from indicial.tasks.programs import trainable

TOLD = {"V": 200, "T": 16}


@pytest.mark.parametrize("model", ["rnn", "ugrnn", "gru", "lstm", "transformer"])
@pytest.mark.parametrize("asked", [50_000, 300_000])
def test_a_module_of_these_sizes_has_so_many_parameters(model: str, asked: int) -> None:
    program = trainable([model]).program
    sizes, number = sizes_for(program, TOLD, {}, asked)
    known = {name: value for name, value in TOLD.items() if name in program.code.sizes}
    needed = known if model == "transformer" else {"V": 200}
    module = program.compile(sizes={**sizes, **needed})
    assert sum(p.numel() for p in module.parameters()) == number
    assert abs(number - asked) < 0.03 * asked


def test_no_width_is_nearer() -> None:
    # ugrnn + language_model: 4 J² and a few J, with V J for the word vectors.
    program = trainable(["ugrnn"]).program
    sizes, number = sizes_for(program, TOLD, {}, 100_000)
    for other in (sizes["J"] - 1, sizes["J"] + 1):
        module = program.compile(sizes={"J": other, "V": 200})
        count = sum(p.numel() for p in module.parameters())
        assert abs(count - 100_000) > abs(number - 100_000)


def test_what_is_given_is_kept() -> None:
    program = trainable(["transformer"]).program
    sizes, _ = sizes_for(program, TOLD, {"L": 5}, 300_000)
    assert sizes["L"] == 5 and sizes["J"] % sizes["K"] == 0


def test_what_cannot_be_is_said_with_the_nearest() -> None:
    program = trainable(["ugrnn"]).program
    with pytest.raises(IndicialError, match="cannot have about 10 parameters here: the nearest is"):
        sizes_for(program, TOLD, {}, 10)
    with pytest.raises(IndicialError, match="with J = 8"):
        sizes_for(program, TOLD, {"J": 8}, 300_000)
