"""Slips between sentences and formulas: planted in texts of our own, and silent where they are mended."""

import pytest

from indicial.notation.documents import read_text
from indicial.notation.sentences import Prose, contradictions

PAIRS = {
    "own-index": (
        r"The vector $a[u, J]$ of a user $u$ is learned. We draw $u[u, J]$ from a normal distribution.",
        r"The vector $a[u, J]$ of a user $u$ is learned. We draw $a[u, J]$ from a normal distribution.",
    ),
    "own-index in words": (
        r"The vector $a[u, J]$ of a user is learned, and so is u[u, J].",
        r"The vector $a[u, J]$ of a user is learned, and so is b[u, J].",
    ),
    "cut-word": (
        r"Let Train be the data. $$L = E_{x \sim T_{\text{rain}}} f(x)$$",
        r"Let Train be the data. $$L = E_{x \sim \text{Train}} f(x)$$",
    ),
    "pair-or-difference": (
        r"A kernel $k_{s-t}$ is learned. How large is $k_{s,t}$ for words that are far apart?",
        r"A kernel $k_{s-t}$ is learned. How large is $k_{s-t}$ for words that are far apart?",
    ),
    "lost-index": (
        r"Each token has a vector $a_t$ and a place $b_t$; use $u = a_t + b_t$ or both.",
        r"Each token has a vector $a_t$ and a place $b_t$; use $u_t = a_t + b_t$ or both.",
    ),
    "equation-number": (
        "The loss $L(w)$ is convex, and the loss $L(v)$ too.\n\n$$L(w) = w^2 \\tag{1}$$\n"
        "$$y = w x \\tag{2}$$\n\nThe slope of the loss (2) is 0 there.",
        "The loss $L(w)$ is convex, and the loss $L(v)$ too.\n\n$$L(w) = w^2 \\tag{1}$$\n"
        "$$y = w x \\tag{2}$$\n\nThe slope of the loss (1) is 0 there.",
    ),
    "approximately": (
        r"For small x the sine is approximately equal to $y = x$.",
        r"For small x the sine is approximately equal to $y \approx x$.",
    ),
    "two-ones": (
        r"The weights of the mixture: $$p_a \approx p_b \approx 1, \ p_i \approx 0$$",
        r"The weights of the mixture: $$p_a \approx p_b \approx 1/2, \ p_i \approx 0$$",
    ),
    "large-weight": (
        r"Attention weights are shares: $$c = \sum_{i=1}^n u_i \gamma_i$$ Let N, where N is a large number. "
        r"$$\gamma_b = k_b^{\top} q \approx N$$",
        r"Attention weights are shares: $$c = \sum_{i=1}^n u_i \gamma_i$$ Let N, where N is a large number. "
        r"$$s_b = k_b^{\top} q \approx N$$",
    ),
    "unnumbered": (
        r"$$k_c^{\top} r_3 \gg k_i^{\top} r \Rightarrow r_3 = M k_c$$",
        r"$$k_c^{\top} r_3 \gg k_i^{\top} r_3 \Rightarrow r_3 = M k_c$$",
    ),
    "substitution": (
        r"$$f(a_1, g_2) > f(a_3, g_2) \xrightarrow{g_i = B a_i} f(a_1, B a_2) > f(a_2, B a_2)$$",
        r"$$f(a_1, g_2) > f(a_3, g_2) \xrightarrow{g_i = B a_i} f(a_1, B a_2) > f(a_3, B a_2)$$",
    ),
    "rank": (
        r"$$\Rightarrow (p^\top + r^\top) (p r^\top) (p^\top + r^\top) \gg 0$$",
        r"$$\Rightarrow (p^\top + r^\top) (p r^\top) (p + r) \gg 0$$",
    ),
    "excluded": (
        r"$$s_c^{\top} r \gg s_j^{\top} r, j \notin \{c, d\} \Rightarrow r = M s_c$$",
        r"$$s_c^{\top} r \approx s_d^{\top} r \gg s_j^{\top} r, j \notin \{c, d\} \Rightarrow r = M(s_c + s_d)$$",
    ),
    "lost-label": (
        r"$$z_b = x_b^{\top} y \approx \delta_b m_b^{\top} y \approx \delta N$$",
        r"$$z_b = x_b^{\top} y \approx \delta_b m_b^{\top} y \approx \delta_b N$$",
    ),
    "drawn-number": (
        r"$$x_b \sim \mathcal{N}(m_b, \sigma I + m_b m_b^{\top})$$ So we have $$x_b \sim \mathcal{N}(0, 2)$$",
        r"$$x_b \sim \mathcal{N}(m_b, \sigma I + m_b m_b^{\top})$$ So we have $$\delta \sim \mathcal{N}(0, 2)$$",
    ),
    "left-out": (
        r"The softmax gives attention weights: $$c = \sum_{i=1}^n u_i \gamma_i$$ For these "
        r"$$\gamma_b = k_b^{\top} q \approx 0$$",
        r"The softmax gives attention weights: $$c = \sum_{i=1}^n u_i \gamma_i$$ Before it "
        r"$$s_b = k_b^{\top} q \approx 0$$",
    ),
}  # fmt: skip


def found(text: str) -> list[str]:
    document = read_text(f"# A\n\n{text}\n", "a.md")
    return [fault.code for fault in contradictions(Prose(document.source, document.formulas))]


@pytest.mark.parametrize("name", PAIRS)
def test_a_slip_is_found_and_its_mending_is_silent(name: str) -> None:
    wrong, right = PAIRS[name]
    assert found(wrong) == [name.split()[0]]
    assert found(right) == []


@pytest.mark.parametrize("name", PAIRS)
def test_what_a_hint_says_to_write_mends_the_slip(name: str) -> None:
    document = read_text(f"# A\n\n{PAIRS[name][0]}\n", "a.md")
    for fault in contradictions(Prose(document.source, document.formulas)):
        if fault.fix is not None:
            span, written = fault.fix
            again = span.source.text[: span.start] + written + span.source.text[span.end :]
            assert found(again) == []


@pytest.mark.parametrize(
    "text",
    [
        r"The matrix $T_{i,j} = t_{i-j}$ is Toeplitz.",
        r"See $X_{\text{in}}$ and $T_{\text{max}}$.",
        r"In code, `a[a, B]` is nonsense, and $x[t, x]$ is not.",
        r"We get $d = \sum_i x_i + y_i$ and $z = x_i + y_i$.",
        r"$$f(q_1) \gg f(q) \Rightarrow f'(q_1) = 0$$",
        r"$$q = M(k_a + k_b) \xrightarrow{k_i \approx \mu_i} q = M(\mu_a + \mu_b)$$",
        r"$$p^\top r \gg r^\top p$$",
        r"It is almost always $a = b$.",
        r"Linear attention goes without the softmax; attention weights are then $$c = \sum_i v_i \alpha_i$$ "
        r"$$\alpha_i = k_i^\top q, i > 0$$",
        r"$$\bar x \approx \sum_i \lambda_i x_i \approx \lambda \sum_i x_i$$",
        r"$$\epsilon \sim \mathcal{N}(0, I)$$ and $$z \sim \mathcal{N}(0, 1)$$",
        r"$$f_a \gg f_i, \ i \notin \{a\}$$",
    ],
)
def test_what_is_right_is_left_alone(text: str) -> None:
    assert found(text) == []
