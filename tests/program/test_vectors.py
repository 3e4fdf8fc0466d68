"""Vector style: what it becomes, what it means, and its mistakes."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.library.loading import load, load_document
from indicial.notation.printers import unicode
from indicial.program.meaning.sample import sample, small_sizes
from indicial.program.program import Program

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


def program(*lines: str, document: bool = False) -> Program:
    return Program.of_text("\n".join(lines), document=document)


def rewritten(*lines: str, document: bool = False) -> list[str]:
    return [
        unicode(statement).strip() for statement in program(*lines, document=document).statements
    ]


def run(found: Program, size: int = 3, **given_values: Any) -> dict[str, Any]:
    drawn = sample(found.code, small_sizes(found.code, size), 1)
    inputs = {**drawn.inputs, **{k: v for k, v in given_values.items() if k in drawn.inputs}}
    parameters = {
        **drawn.parameters,
        **{k: v for k, v in given_values.items() if k in drawn.parameters},
    }
    return dict(found.interpret(inputs, parameters, sizes=drawn.sizes, draws=drawn.draws))


@pytest.mark.parametrize(
    ("text", "name", "oracle"),
    [
        (r"\mathbf y = \mathrm{diag}(\mathbf v) \mathbf x", "y", lambda g: g["v"] * g["x"]),
        (r"\mathbf d = \mathrm{diag}(\mathbf A)", "d", lambda g: np.diag(g["A"])),
        (r"s = \mathrm{tr}(\mathbf A \mathbf B)", "s", lambda g: np.trace(g["A"] @ g["B"])),
        (r"s = \langle \mathbf a, \mathbf b \rangle", "s", lambda g: g["a"] @ g["b"]),
        (r"\mathbf y = \left\langle \mathbf a, \mathbf b \right\rangle \mathbf x", "y",
         lambda g: g["a"] @ g["b"] * g["x"]),
    ],
)  # fmt: skip
def test_traces_diagonals_and_inner_products(text: str, name: str, oracle: Any) -> None:
    found = load(f"$${text}$$")
    assert not found.mistakes
    drawn = sample(found.code, small_sizes(found.code, 3), 1)
    values = found.interpret(drawn.inputs, drawn.parameters, sizes=drawn.sizes)
    np.testing.assert_allclose(values[name], oracle({**drawn.inputs, **drawn.parameters}))


# ---------------------------------------------------------------------- what it becomes


@pytest.mark.parametrize(
    ("lines", "becomes"),
    [
        (["α_i = softmax_i k_i^⊤ q", "c = Σ_i v_i α_i"],
         ["α[i] = softmax_i k[i,D] q[D]", "c[e] = Σ_i v[i,e] α[i]"]),
        (["V = u_b u_b^⊤", "y = V x_1"], ["V[d,d'] = u_b[d] u_b[d']", "y[d] = V[d,D] x_1[D]"]),
        (["V = u_b u_c^⊤", "y = V x_1"], ["V[d,e] = u_b[d] u_c[e]", "y[d] = V[d,E] x_1[E]"]),
        (["s = x^⊤ Q y"], ["s = x[D] Q[D,E] y[E]"]),
        (["s = ‖x - y‖^2 + x^⊤ y"], ["s = ‖x[D] - y[D]‖^2 + x[D] y[D]"]),
        (["s = x^⊤ y x^⊤ y"], ["s = x[D] y[D] x[D'] y[D']"]),
        (["s = (x^⊤ + y^⊤) (A x)"], ["s = (x[D] + y[D]) (A[D,D'] x[D'])"]),
        (["s = exp(x_2^⊤ x_2) x_2 / exp(x_1^⊤ x_2)"],
         ["s[d] = exp(x_2[D] x_2[D]) x_2[d]/exp(x_1[D] x_2[D])"]),
        (["v = V(u_d + u_b)", "V = u_b u_d^⊤"],
         ["v[e] = V[e,E] (u_d[E] + u_b[E])", "V[e,e'] = u_b[e] u_d[e']"]),
        (["v = β^2 (u - w)/β^2", "s = u^⊤ w"], ["v[d] = β^2 (u[d] - w[d])/β^2", "s = u[D] w[D]"]),
        (["y^⊤ = x^⊤ A"], ["y[d] = x[E] A[E,d]"]),
        (["s = k_i^T q"], ["s = k[i,D] q[D]"]),
        (["P(y|h) = softmax_y h^⊤ W e(y)"], ["P(y | h) = softmax_y h[D] W[D,F] e(y)[F]"]),
        (["P(y|h) = softmax h^⊤ e(y)"], ["P(y | h) = softmax h[D] e(y)[D]"]),
        (["s[t] = h_Φ(e(w_t), e(w_{t-1}))^⊤ e(w_{t+1})"],
         ["s[t] = h_Φ(e(w_t)[D'], e(w_{t-1})[D'])[D] e(w_{t+1})[D]"]),
        (["A(Q,K,V) = softmax(Q K^⊤/sqrt(d)) V"],
         ["A[e,f] = (softmax_G (Q[e,D] K[G,D]/sqrt(D))) V[G,f]"]),
        (["h_i = W_1 x_i", "g_i = W_2 h_i", "α_{ij} = g_i^⊤ g_j"],
         ["h[i,d] = W_1[d,E] x[i,E]", "g[i,f] = W_2[f,D] h[i,D]", "α[i,j] = g[i,F] g[j,F]"]),
        (["s = x^⊤ (A + λ I) x"],
         ["s = x[D] (A[D,D'] + λ I[D,D']) x[D']", "I[d,d'] = cases { 1 if d = d', 0 otherwise }"]),
    ],
)  # fmt: skip
def test_becomes_index_notation(lines: list[str], becomes: list[str]) -> None:
    assert rewritten(*lines, document=True) == becomes
    assert program(*lines, document=True).errors == []


@pytest.mark.parametrize(
    "line",
    [
        "s[w,t] = e[w,I]^⊤ h[t,I]", "h[t,J] = G[t,J] h[t-1,J]", "y[j] = (W[j,I] x[I])^⊤",
        "L = K T", "x^T[j] = W[j,I] x[I]", "c = Σ_i v_i α_i", "e_i = softmax_i a_i b",
    ],
)  # fmt: skip
def test_index_style_is_not_touched(line: str) -> None:
    found = program(line, document=True)
    assert found.statements == found.written


def test_places_are_kept() -> None:
    found = program("vector k[i,D], q[D]", "s_i = k_i^⊤ q")
    sides = found.statements[-1].children()
    assert [side.span.text for side in sides] == ["s_i", "k_i^⊤ q"]


def test_declared_letters_are_used_and_checked() -> None:
    lines = ["vector x[D], y[E]", "matrix Q[D,E]"]
    assert rewritten(*lines, "s = x^⊤ Q y")[-1] == "s = x[D] Q[D,E] y[E]"
    assert program(*lines, "s = x^⊤ Q y").messages == []
    wrong = program(*lines, "s = y^⊤ Q x").mistakes
    assert {m.code for m in wrong} == {"size-mismatch"}
    assert wrong[0].sites[0][0].text in "y^⊤ Q x"


def test_declarations() -> None:
    found = program("vector x, y", "matrix W, V[D,D']", "V = I", "z = W V x + y")
    assert found.messages == []
    roles = {key: tensor.role for key, tensor in found.code.tensors.items()}
    assert roles == {
        "x": "input",
        "y": "input",
        "W": "parameter",
        "V": "defined",
        "z": "defined",
        "I": "defined",
    }
    values = run(found, x=np.ones(3))
    assert values["V"].tolist() == np.eye(3).tolist()


def test_a_recurrence_in_vector_style() -> None:
    found = program(
        "vector x[t,D], h[t,E]", "matrix W[E,D], U[E,E']", "h_t = tanh(W x_t + U h_{t-1} + b)"
    )
    assert found.messages == []
    x, w, u, b = (
        np.random.default_rng(n).normal(size=s)
        for n, s in enumerate([(4, 2), (3, 2), (3, 3), (3,)])
    )
    h, expected = np.zeros(3), []
    for step in x:
        h = np.tanh(w @ step + u @ h + b)
        expected.append(h)
    np.testing.assert_allclose(found.interpret({"x": x}, {"W": w, "U": u, "b": b})["h"], expected)


# ---------------------------------------------------------------------- what it means

COPY = [
    "vector u[i,D], x[j,D]", "label a, b, c, d", "constant β = 3",
    "V = (u_b u_b^⊤ - u_c u_c^⊤)/β^2", "Q = (u_d u_a^⊤ + u_c u_d^⊤)/β^2",
    "matrix K[D,D']", "K = I",
    "v_1 = V(u_d + u_b)", "v_2 = V u_a", "v_3 = V(u_c + u_b)",
    "s_{ij} = x_i^⊤ K Q x_j",
]  # fmt: skip


def test_values_that_copy() -> None:
    found = program(*COPY)
    assert found.messages == []
    random = np.random.default_rng(0)
    u = 3 * np.linalg.qr(random.normal(size=(5, 5)))[0][:4]  # orthogonal rows of squared length β²
    ua, ub, uc, ud = u
    values = found.interpret({"u": u, "x": np.array([ud + ub, ua, uc + ub])}, {})
    np.testing.assert_allclose(values["V"], (np.outer(ub, ub) - np.outer(uc, uc)) / 9)
    np.testing.assert_allclose(values["v_1"], ub, atol=1e-12)
    np.testing.assert_allclose(values["v_2"], 0, atol=1e-12)
    np.testing.assert_allclose(values["v_3"], ub - uc, atol=1e-12)
    # The first query finds the third key, the second query the first.
    assert np.argmax(values["s"], axis=0)[:2].tolist() == [2, 0]


Tree = tuple[str, Any]
VALUES = {
    name: np.random.default_rng(n).normal(size=shape)
    for n, (name, shape) in enumerate(
        {"a": (), "x": (2,), "y": (2,), "A": (2, 2), "B": (2, 2)}.items()
    )
}


def of_kind(kind: str, depth: int) -> st.SearchStrategy[Tree]:
    """Random expressions of a kind, each with its value as numpy computes it."""
    names = {"number": ["a"], "column": ["x", "y"], "matrix": ["A", "B"]}[kind]
    leaves = st.sampled_from([(name, VALUES[name]) for name in names])
    if depth == 0:
        return leaves
    number, column, matrix = (of_kind(k, depth - 1) for k in ("number", "column", "matrix"))
    same = {"number": number, "column": column, "matrix": matrix}[kind]
    added = st.tuples(same, same).map(lambda p: (f"({p[0][0]} + {p[1][0]})", p[0][1] + p[1][1]))
    taken = st.tuples(same, same).map(lambda p: (f"({p[0][0]} - {p[1][0]})", p[0][1] - p[1][1]))
    scaled = st.tuples(number, same).map(lambda p: (f"{p[0][0]} {p[1][0]}", p[0][1] * p[1][1]))
    choices = [leaves, added, taken, scaled]
    if kind == "number":
        choices += [
            st.tuples(column, column).map(
                lambda p: (f"({p[0][0]})^⊤ ({p[1][0]})", p[0][1] @ p[1][1])
            ),
            column.map(lambda p: (f"‖{p[0]}‖", np.linalg.norm(p[1]))),
            number.map(lambda p: (f"tanh({p[0]})", np.tanh(p[1]))),
        ]
    elif kind == "column":
        choices += [
            st.tuples(matrix, column).map(
                lambda p: (f"({p[0][0]}) ({p[1][0]})", p[0][1] @ p[1][1])
            ),
            st.tuples(matrix, column).map(
                lambda p: (f"({p[0][0]})^⊤ ({p[1][0]})", p[0][1].T @ p[1][1])
            ),
            column.map(lambda p: (f"tanh({p[0]})", np.tanh(p[1]))),
        ]
    else:
        choices += [
            st.tuples(matrix, matrix).map(
                lambda p: (f"({p[0][0]}) ({p[1][0]})", p[0][1] @ p[1][1])
            ),
            st.tuples(column, column).map(
                lambda p: (f"({p[0][0]}) ({p[1][0]})^⊤", np.outer(p[0][1], p[1][1]))
            ),
            matrix.map(lambda p: (f"({p[0]})^⊤", p[1].T)),
        ]
    return st.one_of(choices)


@given(st.one_of(of_kind("number", 2), of_kind("column", 2), of_kind("matrix", 2)))
def test_means_what_numpy_computes(tree: Tree) -> None:
    text, expected = tree
    found = program("vector x[D], y[D]", "matrix A[D,D'], B[D,D']", "input a", f"r = {text}")
    assert found.errors == [], text
    used = {
        name: VALUES[name] for name, tensor in found.code.tensors.items() if tensor.role == "input"
    }
    parameters = {
        name: VALUES[name]
        for name, tensor in found.code.tensors.items()
        if tensor.role == "parameter"
    }
    result = found.interpret(used, parameters, sizes=dict.fromkeys(found.code.sizes, 2))
    np.testing.assert_allclose(result["r"], expected, rtol=1e-9, atol=1e-9, err_msg=text)


NAMES = st.sampled_from(
    ["x", "u_b", "k_i", "V", "W", "α_i", "β", "x^⊤", "V^⊤", "(x + u_b)", "exp(x)", "I", "2", "0"]
)


@given(st.lists(st.tuples(NAMES, st.lists(NAMES, min_size=1, max_size=4)), min_size=1, max_size=3))
def test_nonsense_gets_a_message(equations: list[tuple[str, list[str]]]) -> None:
    """Whatever is multiplied by whatever: a mistake or a program, and no traceback."""
    for document in (False, True):
        found = program(
            *(f"{left} = {' '.join(right)}" for left, right in equations), document=document
        )
        assert isinstance(found.messages, list)


# ---------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("line", "text", "sites", "hint"),
    [
        ("V = (u_b u_b - u_c u_c^⊤)/β^2", "a product of two columns is no matrix", ["u_b", "u_b"],
         "write u_b u_b^⊤"),
        ("s = u_b^⊤ u_c + u_c u_b", "a product of two columns is no", ["u_c", "u_b"], "u_c^⊤ u_b"),
        ("y = u_b + u_b^⊤ u_c", "a column and a number cannot be added", ["u_b", "u_b^⊤ u_c"], ""),
        ("y = u_b / u_c", "nothing can be divided by a column", ["u_c"], ""),
        ("y = u_b W", "a column cannot be multiplied by a matrix", ["u_b", "W"], "u_b^⊤ W"),
        ("u_b = u_b^⊤ W", "one side is a column, the other a row", ["u_b^⊤ W", "u_b"], "transpose"),
        ("p_i = softmax_i (W u_i)", "softmax takes numbers, not a column", ["(W u_i)"], ""),
    ],
)  # fmt: skip
def test_mistakes(line: str, text: str, sites: list[str], hint: str) -> None:
    found = program("vector u[i,D]", "label b, c", "matrix W[D,D']", line)
    ranks = [m for m in found.messages if m.code == "rank"]
    assert len(ranks) == 1 and found.mistakes == ranks, [m.render() for m in found.messages]
    assert text in ranks[0].text
    assert [site.text for site, _ in ranks[0].sites] == sites
    assert hint in ranks[0].hint


def test_a_side_that_does_not_fit_is_left_out() -> None:
    found = program("V = (u_b u_b - u_c u_c)/β^2 = (u_b u_b^⊤ - u_c u_c^⊤)/β^2", document=True)
    assert [m.code for m in found.messages] == ["rank", "rank"]
    assert unicode(found.statements[0]).strip() == "V[d,d'] = (u_b[d] u_b[d'] - u_c[d] u_c[d'])/β^2"


def test_bare_matrices() -> None:
    found = program("K = I", document=True)
    assert found.equations and not found.statements and not found.messages
    assert "matrix notation" in found.skipped[0].reason
    assert [m.code for m in program("K = I").messages] == ["matrix-notation"]
    assert program("size I = 3", "K = I").errors == []


def test_draws() -> None:
    assert rewritten("vector k[i,D], m[D]", "k_i ~ N(m, λ I)")[-1] == "k[i,d] ~ N(m[d], λ)"
    lines = ["k ~ N(m, λ I + m m^⊤)", "s = k^⊤ m"]
    for found in (program("vector k[D], m[D]", *lines), program(*lines, document=True)):
        assert found.errors == [] and found.skipped == ()
        noise = [name for name, tensor in found.code.tensors.items() if tensor.role == "draw"]
        assert noise == ["covariance1.noise"] and found.code.tensors["k"].role == "defined"


# ---------------------------------------------------------------------- documents


def test_labels_of_a_guard() -> None:
    found = program(
        "α_i = k_i^⊤ q ≈ μ_i^⊤ q ≈ 0 for i ∉ {a, b}",
        "α_a = k_a^⊤ q ≈ ε_a μ_a^⊤ q ≈ ε M",
        document=True,
    )
    assert found.errors == []
    k, q = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0])
    open_names = {"μ": np.ones((3, 2)), "ε_a": 1.0, "ε": 1.0, "M": 1.0}
    code = found.code.tensors
    values = found.interpret(
        {"k": k, "q": q, **{n: v for n, v in open_names.items() if n in code}}, {}
    )
    assert values["α"][0] == k[0] @ q and values["α"][2] == k[2] @ q


def test_a_step_that_uses_the_prose_is_a_note() -> None:
    """That vectors are orthogonal is said in words: a step that needs it is no mistake."""
    found = program("V = u_b u_b^⊤/β^2", "v = V(u_d + u_b) = u_b u_b^⊤ u_b/β^2", document=True)
    assert found.mistakes == []
    assert [m.code for m in found.messages] == ["step-open"]


@pytest.mark.parametrize(
    "text", ["c_2 = α_{21} v_1 + α_{22} v_2 + α_{23} v_3", "c_1 = v_a", "c = u_a + u_i"]
)
def test_names_without_a_transpose_stay_numbers(text: str) -> None:
    assert program(text, document=True).mistakes == []


@pytest.mark.skipif(not SEEDS.exists(), reason="the first customers' documents are not here")
def test_first_document_in_this_style() -> None:
    programs = load_document(next(SEEDS.glob("001_*")))
    errors = [(m.span.line, m.code) for p in programs for m in p.errors]
    assert errors == [(81, "bracket"), (174, "rank"), (186, "rank"), (186, "rank")]
    for found in programs:
        for size in (2, 3):
            if found.equations and not found.errors:
                assert run(found, size)


# ---------------------------------------------------------------------- names that are called


@pytest.mark.parametrize(
    ("lines", "becomes"),
    [
        (["score(h_t, s_i) = v^⊤ tanh(W_1 h_t + W_2 s_i)", "α_{ti} = softmax_t score(h_t, s_i)"],
         ["score[t,i] = v[D] tanh(W_1[D,E] h[t,E] + W_2[D,F] s[i,F])", "α[t,i] = softmax_t score[t,i]"]),
        (["y[t,j] = W[j,K] x[t,K]", "s[t,r] = y_t^⊤ y_r"],
         ["y[t,j] = W[j,K] x[t,K]", "s[t,r] = y[t,D] y[r,D]"]),
    ],
)  # fmt: skip
def test_names_with_brackets(lines: list[str], becomes: list[str]) -> None:
    assert rewritten(*lines, document=True) == becomes
    assert program(*lines, document=True).errors == []


def test_a_function_that_calls_itself_ends() -> None:
    """Two calls in a body are not unfolded into a million."""
    found = program("f(x) = f(x) f(x) x", "y = f(3)")
    assert {m.code for m in found.errors} == {"recursion"}


def test_what_has_no_word_in_index_notation_is_not_read() -> None:
    lines = ["matrix A[D,D'], B[D,D']", "B = A^2"]
    assert [m.code for m in program(*lines).errors] == ["outside"]
    found = program("B = x x^⊤", "y = B^{-1/2} x", document=True)
    assert found.errors == [] and "power of a matrix" in found.skipped[0].reason


def test_a_false_step_of_matrices_is_refuted(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(r"$$y = (AB)^\top x = A^\top B^\top x$$" + "\n", encoding="utf-8")
    (found,) = load_document(path)
    assert [m.code for m in found.errors] == ["step"]
    path.write_text(r"$$y = (AB)^\top x = B^\top A^\top x$$" + "\n", encoding="utf-8")
    (found,) = load_document(path)
    assert found.messages == []


def test_two_readings_are_said_and_neither_is_taken() -> None:
    line = r"\textbf h_i^{(l+1)} = σ(Σ_j α_{ij} \textbf h_j^{(l)} W^{(l)} + b^{(l)})"
    (message,) = program(line).errors
    assert message.code == "two-readings"
    assert "b may be a number or a row: h[l+1,i] = " in message.text
    assert ", or h[l+1,i,d] = " in message.text
    assert message.hint.startswith("declare `vector")
    prose = program(line, document=True)
    assert prose.messages == [] and "may be" in prose.skipped[0].reason
    assert rewritten("vector b", line)[-1].endswith("+ b[l,d])")


def test_what_stands_beside_a_circled_dot_is_no_number() -> None:
    assert rewritten("s = exp(r) ⊙ g") == ["s[d] = exp(r[d]) ⊙ g[d]"]


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        (r"\mathbf w_t = \mathbf w_{t-1} - \frac{\eta}{\sqrt{\mathbf s_t + \epsilon}} \cdot \mathbf g_t",
         "w[t,d] = w[t-1,d] - η/sqrt(s[t,d] + ε) g[t,d]"),
        (r"a_{ij} = \delta_{ij} x_i^\top x_j",
         "a[i,j] = cases { 1 if i = j, 0 otherwise } x[i,D] x[j,D]"),
        (r"\hat{\mathbf R}_{ui} = \mathbf p_u^\top \mathbf q_i + b_u", "R̂[u,i] = p[u,D] q[i,D] + b[u]"),
        (r"\mathbf H_t = \mathbf X_t \mathbf W_{\mathrm{xh}} + \mathbf b_{\mathrm h}",
         "H[t,d,e] = X[t,d,F] W_{xh}[F,e] + b_h[e]"),
        (r"\mathbf y = \mathbf x + \mathbf b_{\mathrm{d}}", "y[e] = x[e] + b_d[e]"),
        (r"x_{l+1} = x_l + W_2^{(l)} \tanh(W_1^{(l)} x_l)",
         "x[l+1,d] = x[l,d] + W_2[l,d,E] tanh(W_1[l,E,D] x[l,D])"),
        (r"h = \tanh(W^0 x - b^0), s = W^1 h, P[y] = \mathrm{softmax}_y s[y]",
         "h[d] = tanh(W^0[d,E] x[E] - b^0[d])"),
    ],
)  # fmt: skip
def test_usual_forms(line: str, becomes: str) -> None:
    found = Program.of_text(line, latex=True, document=True)
    assert unicode(found.statements[0]).strip() == unicodedata.normalize("NFD", becomes)


def test_a_product_without_its_sign_beside_one_that_has_it() -> None:
    """A GRU whose author writes r_t ⊙ h_{t-1} and z_t h_{t-1}: no cell of eight numbers."""
    program = load(
        r"""
        \begin{align}
        r_t &= \sigma(W_r x_t + U_r h_{t-1}) \\
        z_t &= \sigma(W_z x_t + U_z h_{t-1}) \\
        \tilde h_t &= \tanh(W x_t + U(r_t \odot h_{t-1})) \\
        h_t &= z_t h_{t-1} + (1 - z_t) \tilde h_t
        \end{align}
        """
    )
    axes = {name: len(tensor.axes) for name, tensor in program.code.tensors.items()}
    assert axes == {"r": 2, "z": 2, "h̃": 2, "h": 2, "x": 2} | dict.fromkeys(
        ["W_r", "U_r", "W_z", "U_z", "W", "U"], 2
    )


def test_a_greek_letter_that_is_turned_is_a_vector() -> None:
    found = program("q = M(μ_a + μ_b)", "α_i = softmax_i (μ_i^⊤ q)", "constant M = 2",
                    "label a, b in I", document=True)  # fmt: skip
    values = run(found, 3)
    means = sample(found.code, small_sizes(found.code, 3), 1).inputs["μ"]
    assert means.ndim == 2
    scores = means @ (2 * (means[0] + means[1]))
    np.testing.assert_allclose(values["α"], np.exp(scores) / np.exp(scores).sum())


def test_a_function_of_nothing_is_told() -> None:
    (error,) = Program.of_text("input x[j]\nmatrix W\ny = W tanh()\n", "text.eq").errors
    assert "one expression" in error.hint
