r"""Slips that show in a display as it stands, and what looks like one and is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from indicial import load_document


def said(folder: Path, *displays: str) -> list[tuple[str, str]]:
    """The errors and warnings about a document: their code, and what they point at first."""
    path = folder / "notes.md"
    path.write_text("\n\n".join(f"$${d}$$" for d in displays), encoding="utf-8")
    return [(m.code, m.span.text) for p in load_document(path) for m in p.mistakes]


SLIPS: dict[str, tuple[str, str, str]] = {
    "a state that a gate mixes with itself": (
        r"h_t = (1 - z_t) \odot h_{t} + z_t \odot \tilde{h}_t",
        "by-itself",
        "h_t",
    ),
    "a memory that is kept of itself": (
        r"c_t = f_t \odot c_t + i_t \odot \tilde{c}_t",
        "by-itself",
        "c_t",
    ),
    "a running mean of itself": (r"m_t = \beta_1 m_t + (1 - \beta_1) g_t", "by-itself", "m_t"),
    "a cross entropy without its logarithm": (
        r"L_{CE}(\hat y, y) = -(y\log\hat{y} + (1-y)(1-\hat{y}))",
        "usual-form",
        r"-(y\log\hat{y} + (1-y)(1-\hat{y}))",
    ),
    "a divergence with the other sign": (
        r"D_{KL} = \frac{1}{2} \sum_{j} (1 + \log \sigma_j^2 - \mu_j^2 - \sigma_j^2)",
        "usual-form",
        r"\frac{1}{2} \sum_{j} (1 + \log \sigma_j^2 - \mu_j^2 - \sigma_j^2)",
    ),
    "a variance that is a sum": (
        r"\sigma_B^2 = \sum_{i=1}^{m} (x_i - \mu_B)^2",
        "usual-form",
        r"\sum_{i=1}^{m} (x_i - \mu_B)^2",
    ),
    "an index that a sum was meant to run over": (
        r"L = -\sum_{j=1}^{N} y_i \log(\hat{y}_i)",
        "sum-index",
        "j",
    ),
    "the derivative of a softmax with one of its indices": (
        r"\frac{\partial p_i}{\partial z_j} = p_i (\delta_{ij} - p_i)",
        "usual-form",
        r"p_i (\delta_{ij} - p_i)",
    ),
    "the same without a Kronecker delta": (
        r"\frac{\partial p_i}{\partial z_j} = p_i (1 - p_j)",
        "usual-form",
        "p_i (1 - p_j)",
    ),
    "a parameter that is changed by the gradient of another": (
        r"w := w - \alpha \frac{\partial J}{\partial w}, \quad b := b - \alpha \frac{\partial J}{\partial w}",
        "usual-form",
        r"\frac{\partial J}{\partial w}",
    ),
    "a correction by the other decay": (
        r"v_t = \beta_2 v_{t-1} + (1 - \beta_2) g_t^2, \quad \hat{v}_t = \frac{v_t}{1 - \beta_1^t}",
        "usual-form",
        r"\beta_1^t",
    ),
    "the error of another layer": (
        r"\frac{\partial L}{\partial b^{(1)}} = \delta^{(1)}, \quad "
        r"\frac{\partial L}{\partial W^{(1)}} = \delta^{(2)} x^T",
        "usual-form",
        r"\delta^{(2)}",
    ),
    "a sum whose letter is not used": (
        r"x_{i+N} \approx x_i - \sum_{j=1}^N (\hat g_i - g(x))",
        "sum-index",
        "j",
    ),
    "arguments that the right side lacks": (
        r"k(x_i, x_j) = a^2 \exp(-\|x - x'\|^2)",
        "left-only",
        "k(x_i, x_j)",
    ),
    "a minus behind the logarithm": (r"h = E_y[\ln - P(y|z)]", "no-argument", r"\ln - P(y|z)"),
    "a lost square": (
        r"s_t = g_t^2 + \gamma g_{t-1}^2 + \gamma^2 g_{t-2} + \ldots",
        "lost-power",
        "g_{t-2}",
    ),
    "another letter": (
        r"s[n,\ell] = Q[n,\ell] - \mathbf{1}[y[n] = c]",
        "other-letter",
        "c",
    ),
    "a size and a tensor": (
        r"y[b,j] = \frac{1}{B} \sum_b x[b,j] - B[j]",
        "two-meanings",
        "B",
    ),
    "a letter that was not copied into a sum": (
        r"\alpha_{ij} = \frac{\exp(a^\top [h_i ; h_j ; e_{ij}])}{\sum_k \exp(a^\top [h_i ; h_j ; e_{ik}])}",
        "half-copied",
        "h_j",
    ),
    "the state of the wrong step": (
        r"\alpha_t(j) = \sum_{i=1}^N \alpha_{t-1}(j) a_{ij} b_j(o_t)",
        "half-copied",
        r"\alpha_{t-1}(j)",
    ),
    "an output given by itself": (r"o_t = \tanh(c_t) \odot o_t", "by-itself", "o_t"),
    "the letter of a sum before it": (
        r"L = \frac{1}{z} \sum_{z=1}^k a_z",
        "outside-its-sum",
        "z",
    ),
    "a lost root": (
        r"w_{t+1} = w_t - \eta \frac{\hat m_t}{\hat v_t + \epsilon}",
        "usual-form",
        r"\frac{\hat m_t}{\hat v_t + \epsilon}",
    ),
    "weights that add up to something else": (
        r"h_t = (1 - z_t) \odot h_{t-1} + (1 - z_t) \odot \tilde h_t",
        "usual-form",
        r"(1 - z_t) \odot h_{t-1} + (1 - z_t) \odot \tilde h_t",
    ),
    "a density that grows": (
        r"p(x) = \exp\left(\frac{1}{2} (x - m)^T S^{-1} (x - m)\right)",
        "usual-form",
        r"\exp\left(\frac{1}{2} (x - m)^T S^{-1} (x - m)\right)",
    ),
    "a lost accent": (
        r"\begin{aligned} s_t[i] &= \beta s_{t-1}[i] + \hat g_t[i]^2 \\ "
        r"x_{t+1}[i] &= x_t[i] - \frac{g_t[i]}{s_t[i]} \end{aligned}",
        "lost-accent",
        "g_t",
    ),
    "a label of the line above": (
        r"\begin{aligned} i_t &= \sigma(W_i x_t + U_i h_{t-1} + b_i) \\ "
        r"f_t &= \sigma(W_f x_t + U_f h_{t-1} + b_i) \end{aligned}",
        "copied-label",
        "b_i",
    ),
    "a step below without its braces": (
        r"h_t = \tanh(W x_t + U h_t-1)",
        "lost-brace",
        "h_t-1",
    ),
    "two letters below without their braces": (
        r"H_kl = \frac{1}{n} \sum_i p_{ik} p_{il}",
        "lost-brace",
        "H_kl",
    ),
    "a letter behind one that stands below alone, in a sum": (
        r"\alpha_{ij} = \frac{\exp(e_{ij})}{\sum_k \exp(e_ik)}",
        "lost-brace",
        "e_ik",
    ),
    "an index of the left side that is summed": (
        r"G_{i,j,n} = \sum_{m,n} K_{m,n} F_{i+m,j+n}", "left-summed", "n",
    ),
    "a sum that ends too early": (
        r"L = -\sum_i y_i \log p_i + (1 - y_i) \log(1 - p_i)", "sum-end", "y_i",
    ),
    "the end of a sum in the place of its letter": (
        r"H_t = \sum_{i=1}^t \frac{1}{t}", "idle-sum", "i",
    ),
    "a product whose letter is not used": (
        r"q = \prod_{s=1}^n \frac{u_{t+1}}{u_t}", "sum-index", "s",
    ),
    "a name without its time": (
        r"x_{t+1} = x_t - \eta \nabla f(x, \xi_t)", "lost-time", "x",
    ),
    "a letter that is summed and drawn": (
        r"L = \sum_\ell E_{z,\ell} \|z_\ell\|^2", "bound-twice", r"\ell",
    ),
    "another letter in the place of the left one": (
        r"c_t = \sum_j \alpha_{ij} h_j", "exchanged", r"\alpha_{ij}",
    ),
    "a term with another letter": (
        r"y_c(t) = C_{h b} h_b(t) + D_{c a} x_a(t)", "exchanged", "C_{h b}",
    ),
    "one index of two": (r"e_{ij} = \frac{q \cdot k_j}{\sqrt{d}}", "halved", "e_{ij}"),
    "weights of another gate": (
        r"\begin{aligned} \Gamma_f &= \sigma(W_f x_t + b_f) \\ \Gamma_o &= \sigma(W_f x_t + b_o) \end{aligned}",
        "copied-label", "W_f",
    ),
    "gates that nothing reads": (
        r"\begin{aligned} i_t &= \sigma(W_i [h_{t-1}, x_t] + b_i) \\ o_t &= \sigma(W_o [h_{t-1}, x_t] + b_o) \\"
        r" g_t &= \tanh(W_g [h_{t-1}, x_t] + b_g) \\ h_t &= o_t \odot g_t \end{aligned}",
        "unused-gate", r"h_t &= o_t \odot g_t",
    ),
    "the cell of the step before": (
        r"\begin{aligned} c_t &= f_t \odot c_{t-1} + i_t \odot g_t \\ h_t &= o_t \odot \tanh(c_{t-1}) \end{aligned}",
        "unused-gate", "c_{t-1}",
    ),
    "a letter that looks like another": (
        r"d(\mu_1, \mu_2) = \|u_1 - \mu_2\|^2", "look-alike", "u_1",
    ),
    "a recurrence in another case": (
        r"c_t = f_t \odot C_{t-1} + i_t \odot g_t", "look-alike", "C_{t-1}",
    ),
    "a difference of nothing": (r"\tau = \alpha_{TS} - \alpha_{TS}", "no-difference", r"\alpha_{TS} - \alpha_{TS}"),
    "an argument that is not used": (
        r"\text{Attention}(Q, K, V) = \text{softmax}(Q K^\top) W^V", "unused-argument", "V",
    ),
    "a softmax without its exponential below": (
        r"p_i = \frac{e^{x_i}}{\sum_j x_j}", "usual-form", r"\frac{e^{x_i}}{\sum_j x_j}",
    ),
    "two exponentials": (r"p = \text{softmax}(e^{z})", "usual-form", r"\text{softmax}(e^{z})"),
    "values below the line": (
        r"\text{Attention}(Q, K, V) = \frac{\text{softmax}(Q K^\top)}{V}", "usual-form",
        r"\frac{\text{softmax}(Q K^\top)}{V}",
    ),
    "scores without a transpose": (
        r"\text{Attention}(Q, K, V) = \text{softmax}(\frac{Q K}{\sqrt{d_k}}) V", "usual-form",
        r"\text{softmax}(\frac{Q K}{\sqrt{d_k}}) V",
    ),
    "a sigmoid of the other sign": (
        r"\sigma(x) = \frac{1}{1 + e^{x}}", "usual-form", r"\frac{1}{1 + e^{x}}",
    ),
    "a variance without a square": (
        r"\sigma^2 = \frac{1}{n} \sum_i (x_i - \mu)", "usual-form", r"\frac{1}{n} \sum_i (x_i - \mu)",
    ),
    "a loss without its minus": (
        r"\text{CE} = \sum_i y_i \log p_i", "usual-form", r"\sum_i y_i \log p_i",
    ),
    "a mean of two weights": (
        r"m_t = \beta_1 m_{t-1} + (1 - \beta_2) g_t", "usual-form", r"\beta_2",
    ),
    "a correction without its power": (
        r"\hat m_t = \frac{m_t}{1 - \beta_1}", "usual-form", r"\beta_1",
    ),
    "a penalty that is subtracted": (
        r"J = \|y - X w\|^2 - \lambda \|w\|^2", "usual-form", r"\|w\|^2",
    ),
    "a determinant of another matrix": (
        r"\ell = -\frac{1}{2} y^\top (K + S)^{-1} y - \frac{1}{2} \log |K|", "usual-form", "K",
    ),
    "a gate beside the matrix": (
        r"\text{FFN}(x) = W_2 \text{SiLU}(W_1 x) \odot W_3 x", "usual-form", "W_2",
    ),
    "gradients with their factors exchanged": (
        r"\begin{aligned} Y &= W X \\ \frac{\partial L}{\partial X} &= \frac{\partial L}{\partial Y} W^T \end{aligned}",
        "usual-form", r"\frac{\partial L}{\partial Y} W^T",
    ),
    "a column behind a row": (
        r"G = \sum_t \delta_t \cdot h_{t-1}^T \cdot (1 - h_t^2)", "usual-form",
        r"\delta_t \cdot h_{t-1}^T \cdot (1 - h_t^2)",
    ),
    "a state in another case": (
        r"\begin{aligned} o_t &= \sigma(W_o x_t + V_o c_{t-1}) \\ C_t &= f_t \odot C_{t-1} + i_t \odot g_t \\"
        r" h_t &= o_t \odot \tanh(C_t) \end{aligned}",
        "look-alike", "c_{t-1}",
    ),
    "a norm without its square": (
        r"\|a\|^2 = \|b\| = \|c\|^2", "lost-power", r"\|b\|",
    ),
    "an argument with another index": (
        r"g(w_t, r) = \log \sum_v \exp(v^\top r) - w_i^\top r", "exchanged", r"w_i^\top",
    ),
    "an example and the target of another": (
        r"\begin{aligned} A &= \sum_k J(W, x^{(k)}, y^{(k)}) \\ B &= \sum_k K(W, x^{(k)}, y^{(k)}) \\"
        r" c_i &= \sum_k M(b_i, x^{(k)}, y^{(i)}) \end{aligned}",
        "exchanged", "y^{(i)}",
    ),
    "a sum of what has no index": (
        r"L = \frac{1}{T} \sum_{t=1}^T |S - \hat S|", "idle-sum", "t",
    ),
    "another name below than above": (
        r"\gamma_{jk} = \frac{a_k \phi(y_j|\theta_k)}{\sum_l a_l \theta(y_j|\theta_l)}", "half-copied", r"\phi",
    ),
    "another index below than above": (
        r"p(u_k | u_i) = \frac{\exp(s(u_k, u_j))}{\sum_{u'} \exp(s(u', u_i))}", "half-copied", "u_j",
    ),
    "a weight without its step": (
        r"w^{t+1} = w^t - \eta \sum_i (\sigma(w x_i) - y_i) x_i", "lost-index", "w",
    ),
    "a derivative without its sign": (
        r"\frac{\partial L}{\partial h} = \frac{\partial L}{y} \frac{\partial y}{\partial h}", "lost-slope", "y",
    ),
    "a derivative with another index": (
        r"\frac{\partial C}{\partial b_j} = \frac{\partial C}{\partial z_k}", "slope-index", "z_k",
    ),
    "a derivative by an element": (
        r"\frac{\partial z_i}{\partial W_{ij}} = a_i", "slope-index", "a_i",
    ),
    "a name that nothing defines beside one that nothing reads": (
        r"\begin{aligned} \alpha_{ij} &= \exp(e_{ij}) \\ c_i &= \sum_j a_{ij} v_j \end{aligned}",
        "look-alike", "a_{ij}",
    ),
    "the step before of another letter": (
        r"S_n = \gamma_n S_{t-1} + k_n", "exchanged", "S_{t-1}",
    ),
    "the largest value for a class": (
        r"\hat y = \max_k P(k | x)", "usual-form", r"\max_k P(k | x)",
    ),
    "a function of another letter": (
        r"\sigma(x) = \frac{1}{1 + e^{-z}}", "usual-form", "x",
    ),
    "a turned sign of a clipped ratio": (
        r"q = \text{clip}(r, 1 - \epsilon, 1 - \epsilon) A", "usual-form",
        r"\text{clip}(r, 1 - \epsilon, 1 - \epsilon)",
    ),
    "noise without its root": (
        r"x_t = \sqrt{a_t} x_0 + (1 - a_t) \epsilon", "usual-form", r"\sqrt{a_t} x_0 + (1 - a_t) \epsilon",
    ),
    "the rule of Bayes turned": (
        r"P(a|b) = \frac{P(b|a) P(b)}{P(a)}", "usual-form", r"\frac{P(b|a) P(b)}{P(a)}",
    ),
}  # fmt: skip

SOUND = (
    r"h_t = (1 - z_t) \odot h_{t-1} + z_t \odot \tilde{h}_t",
    r"c_t = f_t \odot c_{t-1} + i_t \odot \tilde{c}_t",
    r"h_t = (1 - g_t) \odot x_t + g_t \odot y_t",
    r"-D_{KL} = \frac{1}{2} \sum_{j} (1 + \log \sigma_j^2 - \mu_j^2 - \sigma_j^2)",
    r"\sigma^2 = \sum_i p_i (x_i - \mu)^2",
    r"\alpha_{ij} = \mathrm{softmax}_j(e_{ij}) = \frac{\exp(e_{ij})}{\sum_k \exp(e_{ik})}",
    r"\frac{\partial p_i}{\partial z_j} = p_j (\delta_{ij} - p_i)",
    r"\frac{\partial p_i}{\partial z_i} = p_i (1 - p_i)",
    r"\frac{\partial y_k}{\partial a_j} = y_k (I_{kj} - y_j)",
    r"\theta := \theta - \alpha \frac{\partial J}{\partial \theta_j}",
    r"m_t = \beta_1 m_{t-1} + (1 - \beta_1) g_t, \quad \hat{m}_t = \frac{m_t}{1 - \beta_1^t}",
    r"\frac{\partial L}{\partial b^{(1)}} = \delta^{(1)}, \quad "
    r"\frac{\partial L}{\partial W^{(1)}} = \delta^{(1)} x^T",
    r"L = \frac{1}{T} \sum_{t=1}^T |S_t - \hat S_t|",
    r"V = E_{x \sim p}[\log D(x)] + E_{z \sim q}[\log(1 - D(G(z)))]",
    r"c = \sum_{i=1}^n \sum_{j=i}^m x_{ji}",
    r"p(u_k | u_i) = \frac{\exp(s(u_k, u_i))}{\sum_{u'} \exp(s(u', u_i))}",
    r"m = \frac{1}{N} \sum_{i=0}^{N-1} x_i",
    r"w^{t+1} = w^t - \eta \frac{\partial L}{\partial w}",
    r"\frac{\partial J}{\partial v} = \frac{\partial J}{\partial \theta} \frac{\partial \theta}{\partial v}",
    r"\frac{\partial z_i}{\partial W_{ij}} = a_j",
    r"\begin{aligned} \alpha_{ij} &= \exp(e_{ij}) \\ c_i &= \sum_j \alpha_{ij} v_j \end{aligned}",
    r"S_n = \gamma_n S_{n-1} + k_n",
    r"\hat y = \text{argmax}_k P(k | x)",
    r"x_t = \sqrt{a_t} x_0 + \sqrt{1 - a_t} \epsilon",
    r"P(a|b) = \frac{P(b|a) P(a)}{P(b)}",
    r"\alpha_t = \frac{\exp(h_t^\top W h_t)}{\sum_i \exp(h_t^\top W h_i)}",
    r"\begin{aligned} h_n &= 0 \\ h_t &= a_t h_{t+1} + b_t \\ y_t &= c_t h_t \end{aligned}",
    r"L = \sum_i (y_i - y_1 - y_2)",
    r"w_t = w_t - \eta g_t",
    r"k = \exp\left(-\frac{\|x - y\|^2}{2 \sigma^2}\right)",
    r"w_{t+1} = w_t - \eta \frac{\hat m_t}{\sqrt{\hat v_t} + \epsilon}",
    r"y_t = h_t-1",
    r"c_j = \sum_i a_{ij} x_i",
    r"x_{i+N} \approx x_i - \sum_{j=1}^N (\hat g_j - g(x))",
    r"s = \sum_{j=1}^N c",
    r"k(x_i, x_j) = a^2 \exp(-\|x_i - x_j\|^2)",
    r"k(x, x') = a^2 \exp(-\|x - x'\|^2)",
    r"h = E_y[-\ln P(y|z)]",
    r"s_t = g_t^2 + \gamma g_{t-1}^2 + \gamma^2 g_{t-2}^2 + \ldots",
    r"s_t = g_t + \gamma g_{t-1} + \gamma^2 g_{t-2} + \ldots",
    r"q = \prod_{m \in N(n), k \neq m} z_m w_k",
    r"s[n,\ell] = Q[n,\ell] - \mathbf{1}[\ell = y[n]]",
    r"y[b,j] = \frac{1}{B} \sum_b x[b,j] - C[j]",
    r"\hat g_t[i] = g_t[i] + n_t[i]",
    r"\begin{aligned} i_t &= \sigma(W_i x_t + b_i) \\ f_t &= \sigma(W_f x_t + b_f) \end{aligned}",
    r"\begin{aligned} q_t &= W_q x_t + b \\ k_t &= W_k x_t + b \end{aligned}",
    r"a = \sum_i q_i k_i / \sqrt{d_k}",
    r"L = -\sum_i y_i \log \hat y_i",
    r"z_i = \sum_j w_{ij} a_j + b_i",
    r"G_{i,j,n} = \sum_{m,k} K_{m,k,n} F_{i+m,j+k}",
    r"m_{ij} = \frac{(\sum_j x_{ij}) (\sum_i x_{ij})}{\sum_{i,j} x_{ij}}",
    r"L = -\sum_i (y_i \log p_i + (1 - y_i) \log(1 - p_i))",
    r"L_i = \sum_j a_j + b_i",
    r"H_t = \sum_{i=1}^t \frac{1}{i}",
    r"m = \sum_{i=1}^n \frac{1}{n} = 1",
    r"h_{-1} = 0",
    r"x_{t+1} = x_t - \eta \nabla f(x_t, \xi_t)",
    r"x_{t+1} = x_t - \eta \nabla f(x)",
    r"c_t = \sum_j \alpha_{tj} h_j",
    r"c_i = \sum_j \alpha_{ij} h_j",
    r"y_c(t) = C_{c b} h_b(t) + D_{c a} x_a(t)",
    r"h_t = W x_t + b_i",
    r"\overleftarrow{h}_t = \tanh(W x_t + U \overleftarrow{h}_{t+1})",
    r"\overleftarrow{h}_t = \tanh(W x_{n+1-t} + U \overleftarrow{h}_{t-1})",
    r"\overrightarrow{h}_t = \tanh(W x_t + U \overrightarrow{h}_{t-1})",
    r"e_{ij} = x_i W^Q (x_j W^K)^T + x_i W^Q (a_{ij})^T",
    r"e_{ij} = \frac{q_i \cdot k_j}{\sqrt{d}}",
    r"w_{ij} = f(x_j)",
    r"\begin{aligned} \Gamma_f &= \sigma(W_f x_t + b_f) \\ \Gamma_o &= \sigma(W_o x_t + b_o) \end{aligned}",
    r"\begin{aligned} i_t &= \sigma(W_i h_{t-1} + b_i) \\ o_t &= \sigma(W_o h_{t-1} + b_o) \end{aligned}",
    r"\begin{aligned} c_t &= f_t \odot c_{t-1} + i_t \odot g_t \\ h_t &= o_t \odot \tanh(c_t) \end{aligned}",
    r"d(\mu_1, \mu_2) = \|\mu_1 - \mu_2\|^2",
    r"C_t = f_t \odot C_{t-1} + i_t \odot c_t",
    r"\alpha_{TS} - \alpha_{TS} = 0",
    r"\text{Attention}(Q, K, V) = \text{softmax}(Q K^\top) V",
    r"p_i = \frac{e^{x_i}}{\sum_j e^{x_j}}",
    r"p_i = \frac{x_i}{\sum_j x_j}",
    r"\sigma(x) = \frac{1}{1 + e^{-x}} = \frac{e^x}{1 + e^x}",
    r"\mu = \frac{1}{n} \sum_i (x_i - c)",
    r"\text{CE} = -\sum_i y_i \log p_i",
    r"\text{CE} = \sum_i y_i \log \frac{1}{p_i}",
    r"\ell(\theta) = \sum_i y_i \log p_i",
    r"m_t = \beta_1 m_{t-1} + (1 - \beta_1) g_t",
    r"x_t = a_t x_{t-1} + (1 - b_t) u_t",
    r"\hat m_t = \frac{m_t}{1 - \beta_1^t}",
    r"J = \|y - X w\|^2 + \lambda \|w\|^2",
    r"\ell = -\frac{1}{2} y^\top (K + S)^{-1} y - \frac{1}{2} \log |K + S|",
    r"\text{FFN}(x) = W_2 (\text{SiLU}(W_1 x) \odot W_3 x)",
    r"\begin{aligned} Y &= W X \\ \frac{\partial L}{\partial X} &= W^T \frac{\partial L}{\partial Y} \end{aligned}",
    r"\begin{aligned} Y &= X W + b \\ \frac{\partial L}{\partial X} &= \frac{\partial L}{\partial Y} W^T \end{aligned}",
    r"G = \sum_t (1 - h_t^2) \delta_t h_{t-1}^T",
    r"\|a\|^2 = \|b\|^2 = \|c\|^2",
    r"g(w_t, r) = \log \sum_i \exp(w_i^\top r) - w_t^\top r",
)


@pytest.mark.parametrize("case", SLIPS)
def test_found(case: str, tmp_path: Path) -> None:
    display, code, place = SLIPS[case]
    assert said(tmp_path, display) == [(code, place)]


@pytest.mark.parametrize("display", SOUND)
def test_silent(display: str, tmp_path: Path) -> None:
    assert said(tmp_path, display) == []


def test_a_letter_above_a_weight_that_is_its_own_index(tmp_path: Path) -> None:
    rows = r"a[k,t] = x[t,J] W^{Q}[k,I,J] W^{%s}[k,I], \quad b[k,j] = W^{Q}[k,I,j] W^{%s}[k,I]"
    assert said(tmp_path, rows % ("K", "k")) == [("similar-names", "W^{k}[k,I]")]
    assert said(tmp_path, rows % ("K", "K")) == []
    assert said(tmp_path, rows % ("V", "k")) == []


def test_a_changed_state_that_reads_an_input_of_another_size(tmp_path: Path) -> None:
    gate = r"G[t,j] = \sigma(W^{h,G}[j,I] h[t-1,I] + W^{x,G}[j,K] x[t,K])"
    cell = r"h[t,j] = G[t,j] h[t-1,j] + \tanh(W^{h,R}[j,I] h'[t,I] + W^{x,R}[j,K] x[t,K])"
    assert said(tmp_path, gate, "h'[t,j] = G[t,j] x[t,j]", cell) == [("sizes-joined", "x[t,j]")]
    assert said(tmp_path, gate, "h'[t,j] = G[t,j] h[t-1,j]", cell) == []
    # A highway network has one size for both, and says so only here.
    assert said(tmp_path, gate, "y[t,j] = G[t,j] x[t,j]", cell.replace("h'[t,I]", "y[t,I]")) == []


def test_a_name_with_a_word_below_is_no_misspelt_function(tmp_path: Path) -> None:
    clipped = r"W.\text{grad}' = n_{\max} W.\text{grad}/\|W.\text{grad}\|"
    assert said(tmp_path, clipped) == []
    path = tmp_path / "notes.md"
    assert not [skipped for program in load_document(path) for skipped in program.skipped]


def test_sizes_that_fit_if_a_factor_is_transposed(tmp_path: Path) -> None:
    rows = r"C \in \mathbb{R}^{N \times D}, \quad h_t \in \mathbb{R}^N"
    assert said(tmp_path, rows, "y_t = C h_t") == [("sizes", "C h_t")]
    assert said(tmp_path, rows, r"y_t = C^\top h_t") == []
    # Two names of one size: nothing fits, so that nothing is certain.
    other = r"C \in \mathbb{R}^{N \times D}, \quad h_t \in \mathbb{R}^E"
    assert said(tmp_path, other, "y_t = C h_t") == []


def test_an_index_that_all_else_has(tmp_path: Path) -> None:
    first = r"L = \sum_j \log p(y_j), \quad M = \sum_j y_j"
    assert ("lost-index", "y") in said(tmp_path, first, r"K = \sum_j (y - \mu_j)^2")
    assert said(tmp_path, first, r"K = \sum_j (y_j - \mu_j)^2") == []


def test_a_repeated_slip_is_told_once(tmp_path: Path) -> None:
    rows = r"\begin{aligned} L &= -\sum_i y_i a_i + y_i b_i \\ M &= -\sum_i y_i a_i + y_i b_i + 1 \end{aligned}"
    assert [code for code, _ in said(tmp_path, rows)].count("sum-end") == 1
