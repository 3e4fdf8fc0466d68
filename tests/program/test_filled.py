"""What fills a hole inside a document, a start that is given, and what a name is where nobody declares."""

from pathlib import Path

import numpy as np
import pytest

from indicial import load, load_document
from indicial.program.messages import IndicialError

CELL = r"""# Decoding

The decoding starts from an initial hidden state $h[0, J]$.

$$h[t, J] = \text{CELL}_{\Phi}(h[t-1, J], x[t, K])$$

# Trigram

$$P(w_{t+2}|w_t, w_{t+1}) = \operatorname{softmax}_{w_{t+2}} h_{\Phi}(e(w_t), e(w_{t+1}))^{\top} e(w_{t+2})$$

# Other things

$$h[j] = 2 x[j]$$
"""


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "notes.md"
    path.write_text(CELL, encoding="utf-8")
    return path


def test_a_cell_inside_a_document_keeps_its_weights(document: Path) -> None:
    cell, *others = load_document(document, fills={"CELL": "ugrnn"})
    assert not cell.errors and not cell.holes
    roles = {name: t.role for name, t in cell.code.tensors.items()}
    own = {name: role for name, role in roles.items() if name.startswith("CELL.")}
    assert {role for name, role in own.items() if "^" in name} == {"parameter"}
    assert own["CELL.B^G"] == "parameter" and roles["x"] == "input"
    assert [p.holes for p in others] == [["h"], []]
    module = cell.compile(J=3, K=2)
    assert "CELL.B^R" in module.state_keys


def test_a_function_that_is_only_named_is_filled(document: Path) -> None:
    program = load_document(document, fills={"h_Φ": "mlp"})[1]
    assert not program.errors and not program.holes
    rng = np.random.default_rng(0)
    shapes = {"e": (5, 3), "h1.W^1": (4, 6), "h1.B^1": (4,), "h1.W^2": (3, 4), "h1.B^2": (3,)}
    drawn = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    words = [3, 1, 4, 0]
    found = program.interpret({"w": words}, drawn)["P"]
    for t in range(2):
        x = np.concatenate([drawn["e"][words[t]], drawn["e"][words[t + 1]]])
        inner = np.tanh(drawn["h1.W^1"] @ x - drawn["h1.B^1"])
        scores = drawn["e"] @ (drawn["h1.W^2"] @ inner - drawn["h1.B^2"])
        np.testing.assert_allclose(found[t], np.exp(scores) / np.exp(scores).sum())


def test_a_hole_that_no_section_has(document: Path) -> None:
    with pytest.raises(IndicialError, match="there is no hole NET to fill"):
        load_document(document, fills={"NET": "mlp"})


def test_a_start_that_a_sentence_gives(document: Path) -> None:
    program = load_document(document, fills={"CELL": "rnn"})[0]
    assert program.code.tensors["h_0"].role == "input"
    assert "h_0" not in load_document(document)[2].code.tensors  # that h is no state


def test_a_start_that_is_an_input() -> None:
    text = "input x[t], h[0,j]\nrange t = 1..T\nh[t,j] = a h[t-1,j] + x[t]"
    found = load(text).interpret({"x": [1.0, 2.0], "h_0": [10.0, 20.0]}, {"a": 0.5})["h"]
    np.testing.assert_allclose(found[-2:], [[6.0, 11.0], [5.0, 7.5]])
    without = load(text.replace(", h[0,j]", "")).interpret(
        {"x": [1.0, 2.0]}, {"a": 0.5}, sizes={"J": 1}
    )
    np.testing.assert_allclose(without["h"][-2:], [[1.0], [2.5]])


LINES = ("y[j] = W[j,I] x[I]", "z[k] = tanh(U[k,J] y[J] + A[k])", "s = z[K] q[K]")


def test_the_same_lines_are_read_alike_on_every_surface(tmp_path: Path) -> None:
    (tmp_path / "a.eq").write_text("\n".join(LINES), encoding="utf-8")
    body = r" \\ ".join(LINES).replace("tanh", r"\tanh")
    (tmp_path / "a.tex").write_text(rf"\begin{{align}} {body} \end{{align}}", encoding="utf-8")
    (tmp_path / "a.md").write_text(
        f"$$\\begin{{aligned}} {body} \\end{{aligned}}$$", encoding="utf-8"
    )
    roles = [
        {name: t.role for name, t in load_document(tmp_path / name)[0].code.tensors.items()}
        for name in ("a.eq", "a.tex", "a.md")
    ]
    assert roles[0] == roles[1] == roles[2]
    assert roles[0]["x"] == "input" and roles[0]["W"] == "parameter"


def test_who_declares_an_input_declares_them_all() -> None:
    program = load("input a[i]\ny[j] = W[j,I] x[I] a[I]")
    assert {n: t.role for n, t in program.code.tensors.items()}["x"] == "parameter"


def test_a_gradient_is_not_learned() -> None:
    program = load(r"$$W.\text{grad}' = n W.\text{grad}/\|W.\text{grad}\|$$")
    assert program.code.tensors["W.grad"].role == "input"
    found = program.interpret({"W.grad": [3.0, 4.0], "n": 2.0})
    np.testing.assert_allclose(found["W.grad'"], [1.2, 1.6])


def test_elements_that_only_words_name_are_outside(tmp_path: Path) -> None:
    text = r"$$\alpha(\mathbf{dobj}, w) = \begin{cases} 1 & \text{if } w = 2 \\ 0 & \text{otherwise} \end{cases}$$"
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    (program,) = load_document(tmp_path / "a.md")
    assert [s.reason for s in program.skipped] == [
        "it is about one element, “dobj”, that nothing here numbers"
    ]


GATED = r"""\begin{align} f_t &= \sigma(W_f x_t + U_f h_{t-1}) \\
h_t &= f_t \odot \sigma_h(W x_t + U h_{t-1}) \end{align}"""


def test_a_labelled_activation_is_filled_by_itself() -> None:
    """σ_h is none of σ, which has another gate."""
    filled = load(GATED, fills={"σ_h": "tanh"})
    written = load(GATED.replace(r"\sigma_h", r"\tanh"))
    assert not filled.holes and filled.code == written.code
    said = load(GATED.replace(r"\end{align}", r"\\ \sigma_h &= \tanh \end{align}"))
    assert not said.holes
    with pytest.raises(IndicialError, match="σ_h is a function of each element, and gru is none"):
        load(GATED, fills={"σ_h": "gru"})


def test_what_to_fill_fits_the_hole() -> None:
    with pytest.raises(IndicialError, match="`σ_h = tanh` in the text"):
        load(GATED).compile()
