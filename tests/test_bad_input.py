"""A text never causes a traceback, a hang, a great appetite for memory, or code to run.

`make fuzz` runs the property tests here with many more examples.
"""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nasty import NASTY, SCRAPS, SHORT, SUFFIXES, check, corpus, mutate

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
suffixes = st.sampled_from(SUFFIXES)


@pytest.mark.parametrize("name", NASTY)
def test_nasty_texts_are_survived(name: str) -> None:
    suffix, text = NASTY[name]
    check(text, suffix)


@settings(suppress_health_check=SLOW)
@given(data=st.binary(max_size=400), suffix=suffixes)
def test_any_bytes(data: bytes, suffix: str) -> None:
    check(data, suffix)


@settings(suppress_health_check=SLOW)
@given(text=st.text(max_size=300), suffix=suffixes)
def test_any_text(text: str, suffix: str) -> None:
    check(text, suffix)


@settings(suppress_health_check=SLOW)
@given(
    scraps=st.lists(
        st.sampled_from([*SCRAPS, "y", "x[t]", " ", "\n", "h[t-1,j]", "W[j,I]"]), max_size=40
    )
)
def test_any_order_of_scraps(scraps: list[str]) -> None:
    text = "".join(scraps)
    check(text, ".eq")
    check(f"# a\n\n$${text}$$\n", ".md")


@settings(suppress_health_check=SLOW)
@given(
    number=st.integers(0, 10_000),
    seed=st.integers(0, 2**32),
    steps=st.integers(1, 12),
)
def test_mutated_texts(number: int, seed: int, steps: int) -> None:
    suffix, text = corpus()[number % len(corpus())]
    check(mutate(text, seed, steps), suffix)


@settings(suppress_health_check=SLOW)
@given(
    number=st.integers(0, 10_000),
    seed=st.integers(0, 2**32),
    steps=st.integers(1, 6),
    suffix=suffixes,
)
def test_mutated_bytes_in_another_dress(number: int, seed: int, steps: int, suffix: str) -> None:
    """A text under a name that it does not deserve, and in a notebook."""
    _, text = corpus()[number % len(corpus())]
    text = mutate(text[:3000], seed, steps)
    if suffix == ".ipynb":
        text = json.dumps({"cells": [{"cell_type": "markdown", "source": [text]}]})
    check(text.encode("utf-8", "surrogatepass")[: 3000 + seed % 7], suffix)


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("suffix", [".eq", ".md", ".tex"])
def test_short_texts_are_survived(name: str, suffix: str) -> None:
    check(SHORT[name] if suffix == ".eq" else f"$$\n{SHORT[name]}\n$$", suffix)


def test_a_text_runs_no_code(tmp_path: Path) -> None:
    """Names stay names, whatever they are called."""
    trap = tmp_path / "trap"
    evil = f"__import__('pathlib').Path({str(trap)!r}).touch()"
    check(f"y = {evil}\n{evil} = 1\n\\text{{{evil}}}[t] = 2", ".eq")
    assert not trap.exists()


def test_what_is_too_large_to_be_tried_is_said() -> None:
    said = check(NASTY["long range"][1], ".eq")
    assert "not-tried" in [message.code for message in said]
    (step,) = check(f"$$ {SHORT['a huge sum']} $$", ".md")
    assert step.text == "this step was not tried: it takes too long to try"


def test_numbers_that_are_too_large_are_mistakes() -> None:
    for name, code in (
        ("longer range", "range"),
        ("long sum", "range"),
        ("larger size", "declaration"),
    ):
        said = check(NASTY[name][1], ".eq")
        assert code in [message.code for message in said if message.severity == "error"], name
