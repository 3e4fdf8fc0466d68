r"""Steps with ≈, ≫, ⇒, → and limits: tried along sequences, with what was taken to be large."""

from __future__ import annotations

from pathlib import Path

import pytest

from indicial.library.loading import load_document
from indicial.notation.parse import parse_text


def notes(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "notes.md"
    path.write_text(text, encoding="utf-8")
    return [m.text for program in load_document(path) for m in program.messages]


HELD = {
    "β grows": (
        r"$$\alpha = \frac{e^{\beta^2}}{e^{\beta^2} + 2} \approx 1$$",
        "this step holds as β grows (3, 6, 12, 24); “≈” was taken as within 0.01",
    ),
    "ε vanishes": (
        r"$$y = \sin(x + \epsilon) \approx \sin(x) + \epsilon \cos(x)$$",
        "this step holds as ε vanishes; “≈” was taken as within 0.01",
    ),
    "much larger": (
        r"$$e^{2 M} \gg e^M$$",
        "this step holds as M grows (3, 6, 12, 24); “much larger” was taken as more than 10 times, and growing",
    ),
    "a limit": (
        r"$$c = \frac{e^{\epsilon M} v + e^M w}{e^M + e^{\epsilon M}}$$"
        "\n\n"
        r"$$\lim_{\epsilon \to 0} c = \frac{v + e^M w}{e^M + 1} = \frac{v + \infty w}{1 + \infty}$$",
        "this step holds as M grows (3, 6, 12, 24)",
    ),
    "orthogonal vectors": (
        r"The vectors are orthogonal. $$(u_c^\top + u_b^\top) u_c \gg (u_d^\top + u_b^\top) u_c$$",
        "this step holds as their length grows (3, 6, 12, 24), if the vectors are orthogonal; "
        "“much larger” was taken as more than 10 times, and growing",
    ),
}


@pytest.mark.parametrize(("text", "said"), HELD.values(), ids=HELD.keys())
def test_a_step_that_holds_in_a_limit_says_in_which(tmp_path: Path, text: str, said: str) -> None:
    assert said in notes(tmp_path, "M is a large number. " + text)


@pytest.mark.parametrize(
    "text",
    [
        r"$$\alpha = \frac{e^{\beta^2}}{e^{\beta^2} + 2} \approx 2$$",
        r"$$e^{M} \gg e^{2 M}$$",
        r"$$y = \sin(x + \epsilon) \approx \sin(x) - \epsilon \cos(x) + 1$$",
    ],
)
def test_what_does_not_hold_is_not_said_to_hold(tmp_path: Path, text: str) -> None:
    (said,) = notes(tmp_path, "M is a large number. " + text)
    assert "was not found to hold" in said


def test_an_arrow_uses_what_stands_above_it(tmp_path: Path) -> None:
    right = r"$$q = M (k_a + k_b) \xrightarrow{k_i \approx \mu_i} q = M (\mu_a + \mu_b)$$"
    wrong = r"$$q = M (k_a + k_b) \xrightarrow{k_i \approx \mu_i} q = M (\mu_a - \mu_b)$$"
    assert not [m for m in notes(tmp_path, right) if "step" in m]
    assert any("this step does not follow" in m for m in notes(tmp_path, wrong))


def test_what_is_replaced_in_a_chain_is_known_further_down(tmp_path: Path) -> None:
    text = r"""The u are orthogonal and of norm β.
$$V = \frac{u_b u_b^\top - u_c u_c^\top}{\beta^2}$$

$$v_1 = V x_1 = V (u_d + u_b) = u_b$$

$$w = V x_1 = u_b$$
"""
    found = notes(tmp_path, text)
    assert (
        found.count(
            "this step holds if the vectors are orthogonal and of length β, as the text says"
        )
        == 2
    )


def test_the_clauses_of_a_row() -> None:
    text = r"a = b \Rightarrow c \gg d, i \notin \{1, 2\} \xrightarrow{b = 0} a = 0 \checkmark"
    (row,) = parse_text(text, latex=True).skipped
    found = [
        (c.arrow, [p.span.text for p in c.premises], c.equation.span.text) for c in row.reasoned
    ]
    assert found == [("", [], "a = b"), ("⇒", [], r"c \gg d"), ("→", ["b = 0"], "a = 0")]
