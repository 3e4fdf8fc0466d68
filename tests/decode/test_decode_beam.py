"""Beam search: against all strings, and against Hugging Face's definition written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from indicial.compile.module.module import ProgramModule
from indicial.decode.settings import Decoding
from indicial.decode.walker import Walker
from tests.decode.models import likelihood, made, model, next_distribution

EOS = 0
NEVER = -1.0e9


def every_text(count: int, longest: int) -> list[tuple[int, ...]]:
    """All texts that end at the first EOS, or are of the greatest length."""
    words = range(1, count)
    found = [(*w, EOS) for n in range(longest) for w in itertools.product(words, repeat=n)]
    return found + list(itertools.product(words, repeat=longest))


@pytest.mark.parametrize("penalty", [0.0, 0.7, 1.0, 2.0, -1.0])
def test_wide_enough_it_finds_the_best_of_all(penalty: float) -> None:
    module, prompt, longest = model("rnn_lm", 2.0, V=3), [1, 2], 4
    texts = every_text(3, longest)
    ranked = sorted(
        ((likelihood(module, prompt, list(t)) / len(t) ** penalty, t) for t in texts), reverse=True
    )
    settings = Decoding(
        num_beams=len(texts), num_return_sequences=6, max_new_tokens=longest, length_penalty=penalty
    )
    found = made(module, [prompt], EOS, settings)
    assert [tuple(one.tokens) for one in found] == [text for _, text in ranked[:6]]
    np.testing.assert_allclose([one.score for one in found], [s for s, _ in ranked[:6]])
    for one in found:
        assert one.log_probability == pytest.approx(likelihood(module, prompt, one.tokens))
        assert one.ended == ("eos" if one.tokens[-1] == EOS else "length")


def as_defined(
    module: ProgramModule, prompt: list[int], eos: int, settings: Decoding
) -> list[list[int]]:
    """The vectorised search of Hugging Face for one prompt, in lists: -10⁹ marks what is not there."""
    beams, most, power = settings.num_beams, settings.max_new_tokens, settings.length_penalty
    running = [([], 0.0 if n == 0 else NEVER) for n in range(beams)]
    finished = [([], NEVER, False) for _ in range(beams)]
    for length in range(1, most + 1):
        every = []
        for tokens, score in running:
            scores = np.log(next_distribution(module, prompt + tokens))
            for token in {*prompt, *tokens}:
                scores[token] *= settings.repetition_penalty
            every += [([*tokens, t], score + float(s)) for t, s in enumerate(scores)]
        top = sorted(every, key=lambda one: -one[1])[: 2 * beams]
        ends = [tokens[-1] == eos or length == most for tokens, _ in top]
        hidden = [(t, s + NEVER * end) for (t, s), end in zip(top, ends, strict=True)]
        running = sorted(hidden, key=lambda one: -one[1])[:beams]
        full = settings.early_stopping is True and all(done for _, _, done in finished)
        for rank, ((tokens, score), end) in enumerate(zip(top, ends, strict=True)):
            done = end and rank < beams
            score = score / length**power + NEVER * full + NEVER * (not done)
            finished.append((tokens, score, done))
        finished = sorted(finished, key=lambda one: -one[1])[:beams]
        never = settings.early_stopping == "never" and power > 0
        hope = running[0][1] / (most if never else length) ** power
        worst = min(score for _, score, _ in finished)
        possible = any(hope > (worst if done else NEVER) for _, _, done in finished)
        open_ = not (settings.early_stopping is True and all(done for _, _, done in finished))
        if not (possible and open_ and not all(ends)):
            break
    return [tokens for tokens, _, _ in finished]


@pytest.mark.parametrize("early", [False, True, "never"])
@pytest.mark.parametrize("name", ["rnn_lm", "trigram"])
def test_as_hugging_face_defines_it(name: str, early: bool) -> None:
    texts = set()
    for eos, beams, most, penalty, repetition, scale in [
        (0, 2, 6, 1.0, 1.0, 1.0),
        (1, 2, 7, 2.5, 1.0, 1.0),
        (2, 3, 6, 0.5, 1.0, 0.5),
        (4, 3, 5, -0.5, 1.2, 2.0),
        (5, 5, 4, 1.0, 0.8, 2.0),
    ]:
        settings = Decoding(
            num_beams=beams, num_return_sequences=beams, max_new_tokens=most,
            length_penalty=penalty, repetition_penalty=repetition, early_stopping=early,
        )  # fmt: skip
        module = model(name, scale)
        prompts = [[3], [2, 1, 4]]
        found = made(module, prompts, eos, settings)
        expected = [text for p in prompts for text in as_defined(module, p, eos, settings)]
        assert [one.tokens for one in found] == expected
        texts |= {one.ended for one in found}
    assert texts == {"eos", "length"}


def test_one_text_of_several_beams_and_what_is_told() -> None:
    heard: list[tuple[int, int, bool]] = []
    settings = Decoding(num_beams=3, max_new_tokens=5)
    found = made(model("rnn_lm"), [[1], [2]], EOS, settings, told=lambda *said: heard.append(said))
    assert len(found) == 2
    for number, one in enumerate(found):
        assert [token for n, token, _ in heard if n == number] == one.tokens


def test_beams_slide_as_well() -> None:
    """A beam of a transformer that has more tokens than positions is still a text of its own."""
    settings = Decoding(num_beams=3, num_return_sequences=3, max_new_tokens=15)
    found = made(model("transformer", T=6), [[1, 2, 3]], None, settings)
    assert len({tuple(one.tokens) for one in found}) == 3
    assert all(len(one.tokens) == 15 for one in found)
    scores = [one.score or 0.0 for one in found]
    assert scores == sorted(scores, reverse=True)


def test_fewer_texts_than_beams() -> None:
    found = made(
        model("rnn_lm", V=2),
        [[1]],
        EOS,
        Decoding(num_beams=4, num_return_sequences=4, max_new_tokens=1),
    )
    assert sorted(one.tokens for one in found) == [[0], [1]]


@pytest.mark.parametrize("rows", [[1, 0, 3, 3], [0, 0, 2, 3], [2, 0, 1, 3], [3, 1], [0, 1, 2, 3]])
def test_a_step_from_some_rows_is_that_of_these_rows(rows: list[int]) -> None:
    """Whether beams stay with what they read or not: against each text read from its beginning."""
    module, source = model("bahdanau", V=5, U=5), torch.tensor([[1, 2, 3], [4, 4, 1]])
    walker = Walker(module, module.begin(x=source, want=["P"]))
    walker.select([0, 0, 1, 1])
    walker.feed(np.array([1, 2, 3, 4]))
    walker.feed(np.arange(len(rows)), rows)
    for found, row, last in zip(walker.probabilities, rows, range(len(rows)), strict=True):
        state = module.begin(x=source[row // 2], want=["P"])
        for token in (row + 1, last):
            state, out = module.step(state, w=token)
        np.testing.assert_allclose(found, out["P"].detach(), rtol=1e-5)
