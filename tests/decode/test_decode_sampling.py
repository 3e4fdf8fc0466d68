"""Token by token: the cached model against the whole one, prompts beside each other, sliding."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from indicial.decode.settings import Decoding, drawn, repeats
from indicial.decode.tokens import stream
from indicial.decode.walker import Walker, window_start
from indicial.program.messages import IndicialError
from tests.decode.models import CAUSAL, distributions, likelihood, made, model, next_distribution


def chosen(name: str, prompt: list[int], new: list[int], settings: Decoding) -> list[int]:
    """What each distribution of the whole model, which has all the tokens, makes of itself."""
    numbers = stream(settings.seed or 0, prompt, 0)
    tokens = []
    for p in distributions(model(name), prompt + new)[len(prompt) :]:
        draw = drawn(p[None], np.array([numbers.random()]))[0]
        tokens.append(int(draw if settings.samples else p.argmax()))
    return tokens


@pytest.mark.parametrize("name", CAUSAL)
def test_cached_is_uncached(name: str) -> None:
    """As every token is that of the whole model after the tokens before it, all of them are."""
    for settings in (
        Decoding(max_new_tokens=30, temperature=0),
        Decoding(max_new_tokens=30, seed=3),
    ):
        for prompt in ([2, 5, 1], [4]):
            found = made(model(name), [prompt], None, settings)[0]
            assert found.tokens == chosen(name, prompt, found.tokens, settings)
            expected = likelihood(model(name), prompt, found.tokens)
            assert found.log_probability == pytest.approx(expected)
            assert (found.ended, len(found.tokens)) == ("length", 30)


@pytest.mark.parametrize("name", CAUSAL)
def test_a_prompt_in_one_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows prompts that are read at once, at the beginning and later, with a window or not."""
    monkeypatch.setattr("indicial.compile.stepping.decoder.FEW_STEPS", 4)
    tokens = [int(t) for t in np.random.default_rng(1).integers(6, size=(2, 60)).ravel()]
    rows = [tokens[:60], tokens[60:]]
    walker = Walker(model(name))
    walker.select([0, 0])
    for start, end in ((0, 9), (9, 11), (11, 38), (38, 45), (45, 60)):
        if end > 40 and walker.room is None:
            return  # the model was made for texts of 40
        walker.extend([row[start:end] for row in rows])
        seen = window_start(end, walker.room)
        for row, found in zip(rows, walker.probabilities, strict=True):
            np.testing.assert_allclose(found, next_distribution(model(name), row[seen:end]))


@pytest.mark.parametrize("name", CAUSAL)
def test_from_nothing(name: str) -> None:
    """Where the first token is predicted from nothing it is; else from the end of another text."""
    settings = Decoding(max_new_tokens=12, seed=5)
    spoken = made(model(name), [[]], 0, settings)[0].tokens
    start = [0] if np.ptp(next_distribution(model(name), [])) == 0 else []
    assert bool(start) == (name == "gpt2")
    assert spoken == chosen(name, start, spoken, settings)


def test_nothing_to_go_on_from() -> None:
    with pytest.raises(IndicialError, match="give it a prompt"):
        made(model("gpt2"), [[]], None, Decoding())


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_the_same_whatever_the_batch(name: str, temperature: float) -> None:
    copies = 3 if temperature else 1
    settings = Decoding(
        max_new_tokens=9, temperature=temperature, num_return_sequences=copies, seed=11,
        repetition_penalty=1.3,
    )  # fmt: skip
    prompts = [[1, 2, 3, 4, 5], [2], [], [1, 2, 3, 4, 5], [3, 3]]
    module = model(name)
    together = made(module, prompts, 0, settings)
    alone = [found for p in prompts for found in made(module, [p], 0, settings)]
    assert [one.tokens for one in together] == [one.tokens for one in alone]
    for one, other in zip(together, alone, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability)
        assert (one.ended, one.repeat) == (other.ended, other.repeat)
    if temperature:
        assert len({tuple(one.tokens) for one in together[:copies]}) > 1


def test_a_seed_is_a_text() -> None:
    module = model("rnn_lm")
    texts = [
        made(module, [[1]], None, Decoding(max_new_tokens=20, seed=seed))[0].tokens
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_a_seed_of_its_own() -> None:
    module = model("rnn_lm", 1.0)
    settings = Decoding(max_new_tokens=30)
    first, second = (made(module, [[1]], None, settings)[0].tokens for _ in range(2))
    assert first != second


def test_stops_at_the_end() -> None:
    settings = Decoding(max_new_tokens=60, num_return_sequences=20, seed=0)
    for one in made(model("rnn_lm", 1.0), [[1]], 3, settings):
        assert one.ended == ("eos" if 3 in one.tokens else "length")
        assert 3 not in one.tokens[:-1]
        assert len(one.tokens) == 60 or one.ended == "eos"


def test_told_as_they_are_made() -> None:
    heard: dict[int, list[tuple[int, bool]]] = {}
    settings = Decoding(max_new_tokens=15, num_return_sequences=2, seed=0)

    def told(number: int, token: int, last: bool) -> None:
        heard.setdefault(number, []).append((token, last))

    found = made(model("rnn_lm"), [[1], [2, 2]], 3, settings, told=told)
    for number, one in enumerate(found):
        assert [token for token, _ in heard[number]] == one.tokens
        assert [last for _, last in heard[number]] == [False] * (len(one.tokens) - 1) + [True]


def test_penalty() -> None:
    """With a penalty that forbids it nothing comes twice, neither of the prompt."""
    settings = Decoding(max_new_tokens=3, temperature=0, repetition_penalty=1e9)
    for found in made(model("rnn_lm"), [[1, 4], [2, 0]], None, settings):
        assert len(set(found.tokens)) == 3
    assert not {1, 4} & set(made(model("rnn_lm"), [[1, 4]], None, settings)[0].tokens)


# ---------------------------------------------------------------------- loops


def test_greedy_falls_into_a_loop() -> None:
    """A trigram model has as many states as pairs, so that greedy text must repeat."""
    settings = Decoding(max_new_tokens=120, temperature=0)
    found = made(model("trigram"), [[1, 2]], None, settings)[0]
    assert found.repeat is not None
    assert found.repeat == repeats(found.tokens)
    assert found.repeat.start + found.repeat.period <= 36
    assert len(found.tokens) == 120
    early = Decoding(max_new_tokens=120, temperature=0, stop_at_repeat=True)
    stopped = made(model("trigram"), [[1, 2]], None, early)[0]
    assert (stopped.ended, stopped.repeat) == ("repeat", found.repeat)
    assert stopped.tokens == found.tokens[: len(stopped.tokens)]
    assert len(stopped.tokens) < 120


# ---------------------------------------------------------------------- beyond the last position


def window_by_steps(length: int, room: int) -> int:
    """Token by token: when it is full, what is kept is the last half."""
    start = 0
    for now in range(1, length + 1):
        if now - start > room:
            start = now - max(1, room // 2)
    return start


def test_window() -> None:
    for room in range(1, 12):
        for length in range(60):
            assert window_start(length, room) == window_by_steps(length, room)
            assert window_start(length, None) == 0


@pytest.mark.parametrize("name", ["transformer", "gpt2"])
@pytest.mark.parametrize("length", [1, 5, 6, 7, 30])
def test_sliding(name: str, length: int) -> None:
    """Each token is the likeliest after those that the window has."""
    module = model(name, T=6)
    prompts = [[(3 * n) % 6 for n in range(count)] for count in (length, max(1, length - 3))]
    found = made(module, prompts, None, Decoding(max_new_tokens=20, temperature=0))
    room = Walker(module).room
    assert room == (5 if name == "transformer" else 6)
    for prompt, one in zip(prompts, found, strict=True):
        assert one.window == (room if len(prompt) + 19 > room else None)
        tokens = list(prompt)
        for token in one.tokens:
            seen = tokens[window_by_steps(len(tokens), room) :]
            with torch.no_grad():
                walked = Walker(module)
                walked.extend([seen])
            assert token == walked.probabilities[0].argmax()
            tokens.append(token)


def test_what_does_not_fit_is_said() -> None:
    settings = Decoding(max_new_tokens=4, slide=False)
    assert len(made(model("transformer", T=6), [[1, 2]], None, settings)[0].tokens) == 4
    with pytest.raises(IndicialError, match="ask for 3 new tokens at most"):
        made(model("transformer", T=6), [[1, 2, 3], [1]], None, settings)
    with pytest.raises(IndicialError, match="shorten the prompt"):
        made(model("transformer", T=6), [[1] * 9], None, settings)


def test_equations_without_a_distribution() -> None:
    with pytest.raises(IndicialError, match="no distribution of a next token"):
        made(model("lstm"), [[1]], None, Decoding())
