"""Documents are not programs: what is certain is said, what is not understood is not read."""

from pathlib import Path

import numpy as np
import pytest

from indicial.library.loading import load, load_document
from indicial.paste import written
from indicial.program.messages import IndicialError
from indicial.program.program import Program


def programs(folder: Path, text: str, name: str = "notes.md") -> list[Program]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return load_document(path)


def said(found: list[Program]) -> list[str]:
    return [m.code for p in found for m in p.mistakes]


def read(found: list[Program]) -> int:
    return sum(len(p.code.statements) for p in found)


def reasons(found: list[Program]) -> str:
    return "; ".join(s.reason for p in found for s in p.skipped)


NOT_READ = {
    r"\mathbb{E}_x[f(x)] = 0": "expectation",
    r"\mathrm{E}[X^2] = \sigma^2": "expectation",
    r"\mu = E[X]": "expectation",
    r"v = \mathrm{Var}(X)": "Var",
    r"D_{KL}(p \| q) = \sum_i p_i \ln \frac{p_i}{q_i}": "",
    r"KL(p, q) = H(p, q) - H(p)": "KL",
    r"I(X;Y) = H(X) - H(X|Y)": "",
    r"\frac{dy}{dx} = 2 x": "derivatives",
    r"y = h(z)": "call or a product",
    r"y = \mathrm{MLP}(x) + x": "MLP is a function",
    r"y = FFN(x)": "FFN is a function",
    r"p(a \mid b) = \frac{p(b \mid a) p(a)}{p(b)}": "probability",
    r"H(P) = H(P, Q) - c": "",
    r"x \in [0, 1), \quad y = x": "interval",
    r"\left.\frac{\partial f}{\partial x}\right|_{x=0} = 1": "",
    r"\binom{n}{k} = c": "binom",
    r"\theta^* = \arg\min_\theta L(\theta)": "",
    r"\mathbf S_t = \arg\min_{\mathbf S_t} \|\mathbf S_t - \mathbf S_{t-1}\|^2": "best parameters",
    r"s = \sum_{i \in \mathcal{V}} x_i": "",
    r"w \not\in S = T": "",
    r"p(x) \propto e^{-x}": "proportion",
    r"a = \sup_x f(x)": "",
    r"y = x + z \bmod 2": "mod",
    r"\mu_{i,\cdot} = 0": "",
    r"p = \prod_t p(w_t \mid w_{<t})": "",
    r"y = [a \| b]": "",
    r"y = \foo{x}": "unknown command",
    r"y = \sigma_{\tau_i}": "",
    r"k(x, x') = \sum_i \phi_i(x) \phi_i(x')": "x is an argument",
    r"\tilde Q(\hat x) = (1 + e^{-2})^{N-2}": "x̂ is an argument",
    r"e^{-\Delta s} = a b": "its left side is a power",
    r"p V = N k T": "its left side is a product",
    r"z_{(\ell+k)} = \alpha z_\ell": "a place that is computed",
    r"u_s = u(t(s)) + u": "call or a product",
}


@pytest.mark.parametrize("display", NOT_READ)
def test_what_is_not_about_tensors_is_left_alone(tmp_path: Path, display: str) -> None:
    found = programs(tmp_path, f"Here\n\n$${display}$$\n\nand there\n")
    assert said(found) == []
    if NOT_READ[display]:
        assert NOT_READ[display] in reasons(found) and read(found) == 0


def test_one_display_silences_nothing_in_another(tmp_path: Path) -> None:
    text = r"""
$$y[j] = \mathbb{E}[x[j]]$$

$$h[t,j] = \tanh(W[j,I] h[t-1] + x[t,j])$$

$$z = \foo$$

$$a[i] = 2 b[i] + b[i] = 4 b[i]$$
"""
    found = programs(tmp_path, text)
    assert sorted(said(found)) == ["index-count", "step"]


def test_a_slip_in_brackets_is_an_error_and_in_other_notation_a_note(tmp_path: Path) -> None:
    slip = programs(tmp_path, r"$$s[t+1,i] = (1 - \gamma) s[t] + \gamma g[t,i]^2$$")
    assert said(slip) == ["index-count"]
    alike = programs(tmp_path, r"$$s_{t+1} = (1 - \gamma) s + \gamma g_t^2$$")
    assert said(alike) == []


SLIPS = {
    r"h[t,j] &= W[j,I] h[t-1,I] \\ r[t,j] &= W[I,j] x[t,I]": "index-order",
    r"h[t,j] &= U[j,K] x[t,K] + h[t-1,j] \\ y[t,k] &= V[k,J] h[t]": "index-count",
    r"y[t,k] &= V[k,J] x[t]": "left-alone",
    r"a[t,s] &= \mathrm{softmax}_s(q[t,J] k[s,J]) \\ y[t,j] &= a[t,s] v[s,j]": "unbound-index",
    r"a[t,s] &= \mathrm{softmax}_s(q[t,I] k[t,I])": "softmax-index",
    r"h[t,j] &= \tanh(W[j,I] h[t+1,I] + V[j,I] h[t-1,I])": "cycle",
    r"h[t,j] &= \mathrm{tnah}(W[j,I] h[t-1,I])": "unknown-function",
    r"h[t,j] &= \tanh(W[j,I] h[t-1,I] + U[j,k] x[t,k])": "unbound-index",
    r"y[i] &= W[i,J] x[J] \\ y[i] &= V[i,J] x[J]": "defined-twice",
    r"y[i] &= \sum_j A[i,j] x[j] = \sum_j A[j,i] x[j]": "step",
    r"y[i] &= \sum_{j=1}^N (W[i] - x[i])": "sum-index",
    r"s &= \sum_{j=1}^N (\hat g_i - g)": "sum-index",
    r"s &= \sum_{i=1}^N (g_i - c) = \sum_{i=1}^N g_i - c": "step",
    r"z_{t+1} &= \beta z_t + x_t = \sum_{s=0}^t \beta^{t-s} x_s = \sum_{s=0}^t \beta^{t-s} x_t": "step",
}


@pytest.mark.parametrize("rows", SLIPS)
def test_a_slip_is_told(tmp_path: Path, rows: str) -> None:
    found = programs(tmp_path, rf"$$\begin{{aligned}} {rows} \end{{aligned}}$$")
    assert said(found) == [SLIPS[rows]]


NO_SLIPS = (
    r"\Phi[i] = \Phi[i] - \eta g[i]",  # an update in place
    r"\begin{aligned} y[i] &= 2 x[i] \\ \mbox{or}\; y[i] &= 3 x[i] \end{aligned}",
    r"\begin{aligned} y[0] &= 0 \\ y[t] &= y[t-1] + x[t] \end{aligned}",
    r"s = \sum_{i=1}^N (x_i - m)^2 = \sum_{i=1}^N x_i^2 - N m^2",  # where m is their mean
    r"c = \sum_{i=1}^n \frac{1}{n} = 1",
    r"y = \ln F[N,T]",  # the last element
    r"y[b,i] = x[b,j] W[j,i]",  # a product that says nowhere what it sums
    r"v_t = \beta v_{t-1} + \gamma x_t = \gamma \sum_{i=0}^{t-1} \beta^i x_{t-i}",  # from x_1 on
    r"v_t = \beta v_{t-1} + g_t = \beta^2 v_{t-2} + \beta g_{t-1} + g_t",
)


@pytest.mark.parametrize("display", NO_SLIPS)
def test_what_may_be_meant_is_no_slip(tmp_path: Path, display: str) -> None:
    assert said(programs(tmp_path, f"$${display}$$")) == []


def test_indices_that_a_macro_writes_are_in_brackets(tmp_path: Path) -> None:
    macro = r"\newcommand{\gate}[1]{G_{#1}[t,j]}"
    rows = r"\gate{1} &= \sigma(U^1[j,K] x[t,K]) \\ \gate{2} &= \sigma(U^2[j,K] x[t])"
    text = rf"\documentclass{{article}}{macro}\begin{{document}}\begin{{align}}{rows}\end{{align}}"
    assert said(programs(tmp_path, text + r"\end{document}", "notes.tex")) == ["index-count"]


def test_a_display_that_does_not_agree_is_read_by_itself(tmp_path: Path) -> None:
    found = programs(tmp_path, "$$h_t = 2 h_{t-1}$$\n\n$$y = h_1 + h_2$$\n\n$$h = a + b$$\n")
    assert said(found) == []
    assert sum(len(p.equations) for p in found) == 3


@pytest.mark.parametrize("form", ["```indicial\n{}\n```", "```eq\n{}\n```"])
def test_blocks_stay_strict(tmp_path: Path, form: str) -> None:
    found = programs(tmp_path, "Text\n\n" + form.format("y[t] = tnah(x[t])\nz[t] = f x ]"))
    assert "bracket" in said(found)


def test_the_documents_that_made_it_crash(tmp_path: Path) -> None:
    text = "$$||\\epsilon||_1 = \\sum_i |\\epsilon_i|$$\n\n"
    text += "$$\\tilde y = y + \\epsilon,\\;\\epsilon \\sim \\mathcal N(0,I)$$\n"
    assert said(programs(tmp_path, text)) == []


def test_slides_and_hidden_text(tmp_path: Path) -> None:
    (tmp_path / "preamble.tex").write_text(
        r"\newcommand{\slide}[1]{\vfill \eject \centerline{\bf #1}}"
        "\n"
        r"\newcommand{\ignore}[1]{}"
    )
    (tmp_path / "talk").mkdir()
    text = (
        r"\input ../preamble"
        "\n"
        r"\begin{document} \slide{One} $$a[i] = b[i]$$ \ignore{$$c = )$$}"
        r"\slide{Two} $$a[i,j] = b[i] c[j]$$ {\bf Problem 2.} $$a = 1$$ \end{document}"
    )
    found = programs(tmp_path / "talk", text, "talk.tex")
    assert said(found) == []
    assert [p.title for p in found] == ["One", "Two", "Problem 2"]


SAME = {
    r"\mathrm{Relu}(x[i])": r"\mathrm{ReLU}(x[i])",
    r"\operatorname{relu}(x[i])": r"\mathrm{ReLU}(x[i])",
    r"RELU(x[i])": r"\mathrm{ReLU}(x[i])",
    r"\mathrm{\tanh}(x[i])": r"\tanh(x[i])",
    r"\mathrm{\sigma}(x[i])": r"\sigma(x[i])",
    r"\text{Sigmoid}(x[i])": r"\sigma(x[i])",
    r"sigmoid(x[i])": r"\sigma(x[i])",
    r"\mathrm{LayerNorm}(x[I])[i]": r"\mathrm{layernorm}(x[I])[i]",
    r"softmax_i\, x[i]": r"\operatorname{softmax}_i x[i]",
    r"{\color{red} x[i]} + {{1}}": r"x[i] + 1",
    r"\boxed{x[i] + 1}": r"(x[i] + 1)",
    r"\underbrace{2 x[i]}_{\text{twice}} + 1": r"(2 x[i]) + 1",
}


@pytest.mark.parametrize("written", SAME)
def test_what_everyone_means(tmp_path: Path, written: str) -> None:
    one, other = (
        programs(tmp_path, f"$$y[i] = {body}$$")[0].equations for body in (written, SAME[written])
    )
    assert one == other


NUMBERED = [
    r"\begin{align} 1.\; y[i] &= 2 x[i] \\ 2.\; z[i] &= y[i] \end{align}",
    r"\begin{align} (1)\; y[i] &= 2 x[i] \\ (2)\; z[i] &= y[i] \end{align}",
    r"\begin{align} y[i] &= 2 x[i], \quad z[i] = y[i] \end{align}",
    r"\begin{align} y[i] &= 2 x[i] & z[i] &= y[i] \end{align}",
    r"$$y[i] {\color{red} =} 2 x[i] \quad (1)$$ $$z[i] = y[i]. \tag{2}$$",
    r"$$\text{where } y[i] = 2 x[i] \quad \text{for all } i$$ $$z[i] = y[i] \quad \text{and so on}$$",
]


@pytest.mark.parametrize("text", NUMBERED)
def test_numbers_words_and_several_in_a_row(tmp_path: Path, text: str) -> None:
    found = programs(tmp_path, text)
    assert said(found) == []
    assert {name for p in found for name in p.code.tensors} == {"x", "y", "z"}


def test_words_between_equations(tmp_path: Path) -> None:
    text = r"$$a[i] = 2 b[i] \text{ and hence } c[i] = a[i] \quad \text{where} \quad b[i] = 1$$"
    found = programs(tmp_path, text)
    assert said(found) == [] and len(found[0].equations) == 3


def test_alternatives_are_not_defined_twice(tmp_path: Path) -> None:
    kernels = ["$$f(x) = x^2$$", "or\n", "$$f(x) = x + 1$$", "or\n", "$$f(x) = 2 x$$"]
    assert said(programs(tmp_path, "\n\n".join(kernels))) == []


def test_a_display_that_defines_anew_is_an_alternative_as_a_whole(tmp_path: Path) -> None:
    text = r"""
$$\begin{align} R[t,j] &= 2 x[t,j] \\ h[t,j] &= R[t,j] + h[t-1,j] \end{align}$$

with a gate

$$\begin{align} G[t,j] &= \sigma(R[j]) \\ R[t,j] &= 3 x[t,j] \end{align}$$
"""
    first, second = programs(tmp_path, text)
    assert first.errors == [] and set(first.code.tensors) == {"R", "h", "x"}
    assert [m.code for m in second.errors] == ["index-count"]


def test_a_letter_with_an_accent_is_an_index_in_round_brackets_too(tmp_path: Path) -> None:
    (program,) = programs(tmp_path, r"$$s(\hat{y}) = \sum_j W[\hat{y},j]\, x[j] + b[\hat{y}]$$")
    axes = {name: len(t.axes) for name, t in program.code.tensors.items()}
    assert axes == {"s": 1, "W": 2, "x": 1, "b": 1}


def test_a_step_in_doubt_keeps_nothing_from_being_read(tmp_path: Path) -> None:
    (numbers,) = programs(tmp_path, r"$$y_t = x_t + x_t = 3 x_t$$")
    assert [m.code for m in numbers.errors] == ["step"]
    (program,) = programs(tmp_path, r"$$y_t = Z_t + Z_t = 3 Z_t$$")
    assert [m.code for m in program.errors] == ["step"] and program.code.statements


def test_a_recurrence_that_is_unrolled_is_no_wrong_step(tmp_path: Path) -> None:
    first = r"x_t = \sqrt{a_t} x_{t-1} + z_{t-1}"
    unrolled = r"\sqrt{a_t} (\sqrt{a_{t-1}} x_{t-2} + z_{t-2}) + z_{t-1}"
    found = programs(tmp_path, f"$${first} = {unrolled}$$")
    assert said(found) == []
    found = programs(tmp_path, r"$$y_t = a_t x_{t-1} + z_t = a_t x_{t-2} + z_t$$")
    assert said(found) == ["step"], "of another name nothing is unrolled"


def test_a_sum_over_whole_sequences_is_no_idle_sum(tmp_path: Path) -> None:
    assert said(programs(tmp_path, r"$$Z = \sum_{y} \exp(\sum_i a_{i, y_i})$$")) == []


def test_a_step_is_not_blamed_for_another_of_its_chain(tmp_path: Path) -> None:
    text = r"$$z_{t+1} = \beta z_t + x_t = \sum_{s=0}^t \beta^{t-s} x_s = \sum_{s=0}^t \beta^{t-s} x_t$$"
    (program,) = programs(tmp_path, text)
    (message,) = program.errors
    assert message.code == "step" and message.span.text.startswith(r"\sum")


def test_a_part_of_a_display_is_no_reading_of_it(tmp_path: Path) -> None:
    text = r"$$z(t + \Delta t) = z(t) + \epsilon \sqrt{\Delta t}, \quad \epsilon \sim \mathcal{N}(0, 1)$$"
    found = programs(tmp_path, text)
    assert said(found) == [] and read(found) == 0 and not any(p.code.draws for p in found)


PASTED = [
    r"\[ y[i] = 2 x[i] \]",
    r"so \[ y[i] = 2 x[i] \] holds",
    r"\begin{align} y[i] &= 2 x[i] \end{align}",
    r"\begin{equation*} y[i] = 2 x[i] \end{equation*}",
    "$$y[i] = 2 x[i]$$",
    "$y[i] = 2 x[i]$",
    r"we get \( y[i] = 2 x[i] \) here",
    "# Title\n\nProse about $x$.\n\n$$y[i] = 2 x[i]$$\n\nand more\n",
    r"\documentclass{article}\begin{document}Text \[y[i] = 2 x[i]\]\end{document}",
    "y[i] = 2 x[i]",
    r"y[i] = 2 \cdot x[i]",
]


@pytest.mark.parametrize("text", PASTED)
def test_whatever_is_pasted_is_recognised(tmp_path: Path, text: str) -> None:
    (tmp_path / "file.eq").write_text(text, encoding="utf-8")
    for program in (load(text), written(text), load(tmp_path / "file.eq")):
        assert [e.sides[0] for e in program.equations] == [load("y[i] = 1").equations[0].sides[0]]


def test_lines_of_latex_are_equations() -> None:
    program = written("h_t = \\tanh(a h_{t-1}\n  + x_t)\ny_t = 2 h_t")
    assert len(program.equations) == 2


CHAPTER = r"""
# Gated cells

## Gates

$$r[t,j] = \sigma(W[j,I] h[t-1,I] + x[t,j])$$

## Candidate

$$c[t,j] = \tanh(U[j,I] r[t,I] h[t-1,I] + x[t,j])$$

## State

$$h[t,j] = r[t,j] h[t-1,j] + (1 - r[t,j]) c[t,j]$$

# Another

$$h[t,j] = 2 x[t,j]$$
"""


def test_a_cell_of_several_subsections_is_joined(tmp_path: Path) -> None:
    found = {p.title: p for p in programs(tmp_path, CHAPTER)}
    assert set(found["State"].code.tensors) == {"r", "c", "h", "x", "W", "U"}
    assert set(found["Another"].code.tensors) == {"h", "x"}


def test_a_name_that_a_nearer_section_leaves_open_is_open_behind_it(tmp_path: Path) -> None:
    found = programs(
        tmp_path,
        r"""
## Norm
$$y_i = \gamma \hat x_i + \beta$$
## Classes
$$\hat y_t = \mathrm{softmax}(W h_t + b)$$
$$L = -\sum_t \sum_k y_{t,k} \log \hat y_{t,k}$$
## Gradient
$$\frac{\partial L}{\partial W} = \sum_t (\hat y_t - y_t) h_t^\top$$
""",
    )
    gradient = found[-1].code.tensors
    assert "y" not in {st.target for st in found[-1].code.statements}
    assert len(gradient["y"].axes) == 2, "the targets, and not the output of the norm"


def test_a_stretch_of_a_document_is_one_program(tmp_path: Path) -> None:
    path = tmp_path / "chapter.md"
    path.write_text(CHAPTER, encoding="utf-8")
    (cell,) = load_document(path, section="gated")
    assert len(cell.code.statements) == 3
    (two,) = load_document(path, first="Candidate", last="State")
    assert len(two.code.statements) == 2
    with pytest.raises(IndicialError, match="`Gated cells`, `Gates`"):
        load_document(path, section="LSTM")


def test_what_names_are_is_kept_where_displays_disagree(tmp_path: Path) -> None:
    text = r"""
Let $x \in \mathbb{R}^d$ and $W \in \mathbb{R}^{n \times d}$.

$$y_{t+1} = y$$

$$y_{i,j} = y_t + \mathbf{y}^\top y$$

$$x_{i,j,k} = \sum_{x} x(x)$$
"""
    assert said(programs(tmp_path, text)) == []


def test_remarks_and_draws_behind_an_equation(tmp_path: Path) -> None:
    (one,) = programs(tmp_path, r"$$y[i] = x[i]^2 \hspace{4em} (L_2)$$")
    assert set(one.code.tensors) == {"x", "y"}
    (two,) = programs(tmp_path, r"$$y[i] = x[i] + e[i] \;\;\; e[i] \sim \mathcal{N}(0, 1)$$")
    assert [d.tensor for d in two.code.draws] == ["e"] and set(two.code.tensors) == {"x", "y", "e"}


@pytest.mark.parametrize(
    "display",
    [
        r"p(x) = \frac{1}{\sqrt{2 \pi \sigma^2}} \exp\left(-\frac{1}{2 \sigma^2} (x - \mu)^2\right)",
        r"p(y \mid \mathbf{x}) = \frac{1}{Z} \exp\left(-(y - \mathbf{w}^\top \mathbf{x} - b)^2\right)",
        r"p(\mathbf x) = \exp\left(-\|\mathbf x - \mathbf m\|^2\right)",
    ],
)
def test_the_density_of_a_number_has_no_axis(tmp_path: Path, display: str) -> None:
    (found,) = programs(tmp_path, f"$${display}$$")
    assert found.code.tensors["p"].axes == () and not said([found])


def test_a_density_is_read_where_it_is_used(tmp_path: Path) -> None:
    text = r"$$p(x) = \frac{1}{Z} \exp(-(x - \mu)^2)$$ $$L = -\ln p(x)$$"
    (found,) = programs(tmp_path, text)
    assert [s.target for s in found.code.statements] == ["p", "L"]


def test_a_density_of_numbers_with_indices_is_not_read(tmp_path: Path) -> None:
    found = programs(tmp_path, r"$$p(y_i \mid x_i) = \frac{1}{Z} \exp(-(y_i - w x_i)^2)$$")
    assert read(found) == 0 and "density" in reasons(found)


def test_what_is_an_index_elsewhere_is_one_in_round_brackets(tmp_path: Path) -> None:
    found = programs(tmp_path, r"$$s(y) = \sum_j W[y,j] x[j]$$ $$h(t) = W h(t-1) + U x(t)$$")
    assert {n: len(p.code.tensors[n].axes) for p in found for n in ("s", "h") if n in p.code.tensors} == {
        "s": 1, "h": 2,
    }  # fmt: skip


def test_a_letter_with_a_hat_is_like_the_letter(tmp_path: Path) -> None:
    (found,) = programs(tmp_path, r"Let $y \in \mathbb{R}^d$. $$E = \|y - \hat y\|^2$$")
    assert {n: len(t.axes) for n, t in found.code.tensors.items()} == {
        "E": 0, "y": 1, "y\u0302": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("display", "axes"),
    [
        (
            r"\mathbf z = \mathbf x + \epsilon, \quad \epsilon \sim \mathcal N(0, I)",
            {"ε": 1, "z": 1},
        ),
        (
            r"z = \mu + \sigma \odot \epsilon, \quad \epsilon \sim \mathcal N(0, I)",
            {"ε": 1, "σ": 1},
        ),
        (
            r"x_t = x_{t-1} + \epsilon, \quad \epsilon \sim \mathcal N(0, \sigma^2 I)",
            {"x": 2, "ε": 1},
        ),
    ],
)
def test_the_identity_of_a_draw_is_no_tensor(
    tmp_path: Path, display: str, axes: dict[str, int]
) -> None:
    (found,) = programs(tmp_path, f"$${display}$$")
    tensors = found.code.tensors
    assert "I" not in tensors and {n: len(tensors[n].axes) for n in axes} == axes


def test_activations_that_are_only_named_and_a_softmax_that_is_written_out(tmp_path: Path) -> None:
    text = (
        r"$$\hat{\mathbf{y}} = \mathrm{softmax}(\mathbf{o}) \quad \textrm{where} \quad "
        r"\hat{y}_i = \frac{\exp(o_i)}{\sum_j \exp(o_j)}$$ and $$\mathbf{h} = \phi(\mathbf{z})$$"
    )
    found = programs(tmp_path, text)
    assert not said(found) and not reasons(found)
    assert all(len(p.code.tensors[s.target].axes) == 1 for p in found for s in p.code.statements)


def test_a_row_of_dots_is_no_row(tmp_path: Path) -> None:
    rows = r"h_0[i] &= x[i] \\ & \vdots & \\ h_{\ell+1}[i] &= \tanh(W_{\ell+1}[i,I] h_\ell[I]) \\ & \vdots"
    found = programs(tmp_path, rf"$$\begin{{aligned}} {rows} \end{{aligned}}$$")
    assert read(found) == 2 and not reasons(found)


def test_the_function_sigma_beside_a_standard_deviation(tmp_path: Path) -> None:
    rows = r"\sigma_\ell &= \sqrt{\frac{1}{I} \sum_i L_\ell[i]^2} \\ y_\ell[i] &= \sigma(L_\ell[i] / \sigma_\ell)"
    (found,) = programs(tmp_path, rf"$$\begin{{aligned}} {rows} \end{{aligned}}$$")
    layers = np.random.default_rng(0).normal(size=(3, 4))
    deviation = np.sqrt((layers**2).mean(axis=1, keepdims=True))
    expected = 1 / (1 + np.exp(-layers / deviation))
    np.testing.assert_allclose(found.interpret({"L": layers})["y"], expected)


@pytest.mark.parametrize(
    "display",
    [
        r"g_n = \nabla \ell_n \;\;\;\; \hat g = \frac{1}{k} \sum_{n=1}^k g_n \;\;\;\; g = \nabla \ell",
        r"\begin{aligned} H(y) &= a + | b, c| + d \\ t &= i \Delta t \end{aligned}",
    ],
)
def test_what_goes_with_a_row_that_is_not_read_is_not_read(tmp_path: Path, display: str) -> None:
    assert read(programs(tmp_path, f"$${display}$$")) == 0


def test_rows_in_brackets_are_read_beside_one_that_is_not(tmp_path: Path) -> None:
    rows = r"H &= a + | b, c| + d \\ \alpha[t_1,t_2] &= \mathrm{softmax}_{t_2} q[t_1,I] k[t_1,I]"
    assert said(programs(tmp_path, rf"$$\begin{{aligned}} {rows} \end{{aligned}}$$")) == [
        "softmax-index"
    ]


def test_an_optimiser_is_read_beside_the_row_that_says_what_its_gradient_is(tmp_path: Path) -> None:
    rows = (
        r"g_t &= \partial_w \ell(w_t) \\ s_t &= s_{t-1} + g_t^2 \\ "
        r"w_t &= w_{t-1} - \frac{\eta}{\sqrt{s_t + \epsilon}} g_t"
    )
    found = programs(tmp_path, rf"$$\begin{{aligned}} {rows} \end{{aligned}}$$")
    assert read(found) == 2


def test_a_density_of_parameters_is_outside_also_where_p_stands_alone(tmp_path: Path) -> None:
    text = (
        r"$$s = \eta \ln p$$"
        + "\n\n"
        + r"$$p(\Phi) = \frac{1}{Z} \exp(-2 \mathcal{L}(\Phi)/\eta)$$"
    )
    assert "distribution of parameters" in reasons(programs(tmp_path, text))


def test_reading_ends_where_a_function_of_another_section_is_in_doubt(tmp_path: Path) -> None:
    """The definition is taken over by the other sections; nothing of theirs is to blame."""
    text = r"""
# Forward
The input is $\mathbf{X} \in \mathbb{R}^{B \times T \times d}$.

## Norm
\begin{align}
\mathbf{Z} &= \text{LayerNorm}(\mathbf{X} + \text{Multi}(\mathbf{X})) \\
\mathbf{O} &= \text{LayerNorm}(\mathbf{Z} + \text{FFN}(\mathbf{Z}))
\end{align}

## Feed forward
\begin{align} \text{FFN}(x) = \max(0, x W_1 + b_1) W_2 + b_2 \end{align}
"""
    found = programs(tmp_path, text)
    assert said(found) == []
    assert [st.target for p in found for st in p.code.statements] == ["FFN"]


def test_a_space_in_plain_letters_is_one_under_another_heading_too(tmp_path: Path) -> None:
    text = "# One\n$$W \\in R^{k \\times k}$$\n# Two\n$$\\mathbf{y} = W \\mathbf{x}$$\n"
    found = programs(tmp_path, text)
    assert [len(p.code.tensors["W"].axes) for p in found if "W" in p.code.tensors] == [2]


AXES = {
    r"\tilde x_j = \sum_{i=-m}^{m} C_i x_{j+i}": {"x̃": 1, "C": 1, "x": 1},
    r"z_k^l = \sigma(\sum_j W_{kj}^l a_j^{l-1})": {"z": 2, "W": 3, "a": 2},
    r"\mathbf o_t = \frac{Z_{t-1} \mathbf o_{t-1} + e^{\mathbf q \cdot \mathbf k_t} \mathbf v_t}{Z_t}": {
        "o": 2, "Z": 1, "q": 1, "k": 2, "v": 2,
    },
    r"S_{t+1} = S_t + \Vert\nabla_\theta\mathcal{L}_t\Vert^2": {"S": 1},
}  # fmt: skip


@pytest.mark.parametrize("display", AXES)
def test_what_a_sum_says_of_its_names(tmp_path: Path, display: str) -> None:
    (program,) = [p for p in programs(tmp_path, f"$${display}$$") if p.code.statements]
    axes = {name: len(tensor.axes) for name, tensor in program.code.tensors.items()}
    assert axes | AXES[display] == axes


def test_sentences_say_what_names_are(tmp_path: Path) -> None:
    text = r"""
La secuencia de vectores $\{v_1, v_2, ..., v_n\}$, con un peso $g_t \in (0, 1)$. 其中 $y_t$ 是独热编码向量。

$$m = \frac{1}{n} \sum_{t=1}^n g_t v_t$$

$$L = - \sum_{t=1}^T \sum_{j=1}^V y_{t,j} \log p_{t,j}$$
"""
    found = programs(tmp_path, text)
    axes = {n: len(t.axes) for p in found for n, t in p.code.tensors.items()}
    assert axes == {"m": 1, "g": 1, "v": 2, "L": 0, "y": 2, "p": 2}


def test_what_is_added_to_a_matrix_is_one_unless_it_is_a_bias(tmp_path: Path) -> None:
    text = r"""
Let $F^{(t)} \in \mathbb{R}^{N \times K}$ and $s_t \in (0,1)$, and a table $P \in \mathbb{R}^{L_{\max} \times d}$.

$$F^{(t)} = F^{(t-1)} + s_t \Delta^{(t)}$$

$$\mathbf{h}_t = \mathbf{e}_t + P_t$$
"""
    axes = {n: len(t.axes) for p in programs(tmp_path, text) for n, t in p.code.tensors.items()}
    assert axes | {"F": 3, "s": 1, "Δ": 3, "h": 2, "e": 2, "P": 2} == axes


NOT_TRIED = [
    r"\Pr(y|x) = \frac{C(x y)}{\sum_w C(x w)} = \frac{C(x y)}{C(x)}",
    r"g = \frac{\partial}{\partial u_w} \log \sum_x e^{u_x^\top v} = \frac{e^{u_w^\top v} v}{\sum_x e^{u_x^\top v}}",
    r"y_k = \sum_{k'} x_{k'} \delta_{k k'} = x_k",
]


@pytest.mark.parametrize("display", NOT_TRIED)
def test_a_step_that_may_well_follow_is_no_error(tmp_path: Path, display: str) -> None:
    assert said(programs(tmp_path, f"$${display}$$")) == []


NOTES = r"""
## Attention

$$e_{ij} = v^\top \tanh(W s_{i-1} + U h_j), \quad c_i = \sum_j \frac{\exp(e_{ij})}{\sum_k \exp(e_{ik})} h_j$$

$$\theta^* = \arg\min_\theta L(\theta)$$
"""


def test_what_is_loaded_is_what_the_document_says(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(NOTES, encoding="utf-8")
    for program in (load(path), load(NOTES), written(NOTES)):
        assert [s.reason for s in program.skipped] == ["it is about the best parameters"]
        assert not program.errors and "1 not read" in repr(program)
        assert program.statements == load_document(path)[0].statements


@pytest.mark.parametrize(
    "around", [r"$$%s$$", r"\[%s\]", "%s", r"\begin{align}%s\end{align}", "We learn $%s$ from it."]
)
def test_nothing_is_made_of_what_is_not_read(around: str) -> None:
    for program in (load(around % BEST), written(around % BEST)):
        (error,) = program.errors
        assert error.text == "this is not read: it is about the best parameters"


BEST = r"\theta^* = \arg\min_\theta L(\theta)"


def test_sections_that_contradict_each_other_are_not_one_program() -> None:
    text = "# One\n$$h_t = \\tanh(W h_{t-1} + U x_t)$$\n# Two\n$$h_t = W h_{t-1} + V x_t$$"
    assert "defined-twice" in [m.code for m in load(text).errors]
