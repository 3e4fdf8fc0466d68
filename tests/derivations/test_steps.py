r"""Steps of derivations: true ones are never refuted, slips are, however the text is written.

The oracle of the random algebra is numpy on the tree that the text was printed from; gradients are stated
from the rules of calculus.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from indicial.library.loading import load_document
from indicial.program.messages import Message

Tree = tuple[Any, ...]


def messages(text: str, tmp_path_factory: pytest.TempPathFactory) -> list[Message]:
    path = tmp_path_factory.mktemp("derivation") / "notes.md"
    path.write_text(text, encoding="utf-8")
    return [m for program in load_document(path) for m in program.messages]


@pytest.fixture
def check(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return lambda text: messages(text, tmp_path_factory)


def errors(found: list[Message]) -> list[str]:
    return [m.text for m in found if m.severity == "error"]


# ---------------------------------------------------------------------- random matrix algebra


def grown(kind: str, depth: int, rng: random.Random) -> Tree:
    """A random expression: a number `n`, a column `c` or a matrix `m`."""
    if depth == 0:
        names = {"n": "abc", "c": "xyz", "m": "ABC"}[kind]
        return ("name", rng.choice(names), kind)
    if kind == "m":
        rule = rng.choice(["sum", "product", "transpose", "outer", "scaled"])
        if rule == "transpose":
            return ("transpose", grown("m", depth - 1, rng))
        if rule == "outer":
            return (
                "product",
                grown("c", depth - 1, rng),
                ("transpose", grown("c", depth - 1, rng)),
            )
        if rule == "product":
            return ("product", grown("m", depth - 1, rng), grown("m", depth - 1, rng))
    elif kind == "c":
        rule = rng.choice(["sum", "applied", "scaled"])
        if rule == "applied":
            return ("product", grown("m", depth - 1, rng), grown("c", depth - 1, rng))
    else:
        rule = rng.choice(["sum", "inner", "scaled"])
        if rule == "inner":
            return (
                "product",
                ("transpose", grown("c", depth - 1, rng)),
                grown("c", depth - 1, rng),
            )
    if rule == "scaled":
        return ("product", ("name", rng.choice("abc"), "n"), grown(kind, depth - 1, rng))
    return ("sum", rng.choice([1, -1]), grown(kind, depth - 1, rng), grown(kind, depth - 1, rng))


def written(tree: Tree) -> str:
    match tree:
        case ("name", letter, kind):
            return letter if kind == "n" else rf"\mathbf{{{letter}}}"
        case ("sum", sign, one, other):
            return rf"\left({written(one)} {'+' if sign > 0 else '-'} {written(other)}\right)"
        case ("product", one, other):
            return f"{written(one)} {written(other)}"
        case ("transpose", ("name", *_) as inner):
            return rf"{written(inner)}^\top"
        case ("transpose", inner):
            return rf"\left({written(inner)}\right)^\top"
    raise AssertionError(tree)


def valued(tree: Tree, values: dict[str, Any]) -> Any:
    match tree:
        case ("name", letter, _):
            return values[letter]
        case ("sum", sign, one, other):
            return valued(one, values) + sign * valued(other, values)
        case ("product", one, other):
            a, b = valued(one, values), valued(other, values)
            return a * b if 1 in (np.size(a), np.size(b)) else a @ b
        case ("transpose", inner):
            return valued(inner, values).T
    raise AssertionError(tree)


def rewritten(tree: Tree) -> Tree:
    """The same, written otherwise: products of sums multiplied out, transposes moved inwards."""
    match tree:
        case ("transpose", ("transpose", inner)):
            return rewritten(inner)
        case ("transpose", ("product", ("name", letter, "n"), inner)):
            return ("product", ("name", letter, "n"), rewritten(("transpose", inner)))
        case ("transpose", ("product", one, other)):
            return ("product", rewritten(("transpose", other)), rewritten(("transpose", one)))
        case ("transpose", ("sum", sign, one, other)):
            return ("sum", sign, rewritten(("transpose", one)), rewritten(("transpose", other)))
        case ("product", one, ("sum", sign, a, b)):
            return ("sum", sign, rewritten(("product", one, a)), rewritten(("product", one, b)))
        case ("product", ("sum", sign, a, b), other):
            return ("sum", sign, rewritten(("product", a, other)), rewritten(("product", b, other)))
        case ("product", one, other):
            return ("product", rewritten(one), rewritten(other))
        case ("sum", 1, one, other):
            return ("sum", 1, rewritten(other), rewritten(one))
        case ("sum", sign, one, other):
            return ("sum", sign, rewritten(one), rewritten(other))
    return tree


def slipped(tree: Tree, rng: random.Random) -> Tree:
    """One slip at random: a sign, the order of two matrices, a transpose of a product."""
    places: list[Tree] = []

    def walk(node: Tree) -> None:
        if node[0] in ("sum", "product"):
            places.append(node)
        for child in node[1:]:
            if isinstance(child, tuple):
                walk(child)

    walk(tree)
    wanted = rng.choice(places) if places else tree

    def changed(node: Tree) -> Tree:
        if node is wanted and node[0] == "sum":
            return ("sum", -node[1], node[2], node[3])
        if node is wanted and node[0] == "product":
            return ("product", node[2], node[1])
        return tuple(changed(c) if isinstance(c, tuple) else c for c in node)

    return changed(tree)


def drawn(seed: int, size: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {letter: rng.normal() for letter in "abc"}
    made |= {letter: rng.normal(size=(size, 1)) for letter in "xyz"}
    return made | {letter: rng.normal(size=(size, size)) for letter in "ABC"}


def same(one: Tree, other: Tree) -> bool | None:
    """Whether two expressions are equal on draws of several sizes; None if one of them does not fit."""
    try:
        pairs = [
            (valued(one, d), valued(other, d)) for d in (drawn(s, n) for s, n in ((1, 3), (2, 4)))
        ]
    except ValueError:
        return None
    if any(np.shape(a) != np.shape(b) for a, b in pairs):
        return None
    return all(np.allclose(a, b) for a, b in pairs)


@pytest.mark.parametrize("kind", ["n", "c", "m"])
def test_true_algebra_is_never_refuted(kind: str, check: Any) -> None:
    rng = random.Random(kind)
    for _ in range(6):
        tree = grown(kind, 3, rng)
        other = rewritten(tree)
        assert same(tree, other)
        found = check(f"$$r = {written(tree)} = {written(other)}$$")
        assert not errors(found), (written(tree), written(other))


@pytest.mark.parametrize("kind", ["n", "c", "m"])
def test_planted_slips_of_algebra_are_refuted(kind: str, check: Any) -> None:
    rng = random.Random(kind)
    tried = 0
    while tried < 6:
        tree = grown(kind, 3, rng)
        other = slipped(rewritten(tree), rng)
        if same(tree, other) is not False or not _everywhere(tree, other):
            continue
        tried += 1
        found = check(f"$$r = {written(tree)} = {written(other)}$$")
        assert errors(found), (written(tree), written(other))


def _everywhere(one: Tree, other: Tree) -> bool:
    """Whether the slip shows under every condition that a text may state of its names."""
    for seed in (1, 2):
        base = drawn(seed, 6)
        turned = np.linalg.qr(base["A"])[0]
        for change in (
            {n: base[n] + base[n].T for n in "ABC"},
            {n: np.linalg.qr(base[n])[0] for n in "ABC"},
            {n: turned[:, [i]] for i, n in enumerate("xyz")},
            {n: np.abs(base[n]) / np.abs(base[n]).sum() for n in "xyz"},
            {n: np.eye(6)[:, [i]] for i, n in enumerate("xyz")},
        ):
            a, b = (valued(t, base | change) for t in (one, other))
            if np.allclose(a, b):
                return False
    return True


# ---------------------------------------------------------------------- derivatives

LAYER = r"""
$$\mathbf{z} = \mathbf{W} \mathbf{x} + \mathbf{b}$$
$$\mathbf{h} = \tanh(\mathbf{z})$$
"""
SOFTMAX = r"""
$$p_m = \frac{e^{z_m}}{\sum_n e^{z_n}}$$
$$L = -\sum_m y_m \ln p_m$$
The target y is one-hot.
"""

TRUE = {
    "a quadratic form": r"$$\frac{\partial}{\partial x} x^\top A x = (A + A^\top) x$$",
    "its numerator layout": r"$$\frac{\partial}{\partial x} x^\top A x = x^\top (A + A^\top)$$",
    "least squares": r"$$\nabla_{\mathbf{w}} \|\mathbf{y} - \mathbf{X} \mathbf{w}\|^2 = "
    r"2 \mathbf{X}^\top (\mathbf{X} \mathbf{w} - \mathbf{y})$$",
    "a layer": LAYER + r"$$\frac{\partial L}{\partial \mathbf{W}} = \frac{\partial L}{\partial \mathbf{z}} "
    r"\mathbf{x}^\top$$",
    "a layer, numerator layout": LAYER + r"$$\frac{\partial L}{\partial \mathbf{W}} = "
    r"\mathbf{x} \frac{\partial L}{\partial \mathbf{z}}$$",
    "its input": LAYER
    + r"$$\frac{\partial L}{\partial \mathbf{x}} = \mathbf{W}^\top \frac{\partial L}{\partial \mathbf{z}}$$",
    "an activation": LAYER + r"$$\frac{\partial L}{\partial \mathbf{z}} = "
    r"\frac{\partial L}{\partial \mathbf{h}} \odot (1 - \mathbf{h} \odot \mathbf{h})$$",
    "softmax and cross-entropy": SOFTMAX
    + r"$$\frac{\partial L}{\partial z_m} = p_m \sum_n y_n - y_m = p_m - y_m$$",
    "a sigmoid": r"$$y = \frac{1}{1 + e^{-x}}$$"
    r"$$\frac{dy}{dx} = \frac{e^{-x}}{(1 + e^{-x})^2} = y (1 - y)$$",
    "an activation that is only named": r"$$\mathbf{h} = \phi(\mathbf{z})$$"
    r"$$\frac{\partial J}{\partial \mathbf{z}} = \frac{\partial J}{\partial \mathbf{h}} \odot \phi'(\mathbf{z})$$",
    "the weights of an RNN": r"$$\mathbf{h}_t = \tanh(\mathbf{U} \mathbf{x}_t + \mathbf{W} \mathbf{h}_{t-1})$$"
    r"$$L = \sum_{t=1}^T l(\mathbf{h}_t)$$"
    r"$$\frac{\partial L}{\partial \mathbf{U}} = \sum_{t=1}^T "
    r"\left(\frac{\partial L}{\partial \mathbf{h}_t} \odot (1 - \mathbf{h}_t \odot \mathbf{h}_t)\right) "
    r"\mathbf{x}_t^\top$$",
    "the softmax": r"$$p_i = \frac{e^{z_i}}{\sum_j e^{z_j}}$$"
    r"$$\frac{\partial p_i}{\partial z_j} = p_i (\delta_{ij} - p_j)$$",
    "a symmetric matrix": r"The matrix A is symmetric. $$\frac{\partial}{\partial x} x^\top A x = 2 A x$$",
    "orthogonal vectors": r"The vectors are orthogonal and of norm $\beta$."
    r"$$v = \frac{u_b u_b^\top u_b - u_c u_c^\top u_c}{\beta^2} = \frac{\beta^2 (u_b - u_c)}{\beta^2} = u_b - u_c$$",
}  # fmt: skip

FALSE = {
    "the softmax": r"$$p_i = \frac{e^{z_i}}{\sum_j e^{z_j}}$$"
    r"$$\frac{\partial p_i}{\partial z_j} = p_i (\delta_{ij} + p_j)$$",
    "a transposed product": r"$$y = (AB)^\top x = A^\top B^\top x$$",
    "a quadratic form": r"$$\frac{\partial}{\partial x} x^\top A x = (A - A^\top) x$$",
    "least squares": r"$$\nabla_{\mathbf{w}} \|\mathbf{y} - \mathbf{X} \mathbf{w}\|^2 = "
    r"2 \mathbf{X}^\top (\mathbf{X} \mathbf{w} + \mathbf{y})$$",
    "a layer": LAYER
    + r"$$\frac{\partial L}{\partial \mathbf{x}} = \mathbf{W} \frac{\partial L}{\partial \mathbf{z}}$$",
    "an activation": LAYER + r"$$\frac{\partial L}{\partial \mathbf{z}} = "
    r"\frac{\partial L}{\partial \mathbf{h}} \odot (1 - \mathbf{h})$$",
    "softmax and cross-entropy": SOFTMAX
    + r"$$\frac{\partial L}{\partial z_m} = p_m \sum_n y_n - y_m = p_m + y_m$$",
    "a sigmoid": r"$$y = \frac{1}{1 + e^{-x}}$$"
    r"$$\frac{dy}{dx} = \frac{e^{-x}}{(1 + e^{-x})^2} = y (1 + y)$$",
    "the time of an RNN": r"$$\mathbf{h}_t = \mathbf{U} \mathbf{x}_t + \mathbf{W} \mathbf{h}_{t-1}$$"
    r"$$L = \sum_{t=1}^T l(\mathbf{h}_t)$$"
    r"$$\frac{\partial L}{\partial \mathbf{W}} = \sum_{t=1}^T "
    r"\frac{\partial L}{\partial \mathbf{h}_t} \mathbf{h}_t^\top$$",
    "orthogonal vectors": r"The vectors are orthogonal and of norm $\beta$."
    r"$$v = \frac{u_b u_b^\top u_b - u_c u_c^\top u_c}{\beta^2} = \frac{\beta^2 (u_b - u_c)}{\beta^2} = u_b + u_c$$",
    "a moving average": r"$$z_{t+1} = \beta z_t + \gamma x_t = \sum_{s=0}^t \gamma \beta^{t-s} x_s "
    r"= \gamma \sum_{s=0}^t \beta^{t-s} x_t$$",
}  # fmt: skip


@pytest.mark.parametrize("text", TRUE.values(), ids=TRUE.keys())
def test_a_true_step_holds(text: str, check: Any) -> None:
    found = check(text)
    assert not [m for m in found if m.severity != "note"]
    assert not [m.text for m in found if m.code == "step-open"]


@pytest.mark.parametrize("text", FALSE.values(), ids=FALSE.keys())
def test_a_slip_is_an_error_with_its_counterexample(text: str, check: Any) -> None:
    found = [m for m in check(text) if m.severity == "error"]
    assert [m.code for m in found] == ["step"]
    assert " is not " in found[0].text and found[0].details[0].startswith("with ")


GRADIENTS = (
    ("J(w) = \\frac12 \\| X w - y \\|^2", r"\nabla_w J = X^T (X w - y)", r"\nabla_w J = X^T (y - X w)"),
    (r"f(x) = a^T x + \frac12 x^T x", r"\nabla f(x) = a + x", r"\nabla f(x) = a - x"),
    (r"J = (X w)^T (X w)", r"\frac{\partial J}{\partial w} = 2 X^T X w", r"\frac{\partial J}{\partial w} = X^T X w"),
    (
        r"h_t = \tanh(W h_{t-1} + U x_t)",
        r"\frac{\partial h_t}{\partial h_{t-1}} = \operatorname{diag}(1 - h_t^2) W",
        r"\frac{\partial h_t}{\partial h_{t-1}} = \operatorname{diag}(1 + h_t^2) W",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("given", "right", "wrong"), GRADIENTS)
def test_gradients_are_checked_by_what_is_defined_above(
    given: str, right: str, wrong: str, check: Any
) -> None:
    """With the T of most texts, and the ∇ of a function at its argument."""
    assert not [m for m in check(f"$${given}$$\n\n$${right}$$") if m.severity == "error"]
    said = [m for m in check(f"$${given}$$\n\n$${wrong}$$") if m.severity == "error"]
    assert [m.code for m in said] == ["step"]


def test_a_slope_that_a_program_tries_as_well_is_told_once(check: Any) -> None:
    said = check(r"$$\frac{\partial}{\partial x} \ln(1 + x^2) = \frac{x}{1 + x^2}$$")
    assert [m.severity for m in said] == ["error"]


def test_a_condition_is_named_and_looked_for_in_the_text(check: Any) -> None:
    step = r"$$\frac{\partial}{\partial x} x^\top A x = 2 A x$$"
    (said,) = check("Let A be symmetric. " + step)
    (unsaid,) = check(step)
    assert said.text == "this step holds if A is symmetric, as the text says"
    assert unsaid.severity == "error"
    assert unsaid.hint == "it would hold if A is symmetric; if so, say it"
    (note,) = check(r"$$s = p \sum_n y_n - y_m = p - y_m$$")
    assert note.text == "this step holds if the elements of y sum to 1; the text does not say so"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (r"$$\frac{\partial L}{\partial z} = p - y$$", "nothing here says what L is"),
        (r"$$\frac{\partial (a^\top x)}{\partial x} = c$$", "a, c stand on one side only"),
        (r"$$\mathbb{E}[x + y] = \mathbb{E}[x] + \mathbb{E}[y] = 0$$", "it holds an expectation"),
        (
            r"$$g_w = \sum_{o=1}^W e_o \delta_{ow} v_c = e_w v_c$$",
            "a letter that names one element may be any of those that are numbered",
        ),
    ],
)
def test_a_step_that_is_not_tried_is_listed_with_its_reason(
    text: str, reason: str, check: Any
) -> None:
    assert f"this step was not tried: {reason}" in [m.text for m in check(text)]


# ---------------------------------------------------------------------- joined vectors


JOINED = [
    "$$z_i = [x_i, p_i]$$\n\n$$s_{ij} = z_i^\\top z_j = %s$$",
    "$$z_i = [x_i; p_i]$$\n\n$$s_{ij} = z_i^\\top z_j = %s$$",
    "$$s_{ij} = [x_i, p_i]^\\top [x_j, p_j] = %s$$",
]


@pytest.mark.parametrize("text", JOINED)
def test_a_product_of_joined_vectors_is_the_sum_of_the_products(text: str, check: Any) -> None:
    assert check(text % r"x_i^\top x_j + p_i^\top p_j") == []
    (error,) = errors(check(text % r"x_i^\top x_j + p_i^\top x_j"))
    assert "does not follow" in error


NORMALISED = r"""
$$v = (x - \mu)^2 + \mu^3$$
$$z = (x - \mu) / \sqrt{v + \epsilon}$$
"""


def test_a_derivative_may_leave_the_other_names_as_they_are(check: Any) -> None:
    """∂z/∂μ by z's own formula, where v depends on μ too; twice that is neither of the two."""
    partly = r"$$\frac{\partial z}{\partial \mu} = -\frac{1}{\sqrt{v + \epsilon}}$$"
    assert not errors(check(NORMALISED + partly))
    assert errors(check(NORMALISED + partly.replace(r"\frac{1}", r"\frac{2}")))


def test_nothing_is_refuted_by_how_a_name_in_between_might_depend(check: Any) -> None:
    """`∂s/∂μ` is mentioned, and no equation says what s is: then `∂L/∂μ` is open by way of it."""
    text = r"""
$$z_i = (x_i - \mu) / s$$
$$\frac{\partial s}{\partial \mu} = -\frac{2}{m} \sum_j (x_j - \mu)$$
$$\frac{\partial L}{\partial \mu} = -\frac{1}{s} \sum_{i=1}^m \frac{\partial L}{\partial z_i}$$
"""
    assert not errors(check(text))


def test_a_derivative_by_elements_is_not_refuted(check: Any) -> None:
    """How many elements there are, and where they begin, is not said."""
    text = r"""
$$O_{i,j} = \sum_m \sum_n X_{i+m,j+n} F_{m,n}$$
$$\frac{\partial L}{\partial F_{11}} = \frac{\partial L}{\partial O_{11}} X_{11}
+ \frac{\partial L}{\partial O_{12}} X_{12}$$
"""
    assert not errors(check(text))


# ---------------------------------------------------------------------- what authors leave out


def test_a_sum_goes_on_as_far_as_its_index(check: Any) -> None:
    sums = r"-\sum_{i=1}^N t_i a_i + (1 - t_i) b_i"
    assert not errors(check(rf"$$E = {sums} = \sum_{{i=1}}^N (t_i b_i - b_i - t_i a_i)$$"))
    (error,) = errors(check(rf"$$E = {sums} = \sum_{{i=1}}^N (t_i b_i + b_i - t_i a_i)$$"))
    assert "does not follow" in error


def test_a_function_that_stands_for_its_value_is_not_tried(check: Any) -> None:
    """The bare σ is that of a, and nobody knows whether σ (1 - σ) is a product."""
    assert not errors(check(r"$$E = \sigma(a) + \sigma (1 - \sigma) = \sigma(a) - \sigma$$"))
    (error,) = errors(check(r"$$E = \tau a + \tau (1 - \tau) = \tau a - \tau$$"))
    assert "does not follow" in error


def test_a_bold_d_is_a_vector_and_unit_vectors_are_believed(check: Any) -> None:
    distance = r"$$\|\mathbf{q}-\mathbf{d}\|^2 = 2 - 2 \mathbf{q}^\top \mathbf{d}$$"
    assert errors(check(f"For vectors of unit norm\n\n{distance}\n")) == []
    found = r"$$\mathbf{q} = \frac{1}{B} \sum_{b=1}^B \mathbf{u}_b$$"
    assert errors(check(f"{found}\n\nFor vectors of unit norm\n\n{distance}\n")) == []


def test_an_update_in_place_is_no_step_that_does_not_follow(check: Any) -> None:
    text = "$$v_t = \\gamma v_{t-1} + \\eta g_t$$\n\n$$\\theta = \\theta - v_t$$\n"
    assert errors(check(text)) == []


def test_letters_that_tell_apart_what_has_one_name_are_a_doubt(check: Any) -> None:
    text = r"""$$\begin{aligned}
b_{h_1}^t = a_{h_1}^t &= \sum_{i = 1}^V w_{i, h_1} x_i^t \\
a_{k}^t = a_{h_2}^t &= \sum_{h_1 = 1}^{D} w_{h_1, h_2} b_{h_1}^t
\end{aligned}$$"""
    assert errors(check(text)) == []


def test_a_greek_capital_is_turned_like_any_other(check: Any) -> None:
    text = r"""$$J(\Theta) = y^T y - y^T X \Theta - \Theta^T X^T y + \Theta^T X^T X \Theta$$

$$\frac{\partial J(\Theta)}{\partial \Theta} = 2 X^T (X \Theta - y)$$

The sum runs over all $T$ steps: $$s = \sum_{t=1}^T x_t$$
"""
    assert errors(check(text)) == []


@pytest.mark.parametrize("head", ["J", r"J(\beta)"])
def test_data_of_least_squares_are_data(head: str, check: Any) -> None:
    """`y = X β + ε` says where y comes from, and not that it moves with β."""
    model = r"$$y = X \beta + \epsilon$$"
    loss = rf"$${head} = (y - X\beta)^T (y - X\beta)$$"
    text = "{}\n\n{}\n\n$$\\frac{{\\partial J}}{{\\partial \\beta}} = {} X^T (X\\beta - y)$$\n"
    assert errors(check(text.format(model, loss, 2))) == []
    assert errors(check(text.format("", loss, 3)))
