"""What nobody said: roles of sizes, widths for the time, rows for the data, steps."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from small import small_data, small_module, small_task

from indicial import load
from indicial.data.codings import Image, Places
from indicial.data.column_rows import Columns, Held, Part
from indicial.data.corpus import Corpus
from indicial.program.messages import IndicialError
from indicial.tasks.programs import trainable
from indicial.training import defaults, optimizers, starting
from indicial.training.equations import Roles, heads_of, roles
from indicial.training.processes import ALONE
from indicial.training.settings import Choices, Settings


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("transformer", Roles(("T", "V"), "J", ("L",), ("K",), ("I",), ("D",))),
        ("encoder_decoder_prenorm", Roles(("S", "U", "T", "V"), "J", ("L",), ("K",), ("I",), ("D",))),
        ("rnn_lm", Roles(("T", "V"), "J")),
        ("trigram", Roles(("T", "V"), "I", wide=("J",))),
        ("causal_cnn", Roles(("T", "V"), "I", ("L",))),
    ],
)  # fmt: skip
def test_what_sizes_are_for(name: str, expected: Roles) -> None:
    assert roles(load(name).code) == expected


def test_sizes_fit_together() -> None:
    found = roles(load("transformer").code)
    assert found.sizes(128, 4, {}) == {"J": 128, "L": 4, "K": 4, "I": 32, "D": 512}
    given = {"J": 96, "K": 8, "D": 100}
    assert found.sizes(128, 4, given) == {"J": 96, "L": 4, "K": 8, "I": 12, "D": 100}
    assert [heads_of(width) for width in (8, 32, 48, 64, 100, 128, 512)] == [1, 1, 1, 2, 2, 4, 16]


def test_more_time_makes_wider_models_and_little_data_narrower_ones() -> None:
    program = trainable(["transformer"]).program
    told = {"T": 128, "V": 1000}

    def width(minutes: float, tokens: int) -> int:
        return defaults.sizes(program, told, {}, minutes, tokens, told["T"], "cpu")["J"]

    assert width(0.1, 10**9) <= width(5, 10**9) < width(500, 10**9)
    assert width(500, 10**5) < width(500, 10**9)
    assert width(0.0001, 100) == defaults.WIDTHS[0]
    given = defaults.sizes(program, told, {"J": 40, "L": 1}, 5, 10**6, told["T"], "cpu")
    assert (given["J"], given["L"], given["D"]) == (40, 1, 160)


def test_little_time_for_much_text_makes_few_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "_cores", lambda kind: 1)

    def vocabulary(minutes: float, characters: int) -> int:
        """Of byte pairs; 0 for characters."""
        found = defaults.cut(Settings(minutes=minutes), "cpu")
        return found.vocabulary(characters) if characters >= found.characters_below else 0

    much = [vocabulary(minutes, 3 * 10**8) for minutes in (0.1, 0.5, 5, 600)]
    assert much == sorted(much) and much[1] <= 4096 and much[-1] == 1 << 14
    assert vocabulary(600, 10**7) == vocabulary(5, 10**7) == 8192, "by the data, if that is less"
    # A book is read letter by letter where it can be read often, and a list of names in any case.
    assert [vocabulary(minutes, 10**6) for minutes in (0.2, 60)] == [2048, 0]
    assert [vocabulary(minutes, 40_000) for minutes in (0.05, 60)] == [0, 0]
    assert defaults.cut(Settings(minutes=0.1), "cuda") == defaults.cut(Settings(max_steps=9), "cpu")


def test_data_are_good_for_so_many_epochs() -> None:
    tokens, step = 40_000, 640
    for parameters, times in ((tokens // 4, 2), (tokens, 1), (100 * tokens, 0.1)):
        steps = defaults.most_steps(parameters, tokens, step)
        assert steps * step == pytest.approx(defaults.MOST_EPOCHS * tokens * times, rel=0.01)


@pytest.mark.parametrize(("unknown", "refused"), [(1.0, True), (0.02, True), (0.005, False)])
def test_what_another_run_has_no_token_for(unknown: float, refused: bool) -> None:
    data = small_data(40)
    part = replace(data.train, unknown=round(unknown * data.train.characters))
    says = pytest.raises(IndicialError, match="are unknown to one") if refused else nullcontext()
    with says:
        starting._check_known(replace(data, train=part), Settings(from_="one"))


ATTENTION = "attention"
CHOICES = Choices(context=64, batch_size=8, max_steps=1, learning_rate=0.01)


def corpus(lengths: list[int]) -> Corpus:
    starts = np.cumsum([0, *lengths])
    return Corpus(np.zeros(sum(lengths), np.uint16), starts, 1, 1, 1, 0, "")


def test_longer_trainings_see_more_of_a_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "_cores", lambda kind: 2)

    def size(*data: str, **said: object) -> int | None:
        return defaults.world_size(Settings.read({"data": data, **said}), "cpu")

    usual = size("scenes")
    assert usual is not None and size("scenes", max_steps=9) == usual == size("scenes", minutes=1)
    sizes = [size("scenes", minutes=minutes) for minutes in (5, 10, 20, 40, 400)]
    assert sizes == [usual, 2 * usual, 4 * usual, 8 * usual, 8 * usual]
    assert size("scenes", minutes=60, world_size=77) == 77
    assert size("x=a.de", "w=a.en", minutes=60) is None


def test_rows_follow_the_data() -> None:
    said = Settings(minutes=60)
    assert defaults.text_rows(corpus([10] * 10000), said, "cpu", ATTENTION) == (
        64,
        32,
    )  # several short documents
    assert defaults.text_rows(corpus([100] * 1000), said, "cpu", ATTENTION) == (
        112,
        18,
    )  # a whole document
    assert defaults.text_rows(corpus([10**6]), said, "cpu", ATTENTION) == (
        128,
        16,
    )  # windows of a long one
    context, rows = defaults.text_rows(corpus([40]), said, "cpu", ATTENTION)
    assert context <= 10 and rows >= 1
    assert defaults.text_rows(
        corpus([10**6]), Settings(context=32, batch_size=5), "cpu", ATTENTION
    ) == (
        32,
        5,
    )


def test_short_trainings_take_small_batches_of_short_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "_cores", lambda kind: 2)
    attention, recurrent = (
        [
            defaults.text_rows(corpus([10**6]), Settings(minutes=minutes), "cpu", kind)
            for minutes in (0.01, 0.49, 0.5, 1.9, 2, 60)
        ]
        for kind in (ATTENTION, "recurrent")
    )
    assert attention == [(32, 16), (32, 31), (64, 16), (64, 31), (128, 16), (128, 16)]
    assert recurrent == [(64, 16), (64, 16), (64, 16), (64, 31), (128, 16), (128, 16)]


def test_recurrences_take_larger_steps() -> None:
    kinds = {name: defaults.is_recurrent(trainable([name]).program.code) for name in
             ("ugrnn", "stacked", "blank_rnn", "transformer", "causal_cnn", "trigram")}  # fmt: skip
    assert [name for name, recurs in kinds.items() if recurs] == ["ugrnn", "stacked", "blank_rnn"]
    assert defaults.default_rate("muon", 64, True) > defaults.default_rate("muon", 64, False)
    assert defaults.default_rate("muon", 256, True) == defaults.default_rate("muon", 64, True) / 2


def test_what_is_read_often_is_forgotten_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    task = small_task("trigram", data=small_data(50))
    module = small_module(task)

    def decay(seconds_per_step: float, **said: float) -> float:
        monkeypatch.setattr(starting, "rehearse", lambda *_: seconds_per_step)
        settings = Settings(**{"minutes": 1, **said})
        return starting._choices(task, module, settings, "cpu", ALONE, optimizers.now())[
            0
        ].weight_decay

    tokens = task.batch_size * task.about.tokens_per_row
    once = (
        60 * defaults.SHARE * tokens / task.about.tokens
    )  # seconds of a step that let it be read once
    assert decay(once) == decay(once / 6) == 0.1
    assert decay(once / 16) == pytest.approx(0.25, abs=0.02)
    assert decay(once / 1000) == 0.5
    assert decay(once / 1000, weight_decay=0) == 0
    assert decay(once / 1000, max_steps=10**6) == 0.1, "who says the steps knows why"


def test_what_the_data_tell_is_no_width() -> None:
    """The colours of a point count as what they are, three, in what a step takes."""
    program = trainable(["captioning"]).program

    def width(colours: int) -> int:
        told = {"X": 32, "Y": 32, "C": colours, "T": 10, "V": 300}
        return defaults.sizes(program, told, {}, 60, 10**6, told["T"], "cpu")["D"]

    assert width(3) > width(3000)


def test_pictures_beneath_a_recurrence_take_small_steps() -> None:
    codes = {name: trainable([name]).program.code for name in ("captioning", "bahdanau")}
    assert all(map(defaults.is_recurrent, codes.values()))
    assert [name for name, code in codes.items() if defaults.takes_large_steps(code)] == [
        "bahdanau"
    ]


def test_steps_fill_the_time() -> None:
    found = defaults.amount(CHOICES, Settings(minutes=1), 0.1, 2048, 10**9)
    assert found.max_steps == pytest.approx(600 * defaults.SHARE, abs=1)
    assert found.mark_every * defaults.LOOKS >= found.max_steps
    assert (found.eval_every, found.save_every, found.seconds) == (None, None, 60), "at the marks"
    assert found.warmup == found.max_steps // 20
    # Looks cost a third of training for each token, and a tenth of the time at most.
    assert found.eval_tokens is not None
    looks = found.max_steps // found.mark_every
    assert looks * found.eval_tokens / 3 <= 0.11 * found.max_steps * 2048
    assert defaults.amount(CHOICES, Settings(minutes=1), 0.1, 2048, 1000).eval_tokens is None
    small = defaults.amount(CHOICES, Settings(), 0.1, 2048, 1000, seconds=60, most_steps=100)
    assert (small.max_steps, small.most_steps) == (100, 100)
    few = defaults.amount(
        CHOICES, Settings(max_steps=3), None, 2048, 1000, seconds=60, most_steps=2
    )
    assert (few.seconds, few.most_steps) == (None, None)
    assert (few.max_steps, few.eval_every, few.warmup) == (3, 3, 0)
    own = defaults.amount(
        CHOICES, Settings(max_steps=50, eval_every=7, save_every=3, warmup=2), 1, 9, 9
    )
    assert (own.eval_every, own.save_every, own.warmup) == (7, 3, 2)


def test_small_texts_have_a_context_that_fits() -> None:
    data = small_data(4)
    context, rows = defaults.text_rows(data.train, Settings(), "cpu", ATTENTION)
    assert 2 <= context <= len(data.train) and rows >= 1


def test_a_step_takes_few_pictures() -> None:
    """A caption of five tokens would allow hundreds of them."""
    words = Held(Places(), np.zeros(20_000, np.uint32), np.arange(0, 20_001, 5))
    pictures = Held(Image(4, 4, 3), np.zeros((4_000, 4, 4, 3), np.uint8))
    found = []
    for columns in ({"w": words}, {"I": pictures, "w": words}):
        part = Part(columns, 4_000, "")
        data = Columns(part, part, {name: held.coding for name, held in columns.items()}, {})
        found.append(defaults.column_rows(data, Settings(minutes=60), "cpu", "recurrent")[1])
    assert found[0] > 64 and found[1] == 64
