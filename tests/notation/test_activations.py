"""What sentences say that functions are, and what follows for the equations."""

from __future__ import annotations

import numpy as np
import pytest

from indicial.library.loading import load_document
from indicial.notation.activations import said_function
from indicial.notation.documents import read_text

TOLD = {
    r"where $\sigma$ is the ReLU function": ("\\sigma", "ReLU"),
    r"where $\sigma$ denotes the logistic sigmoid.": ("\\sigma", "σ"),
    r"- $\sigma_c$: hyperbolic tangent function.": ("\\sigma_c", "tanh"),
    r"with $\phi = \tanh$ and": ("\\phi", "tanh"),
    r"with $\sigma_y$ the softmax.": ("\\sigma_y", "softmax"),
    r"the rectifier $\sigma(\cdot)$": ("\\sigma", "ReLU"),
    r"Here $f(\cdot)$ is an element-wise $\tanh$": ("f", "tanh"),
    r"pour $\sigma$ la fonction sigmoïde": None,
    r"où $\sigma$ est la fonction sigmoïde": ("\\sigma", "σ"),
    r"$\phi$ is usually tanh": None,
    r"$\phi$ is a nonlinearity such as tanh": None,
    r"$\sigma$ is tanh or ReLU": None,
    r"$\sigma$ is the sigmoid/tanh of": None,
    r"where $\sigma$ is the standard deviation": None,
    r"where $\sigma$ is an elementwise nonlinearity": ("\\sigma", "σ_act"),
    r"with the activation function $\sigma$": ("\\sigma", "σ_act"),
    r"the sigmoid activation function $\sigma$": ("\\sigma", "σ"),
    r"where $W$ is the softmax weight matrix": None,
    r"we apply softmax cross-entropy $L$": None,
}


@pytest.mark.parametrize(("sentence", "said"), TOLD.items(), ids=TOLD)
def test_what_a_sentence_says(sentence: str, said: tuple[str, str] | None) -> None:
    formulas = read_text(f"{sentence}, as above.\n\n$$y = x$$\n", "notes.md").formulas
    assert said_function(formulas[0]) == said


def value(text: str) -> float:
    (program,) = load_document(read_text(text, "notes.md"))
    assert not program.errors
    return float(program.interpret({"x": [-2.0]}, {"W": [[1.0]]})["h"][0])


DISPLAY = "$$h = {} (W x)$$\n\n"


@pytest.mark.parametrize(
    ("called", "sentence", "of_minus_two"),
    [
        (r"\sigma", r"where $\sigma$ is the ReLU.", 0.0),
        (r"\sigma", r"as above.", 1 / (1 + np.e**2)),
        (r"\phi_h", r"with $\phi_h = \tanh$.", np.tanh(-2)),
        ("f", r"Here $f(z) = \max(z, z/10)$.", -0.2),
        ("f", r"Here $f(z) = \max(z, z/10)$. $$f(z) = z$$", -2.0),
        (r"\sigma", r"where $\sigma(z) = \frac{1}{1 + e^{-z}}$.", 1 / (1 + np.e**2)),
    ],
)
def test_equations_are_computed_with_it(called: str, sentence: str, of_minus_two: float) -> None:
    assert np.isclose(value(DISPLAY.format(called) + sentence), of_minus_two)


def test_what_is_said_under_one_heading_holds_under_the_next() -> None:
    text = "# Names\n\nLet $\\phi$ be the hyperbolic tangent.\n\n# Cell\n\n" + DISPLAY.format(
        r"\phi"
    )
    assert np.isclose(value(text), np.tanh(-2))


@pytest.mark.parametrize("display", [DISPLAY, "$$h = {} (W x)$$\n\n$$y = {} (w^\\top x)$$\n\n"])
def test_any_activation_is_no_sigmoid(display: str) -> None:
    text = display.replace("{}", r"\sigma") + r"where $\sigma$ is an activation function."
    (program,) = load_document(read_text(text, "notes.md"))
    assert any("σ_{act}" in line for line in program.explain().splitlines() if "open" in line)
    (filled,) = load_document(read_text(text, "notes.md"), fills={"σ_{act}": "tanh"})
    result = filled.interpret(
        {"x": [-2.0]}, {"W": [[1.0]], "w": [1.0]} if "w^" in display else {"W": [[1.0]]}
    )
    assert np.isclose(result["h"][0], np.tanh(-2))
