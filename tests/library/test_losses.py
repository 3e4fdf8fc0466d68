"""A loss counts what is predicted, and divides by that: every model of the library that predicts words."""

import pytest
import torch

from indicial import library
from indicial.tasks.predictions import Measure, prediction
from tests.compile.module.modules import compiled, inputs, program

SUMMED = {"log_loss"}
"""Whose loss is the sum over a text, as its first line says."""
FROM_THE_SECOND = {"gpt2"}
"""Who predicts the second word first."""
JOINED = {"answer"}
"""Whose loss adds two predictions: which page, and what is asked of it."""
LENGTHS = [5, 3, 2]


@pytest.mark.parametrize("name", library.names())
def test_the_loss_is_the_mean_of_what_is_predicted(name: str) -> None:
    code = program(name).code
    if code.loss is None or prediction(code) is None or name in JOINED:
        return  # a cell, or a term of a loss
    module = compiled(name).eval()
    given = inputs(module, len(LENGTHS))
    found = prediction(module.code)
    assert found is not None
    if found.mask is not None:
        given[found.mask.name] = torch.tensor(
            [[1.0, 0, 0, 1, 0], [0, 1, 0, 0, 0], [1, 1, 0, 0, 0]]
        ).double()
    lengths = {found.length: torch.tensor(LENGTHS)} if found.length else {}
    surprise = Measure(module, found)(given, lengths)
    means = []
    for row, (values, length) in enumerate(zip(surprise, LENGTHS, strict=True)):
        counts = torch.arange(5) < length
        if name in FROM_THE_SECOND:
            counts[0] = False
        if found.mask is not None:
            counts &= given[found.mask.name][row].bool()
        means.append(values[counts].sum() if name in SUMMED else values[counts].mean())
    torch.testing.assert_close(module(given, lengths=lengths).loss, torch.stack(means).mean())
