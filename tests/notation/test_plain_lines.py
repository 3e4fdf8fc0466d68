"""Texts without formulas between signs, and texts with the signs of other tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import indicial
from indicial.library.loading import load_document
from indicial.notation.documents import read_text
from indicial.notation.syntax import Name

CHAT = """Recurrent networks

hₜ = tanh(Wₕ hₜ₋₁ + Wₓ xₜ)     (1)

where h is the hidden state, d = 512 and T = 20.

- Output: y_t = softmax(V h_t-1),
the loss = -Σ_t ln y_t is minimised
model = nn.RNN(10, 20)
self.h = self.W @ x
return h_t
"""


def lines(text: str, name: str = "notes.txt") -> list[str]:
    return [display.body.text for display in read_text(text, name).displays]


def test_lines_that_are_equations_are_found_among_sentences_and_code() -> None:
    assert lines(CHAT) == ["hₜ = tanh(Wₕ hₜ₋₁ + Wₓ xₜ)", "y_t = softmax(V h_t-1)"]


def test_a_shift_that_is_typed_in_a_hurry_is_one() -> None:
    (program,) = load_document(read_text(CHAT, "notes.txt"))
    assert not program.messages
    result = program.interpret(
        {"x": [[1.0], [0.0]]}, {"W_h": [[0.5]], "W_x": [[1.0]], "V": [[1.0], [2.0]]}
    )
    assert np.allclose(result["y"][0], 0.5)  # of the state before the first, which is 0


@pytest.mark.parametrize(
    "text",
    [
        "x = 5\ny = 6\n",
        "batch_size = 32 and more words\n",
        "for i in range(3): a_i = b_i\n",
        'name = "h_t"\n',
        "a_i == b_i\n",
        "The rate η = a constant number\n",
        "h_t = W h_{t-1} = " + "x + " * 200 + "x\n",
    ],
)
def test_what_is_no_mathematics_is_left_alone(text: str) -> None:
    assert lines(text) == []


def test_a_text_with_formulas_between_signs_has_no_others() -> None:
    assert lines("The state:\n\nh_t = W h_{t-1}\n\n$$y_t = V h_t$$\n") == ["y_t = V h_t"]


def test_words_between_pasted_equations_are_prose() -> None:
    program = indicial.load("The gate:\ng_t = σ(W_g x_t)\nThe state:\nh_t = g_t ⊙ h_{t-1}\n")
    assert not program.errors and {n.base for s in program.written for n in s.every(Name)} == set(
        "gσWxth"
    )
    with pytest.raises(indicial.IndicialError, match="this line says nothing"):
        indicial.load("g[t,j] = σ(x[t,j])\nThe state\n").interpret({"x": [[1.0]]}, {})


def test_letters_side_by_side_are_a_product_and_words_are_words() -> None:
    text = "Notes:\n\nlr = 0.1\nO = softmax(QKᵀ/√dₖ)V\ny = Wx + lr b\nz = max(y, 0)"
    (program,) = load_document(read_text(text, "notes.txt"))
    names = {n.base for s in program.written for n in s.every(Name)}
    assert names >= {"Q", "K", "V", "W", "x", "lr", "b"} and not names & {"QK", "Wx"}


def test_backticks_between_dollars_are_no_part_of_a_formula() -> None:
    assert lines("The state:\n\n$`h_t = W h_{t-1}`$\n", "a.md") == ["h_t = W h_{t-1}"]


CHAT_WITHOUT_BACKSLASHES = r"""The update gate ( z_t ) is

[
z_t = \sigma(W_z x_t + U_z [h_{t-1}])
]

[ h_t = (1 - z_t) \odot h_{t-1} ]

[see](http://x.y/a_b=c) and [1], where
[
{"a_b": 1, "c": "= 2"}
- [ ] to do
[ref]: http://x.y
"""


def test_brackets_that_lost_their_backslashes_are_displays() -> None:
    wanted = [r"z_t = \sigma(W_z x_t + U_z [h_{t-1}])", r"h_t = (1 - z_t) \odot h_{t-1}"]
    assert lines(CHAT_WITHOUT_BACKSLASHES, "chat.md") == wanted
    assert lines(CHAT_WITHOUT_BACKSLASHES, "pasted") == wanted


RST = r"""GRU
~~~

.. math::
   :label: gru

   z_t = \sigma(W_z x_t) \\
   h_t = z_t \odot h_{t-1}

where :math:`h_t` is the state, and :math:`c = 1`.

.. math:: y_t = V h_t

Next
^^^^

The end.
"""


def test_restructured_text() -> None:
    document = read_text(RST, "gru.rst")
    (section,) = document.sections
    assert section.title == "GRU"
    assert [d.body.text.split() for d in section.displays] == [
        [r"z_t", r"=", r"\sigma(W_z", r"x_t)", r"\\", r"h_t", r"=", r"z_t", r"\odot", r"h_{t-1}"],
        ["y_t", "=", "V", "h_t"],
    ]
    assert [d.body.text for d in document.inline] == ["c = 1"]


WIKI = r"""== Gates ==
: <math>
f_t = \sigma(W_f x_t + U_f h_{t-1})
</math>
where <math>h_0 = 0</math>.
=== Page ===
<math xmlns="http://www.w3.org/1998/Math/MathML"><mi>x</mi><mo>=</mo><mi>y</mi></math>
"""


def test_wikitext() -> None:
    document = read_text(WIKI, "lstm.wiki")
    assert [(s.title, len(s.displays)) for s in document.sections] == [("Gates", 1)]
    assert [d.body.text for d in document.inline] == ["h_0 = 0"]


def test_a_tilde_fence_is_still_code(tmp_path: Path) -> None:
    assert lines("Some long words\n~~~\n$$a = b$$\n~~~\n", "a.md") == []
