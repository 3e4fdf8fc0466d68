"""What holds for every model of the library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from drawing import LEAST, Array, draw, model, run

from indicial import library, load
from indicial.notation.parse import parse_text
from indicial.notation.printers import latex, plain, unicode
from indicial.program.cost.cost import order
from indicial.program.meaning.arrays import stored_extents
from indicial.program.program import Program

NAMES = library.names()
COLUMNS, LINES = 110, 25

RAGGED = ("T", "T_{in}", "S", "N", "X", "Y")
"""Sizes that differ from example to example: of texts, memories and images."""


@pytest.mark.parametrize("name", NAMES)
def test_no_mistakes(name: str) -> None:
    program = model(name)
    assert [message.render() for message in program.mistakes] == []
    assert program.holes == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_doubtful(name: str) -> None:
    """That a name is complex is told, and is no doubt."""
    found = [message for message in model(name).messages if message.code != "complex-pair"]
    assert [message.render() for message in found] == []


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_like_a_slide(name: str) -> None:
    """A line on what it is, a line on where it is from, and then not too much."""
    text = library.path(name).read_text(encoding="utf-8")
    lines = text.splitlines()
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert lines[0].startswith(f"# {name}: ") and library.summary(name)
    assert lines[1].startswith("# ") and len(lines[1]) > 10
    assert not any(line.startswith("#") or not line.strip() for line in lines[2:])
    assert len(lines) - 2 <= LINES
    assert max(map(len, lines)) <= COLUMNS


@pytest.mark.parametrize("name", NAMES)
def test_printing_and_reading_again(name: str) -> None:
    written = model(name).written
    for surface in (plain, unicode, latex):
        parsed = parse_text(surface(written), name, surface is latex)
        assert parsed.faults == [] or parsed.faults == ()
        assert tuple(parsed.statements) == written
    assert plain(written).isascii()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_it_runs(name: str, size: int) -> None:
    program = model(name)
    drawn = draw(program, size, seed=size)
    result = run(program, drawn)
    for tensor, values in result.items():
        # A layer with stride 2 is shorter than the one below; what lies beyond it is nan.
        finite = np.isfinite(values)
        assert finite.all() or (name == "language_cnn" and finite.any()), tensor


@pytest.mark.parametrize("name", NAMES)
def test_a_text_of_one_word(name: str) -> None:
    program = model(name)
    sizes = {n: 1 for n in RAGGED if n in program.code.sizes} | LEAST.get(name, {})
    assert all(
        np.isfinite(values).any() for values in run(program, draw(program, 3, **sizes)).values()
    )


def shortened(
    program: Program, arrays: dict[str, Array], lengths: dict[str, int]
) -> dict[str, Array]:
    """The arrays with each axis that has one of these sizes cut to its length."""
    result = {}
    for name, array in arrays.items():
        extents = stored_extents(program.code.tensors[name])
        cuts = [slice(lengths.get(extent.name or "")) for extent in extents]
        result[name] = array[tuple(cuts)]
    return result


@pytest.mark.parametrize("name", NAMES)
def test_lengths_in_a_batch(name: str) -> None:
    """Two examples of different lengths give what each gives alone."""
    program = model(name)
    tensors = program.code.tensors
    read = {e.name for t in tensors.values() if t.role == "input" for e in stored_extents(t)}
    ragged = [n for n in RAGGED if n in read]
    assert ragged
    lengths = {n: [3, 2] if number % 2 == 0 else [2, 3] for number, n in enumerate(ragged)}
    drawn = draw(program, 2, **dict.fromkeys(ragged, 3))
    second = draw(program, 2, seed=1, **dict.fromkeys(ragged, 3))
    inputs = {n: np.stack([drawn.inputs[n], second.inputs[n]]) for n in drawn.inputs}
    sizes = {n: value for n, value in drawn.sizes.items() if n not in ragged}
    together = program.interpret(
        inputs, drawn.parameters, sizes=sizes, lengths=lengths, draws=drawn.draws
    )
    for member, values in enumerate((drawn.inputs, second.inputs)):
        own = {n: lengths[n][member] for n in ragged}
        alone = program.interpret(
            shortened(program, values, own),
            shortened(program, drawn.parameters, own),
            draws=shortened(program, drawn.draws, own),
            sizes={**sizes, **own},
        )
        for tensor, expected in alone.items():
            found = together[tensor]
            if found.ndim > expected.ndim:
                found = found[(member, *map(slice, expected.shape))]
            elif found.shape != expected.shape:  # the same for all examples, of all lengths
                found = found[tuple(map(slice, expected.shape))]
            np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=tensor)
    if program.code.loss is not None:
        assert together.loss == pytest.approx(together[program.code.loss].mean())


# ---------------------------------------------------------------------- costs


@pytest.mark.parametrize("name", NAMES)
def test_work_is_what_is_counted(name: str) -> None:
    program = model(name)
    random = np.random.default_rng(7)
    for seed in range(4):
        sizes = {n: int(random.integers(1, 5)) for n in program.code.sizes}
        drawn = draw(program, 1, seed, **sizes)
        counted, formula = run(program, drawn).operations, program.cost.work.value(drawn.sizes)
        assert counted == formula if program.cost.work_exact else counted <= formula


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_what_is_stored(name: str) -> None:
    program = model(name)
    sizes = {n: 2 + number % 4 for number, n in enumerate(program.code.sizes)}
    drawn = draw(program, 1, **sizes)
    stored = {n: array.size for n, array in drawn.parameters.items()}
    by_tensor = program.cost.parameters_by_tensor
    assert {n: size.value(drawn.sizes) for n, size in by_tensor.items()} == stored
    assert program.cost.parameters.value(drawn.sizes) == sum(stored.values())


@pytest.mark.parametrize(
    ("expected", "names"),
    [
        (
            "O(T)",
            "rnn ugrnn gru lstm rnn_lm bidirectional blank_rnn captioning captioning_features",
        ),
        ("O(T + T_{in})", "thought_vector cross_attention bahdanau"),
        ("O(L + T)", "stacked residual"),
        ("O(L)", "language_cnn causal_cnn ugcnn transformer gpt2 encoder encoder_decoder"),
        ("O(1)", "self_attention merged_attention selects trigram log_loss layer_norm focus near"),
    ],
)
def test_parallel_time(expected: str, names: str) -> None:
    for name in names.split():
        found = model(name).cost
        assert order(found.parallel_time) == expected, name
        assert found.parallel_time_exact, name


@pytest.mark.parametrize("cell", ["rnn", "ugrnn", "gru", "lstm"])
def test_parallel_time_with_any_cell(cell: str) -> None:
    assert order(load("stacked", fills={"CELL": cell}).cost.parallel_time) == "O(L + T)"
    assert order(load("bidirectional", fills={"CELL": cell}).cost.parallel_time) == "O(T)"


def test_one_matrix_in_place_of_query_and_key() -> None:
    """2KIJ against KJ²: the same at I = J/2."""
    own, merged = (
        model(n).cost.parameters_by_tensor for n in ("self_attention", "merged_attention")
    )
    apart = own["W^Q"] + own["W^K"]
    assert (str(apart), str(merged["W^{QK}"])) == ("2 I J K", "J² K")
    for half in (1, 2, 5):
        sizes = {"I": half, "J": 2 * half, "K": 3}
        assert apart.value(sizes) == merged["W^{QK}"].value(sizes)


def test_constants_can_be_replaced() -> None:
    program = model("temperature")
    drawn = draw(program, 3)
    cold = replace(drawn, inputs={**drawn.inputs, "β": 0.0})
    np.testing.assert_allclose(run(program, cold)["P"], 1 / 3)
