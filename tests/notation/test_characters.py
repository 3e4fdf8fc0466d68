"""Letters that are set small or in a font of their own: one reading, however a text was typed."""

from __future__ import annotations

import pytest

import indicial
from indicial.notation.parse import parse_text
from indicial.notation.printers import plain
from indicial.notation.syntax import Name

SAME = [
    ("hₜ = tanh(Wₕₕ hₜ₋₁ + Wₓₕ xₜ)", "h_t = tanh(W_hh h_{t-1} + W_xh x_t)"),
    ("a⁽ˡ⁾ = σ(W⁽ˡ⁾ a⁽ˡ⁻¹⁾)", "a^{(l)} = σ(W^{(l)} a^{(l-1)})"),
    ("p = Wᵀx", "p = W^⊤ x"),
    ("yᵢ = Σⱼ Aᵢⱼ xⱼ", "y_i = Σ_j A_ij x_j"),
    ("y = x¹⁰ + x⁻¹", "y = x^{10} + x^{-1}"),
    ("zᵗ⁺¹ = β₁ zᵗ", "z^{t+1} = β_1 z^t"),
    ("𝑦 = 𝑡𝑎𝑛ℎ(𝑊 𝑥)", "y = tanh(W x)"),
    ("𝓛 = 𝜎(𝑎) + 𝟐", "ℒ = σ(a) + 2"),
]


@pytest.mark.parametrize("latex", [False, True])
@pytest.mark.parametrize(("typed", "meant"), SAME)
def test_small_and_styled_letters_are_what_they_stand_for(
    typed: str, meant: str, latex: bool
) -> None:
    if latex:
        meant = meant.replace("tanh", "\\tanh").replace("_hh", "_{hh}").replace("_xh", "_{xh}")
        meant = meant.replace("_ij", "_{ij}")
    read, wanted = parse_text(typed, latex=latex), parse_text(meant, latex=latex)
    assert not read.faults
    assert list(map(plain, read.statements)) == list(map(plain, wanted.statements))


def test_every_part_has_its_place() -> None:
    (statement,) = parse_text("y = hₜ₋₁ 𝐱").statements
    names = {n.base: n.span.text for n in statement.every(Name)}
    assert names == {"y": "y", "h": "hₜ₋₁", "t": "ₜ", "x": "𝐱"}


def test_bold_letters_of_their_own_font_are_vectors_and_matrices() -> None:
    program = indicial.load("𝐡_t = tanh(𝐖 𝐡_{t-1} + 𝐔 𝐱_t)")
    result = program.interpret(
        {"x": [[1.0], [0.0]]}, {"W": [[0.0, 1.0], [1.0, 0.0]], "U": [[1.0], [0.0]]}
    )
    assert result["h"].shape == (2, 2)
    assert result["h"][1, 0] == 0 and result["h"][1, 1] > 0  # W exchanges the two


def test_letters_of_words_stay_in_them() -> None:
    assert [plain(s) for s in parse_text("naïve = 2").statements] == ["naïve = 2"]
