r"""Displays as people write them: each name with its axes and the sums, or left outside with a reason.

The cases are classes of mistakes that a reader of notes once made, in words of our own.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bench.notes.reading import Reading, reading
from indicial import load_document


def readings(folder: Path, *displays: str) -> list[Reading]:
    """How each display of a document is read."""
    text = "\n\n".join(d if d.startswith(("#", "Here")) else f"$${d}$$" for d in displays)
    path = folder / "notes.md"
    path.write_text(text, encoding="utf-8")
    programs = load_document(path)
    places = [m.span() for m in re.finditer(r"\$\$.+?\$\$", text, re.DOTALL)]
    return [reading(programs, *place, str(path)) for place in places]


READ: dict[str, tuple[str, dict[str, int], int]] = {
    "a matrix that a product of rows is added to": (
        r"\boldsymbol{S}_t = \boldsymbol{G}_t \odot \boldsymbol{S}_{t-1} + \boldsymbol{k}_t^\top \boldsymbol{v}_t",
        {"S": 3, "G": 3, "k": 2, "v": 2},
        0,
    ),
    "the same in plain letters": (
        r"M_t = M_{t-1} + \phi(k_t)^\top v_t",
        {"M": 3, "k": 2, "v": 2},
        0,
    ),
    "a letter of a sum above several names": (
        r"\mathbf{q}_i = \tanh\left(\sum_{r \in R} \mathbf{U}^r \mathbf{z}_i^r\right)",
        {"q": 2, "U": 3, "z": 3},
        2,
    ),
    "a matrix of expressions": (
        r"\mathbf{R} = \begin{bmatrix} 0 & 1 \\ -k/m & -b/m \end{bmatrix}",
        {"R": 2, "k": 0, "m": 0, "b": 0},
        0,
    ),
    "a rotation that is written out": (
        r"\begin{bmatrix} u \\ v \end{bmatrix} = \begin{bmatrix} \cos\theta & -\sin\theta \\ \sin\theta & \cos\theta"
        r" \end{bmatrix} \begin{bmatrix} x_1 - c_1 \\ x_2 \end{bmatrix}",
        {"u": 0, "v": 0, "θ": 0, "x_1": 0, "x_2": 0, "c_1": 0},
        0,
    ),
    "a list of so many numbers": (
        r"\mathbf{z}_i = [e_i, y_i, q_i]",
        {"z": 2, "e": 1, "y": 1, "q": 1},
        0,
    ),
    "steps above what is predicted": (
        r"P(y^{(t)} \mid y^{(1)}, \ldots, y^{(t-1)}, X) = \mathrm{softmax}(W r^{(t)} + b)",
        {"P": 2, "W": 2, "r": 2, "b": 1},
        1,
    ),
    "a long arrow": (
        r"\tilde{\mathbf{M}}_t \longleftarrow \mathbf{M}_{t-1} - \mathbf{w}_t \mathbf{e}_t^\top",
        {"M̃": 3, "M": 3, "w": 2, "e": 2},
        0,
    ),
    "the length of a step before a matrix": (
        r"\bar{\mathbf{B}} = (\mathbf{I} - \Delta/2 \, \mathbf{A})^{-1} \cdot \Delta \mathbf{B}",
        {"B̄": 2, "Δ": 0, "A": 2, "B": 2},
        1,
    ),
    "a letter that a sum ends at": (
        r"W_b = W_0 - 2 \eta \sum_{t=1}^b u_t x_t^T",
        {"W": 3, "W_0": 2, "η": 0, "u": 2, "x": 2},
        1,
    ),
    "so many ones": (r"\mathbf{D} = \mathrm{diag}(\mathbf{A} \mathbf{1}_L)", {"D": 2, "A": 2}, 1),
    "an arrow for a label": (
        r"\mathrm{Att}_{\leftrightarrow}(\mathbf{Q}, \mathbf{A}) = \mathbf{Q} \mathbf{A}",
        {"Att_→": 2, "Q": 2, "A": 2},
        1,
    ),
    "a hyphen in a label": (
        r"\mathbf{s}_i = H^{(arc\text{-}head)} U \mathbf{h}_i^{(arc\text{-}dep)}",
        {"s": 2, "H^{(arc-head)}": 2, "U": 2, "h^{(arc-dep)}": 2},
        2,
    ),
    "places in round brackets, a step off": (
        r"\alpha(t, u) = \alpha(t-1, u) r(t-1, u) + \alpha(t, u-1) q(t, u-1)",
        {"α": 2, "r": 2, "q": 2},
        0,
    ),
    "two places in angles above a name": (
        r"u^{<p>} = \sum_{q} \beta^{<p,q>} v^{<q>}",
        {"u": 1, "β": 2, "v": 1},
        1,
    ),
    "shares with two places in angles": (
        r"\beta^{<p,q>} = \frac{\exp(r^{<p,q>})}{\sum_{q'=1}^{n} \exp(r^{<p,q'>})}",
        {"β": 2, "r": 2},
        1,
    ),
    "gradients that have a d before the letter": (
        r"\begin{aligned} du^{[l]} &= dr^{[l]} * \sigma'(u^{[l]}) \\ dM^{[l]} &= du^{[l]} r^{[l-1]T} \\"
        r" dr^{[l-1]} &= M^{[l]T} du^{[l]} \end{aligned}",
        {"du": 2, "dr": 2, "u": 2, "dM": 3, "r": 2, "M": 3},
        1,
    ),
    "a loss of one step, of arguments with the same step": (
        r"\mathcal{L}^{<t>}(\hat{z}^{<t>}, z^{<t>}) = -z^{<t>} \log \hat{z}^{<t>}",
        {"ℒ": 1, "z": 1, "ẑ": 1},
        0,
    ),
    "a place that is left open is the one of the softmax": (
        r"\beta_{mn} = \mathrm{softmax}_m\left[\mathbf{r}_\bullet^T \mathbf{u}_n\right]",
        {"β": 2, "r": 2, "u": 2},
        1,
    ),
    "square brackets around bold names call a function": (
        r"b[\mathbf{u}_m, \mathbf{u}_n] = \mathbf{r}_m^T \mathbf{z}_n",
        {"b": 2, "r": 2, "z": 2},
        1,
    ),
    "a function of a matrix, and a row of ones": (
        r"\mathbf{R}[\mathbf{U}] = \boldsymbol{\alpha} \mathbf{1}^T + \boldsymbol{\Phi} \mathbf{U}",
        {"R": 2, "α": 1, "Φ": 2, "U": 2},
        1,
    ),
    "a name that carries indices into brackets": (
        r"M_k = \sum_{n=1}^N \rho(s_{nk})",
        {"M": 1, "ρ": 2},
        1,
    ),
    "a column of a matrix": (
        r"u_i = \tanh(\boldsymbol{z}^\top \boldsymbol{M}_{:,i} + r_i)",
        {"u": 1, "z": 1, "M": 2, "r": 1},
        1,
    ),
    "a sign that joins what brackets join beside it": (
        r"\mathbf{r}_t = [\mathbf{u}_t ; \mathbf{v}_t] = \mathbf{u}_t \oplus \mathbf{v}_t",
        {"r": 2, "u": 2, "v": 2},
        0,
    ),
    "remarks behind rows, set small or behind a semicolon": (
        r"\begin{aligned} \mathbf{r}_t &= \sum_{i=1}^n \beta_{t,i} \mathbf{u}_i & \small{\text{; what } t"
        r" \text{ reads}} \\ \mathbf{z}_t &= \tanh(\mathbf{r}_t) & \text{; its value, with } \mathbf{r}_t"
        r" \end{aligned}",
        {"r": 2, "β": 2, "u": 2, "z": 2},
        1,
    ),
    "words below a brace without braces": (
        r"L = \underbrace{\frac{1}{N} \sum_i r_i}_\text{of the data} + \underbrace{\lambda \sum_j"
        r" m_j^2}_\text{of the weights}",
        {"L": 0, "N": 0, "r": 1, "λ": 0, "m": 1},
        2,
    ),
    "cases behind a brace in aligned rows": (
        r"\begin{aligned} M_{nm} = \left\{ \begin{aligned} &\rho^{n-m}, &n \ge m \\ &0, &n < m \end{aligned}"
        r" \right. \end{aligned}",
        {"M": 2, "ρ": 0},
        0,
    ),
    "Chinese words right behind an equation": (
        r"u_t = \tanh(M z_t) \text{输入门}",
        {"u": 2, "M": 2, "z": 2},
        1,
    ),
    "a guard behind a semicolon": (
        r"r_i = M u_i; \quad \forall i \le n",
        {"r": 2, "M": 2, "u": 2, "n": 0},
        1,
    ),
    "ranges behind a semicolon": (
        r"d_t(j) = \operatornamewithlimits{argmax}_{i=1}^N r_{t-1}(i) m_{ij}; \quad 1 \le j \le N, 1 < t \le T",
        {"d": 2, "r": 2, "m": 2},
        0,
    ),
    "a condition behind s.t. below a sum": (
        r"g_k = \sum_{t=1\,s.t.\,o_t=k}^T \rho_t",
        {"g": 1, "o": 1, "ρ": 1},
        1,
    ),
    "the probability of one of two values": (
        r"P(z = 1) = \sigma(\mathbf{m} \cdot \mathbf{u} + r)",
        {"P": 0, "m": 1, "u": 1, "r": 0},
        1,
    ),
    "the probability that one of several is 1": (
        r"p(\mathbf{z}_k = 1 | \mathbf{u}) = \frac{\exp(\mathbf{m}_k \cdot \mathbf{u} + r_k)}{\sum_{j=1}^K"
        r" \exp(\mathbf{m}_j \cdot \mathbf{u} + r_j)}",
        {"p": 1, "m": 2, "u": 1, "r": 1},
        3,
    ),
    "a log probability that is written out": (
        r"L = -\log p(z | u) = -\left[z \log \hat{z} + (1 - z) \log(1 - \hat{z})\right]",
        {"L": 0, "z": 0, "ẑ": 0},
        0,
    ),
    "a function that is a second name of what is computed": (
        r"A_l(z) = V' = \mathrm{softmax}\left(\frac{QK^T}{\sqrt{D}}\right)V",
        {"V'": 2, "Q": 2, "K": 2, "V": 2},
        2,
    ),
    "a table that is written as a function of vectors": (
        r"\mathrm{score}(\mathbf{u}_i, \mathbf{u}_j) = \frac{\mathbf{q}_i \cdot \mathbf{k}_j}{\sqrt{d}}",
        {"score": 2, "q": 2, "k": 2},
        1,
    ),
    "what holds for all, behind a colon": (
        r"\mathbf{r}_t = \sum_{i=1}^N m_t(i) \mathbf{U}_t(i), \forall i: 0 \leq m_t(i) \leq 1",
        {"r": 2, "m": 2, "U": 3},
        1,
    ),
    "numbers right behind letters": (
        r"y = \tanh(w1 * x1 + w2 * x2)",
        {"y": 0, "w_1": 0, "x_1": 0, "w_2": 0, "x_2": 0},
        0,
    ),
    "a script letter below": (
        r"\mu_\mathcal{B} = \frac{1}{m} \sum_{i=1}^m x_i",
        {"μ_ℬ": 0, "x": 1},
        1,
    ),
    "a normaliser with two letters of the left": (
        r"T_{ijpq} = \frac{\exp(Q_{ij} K_{pq})}{\sum_{p,q} \exp(Q_{ij} K_{pq})}",
        {"T": 4, "Q": 2, "K": 2},
        2,
    ),
    "sums over the letters of the left, beside them": (
        r"m_{ij} = \frac{(\sum_j x_{ij}) (\sum_i x_{ij})}{\sum_{i,j} x_{ij}}",
        {"m": 2, "x": 2},
        4,
    ),
    "a place in round brackets that is summed beside it": (
        r"b_j(k) = \frac{\sum_{t=1}^{T-1} \xi_t(j, k)}{\sum_{t=1}^{T-1} \sum_k \xi_t(j, k)}",
        {"b": 2, "ξ": 3},
        3,
    ),
    "an index on one side": (r"\hat\mu_i = \frac{1}{n} \sum_{j=1}^n r_j", {"μ̂": 1, "r": 1}, 1),
    "a number of examples that only one side has": (
        r"\mathbf{p}^{(i)} = \tanh(\mathbf{W} \mathbf{h} + \mathbf{b})",
        {"p": 2, "W": 2, "h": 1, "b": 1},
        1,
    ),
    "a step that nothing runs over": (
        r"J = \lVert A z_t - y_t \rVert^2",
        {"J": 1, "A": 2, "z": 2, "y": 2},
        2,
    ),
    "two of many": (
        r"\mathbf{m} = \mu \mathbf{u}_i + (1 - \mu) \mathbf{u}_j",
        {"m": 1, "μ": 0, "u": 2},
        0,
    ),
    "words given by their letters": (
        r"z_o = p(o \mid c) = \frac{\exp(a_o^\top e_c)}{\sum_w \exp(a_w^\top e_c)}",
        {"z": 1, "a": 2, "e": 2},
        3,
    ),
    "a gate that has the letter of an index": (
        r"i_t = \sigma(U_i x_t + c_i)",
        {"i": 2, "U_i": 2, "x": 2, "c_i": 1},
        1,
    ),
    "a mean over a set": (
        r"L = \frac{1}{|\mathcal{B}|} \sum_{i \in \mathcal{B}} (y_i - p_i)^2",
        {"L": 0, "y": 1, "p": 1},
        1,
    ),
    "the best of a set": (r"f_w = \arg\max_{c \in \mathcal{F}} p_{w,c}", {"f": 1, "p": 2}, 0),
    "all members of a set": (
        r"p_k = \frac{e^{z_k}}{\sum_{j \in \mathcal{C}} e^{z_j}}, \quad k \in \mathcal{C}",
        {"p": 1, "z": 1},
        1,
    ),
    "letters set upright": (
        r"c_t = \mathrm{f}_{\mathrm{t}} \odot c_{t-1} + i_t \odot \tilde c_t",
        {"c": 2, "f": 2, "i": 2, "c̃": 2},
        0,
    ),
    "the last state of a text with a length of its own": (
        r"s_0 = \tanh(W_s [\overrightarrow{h}_{T_x}; \overleftarrow{h}_1])",
        {"s_0": 1, "W_s": 2, "h⃗": 2, "h⃖": 2},
        1,
    ),
    "the slope of an activation": (
        r"\delta_i = (W_{i+1}^\top \delta_{i+1}) \circ s'(W_i h_{i-1})",
        {"δ": 2, "W": 3, "h": 2},
        2,
    ),
    "labels by letters, one of which people number with": (
        r"\mathbf{H}^q = \mathbf{H} \mathbf{W}^q, \quad \mathbf{H}^k = \mathbf{H} \mathbf{W}^k",
        {"H^q": 2, "H^k": 2, "H": 2, "W^q": 2, "W^k": 2},
        2,
    ),
    "a bar for a size in a logarithm": (
        r"y_t = \frac{\ln(1 + \mu |x_t|)}{\ln(1 + \mu)}",
        {"y": 1, "x": 1, "μ": 0},
        0,
    ),
    "vectors joined by a bar": (
        r"f_t = \sigma(W_f \cdot [h_{t-1} \mid x_t] + b_f)",
        {"f": 2, "W_f": 2, "h": 2, "x": 2, "b_f": 1},
        1,
    ),
    "vectors joined by a circled plus": (
        r"s_{ij} = \mathbf w^\top [\mathbf h_i \oplus \mathbf h_j] + b",
        {"s": 2, "w": 1, "h": 2, "b": 0},
        1,
    ),
    "what a matrix multiplies, joined in round brackets": (
        r"f_t = \sigma(W_f (h_{t-1} \Vert x_t) + b_f)",
        {"f": 2, "W_f": 2, "h": 2, "x": 2, "b_f": 1},
        1,
    ),
    "a head of names that stand elsewhere": (
        r"J(W, b; x, y) = \frac12 \sum_{i=1}^n (a_i - y_i)^2",
        {"J": 0, "a": 1, "y": 1},
        1,
    ),
    "the probability of each value": (
        r"P(y = k \mid x) = \frac{e^{z_k}}{\sum_{j=1}^K e^{z_j}}",
        {"P": 1, "z": 1},
        1,
    ),
    "the probability of one": (
        r"P(y = 1 \mid x) = \sigma(w^\top x + b)",
        {"P": 0, "w": 1, "x": 1, "b": 0},
        1,
    ),
    "all of one x": (
        r"p_k(x) = \frac{\exp(z_k(x))}{\sum_{j=1}^K \exp(z_j(x))}",
        {"p": 1, "z": 1},
        1,
    ),
    "cases of even numbers": (
        r"u_j = \begin{cases} a_j & \text{if } j \text{ is even} \\ b_j & \text{if } j \text{ is odd} \end{cases}",
        {"u": 1, "a": 1, "b": 1},
        0,
    ),
    "otherwise, in French": (
        r"M_{ij} = \begin{cases} 0 \text{ si } i \ge j \\ c_{ij} \text{ sinon.} \end{cases}",
        {"M": 2, "c": 2},
        0,
    ),
    "the least of several rows": (
        r"D_{i,j} = \min \begin{cases} D_{i-1,j} + 1 \\ D_{i,j-1} + 1 \\ D_{i-1,j-1} + c_{ij} \end{cases}",
        {"D": 2, "c": 2},
        0,
    ),
    "a prime behind brackets": (
        r"\delta^{(l)} = (W^{(l+1)})' \delta^{(l+1)}",
        {"δ": 2, "W": 3},
        1,
    ),
    "a quotient element by element": (r"y = x \oslash (z + 1)", {"y": 1, "x": 1, "z": 1}, 0),
    "a maximum in plain braces": (
        r"f(x) = w^\top max{0, W^\top x + c} + b",
        {"f": 0, "w": 1, "W": 2, "x": 1, "c": 1, "b": 0},
        2,
    ),
    "as many as there are": (
        r"J = -\frac1T \sum_{t=1}^T \sum_{j=1}^{|V|} y_{t,j} \log q_{t,j}",
        {"J": 0, "y": 2, "q": 2},
        2,
    ),
    "pairs below a sum": (
        r"L = \sum_{(u,i)} w_{ui} (r_{ui} - q_{ui})^2 + \lambda (\|P\|^2 + \|Q\|^2)",
        {"L": 0, "w": 2, "r": 2, "q": 2, "λ": 0, "P": 2, "Q": 2},
        6,
    ),
    "a condition behind a colon": (
        r"c_k = \frac{1}{n_k} \sum_{i: y_i = k} x_i",
        {"c": 1, "n": 1, "y": 1, "x": 1},
        1,
    ),
    "a window around a place": (
        r"r_i = \sum_{-c \le j \le c, j \ne 0} x_{i+j}",
        {"r": 1, "x": 1},
        1,
    ),
    "pairs in an order": (r"J = \sum_{1 \le i < j \le n} a_{ij}", {"J": 0, "a": 2}, 2),
    "what stands behind a matrix": (
        r"\hat Y = X \beta + \epsilon",
        {"Y\u0302": 1, "X": 2, "β": 1, "ε": 1},
        1,
    ),
    "the last states of both directions": (
        r"h_f = [\overrightarrow{h}_T ; \overleftarrow{h}_1]",
        {"h_f": 1, "h⃗": 2, "h⃖": 2},
        0,
    ),
    "a range behind the value": (
        r"\mathbf c_t = \tanh(\mathbf x_t \mathbf W_c) \in [-1, 1]^2",
        {"c": 2, "x": 2, "W_c": 2},
        1,
    ),
    "shown on a slide": (
        r"\visible<2->{w_i^\top v_j + b_i = \alert{\log X_{ij}}}",
        {"w": 2, "v": 2, "b": 1, "X": 2},
        1,
    ),
    "brackets of a factor": (
        r"L = \sum_j \sum_k \gamma_{jk}[\log \alpha_k + \log \sigma_k]",
        {"L": 0, "γ": 2, "α": 1, "σ": 1},
        2,
    ),
    "heads beside one another": (
        r"M = \bigl[\text{head}_1 \;\|\; \cdots \;\|\; \text{head}_A\bigr] \mathbf W^O",
        {"M": 2, "head": 3, "W^O": 2},
        1,
    ),
    "attention as everyone knows it": (
        r"\text{head}_i = \text{Attention}(Q W_i^Q, K W_i^K, V W_i^V)",
        {"head": 3, "Q": 2, "K": 2, "V": 2, "W^Q": 3, "W^K": 3, "W^V": 3},
        3,
    ),
    "a step above, places below": (
        r"J^{(t)}(\theta) = -\sum_{j=1}^V y_{t,j} \log q_{t,j}",
        {"J": 1, "y": 2, "q": 2},
        1,
    ),
    "a derivative of elements, with the index that both have once": (
        r"\frac{\partial u_k}{\partial v_{kj}} = q_j",
        {"∂u/∂v": 2, "q": 1},
        0,
    ),
    "a chain rule of elements": (
        r"\frac{\partial C}{\partial q_j} = \sum_k \frac{\partial C}{\partial u_k} \frac{\partial u_k}{\partial q_j}"
        r" = \sum_k \delta_k v_{kj}",
        {"∂C/∂q": 1, "∂C/∂u": 1, "∂u/∂q": 2, "δ": 1, "v": 2},
        2,
    ),
    "a derivative between two layers": (
        r"\frac{\partial z_i^{(l+1)}}{\partial W_{ij}^{(l)}} = a_j^{(l)}",
        {"∂z/∂W": 3, "a": 2},
        0,
    ),
    "a derivative by a square, and of a term": (
        r"\frac{\partial s_B^2}{\partial \mu_B} = \frac{1}{m} \sum_i 2 (x_i - \mu_B)"
        r" \cdot \underbrace{\frac{\partial (x_i - \mu_B)}{\partial \mu_B}}_{= -1}",
        {"∂s_B^2/∂μ_B": 0, "m": 0, "x": 1, "μ_B": 0},
        1,
    ),
    "a remark in brackets, with a letter among its words": (
        r"u_i = \sum_j a_{ij} q_j \qquad \text{(what place } i \text{ is told)}",
        {"u": 1, "a": 2, "q": 1},
        1,
    ),
    "an activation that is only named, of a weighted sum": (
        r"y = f(\sum_{j=1}^n w_j x_j + b)",
        {"y": 0, "w": 1, "x": 1, "b": 0},
        1,
    ),
    "an activation that is only named, of what weights give": (
        r"u^{(k+1)} &= V^{(k)} q^{(k)} + c^{(k)} \\ q^{(k)} &= g(u^{(k)})",
        {"u": 2, "V": 3, "q": 2, "c": 2},
        1,
    ),
    "a sentence in bold small letters": (
        r"\mathbf Q = \mathbf x \mathbf W_Q, \quad \mathbf K = \mathbf x \mathbf W_K",
        {"Q": 2, "x": 2, "W_Q": 2, "K": 2, "W_K": 2},
        2,
    ),
    "weighed examples": (r"w = \sum_i \alpha_i y_i x_i", {"w": 1, "α": 1, "y": 1, "x": 2}, 1),
    "a letter below that numbers nothing": (
        r"H_v = Z_v W + b",
        {"H_v": 2, "Z_v": 2, "W": 2, "b": 1},
        1,
    ),
    "whose weights, beside a step": (
        r"h_t = f(W_t h_{t-1} + W_x x_t)",
        {"h": 2, "W": 3, "W_x": 2, "x": 2},
        2,
    ),
    "a bias of the letter of its weights": (
        r"s_t = f(W^{sx} x_t + W^{ss} s_{t-1} + W^{ss}_0)",
        {"s": 2, "W^{sx}": 2, "x": 2, "W^{ss}": 2, "W_0^{ss}": 1},
        2,
    ),
    "sizes in a macro": (
        r"\newcommand{\of}[2]{\in \mathbb{R}^{#1 \times #2}} Q = X W \of{n}{k}",
        {"Q": 2, "X": 2, "W": 2},
        1,
    ),
    "the largest entry of a vector": (
        r"\hat c = \max\{\mathbf{c}\}",
        {"ĉ": 0, "c": 1},
        0,
    ),
    "the largest entry of a vector in plain letters": (r"m_t = \max(x_t)", {"m": 1, "x": 2}, 0),
    "the largest of each entry and 0": (
        r"h = \max(0, \mathbf{W} \mathbf{x})",
        {"h": 1, "W": 2, "x": 1},
        1,
    ),
    "two equations with small spaces between them": (
        r"a = \frac{1}{Z} b \;\;\;\; Z = \sum_i c_i",
        {"a": 0, "b": 0, "Z": 0, "c": 1},
        1,
    ),
    "an attribute at the end of a row": (
        r"u.\mathrm{grad} = v.\mathrm{value} * w.\mathrm{grad}",
        {"u.grad": 0, "v.value": 0, "w.grad": 0},
        0,
    ),
    "a density of a number": (
        r"p(x) = \frac{1}{\sigma\sqrt{2\pi}} e^{-\frac{x^2}{2\sigma^2}}",
        {"p": 0, "σ": 0, "x": 0},
        0,
    ),
    "steps in round brackets": (
        r"s(n+1) = \rho s(n) + u(n)",
        {"s": 1, "s_0": 0, "ρ": 0, "u": 1},
        0,
    ),
    "columns at a time in round brackets": (
        r"y(t) = C h(t) + D u(t)",
        {"y": 2, "C": 2, "h": 2, "D": 2, "u": 2},
        2,
    ),
    "an index above, and a range in round brackets": (
        r"u^i_j = v^T \tanh(W_1 e_j + W_2 d_i), \quad j \in (1,\ldots,n)",
        {"u": 2, "v": 1, "W_1": 2, "e": 2, "W_2": 2, "d": 2},
        3,
    ),
    "vectors side by side in square brackets": (
        r"f_t = \sigma(W_f \cdot [h_{t-1}, x_t] + b_f)",
        {"f": 2, "W_f": 2, "h": 2, "x": 2, "b_f": 1},
        1,
    ),
    "vectors side by side, right behind a matrix": (
        r"h_t = \tanh(W [h_{t-1}; x_t] + b)",
        {"h": 2, "W": 2, "x": 2, "b": 1},
        1,
    ),
    "places in square brackets": (
        r"s = \sum_t A[y_{t-1}, y_t] + \sum_t P[t, y_t]",
        {"s": 0, "A": 2, "y": 1, "P": 2},
        2,
    ),
    "activations that letters tell apart": (
        r"h_t = \sigma_h(W_h x_t + U_h h_{t-1} + b_h), \quad y_t = o_t \odot \sigma_y(h_t)",
        {"h": 2, "W_h": 2, "x": 2, "U_h": 2, "b_h": 1, "y": 2, "o": 2},
        2,
    ),
    "an embedding among other matrices": (
        r"s_t = \tanh(W_s s_{t-1} + E y_{t-1} + C c_t)",
        {"s": 2, "W_s": 2, "E": 2, "y": 2, "C": 2, "c": 2},
        3,
    ),
    "a deviation before a difference": (
        r"x_i = \sigma_i (z_i - \mu_i)",
        {"x": 1, "σ": 1, "z": 1, "μ": 1},
        0,
    ),
    "weights and vectors": (
        r"c = \sum_{i=1}^n \alpha_i h_i",
        {"c": 1, "α": 1, "h": 2},
        1,
    ),
    "a number of a step that is computed with": (
        r"z_\ell = \alpha^\ell z_0 + (1 - \alpha^{2\ell}) c",
        {"z": 1, "z_0": 0, "α": 0, "c": 0},
        0,
    ),
    "a place that is computed with": (r"\log f_i = c - \alpha \log i", {"f": 1, "c": 0, "α": 0}, 0),
    "parameters are a vector": (
        r"\Phi_{i+1} = \Phi_i - \eta D g_i",
        {"Φ": 2, "Φ_0": 1, "η": 0, "D": 2, "g": 2},
        1,
    ),
    "a letter and a digit below": (
        r"a_j = \sum_{i=1}^D w_{ji} x_i + w_{j0}",
        {"a": 1, "w": 2, "x": 1},
        1,
    ),
    "four letters below": (
        r"c_{ijkl} = \sum_m a_{ijm} b_{mkl}",
        {"c": 4, "a": 3, "b": 3},
        1,
    ),
    "an index above": (
        r"c_t = \sum_{i=1}^N \alpha_i^t x_i",
        {"c": 2, "α": 2, "x": 2},
        1,
    ),
    "a step above": (r"\eta^t = \frac{g^t}{s^t L}", {"η": 1, "g": 1, "s": 1, "L": 0}, 0),
    "a script that names the places": (
        r"z = \mathrm{argmax}_y \; P_{xy}[x_i, y] P_y[y]",
        {"z": 0, "P_{xy}": 2, "P_y": 1, "x": 1},
        0,
    ),
    "an inverse of letters": (
        r"\alpha = (K + \lambda I)^{-1} y",
        {"α": 1, "K": 2, "λ": 0, "y": 1},
        1,
    ),
    "numbers below a bar": (r"F_1 = \frac{2 P R}{P + R}", {"F_1": 0, "P": 0, "R": 0}, 0),
    "something is said of a function": (
        r"\cos(\theta) = \frac{\mathbf v \cdot \mathbf w}{\|\mathbf v\| \|\mathbf w\|}",
        {"θ": 0, "v": 1, "w": 1},
        3,
    ),
    "of all that was observed": (r"P(O \mid \lambda) = \sum_i \alpha_i", {"P": 0, "α": 1}, 1),
    "elements in square brackets": (
        r"[\mathbf H]_{i,j} = u + \sum_a \sum_b [\mathbf V]_{a,b} [\mathbf X]_{i+a,j+b}",
        {"H": 2, "u": 0, "V": 2, "X": 2},
        2,
    ),
    "an element of a softmax": (
        r"\mathrm{softmax}(\mathbf X)_{ij} = \frac{\exp(\mathbf X_{ij})}{\sum_k \exp(\mathbf X_{ik})}",
        {"X": 2},
        1,
    ),
    "long names": (
        r"\textrm{price} = w_{\textrm{area}} \cdot \textrm{area} + b",
        {"price": 0, "w_{area}": 0, "area": 0, "b": 0},
        0,
    ),
    "a remark with a formula in it": (
        r"v_t = \mu v_{t-1} + g_t \;\;\; \mbox{$\mu$ is typically .9}",
        {"v": 1, "μ": 0, "g": 1},
        0,
    ),
    "a bold difference": (
        r"\mathbf g'_t = \sqrt{\Delta\mathbf x_{t-1} + \epsilon} \odot \mathbf g_t",
        {"g'": 2, "Δx": 2, "ε": 0, "g": 2},
        0,
    ),
    "a limit that is said of itself": (
        r"\sigma^2_\infty = (1 - a)^2 \sigma^2_\infty + b",
        {"σ_∞^2": 0, "a": 0, "b": 0},
        0,
    ),
    "covariances are matrices": (
        r"\Sigma_a = \Big(\sum_i \alpha_i^2\Big) \Sigma_b",
        {"Σ_a": 2, "α": 1, "Σ_b": 2},
        1,
    ),
    "sums that are left out": (r"y_{il} = x_{ijkl} a_{jk}", {"y": 2, "x": 4, "a": 2}, 2),
    "a sum that is left out, with a step above": (
        r"h^{(t)}_i = \tanh(A_{ij} h^{(t-1)}_j + B_{ij} x^{(t)}_j + c_i)",
        {"h": 2, "A": 2, "B": 2, "x": 2, "c": 1},
        2,
    ),
    "a sum that is left out, of two matrices": (
        r"C_{ik} = A_{ij} B_{jk}",
        {"C": 2, "A": 2, "B": 2},
        1,
    ),
    "vectors with arrows": (
        r"\vec o = \sum_i \frac{\exp(\vec q \cdot \vec k_i)}{\sum_j \exp(\vec q \cdot \vec k_j)} \vec v_i",
        {"o⃗": 1, "q⃗": 1, "k⃗": 2, "v⃗": 2},
        4,
    ),
    "a system behind a brace": (
        r"\begin{cases} x_k & = A x_{k-1} + B u_k \\ y_k & = C x_k \end{cases}",
        {"x": 2, "A": 2, "B": 2, "u": 2, "y": 2, "C": 2},
        3,
    ),
    "a system in an array": (
        r"\left\{ \begin{array}{l} h_t = \tanh(W x_t + U h_{t-1}) \\ y_t = V h_t \end{array} \right.",
        {"h": 2, "W": 2, "x": 2, "U": 2, "y": 2, "V": 2},
        3,
    ),
    "words of cases in italics": (
        r"M_{ij} = \begin{cases} 0 & if\ j \le i \\ -1 & otherwise \end{cases}",
        {"M": 2},
        0,
    ),
    "indices with a prime, side by side": (
        r"c_{t'} = \sum_{t=1}^T \alpha_{t' t} h_t",
        {"c": 2, "α": 2, "h": 2},
        1,
    ),
    "scripts in braces of their own": (
        r"h{_t} = \tanh(W x{_t} + U h{_{t-1}})",
        {"h": 2, "W": 2, "x": 2, "U": 2},
        2,
    ),
    "gates with stars": (
        r"h_t = z_t * h_{t-1} + (1 - z_t) * \tilde h_t",
        {"h": 2, "z": 2, "h̃": 2},
        0,
    ),
    "a gate for every key, in rows": (
        r"\mathbf S_t = (\boldsymbol\alpha_t^\top \boldsymbol 1) \odot \mathbf S_{t-1} + \mathbf k_t^\top \mathbf v_t",
        {"S": 3, "α": 2, "k": 2, "v": 2},
        0,
    ),
    "steps in round brackets, beside a matrix": (
        r"a(t) = \tanh(W * x(t) + U * h(t-1) + b)",
        {"a": 2, "W": 2, "x": 2, "U": 2, "h": 2, "b": 1},
        2,
    ),
    "gates with crosses": (
        r"c_t = f_t \times c_{t-1} + I_t \times s_t",
        {"c": 2, "f": 2, "I": 2, "s": 2},
        0,
    ),
    "a softmax of what is in its brackets": (
        r"\mathbf o_t = \sum_{j=1}^t"
        r"\text{Softmax}_j\left(\frac{\mathbf q_t \mathbf k_j^\top}{\sqrt{d_h}}\right) \mathbf v_j",
        {"o": 2, "q": 2, "k": 2, "v": 2},
        2,
    ),
    "a condition as it is typed": (
        r"S_{ij} = \begin{cases} q_i k_j^T & i >= j \\ -1 & \text{else} \end{cases}",
        {"S": 2, "q": 2, "k": 2},
        1,
    ),
    "indices with a blank between them": (
        r"\alpha_{i j} = \frac{\exp(e_{i j})}{\sum_k \exp(e_{i k})}",
        {"α": 2, "e": 2},
        1,
    ),
    "a word with an underscore": (
        r"\text{update_value} = \eta \frac{m}{\sqrt v}",
        {"update_value": 0, "η": 0, "m": 0, "v": 0},
        0,
    ),
    "two numbers of each expert": (
        r"\ell = \alpha N \sum_{i=1}^N f_i P_i, \quad y = x W",
        {"ℓ": 0, "α": 0, "f": 1, "P": 1, "y": 1, "x": 1, "W": 2},
        2,
    ),
    "a state a step before, in brackets": (
        r"h_t = (1 - z_t) \odot n_t + z_t \odot h_{(t-1)}",
        {"h": 2, "z": 2, "n": 2},
        0,
    ),
    "positions as a word": (r"x_i = e_i + pos_i", {"x": 1, "e": 1, "pos": 1}, 0),
    "examples above": (
        r"J = -\frac{1}{m} \sum_{i=1}^m y^{(i)} \log a^{[L](i)}",
        {"J": 0, "y": 1, "a^{[L]}": 1},
        1,
    ),
    "layers by number": (
        r"z^{[1]} = W^{[1]} x + b^{[1]}, \quad a^{[1]} = \sigma(z^{[1]})",
        {"z^{[1]}": 1, "W^{[1]}": 2, "x": 1, "b^{[1]}": 1, "a^{[1]}": 1},
        1,
    ),
    "a layer that is transposed": (
        r"g = W^{[2] T} h",
        {"g": 1, "W^{[2]}": 2, "h": 1},
        1,
    ),
    "an error by its usual name": (
        r"MSE = \frac{1}{n} \sum_{i=1}^n (y_i - p_i)^2",
        {"MSE": 0, "y": 1, "p": 1},
        1,
    ),
    "an angle": (r"r_j = \cos m\theta_j", {"r": 1, "m": 0, "θ": 1}, 0),
    "a fraction of plain TeX": (
        r"L = -{1 \over n} \sum_{i=1}^n y_i \log p_i",
        {"L": 0, "y": 1, "p": 1},
        1,
    ),
    "words above with a hyphen": (
        r"s_i = H^{(arc-head)} W h_i^{(arc-dep)}",
        {"s": 2, "H^{(arc-head)}": 2, "W": 2, "h^{(arc-dep)}": 2},
        2,
    ),
    "a vector for each pair": (
        r"e_{ij} = \frac{x_i W^Q (x_j W^K + a_{ij}^K)^T}{\sqrt{d}}",
        {"e": 2, "x": 2, "W^Q": 2, "W^K": 2, "a^K": 3},
        3,
    ),
    "a sign": (
        r"\mathbf s = \mathbf g \odot \mathop{\textrm{sgn}}(\mathbf g - \mathbf r)",
        {"s": 1, "g": 1, "r": 1},
        0,
    ),
    "a vector of ones": (r"\mathbf s = \mathbf X \mathbf 1", {"s": 1, "X": 2}, 1),
    "ones in old TeX": (r"{\bf s} = {\bf X} {\bf 1}", {"s": 1, "X": 2}, 1),
    "indices that spell a word": (
        r"y_s = \sum_i w_{is} x_i",
        {"y": 1, "w": 2, "x": 1},
        1,
    ),
    "a word below a weight": (r"h_n = W_{in} x_n", {"h": 2, "W_{in}": 2, "x": 2}, 1),
    "word vectors": (
        r"P(o | c) = \frac{\exp(u_o^\top v_c)}{\sum_{w \in V} \exp(u_w^\top v_c)}",
        {"P": 2, "u": 2, "v": 2},
        3,
    ),
    "words by their numbers": (
        r"P(w_j | w_i) = \frac{\exp(\mathbf u_j^\top \mathbf v_i)}"
        r"{\sum_{k \in \mathcal V} \exp(\mathbf u_k^\top \mathbf v_i)}",
        {"P": 2, "u": 2, "v": 2},
        3,
    ),
    "counts of counts": (
        r"p_k = \frac{(k+1) N_{k+1}}{M N_k}",
        {"p": 1, "N": 1, "M": 0},
        0,
    ),
    "plain gates and biases beside bold states": (
        r"f_t = \sigma(W_f \mathbf x_t + b_f) \\ \mathbf c_t = f_t \odot \mathbf c_{t-1}",
        {"f": 2, "W_f": 2, "x": 2, "b_f": 1, "c": 2},
        1,
    ),
    "a plain bias beside bold states": (
        r"\mathbf h_t = \tanh(\mathbf W \mathbf h_{t-1} + \mathbf U \mathbf x_t + b_h)",
        {"h": 2, "W": 2, "U": 2, "x": 2, "b_h": 1},
        2,
    ),
    "a bold capital and a plain input": (
        r"\mathbf h_t = \alpha_t \mathbf h_{t-1} + \mathbf U_t x_t",
        {"h": 2, "α": 1, "U": 3, "x": 2},
        1,
    ),
    "a rate before a bracket with matrices": (
        r"x_{k+1} = x_k + \eta (A x_k + B u_k)",
        {"x": 2, "x_0": 1, "η": 0, "A": 2, "B": 2, "u": 2},
        2,
    ),
    "a step between the identity and a matrix": (
        r"M = (I - \frac{\Delta}{2} A)^{-1} (I + \frac{\Delta}{2} A)",
        {"M": 2, "Δ": 0, "A": 2},
        1,
    ),
    "a law of figures": (
        r"P = \frac{n R T}{V}",
        {"P": 0, "n": 0, "R": 0, "T": 0, "V": 0},
        0,
    ),
    "a score weighed from scores": (
        r"S = w_1 C_{style} + w_2 C_{light} + w_3 C_{pose}",
        {"S": 0, "w_1": 0, "w_2": 0, "w_3": 0, "C_{style}": 0, "C_{light}": 0, "C_{pose}": 0},
        0,
    ),
    "precision and recall": (
        r"F_{\text{lcs}} = \frac{(1 + \beta^2) R_{\text{lcs}} P_{\text{lcs}}}"
        r"{R_{\text{lcs}} + \beta^2 P_{\text{lcs}}}",
        {"F_{lcs}": 0, "β": 0, "R_{lcs}": 0, "P_{lcs}": 0},
        0,
    ),
    "an embedding before a dot": (
        r"y = \mathrm{softmax}(W \cdot \tanh(E \cdot c + b))",
        {"y": 1, "W": 2, "E": 2, "c": 1, "b": 1},
        2,
    ),
    "the last layer and the one before": (
        r"y = \mathbf W^{(L)} \mathbf h^{(L-1)} + \mathbf b^{(L)}",
        {"y": 1, "W_L": 2, "h": 2, "b_L": 1},
        1,
    ),
    "a step above, beside a label": (
        r"\mathbf h^{t,\text{dec}} = \tanh(\mathbf W \mathbf h^{t-1,\text{dec}} + \mathbf U \mathbf c^t)",
        {"h^{dec}": 2, "W": 2, "U": 2, "c": 2},
        2,
    ),
    "a step above, which the right side has below": (
        r"p_i^t = \mathrm{softmax}(V^T h_t)",
        {"p": 2, "V": 2, "h": 2},
        1,
    ),
    "a transpose before a bracket": (
        r"\mathbf p = \mathbf R^T(\mathbf a - \mathbf g)",
        {"p": 1, "R": 2, "a": 1, "g": 1},
        1,
    ),
    "two letters in one command": (
        r"\mathbf s_t = \mathbf{Fs}_{t-1} + \mathbf v_t",
        {"s": 2, "F": 2, "v": 2},
        1,
    ),
    "the length of a vector between bars": (
        r"\mathbf c = \frac{\mathbf a \cdot \mathbf b}{|\mathbf a|^2} \mathbf a",
        {"c": 1, "a": 1, "b": 1},
        2,
    ),
    "absolute values of a vector": (r"\mathbf y = |\mathbf x|", {"y": 1, "x": 1}, 0),
    "a word in capitals": (
        r"ESS = \frac{N}{1 + 2 \sum_{t=1}^T \rho_t}",
        {"ESS": 0, "N": 0, "ρ": 1},
        1,
    ),
    "names told apart by what is above": (
        r"\mathbf H^q = \mathbf H \mathbf W^q \\ \mathbf H^k = \mathbf H \mathbf W^k",
        {"H^q": 2, "H^k": 2, "H": 2, "W^q": 2, "W^k": 2},
        2,
    ),
    "matrices of one head": (
        r"Z_j = \operatorname{softmax}\left( \frac{Q_j K_j^T}{\sqrt{D_k}} \right) V_j",
        {"Z": 3, "Q": 3, "K": 3, "V": 3},
        2,
    ),
    "a row in brackets": (
        r"[ h_t = \tanh(W h_{t-1} + U x_t) ]",
        {"h": 2, "W": 2, "U": 2, "x": 2},
        2,
    ),
    "a probability by its number": (
        r"P(y_i) = \frac{e^{z_i}}{\sum_{j=1}^{C} e^{z_j}}",
        {"P": 1, "z": 1},
        1,
    ),
    "a word below two factors": (
        r"\tau = R_{info} \cdot C_{info}",
        {"τ": 0, "R_{info}": 0, "C_{info}": 0},
        0,
    ),
    "cases with remarks": (
        r"M_{ij} = \begin{cases} 0 & j \leq i \quad (\text{past}) \\"
        r" -\infty & \text{if } j > i \text{ (future)} \end{cases}",
        {"M": 2},
        0,
    ),
    "examples above numbers": (
        r"\hat y^{(i)} = \sigma(w x^{(i)} + b)",
        {"ŷ": 1, "w": 0, "x": 1, "b": 0},
        0,
    ),
    "a bare sum": (
        r"\mathbf h_G = \frac{1}{|V|} \sum \mathbf h_i^{(\text{final})}",
        {"h_G": 1, "V": 0, "h^{(final)}": 2},
        1,
    ),
    "a bare sum over pairs": (
        r"\chi^2 = \sum \frac{(O_{ij} - E_{ij})^2}{E_{ij}}",
        {"χ^2": 0, "O": 2, "E": 2},
        2,
    ),
    "a deviation that is called σ": (
        r"\sigma(x) = \sqrt{\frac1n \sum_i (x_i - \mu)^2}, \quad y = \frac{x - \mu}{\sigma(x)}",
        {"σ": 0, "x": 1, "μ": 0, "y": 1},
        1,
    ),
    "a softmax that is called σ": (
        r"\sigma(z)_i = \frac{e^{z_i}}{\sum_j e^{z_j}}, \quad y = \sigma(W h)",
        {"z": 1, "y": 1, "W": 2, "h": 1},
        2,
    ),
    "a sigmoid that is defined, of vectors": (
        r"\sigma(z) = \frac{1}{1 + e^{-z}}, \quad h_t = \sigma(W h_{t-1} + U x_t)",
        {"h": 2, "W": 2, "U": 2, "x": 2},
        2,
    ),
    "a logistic regression": (
        r"y = \frac{1}{1 + \exp(-(w^\top x + b))}",
        {"y": 0, "w": 1, "x": 1, "b": 0},
        1,
    ),
    "vectors above an e": (
        r"y = \frac{1}{1 + e^{-(W x + b)}}",
        {"y": 1, "W": 2, "x": 1, "b": 1},
        1,
    ),
    "a row that ends with where": (
        r"h_t = o_t \odot c_t \text{, where} \\ o_t = \sigma(W x_t)",
        {"h": 2, "o": 2, "c": 2, "W": 2, "x": 2},
        1,
    ),
    "a box around equations": (
        r"\boxed{\begin{aligned} h_t &= W x_t & \text{(state)} \\ y_t &= V h_t \end{aligned}}",
        {"h": 2, "W": 2, "x": 2, "y": 2, "V": 2},
        2,
    ),
    "spaces behind two equations of one row": (
        r"a = W h \in \mathbb{R}^6, \qquad c = V h \in \mathbb{R}^5",
        {"a": 1, "W": 2, "h": 1, "c": 1, "V": 2},
        2,
    ),
    "arrows in both directions": (
        r"h_t = [\overrightarrow{h}_t; \overleftarrow{h}_t] \in \mathbb{R}^{2d}",
        {"h": 2, "h⃗": 2, "h⃖": 2},
        0,
    ),
    "a bold letter between matrices": (
        r"\mathbf M = \mathbf K \boldsymbol\beta \mathbf K^\top",
        {"M": 2, "K": 2, "β": 2},
        2,
    ),
    "a number before bold vectors": (
        r"\mathbf u_t^a = g_t \mathbf u_t^b + (1 - g_t) \mathbf u_{t-1}",
        {"u^a": 2, "g": 1, "u^b": 2, "u": 2},
        0,
    ),
    "a factor in brackets behind a thin space": (
        r"\mathbf G_k = \mathbf P_k\,\mathbf A_k^{\mathsf T}\,[\mathbf R_{k+1}]^{-1}",
        {"G": 3, "P": 3, "A": 3, "R": 3},
        2,
    ),
    "a regression": (
        r"Y = X\beta + \epsilon, \quad \epsilon \sim N(0, \sigma^2 I)",
        {"Y": 1, "X": 2, "β": 1, "ε": 1, "σ": 0},
        1,
    ),
    "a matrix that tells a name apart": (
        r"\hat{\beta}_W = (X^T W X)^{-1} X^T W Y",
        {"β̂_W": 1, "X": 2, "W": 2, "Y": 1},
        5,
    ),
    "sizes in brackets": (
        r"M = L \circ C B^\top \in \mathbb{R}^{(T,T)}",
        {"M": 2, "L": 2, "C": 2, "B": 2},
        1,
    ),
    "a cross before weights": (
        r"\mathbf{z}_t = \sigma(\mathbf{h}_{t-1} \times \mathbf{W}_h + \mathbf{x}_t \times \mathbf{W}_x)",
        {"z": 2, "h": 2, "W_h": 2, "x": 2, "W_x": 2},
        2,
    ),
    "a discount among steps that stand above": (
        r"x^{k+1} = x^k - \frac{\eta}{1-\beta^k} \mathbf{m}^k",
        {"x": 2, "x_0": 1, "η": 0, "β": 0, "m": 2},
        0,
    ),
    "sizes with signs between them": (
        r"\text{bytes} = 4 \cdot B \cdot H \cdot V \cdot K",
        {"bytes": 0, "B": 0, "H": 0, "V": 0, "K": 0},
        0,
    ),
    "an indicator with its condition below": (
        r"L_i = \sum_{k=1}^{N} \mathbb{I}_{[k \neq i]} s_{ik}",
        {"L": 1, "s": 2},
        1,
    ),
    "an indicator of one layer": (
        r"h_l = W x \mathbb{I}_{\{l=1\}} + s_{l-1}",
        {"h": 2, "W": 2, "x": 1, "s": 2},
        1,
    ),
    "a step above, on one side": (
        r"f = \sigma(W_f [h^{t-1}, x^t] + b_f)",
        {"f": 2, "W_f": 2, "h": 2, "x": 2, "b_f": 1},
        1,
    ),
    "ones with a condition below": (
        r"L = -\frac{1}{B} \sum_{i=1}^{B} \sum_{c=1}^{C} \mathbf{1}_{\{y_i = c\}} \log p_{ic}",
        {"L": 0, "y": 1, "p": 2},
        2,
    ),
    "a probability that has a second name": (
        r"\hat{y}_o = p(o \mid c) = \frac{\exp(u_o^T v)}{\sum_w \exp(u_w^T v)}",
        {"ŷ": 1, "u": 2, "v": 1},
        3,
    ),
    "two names of one space, behind a comma": (
        r"\mathbf o_e = \mathbf W_2^{(e)} \tanh(\mathbf W_1^{(e)} \mathbf x), \quad"
        r" \mathbf W_1^{(e)}, \mathbf W_2^{(e)} \in \mathbb{R}^{D \times D}",
        {"o": 2, "W_1": 3, "W_2": 3, "x": 1},
        2,
    ),
    "heads in brackets that are turned": (
        r"A_m^{(l)} = \mathrm{softmax}\left(\frac{\mathbf{Q}_m^{(l)} (\mathbf{K}_m^{(l)})^\top}{\sqrt{d}}\right)"
        r" \mathbf{V}_m^{(l)}",
        {"A": 4, "Q": 4, "K": 4, "V": 4},
        2,
    ),
    "embeddings that are turned": (
        r"A_{i,j} = E_{x_i}^T W_q^T W_k E_{x_j}",
        {"A": 2, "E": 2, "x": 1, "W_q": 2, "W_k": 2},
        3,
    ),
    "a step that only the right side has": (
        r"f = \sigma(W_f x_t + U_f h_{t-1} + b_f), \quad h_t = f \odot h_{t-1}",
        {"f": 2, "W_f": 2, "x": 2, "U_f": 2, "h": 2, "b_f": 1},
        2,
    ),
    "words with underscores": (
        r"trust\_ratio = \frac{\|w\|}{\|u\|}",
        {"trust_ratio": 0, "w": 1, "u": 1},
        2,
    ),
    "an optimiser with stars": (
        r"\omega_t = \omega_{t-1} - \alpha * (\hat m_t / (\sqrt{\hat v_t} + \varepsilon) + \lambda * \omega_{t-1})",
        {"ω": 1, "α": 0, "m̂": 1, "v̂": 1, "ε": 0, "λ": 0},
        0,
    ),
    "a cosine": (
        r"c = \frac{A \cdot B}{\|A\| \|B\|}",
        {"c": 0, "A": 1, "B": 1},
        3,
    ),
    "heads that stand for themselves": (
        r"\text{MultiHead}(Q, K, V) = \text{Concat}(\text{head}_1, \dots, \text{head}_h) W^O",
        {"MultiHead": 2, "head": 3, "W^O": 2},
        1,
    ),
    "products of Octave": (
        r"\delta^{(l)} = (W^\top \delta^{(l+1)})\ .*\ a^{(l)}",
        {"δ": 2, "W": 2, "a": 2},
        1,
    ),
    "a score of states at other places": (
        r"s(h_t, \bar h_i) = h_t^\top \bar h_i, \quad"
        r"\alpha_{t,i} = \frac{\exp(s(h_t, \bar h_i))}{\sum_{j} \exp(s(h_t, \bar h_j))}",
        {"s": 2, "h": 2, "h̄": 2, "α": 2},
        2,
    ),
    "numbers with a dot between them": (r"L = \sum_i f_i \cdot P_i", {"L": 0, "f": 1, "P": 1}, 1),
    "three products with one letter": (
        r"\mathbf Q_t = \mathbf W_Q \mathbf x_t, \quad \mathbf K_t = \mathbf W_K \mathbf x_t, \quad"
        r"\mathbf V_t = \mathbf W_V \mathbf x_t",
        {"Q": 2, "W_Q": 2, "x": 2, "K": 2, "W_K": 2, "V": 2, "W_V": 2},
        3,
    ),
    "a step above, with brackets and without": (
        r"c^{(t)} = \tanh(W a^{(t-1)} + U x^t)",
        {"c": 2, "W": 2, "a": 2, "U": 2, "x": 2},
        2,
    ),
    "a loss of bold and plain parameters": (
        r"\mathcal{L}(\mathbf w, b) = \frac1n \sum_{i=1}^n (y_i - \hat y_i)^2",
        {"ℒ": 0, "y": 1, "ŷ": 1},
        1,
    ),
    "two numbers before the dots of a condition": (
        r"p_t = \sum_{i=1}^N \alpha_t(i) \beta_t(i), \quad t = 1, 2, \cdots, T-1",
        {"p": 1, "α": 2, "β": 2},
        1,
    ),
    "a matrix and the identity": (r"B = A + I", {"B": 2, "A": 2}, 0),
    "an identity with its size": (
        r"\mathbf M = \mathbf I_d - \mathbf K \mathbf K^\top",
        {"M": 2, "K": 2},
        1,
    ),
    "a query and a key": (r"a_i = q \cdot k_i", {"a": 1, "q": 1, "k": 2}, 1),
    "states at two places": (r"e_{ij} = s_i \cdot h_j", {"e": 2, "s": 2, "h": 2}, 1),
    "a gate beside a state": (
        r"c_t = f_t c_{t-1} + i_t \tilde c_t",
        {"c": 2, "f": 2, "i": 2, "c̃": 2},
        0,
    ),
    "words that are predicted": (
        r"P(w_t | w_{<t}) = \mathrm{softmax}(W h_t + b)",
        {"P": 2, "W": 2, "h": 2, "b": 1},
        1,
    ),
    "words up to a place": (
        r"P(w_{t+1} | w_{1:t}) = \mathrm{softmax}(W h_t)",
        {"P": 2, "W": 2, "h": 2},
        1,
    ),
    "a step, and by what it is known": (
        r"P_{k|k-1} = F_k P_{k-1|k-1} F_k^T + Q_k",
        {"P_{|k-1}": 3, "F": 3, "P_{|k}": 3, "Q": 3},
        2,
    ),
    "an estimate that is mended": (
        r"\hat x_{k \mid k} = \hat x_{k \mid k-1} + K_k (z_k - H \hat x_{k \mid k-1})",
        {"x̂_{|k}": 2, "x̂_{|k-1}": 2, "K": 3, "z": 2, "H": 2},
        2,
    ),
    "two vectors joined by bars": (
        r"e_{ij} = \text{LeakyReLU}(\mathbf a^T [\mathbf W \mathbf h_i \| \mathbf W \mathbf h_j])",
        {"e": 2, "a": 1, "W": 2, "h": 2},
        3,
    ),
    "three vectors joined by bars": (
        r"s_{ij} = \mathbf a^\top \tanh(\mathbf W [\mathbf h_i \,\|\, \mathbf h_j \,\|\, \mathbf u_{ij}])",
        {"s": 2, "a": 1, "W": 2, "h": 2, "u": 3},
        2,
    ),
    "words below with an underscore": (
        r"\mathcal{L} = \mathcal{L}_{KD\_image} + \mathcal{L}_{KD\_text}",
        {"ℒ": 0, "ℒ_{KD_image}": 0, "ℒ_{KD_text}": 0},
        0,
    ),
    "errors of layers": (
        r"\delta^{(l)} = (W^{(l+1)})^T \delta^{(l+1)} \odot f'(z^{(l)})",
        {"δ": 2, "W": 3, "z": 2},
        1,
    ),
    "errors of layers, with a small letter for the matrix": (
        r"\delta^l = ((w^{l+1})^T \delta^{l+1}) \odot \sigma'(z^l)",
        {"δ": 2, "w": 3, "z": 2},
        1,
    ),
    "errors of one layer": (
        r"\delta_j = (a_j - y_j) \sigma'(z_j)",
        {"δ": 1, "a": 1, "y": 1, "z": 1},
        0,
    ),
    "a gradient by a formula": (
        r"\frac{\partial L}{\partial W} = \delta x^T",
        {"∂L/∂W": 2, "δ": 1, "x": 1},
        0,
    ),
    "a gradient of a layer": (
        r"\frac{\partial L}{\partial W^{(l)}} = \delta^{(l)} (a^{(l-1)})^T",
        {"∂L/∂W": 3, "δ": 2, "a": 2},
        0,
    ),
    "a layer that is transposed above": (
        r"\frac{\partial L}{\partial W^{(l)}} = \delta^{(l)} a^{(l-1)^T}",
        {"∂L/∂W": 3, "δ": 2, "a": 2},
        0,
    ),
    "a matrix that is turned before a bracket": (
        r"\frac{\partial L}{\partial w} = \frac2n X^T(X w - y)",
        {"∂L/∂w": 1, "n": 0, "X": 2, "w": 1, "y": 1},
        2,
    ),
    "gradients over time": (
        r"\frac{\partial L}{\partial h_t} = W^\top \frac{\partial L}{\partial z_{t+1}} + V^\top \nabla_{o_t} L",
        {"∂L/∂h": 2, "W": 2, "∂L/∂z": 2, "V": 2, "∂L/∂o": 2},
        2,
    ),
    "a gradient by elements": (
        r"\frac{\partial J(\theta)}{\partial \theta_j} = \frac1m \sum_{i=1}^m (p^{(i)} - y^{(i)}) x_j^{(i)}",
        {"∂J/∂θ": 1, "p": 1, "y": 1, "x": 2},
        1,
    ),
    "a gradient that vanishes": (
        r"\frac{\partial L}{\partial \mathbf w} = 2 \mathbf X^\top (\mathbf X \mathbf w - \mathbf y) = 0",
        {"∂L/∂w": 1, "X": 2, "w": 1, "y": 1},
        2,
    ),
    "a chain of derivatives": (
        r"\frac{\partial L}{\partial W} = \sum_t \frac{\partial L}{\partial h_t} \frac{\partial h_t}{\partial W}",
        {"∂L/∂W": 2, "∂L/∂h": 2, "∂h/∂W": 4},
        2,
    ),
    "a chain in the other layout": (
        r"\frac{\partial E}{\partial \mathbf x} = \frac{\partial \mathbf y}{\partial \mathbf x}"
        r" \cdot \frac{\partial E}{\partial \mathbf y}",
        {"∂E/∂x": 1, "∂y/∂x": 2, "∂E/∂y": 1},
        1,
    ),
    "a chain through numbered layers": (
        r"\frac{dL}{dW_1} = \frac{dL}{da_2} \frac{da_2}{dz_2} \frac{dz_2}{da_1} \frac{da_1}{dW_1}",
        {"∂L/∂W_1": 2, "∂L/∂a_2": 1, "∂a_2/∂z_2": 2, "∂z_2/∂a_1": 2, "∂a_1/∂W_1": 3},
        3,
    ),
    "a chain through all steps between": (
        r"\frac{\partial L}{\partial U} = \sum_{t=0}^T \sum_{k=0}^t \frac{\partial L_t}{\partial s_t}"
        r" \left( \prod_{j=k+1}^t \frac{\partial s_j}{\partial s_{j-1}} \right) \frac{\partial s_k}{\partial U}",
        {"∂L/∂U": 2, "∂L_·/∂s": 2, "∂s/∂s": 4, "∂s/∂U": 4},
        4,
    ),
    "a derivative that is turned": (
        r"\frac{\partial L}{\partial \mathbf x} = \left( \frac{\partial \mathbf y}{\partial \mathbf x} \right)^\top"
        r" \frac{\partial L}{\partial \mathbf y}",
        {"∂L/∂x": 1, "∂y/∂x": 2, "∂L/∂y": 1},
        1,
    ),
    "a matrix of derivatives": (
        r"J_t = \frac{\partial h_t}{\partial h_{t-1}} = D_t W, \quad D_t = \operatorname{diag}(1 - h_t^2)",
        {"J": 3, "∂h/∂h": 3, "D": 3, "W": 2, "h": 2},
        1,
    ),
    "the diagonal of a matrix of derivatives": (
        r"\frac{\partial c_t}{\partial c_{t-1}} = f_t",
        {"∂c/∂c": 2, "f": 2},
        0,
    ),
    "a gradient that is called something else": (
        r"\boldsymbol\delta^{(l)} = \frac{\partial E}{\partial \mathbf z^{(l)}}",
        {"δ": 2, "∂E/∂z": 2},
        0,
    ),
    "a gradient between": (
        r"p_i = \frac{\partial C}{\partial q_i} = \frac{e^{q_i}}{\sum_j e^{q_j}}",
        {"p": 1, "∂C/∂q": 1, "q": 1},
        1,
    ),
    "a step down": (
        r"\theta_{t+1} = \theta_t - \eta \nabla L(\theta_t)",
        {"θ": 2, "θ_0": 1, "η": 0, "∂L/∂θ": 2},
        0,
    ),
    "a step down that leaves its time out": (
        r"x_{k+1} = x_k - \eta_k \nabla_x f",
        {"x": 2, "x_0": 1, "η": 1, "∂f/∂x": 2},
        0,
    ),
    "a step down with a matrix": (
        r"d_t = -H_t \nabla J(\theta_t)",
        {"d": 2, "H": 3, "∂J/∂θ": 2},
        1,
    ),
    "the gradient of each step": (
        r"\mathbf g_t = \nabla_\theta f_t(\theta_{t-1})",
        {"g": 2, "∂f/∂θ": 2},
        0,
    ),
    "a gradient at a step": (
        r"\mathbf w_{t+1} = \mathbf w_t - \gamma \left( \frac{\partial E}{\partial \mathbf w} \right)_t",
        {"w": 2, "w_0": 1, "γ": 0, "∂E/∂w": 2},
        0,
    ),
    "losses by steps": (
        r"\frac{\partial E}{\partial V} = \sum_{t=1}^T \frac{\partial E_t}{\partial V}",
        {"∂E/∂V": 2, "∂E_·/∂V": 3},
        1,
    ),
    "all steps between": (
        r"\frac{\partial \mathbf s_t}{\partial \mathbf s_k}"
        r" = \prod_{i=k}^{t-1} \frac{\partial \mathbf s_{i+1}}{\partial \mathbf s_i}",
        {"∂s/∂s": 4, "∂s_·/∂s": 3},
        1,
    ),
    "a derivative by the rules": (
        r"\frac{\partial E}{\partial S_{ab}} = \sum_{i=1}^n ( \sum_j S_{ij} k_j - v_i )"
        r" \frac{\partial}{\partial S_{ab}} ( \sum_j S_{ij} k_j - v_i )",
        {"∂E/∂S": 2, "S": 2, "k": 1, "v": 1},
        3,
    ),
    "a derivative of a logarithm": (
        r"\frac{\partial L}{\partial w_j} = -\sum_k y_k \frac{\partial \log p_k}{\partial w_j}",
        {"∂L/∂w": 1, "y": 1, "p": 1, "∂p/∂w": 2},
        1,
    ),
    "the square of a gradient": (
        r"v_t = \beta v_{t-1} + (1 - \beta) \nabla L(w_t)^2",
        {"v": 2, "β": 0, "∂L/∂w": 2},
        0,
    ),
    "an update in place": (
        r"\theta \leftarrow \theta - \eta \nabla_\theta J",
        {"θ_{+}": 1, "θ": 1, "η": 0, "∂J/∂θ": 1},
        0,
    ),
    "a step in place": (r"x \leftarrow x - \mu", {"x_{+}": 0, "x": 0, "μ": 0}, 0),
    "an error of a layer, by a capital": (
        r"\boldsymbol\Delta^{l} = \left[ (W^{l+1})^T \boldsymbol\Delta^{l+1} \right] \odot g'(\mathbf z^l)",
        {"Δ": 2, "W": 3, "z": 2},
        1,
    ),
    "the slope of a softmax": (
        r"\frac{\partial p_i}{\partial z_k} = p_i (\delta_{ik} - p_k)",
        {"∂p/∂z": 2, "p": 1},
        0,
    ),
    "the slope of a function by its name": (
        r"\frac{d\sigma}{dx} = \sigma(x) (1 - \sigma(x))",
        {"∂σ/∂x": 0, "x": 0},
        0,
    ),
    "the slope of a function of a number": (r"\frac{dt}{dz} = 1 - t^2", {"∂t/∂z": 0, "t": 0}, 0),
    "matrices at a time in brackets": (
        r"h_t = A(t) h_{t-1} + B(t) x_t",
        {"h": 2, "A": 3, "B": 3, "x": 2},
        2,
    ),
    "a sum of squares by its usual name": (
        r"RSS = \sum_{i=1}^n (Y_i - a - c X_i)^2",
        {"RSS": 0, "Y": 1, "a": 0, "c": 0, "X": 1},
        1,
    ),
    "right and wrong answers": (
        r"F_1 = \frac{2TP}{2TP + FP + FN}",
        {"F_1": 0, "TP": 0, "FP": 0, "FN": 0},
        0,
    ),
    "parameters behind their matrix": (
        r"J(\theta) = \frac{1}{2m} \| X\theta - y \|^2",
        {"J": 0, "m": 0, "X": 2, "θ": 1, "y": 1},
        2,
    ),
    "a graph by its degrees": (
        r"H^{(l+1)} = \sigma(\hat D^{-1/2} S \hat D^{-1/2} H^{(l)} W^{(l)})",
        {"H": 3, "H_0": 2, "D̂": 2, "S": 2, "W": 3},
        4,
    ),
    "a Laplacian by its degrees": (
        r"L_{sym} = D^{-\frac12} L D^{-\frac12}",
        {"L_{sym}": 2, "D": 2, "L": 2},
        2,
    ),
    "layers from the first on": (
        r"H^0 = X \\ H^{l+1} = (1 - \alpha) A H^l + \alpha H^0",
        {"H": 3, "X": 2, "α": 0, "A": 2},
        1,
    ),
    "a gate on a diagonal, behind": (
        r"k_t^{+} = k_t \operatorname{diag}(e^{g_t})",
        {"k^{+}": 2, "k": 2, "g": 2},
        1,
    ),
}

OUTSIDE: dict[str, tuple[str, str]] = {
    "a conjugate": (r"o_n = \sum_{m=1}^n (Q_n e^{in\theta})(K_m e^{im\theta})^\dagger v_m", "conjugate"),
    "an imaginary unit right before a letter": (r"\Theta_n = e^{in\theta}", "complex"),
    "an open place that nothing fills": (r"\rho(\bullet) = \tanh(M \bullet)", "open"),
    "words between two alternatives": (
        r"\mathbf{f}_t = \sigma(\mathbf{u}_t) \text{ OR } \exp(\mathbf{u}_t)",
        "word",
    ),
    "the imaginary unit in an exponential of several terms": (
        r"\lambda_j = \exp(-\exp(\nu_j) + i \exp(\theta_j))",
        "complex",
    ),
    "sums over two sets": (
        r"L = \sum_{i \in \mathcal{P}} s_i - \sum_{j \in \mathcal{Q}} s_j",
        "set",
    ),
    "the last layer of a graph network": (r"z_u = h_u^{(K)}", "may number"),
    "a layer that is counted elsewhere": (r"h = a^{(n_l)} = f(z^{(n_l)})", "may number"),
    "an index that nothing binds": (
        r"\hat y[t] = w_k^{\text{a}} \hat u[t] + w_k^{\text{b}} \hat v[t]",
        "may number",
    ),
    "a draw from what nothing gives": (r"y_t \sim p(y \mid \theta_t)", "draws"),
    "a problem with constraints": (
        r"\mathbf w^\top \mathbf q = c \quad \text{s.t.} \quad \sum_i w_i = 1",
        "constraints",
    ),
    "about how large": (r"z_t^{(i)} \approx 0", "how large"),
    "a set with a condition": (r"R_t = \{(s, l) : s < t, 0 \le l \le L\}", "read"),
    "a rate in time": (r"\partial_t h_b = A_{bc} h_c", "continuous time"),
    "a word in quotes": (r's = z_{\text{"cat"}}', "word"),
    "functions of a number": (r"f(x) = g(x) h(x)", "argument"),
    "a case that binds a letter": (
        r"u_j = \begin{cases} a_k & \text{if } j = 2k \\ b_k & \text{if } j = 2k + 1 \end{cases}",
        "one of its cases is about k",
    ),
    "the best vector": (
        r"\hat\beta = \arg\min_\beta \lVert y - X \beta \rVert_2^2",
        "best parameters",
    ),
    "rows so far, and one more": (
        r"o = \operatorname{softmax}(q [K; k]^T) [V; v]",
        "joins a matrix",
    ),
    "a word of capitals": (r"V_t = \beta VIX_t + \epsilon_t", "may be a word"),
    "a case with a word": (
        r"m_i = \begin{cases} 0 & i \leq 3, \text{allowed} \\ 1 & \text{otherwise} \end{cases}",
        "allowed",
    ),
    "the square of an error": (r"J = \frac12 e^2", "square of an e"),
    "how something changes, by a prime": (r"h'(t) = A h(t) + B x(t)", "derivatives"),
    "how something changes, by a dot": (r"\dot x = A x + B u", "derivatives"),
    "the exponential of a capital": (r"\bar A = \exp(\Delta A)", "exponential of a matrix"),
    "the exponential of a capital beside states": (
        r"h_t = \exp(\Delta_t A) h_{t-1} + \Delta_t B_t x_t",
        "exponential of a matrix",
    ),
    "words in capitals": (r"BLEU = BP \cdot \exp(\sum_n w_n \log p_n)", "BP may be a word"),
    "a product on the left": (r"AXB = C", "may be a word or a product"),
    "a power, or one for each": (
        r"\mathbf r^k = \frac{\mathbf x - \mathbf x^k}{\sigma^k}",
        "may be a power",
    ),
    "a score of a word": (r"P(y | x) = \text{softmax}_y\, \beta s(y | x)", "is computed by nothing"),
    "an event": (r"P(A = 1, B = 1) = P(A = 1) P(B = 1)", "event"),
    "an event of a chain": (r"F[s,t] = P(S_t = s)", "event"),
    "an event in words": (r"P(\textrm{choose } i) = 1 - (1 - 1/n)^n", "event"),
    "an energy": (r"P(x) = \frac{1}{Z} e^{-\beta E(x)}", "expectation"),
    "a density of something unknown": (r"p(x) = \frac{1}{Z} \exp(-\mathcal{L}(x) / \eta)", "defines"),
    "a posterior": (r"p(\Phi) = \frac{1}{Z} e^{-n \mathcal{L}}", "parameters"),
    "an entropy": (r"H[P] = -\sum_j P(j) \log P(j)", "distributions"),
    "a power of a matrix": (
        r"\mathbf A^n = \mathbf W \boldsymbol\Lambda^n \mathbf V, \quad \mathbf B = \mathbf A \boldsymbol\Lambda",
        "power",
    ),
    "a convolution": (r"(f * g)(t) = \sum_\tau f(\tau) g(t - \tau)", "functions"),
    "a random variable": (r"H(X) = -\sum_i p_i \log p_i", "argument"),
    "a vector of ones beside plain letters": (r"s = X \mathbf 1", "ones"),
    "a gradient, as a differential": (r"dZ = A - Y", "differentials"),
    "a convolution of two names": (r"y = x * K", "convolution"),
    "a function with an underscore": (r"h_l = \text{transformer\_block}(h_{l-1})", "nothing here defines"),
    "shapes": (r"x.\mathrm{grad}.\mathrm{shape} = x.\mathrm{shape}", "shapes"),
    "a loss of a prediction": (r"L = \sum_t \ell(y_t, \hat y_t)", "a function that nothing"),
    "a column of functions": (
        r"\begin{pmatrix} i \\ f \\ g \end{pmatrix} = \begin{pmatrix} \sigma \\ \sigma \\ \tanh \end{pmatrix} W h",
        "lists functions",
    ),
    "a function of a capital": (r"A = SelfAttention(X)", "a function that nothing here defines"),
    "two places that are computed": (r"PE_{(ij, i + j)} = \sin(i / c^{j})", "computed"),
    "a place or a label": (r"z_L = \alpha^L c", "place"),
    "a determinant": (r"s = \log |\Sigma| + x^\top \Sigma^{-1} x", "determinant"),
    "a sigmoid of a label": (r"p(y | x) = \sigma(w^\top x + b)", "one value of y"),
    "a loss by its own name": (
        r"\mathcal{L} = \mathcal{L}(\hat Y, Y), \quad \hat Y = A W", "a function that nothing",
    ),
    "a derivative of a column": (r"\frac{\partial z}{\partial x} = W", "a part of its display"),
    "a derivative of a function that is only a letter": (
        r"\frac{\partial f}{\partial x_i} = D_i f", "a part of its display",
    ),
    "derivatives between": (
        r"\frac{\partial L}{\partial w} = \frac{\partial L}{\partial z} \frac{\partial z}{\partial w} = \delta x",
        "a part of its display",
    ),
    "a number in the place of a matrix": (
        r"\frac{\partial z^{(3)}}{\partial W^{(2)}} = a^{(2)}", "like a matrix",
    ),
    "a diagonal in the place of a matrix": (
        r"\frac{\partial h_t}{\partial h_{t-1}} = (1 - h_t^2) \cdot W", "is a matrix",
    ),
    "a product of matrices": (
        r"\frac{\partial h_t}{\partial h_k} = \prod_{j=k+1}^t W^\top \operatorname{diag}(1 - h_j^2)", "order",
    ),
    "a last layer of none": (
        r"\delta^{(L)} = \frac{\partial E}{\partial \mathbf z^{(L)}}", "a part of its display",
    ),
    "continuous time": (r"\frac{dx}{dt} = y", "derivatives"),
    "a flow along a gradient": (r"\dot W = -\frac{\partial L}{\partial W}", "derivatives"),
    "a letter that may abbreviate": (r"J = (1 - p_t)^2 \log p_t", "may number"),
    "a capital as a number": (r"M(t) = M_0 \cdot e^{-t/\tau}", "no reading of it is likely"),
    "a transpose that is missing": (
        r"S_t = S_{t-1} + \beta_t k_t (v_t - k_t^\top S_{t-1})", "no reading of it is likely",
    ),
    "a draw that nothing reads": (r"X \sim N(0, I)", "what it draws"),
    "a word for a function": (
        r"\text{WordEmbedding}(w) = \text{LookupTable}(w)", "nothing here defines",
    ),
    "a projection": (r"x_{k+1} = \pi_C \left( x_k - \alpha_k g_k \right)", "call or a product"),
    "a capital that fits as a column": (
        r"\alpha = \sigma(W_1 \cdot \text{ReLU}(W_e \cdot E + W_d \cdot D + b))", "like a matrix",
    ),
    "a score, or several": (
        r"\text{Score}(h_t, q) = V^\top \tanh(W_h h_t + W_q q)", "may be a number or a column",
    ),
    "where a gradient vanishes": (r"\frac{\partial L}{\partial w} = 0", "a part of its display"),
    "a share of squares that nothing sums": (r"R^2 = 1 - \frac{RSS}{TSS}", "the word"),
    "known by something else": (
        r"\mu_{y|x} = \mu_y + A (x - \mu_x)", "by something else",
    ),
    "a step of Newton": (r"x_{n+1} = x_n - f(x_n) / f'(x_n)", "a function that nothing"),
    "one differential": (r"\delta = (dz) \odot W", "differentials"),
    "vectors as rows": (r"H = [h_1; h_2; \ldots; h_n], \quad Y = H W", "side by side"),
    "bold vectors as rows": (
        r"\mathbf X = [\mathbf x_1, \ldots, \mathbf x_n]^\top \in \mathbb{R}^{n \times d}", "side by side",
    ),
    "a function of a list with dots": (r"y_t = \log(\text{std}(r_1, \ldots, r_t))", "dots"),
    "words before the name on the left": (
        r"Attention\ Weights \ \boldsymbol\alpha = softmax(\boldsymbol q^T \boldsymbol k)", "words",
    ),
    "a condition between two indices": (
        r"\frac{\partial a_j}{\partial z_i} = a_i (1 - a_i), \quad i = j", "a part of its display",
    ),
    "a similarity of any kind": (
        r"v_i = \sum_j \mathrm{sim}(\mathbf q_i, \mathbf k_j) u_j", "nothing here defines",
    ),
    "many steps at once": (r"h_t = f(x_{<t})", "many steps"),
    "an index that has indices": (r"\eta(t) = \eta_i \text{ if } t_i \leq t \leq t_{i+1}", "indices"),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_read(case: str, tmp_path: Path) -> None:
    display, axes, sums = READ[case]
    (found,) = readings(tmp_path, display)
    assert not found.skipped and not found.mistakes
    assert found.axes == {name: {count} for name, count in axes.items()}
    assert len(found.sums) == sums


@pytest.mark.parametrize("case", OUTSIDE)
def test_outside(case: str, tmp_path: Path) -> None:
    display, reason = OUTSIDE[case]
    (found,) = readings(tmp_path, display)
    assert not found.computed and not found.mistakes
    assert reason in found.skipped[0].reason


SLIPS = {
    "a gate on the wrong side of a weight": (
        r"z_t = \sigma(W_z x_t + U_z h_{t-1}), \quad r_t = \sigma(W_r x_t + U_r h_{t-1}), \quad"
        r" \tilde h_t = \tanh(W_h [x_t, r_t U_r])",
        "copied-label",
    ),
}


AGAIN: dict[str, tuple[str, dict[str, int], int]] = {
    "a sum that binds a letter of the left side": (
        r"\alpha_{ij} = \frac{\exp(e_{ij})}{\sum_j \exp(e_{ij})}",
        {"α": 2, "e": 2},
        1,
    ),
    "a word in a probability": (
        r"P(f_i = v \mid f_{1:i-1}) = \frac{\exp(o_{i,v})}{\sum_{v=1}^V \exp(o_{i,v})}",
        {"o": 2},
        1,
    ),
}


@pytest.mark.parametrize("case", AGAIN)
def test_a_sum_over_a_letter_of_the_left_is_read_and_told(case: str, tmp_path: Path) -> None:
    """The Σ below has a letter of its own; whoever reads it has to guess that."""
    display, axes, sums = AGAIN[case]
    (found,) = readings(tmp_path, display)
    assert [m.code for m in found.mistakes] == ["summed-again"]
    assert axes.items() <= {name: max(counts) for name, counts in found.axes.items()}.items()
    assert len(found.sums) == sums


@pytest.mark.parametrize("case", SLIPS)
def test_what_cannot_be_meant_is_told_and_not_computed(case: str, tmp_path: Path) -> None:
    display, code = SLIPS[case]
    (found,) = readings(tmp_path, display)
    assert not found.computed
    assert [m.code for m in found.mistakes] == [code]


TOLD: dict[str, tuple[tuple[str, ...], dict[str, int]]] = {
    "a vector": (("Here the vectors $x_i$ are added up:", r"p = \sum_i a_i x_i"), {"p": 1, "a": 1, "x": 2}),
    "numbers": (("Here $b_i$ is the rate of $i$:", r"p_i = a_i b_i"), {"p": 1, "a": 1, "b": 1}),
    "a matrix in a small letter": (
        ("Here $a$ is a matrix, and the vectors are $x$, $y$:", r"y = a x"), {"y": 1, "a": 2, "x": 1},
    ),
    "a vector of another section": (
        ("# Names", "Here the vectors $x_i$ are given.", "# Sums", r"p = \sum_i a_i x_i"), {"p": 1, "a": 1, "x": 2},
    ),
    "sizes of another section": (
        ("# Names", r"Here $g \in \mathbb{R}^d$ is given.", "# Steps", r"u = \eta g"), {"u": 1, "η": 0, "g": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_sentences_say_what_names_are(case: str, tmp_path: Path) -> None:
    displays, axes = TOLD[case]
    (found,) = readings(tmp_path, *displays)
    assert not found.skipped and not found.mistakes
    assert found.axes == {name: {count} for name, count in axes.items()}


def test_what_sentences_say_is_not_given_up(tmp_path: Path) -> None:
    (found,) = readings(tmp_path, r"Here $A \in \mathbb{R}^{n \times n}$ holds.", r"K_k = C A^k b")
    assert found.axes["A"] == {2} and not found.skipped and not found.mistakes


def test_a_filter_of_kalman(tmp_path: Path) -> None:
    """What is predicted reads the mended estimate of the step before, and is read by that of its own."""
    path = tmp_path / "notes.md"
    rows = (
        r"\hat x_{k|k-1} = F \hat x_{k-1|k-1} + B u_k",
        r"P_{k|k-1} = F P_{k-1|k-1} F^T + Q",
        r"S_k = H P_{k|k-1} H^T + R",
        r"K_k = P_{k|k-1} H^T S_k^{-1}",
        r"\hat x_{k|k} = \hat x_{k|k-1} + K_k (z_k - H \hat x_{k|k-1})",
        r"P_{k|k} = (I - K_k H) P_{k|k-1}",
    )
    path.write_text("\n\n".join(f"$${row}$$" for row in rows), encoding="utf-8")
    (program,) = load_document(path)
    draw = np.random.default_rng(1).normal
    u, z = draw(size=(3, 2)), draw(size=(3, 1))
    given = {"F": draw(size=(2, 2)), "B": draw(size=(2, 2)), "H": draw(size=(1, 2))}
    given |= {"Q": np.eye(2), "R": np.eye(1)}
    found = program.interpret({"u": u, "z": z}, given)
    F, H, x, P = given["F"], given["H"], np.zeros(2), np.zeros((2, 2))
    for k in range(3):
        x, P = F @ x + given["B"] @ u[k], F @ P @ F.T + np.eye(2)
        K = P @ H.T @ np.linalg.inv(H @ P @ H.T + np.eye(1))
        x, P = x + K @ (z[k] - H @ x), (np.eye(2) - K @ H) @ P
        assert np.allclose(found["x̂_{|k}"][k], x) and np.allclose(found["P_{|k}"][k], P)


def test_slopes_of_functions(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    slopes = r"\sigma'(z_i)", r"\tanh'(z_i)", r"\text{ReLU}'(z_i)"
    path.write_text(
        "\n\n".join(rf"$$\delta_i^{{{n}}} = {f}$$" for n, f in zip("abc", slopes, strict=True)),
        encoding="utf-8",
    )
    z, h = np.array([-0.7, 0.2, 1.5]), 1e-5
    functions = lambda x: 1 / (1 + np.exp(-x)), np.tanh, lambda x: np.maximum(x, 0)
    (program,) = load_document(path)
    found = program.interpret({"z": z})
    for n, f in zip("abc", functions, strict=True):
        assert np.allclose(found[f"δ^{n}"], (f(z + h) - f(z - h)) / (2 * h))


def test_a_convolution_of_a_graph(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    rows = (
        r"\tilde A = A + I",
        r"\tilde D_{ii} = \sum_j \tilde A_{ij}",
        r"H = \tanh(\tilde D^{-1/2} \tilde A \tilde D^{-1/2} X W)",
    )
    path.write_text("\n\n".join(f"$${row}$$" for row in rows), encoding="utf-8")
    (program,) = load_document(path)
    draw = np.random.default_rng(3)
    A, X, W = draw.integers(0, 2, (4, 4)), draw.normal(size=(4, 3)), draw.normal(size=(3, 2))
    found = program.interpret({"A": A, "X": X}, {"W": W})
    own = A + np.eye(4)
    by = 1 / np.sqrt(own.sum(axis=1))
    assert np.allclose(found["H"], np.tanh((by[:, None] * own * by) @ X @ W))


def test_a_gate_on_a_diagonal(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(r"$$S_t = S_{t-1} \mathrm{diag}(e^{a_t}) + v_t k_t^\top$$", encoding="utf-8")
    (program,) = load_document(path)
    a, v, k = np.random.default_rng(4).normal(size=(3, 3, 2))
    found = program.interpret({"a": a, "v": v, "k": k})
    S = np.zeros((2, 2))
    for t in range(3):
        S = S @ np.diag(np.exp(a[t])) + np.outer(v[t], k[t])
    assert np.allclose(found["S"][-1], S)


def test_an_equation_behind_words(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    text = "the state: \\[h_t = \\tanh(W x_t)\\]\nand see \\[this = that\\]\n"
    path.write_text(text, encoding="utf-8")
    found = reading(load_document(path), 0, len(text), str(path))
    assert found.axes == {"h": {2}, "W": {2}, "x": {2}} and found.equations == 1


def test_a_backward_pass(tmp_path: Path) -> None:
    """Gradients that formulas give are those of PyTorch."""
    torch = pytest.importorskip("torch")
    path = tmp_path / "notes.md"
    rows = (
        r"a_t = \tanh(W x_t)",
        r"\frac{\partial L}{\partial a_t} = a_t - y_t",
        r"\frac{\partial L}{\partial z_t} = \frac{\partial L}{\partial a_t} \odot (1 - a_t^2)",
        r"\frac{\partial L}{\partial W} = \sum_{t=1}^T \frac{\partial L}{\partial z_t} x_t^\top",
    )
    path.write_text("\n\n".join(f"$${row}$$" for row in rows), encoding="utf-8")
    (program,) = load_document(path)
    draw = np.random.default_rng(2).normal
    x, y, W = draw(size=(4, 2)), draw(size=(4, 3)), draw(size=(3, 2))
    found = program.interpret({"x": x, "y": y}, {"W": W})
    weights = torch.tensor(W, requires_grad=True)
    error = torch.tanh(torch.tensor(x) @ weights.T) - torch.tensor(y)
    (error.square().sum() / 2).backward()
    assert np.allclose(found["∂L/∂W"], weights.grad)


def test_letters_tell_gates_apart(tmp_path: Path) -> None:
    found = readings(
        tmp_path,
        r"\Gamma_u = \sigma(W_u [c^{<t-1>}, x^{<t>}] + b_u)",
        r"\Gamma_r = \sigma(W_r [c^{<t-1>}, x^{<t>}] + b_r)",
        r"\tilde c^{<t>} = \tanh(W_c [\Gamma_r * c^{<t-1>}, x^{<t>}] + b_c)",
        r"c^{<t>} = \Gamma_u * \tilde c^{<t>} + (1 - \Gamma_u) * c^{<t-1>}",
    )
    assert not any(one.skipped or one.mistakes for one in found)
    axes = [{name: one.axes[name] for name in one.axes if name[0] in "ΓW"} for one in found]
    assert axes == [
        {"Γ_u": {2}, "W_u": {2}},
        {"Γ_r": {2}, "W_r": {2}},
        {"W_c": {2}, "Γ_r": {2}},
        {"Γ_u": {2}},
    ]


def test_the_last_step_is_one_of_the_steps(tmp_path: Path) -> None:
    _, last = readings(tmp_path, "h_t = a h_{t-1} + x_t", "y = c h_T")
    assert last.axes == {"y": {0}, "c": {0}, "h": {1}}


def test_an_element_does_not_make_a_matrix_a_number(tmp_path: Path) -> None:
    whole, element = readings(
        tmp_path,
        r"f = \bar{\mathbf x}^\top \boldsymbol\Lambda \bar{\mathbf x}",
        r"\kappa = \frac{\boldsymbol\Lambda_1}{\boldsymbol\Lambda_d}",
    )
    assert whole.axes["Λ"] == {2}
    assert element.axes == {"κ": {0}, "Λ_1": {0}, "Λ_d": {0}}


def test_a_display_that_repeats_an_unread_row_is_not_read(tmp_path: Path) -> None:
    rows = r"\begin{aligned} y &= f(x) \\ z &= g(y, x) \end{aligned}"
    again = r"\begin{aligned} y &= f(x) \\ z &= g(y, x) \\ u &= 2 v \end{aligned}"
    first, second = readings(tmp_path, rows, again)
    assert not first.computed and not second.computed


def test_a_draw_alone_is_not_read(tmp_path: Path) -> None:
    rows = readings(
        tmp_path,
        r"y = 2 \epsilon, \quad \epsilon \sim \mathcal N(0, 1)",
        r"z(t + \Delta t) = z(t) + \epsilon, \quad \epsilon \sim \mathcal N(0, 1)",
    )
    assert [row.computed for row in rows] == [True, False]


def test_a_row_in_doubt_takes_its_display_with_it(tmp_path: Path) -> None:
    (found,) = readings(
        tmp_path,
        r"\begin{aligned} q &= W x + b \\ \text{score}(h_t) &= V^\top \tanh(U h_t + q) \end{aligned}",
    )
    assert found.skipped and not found.computed


def test_loops_behind_another_display_begin_anew(tmp_path: Path) -> None:
    first, _, second = readings(
        tmp_path, "g[i] += z u[i]", "y[j] = W[j,I] x[I]", "g[i] += V[j,i] v[j]"
    )
    assert first.axes == {"g": {1}, "z": {0}, "u": {1}}
    assert second.axes == {"g": {1}, "V": {2}, "v": {1}}


def test_a_hidden_markov_model(tmp_path: Path) -> None:
    first, step, total = readings(
        tmp_path,
        r"\alpha_1(j) = \pi_j b_j(o_1)",
        r"\alpha_t(j) = \sum_{i=1}^N \alpha_{t-1}(i) a_{ij} b_j(o_t)",
        r"P(O \mid \lambda) = \sum_{i=1}^N \alpha_T(i)",
    )
    assert first.axes == {"α": {2}, "π": {1}, "b": {2}, "o": {1}}
    assert step.axes == {"α": {2}, "a": {2}, "b": {2}, "o": {1}}
    assert total.axes == {"P": {0}, "α": {2}}


def test_a_vector_among_many_is_no_element(tmp_path: Path) -> None:
    _, loss = readings(
        tmp_path,
        r"f(x) = \mathrm{sign}(w^\top x + b)",
        r"L = \sum_i \max(0, 1 - y_i (w^\top x_i + b)) + \lambda \|w\|^2",
    )
    assert loss.axes == {"L": {0}, "y": {1}, "w": {1}, "x": {2}, "b": {0}, "λ": {0}}


def test_what_one_display_indexes_is_no_number_in_another(tmp_path: Path) -> None:
    _, whole = readings(
        tmp_path,
        r"z^l_j = \sum_k w^l_{jk} a^{l-1}_k + b^l_j",
        r"a^l = \sigma(w^l a^{l-1} + b^l)",
    )
    assert not whole.computed


def test_a_function_that_is_not_read_is_unknown(tmp_path: Path) -> None:
    found = readings(
        tmp_path,
        r"\alpha(\mathbf q, \mathbf k_i) = \exp(a(\mathbf q, \mathbf k_i)) / \sum_j \exp(a(\mathbf q, \mathbf k_j))",
        r"f(\mathbf q) = \sum_i \mathbf v_i \alpha(\mathbf q, \mathbf k_i)",
    )
    assert not any(display.computed for display in found)


def test_a_greek_letter_of_another_section_is_another(tmp_path: Path) -> None:
    _, step = readings(
        tmp_path,
        "# Kernels",
        r"\alpha = (K + \lambda I)^{-1} y",
        "# Descent",
        r"\theta_t = \theta_{t-1} - \alpha m_t",
    )
    assert step.axes == {"θ": {1}, "α": {0}, "m": {1}}


def test_layers_above_and_the_last_of_them(tmp_path: Path) -> None:
    deep, out = readings(
        tmp_path,
        r"\mathbf H_t^{(l)} = \phi_l(\mathbf H_t^{(l-1)} \mathbf W_x^{(l)} + \mathbf H_{t-1}^{(l)} \mathbf W_h^{(l)})",
        r"\mathbf O_t = \mathbf H_t^{(L)} \mathbf W_q",
    )
    assert deep.axes == {"H": {4}, "W_x": {3}, "W_h": {3}}
    assert out.axes == {"O": {3}, "H": {4}, "W_q": {2}}


def test_a_law_that_no_equation_gives_refutes_nothing(tmp_path: Path) -> None:
    law, use = readings(
        tmp_path,
        r"R_m^\top R_n = R_{n-m}",
        r"q_m^\top k_n = (R_m W_q x_m)^\top (R_n W_k x_n) = x_m^\top W_q^\top R_{n-m} W_k x_n",
    )
    assert not law.mistakes and not use.mistakes


def test_a_prime_that_transposes(tmp_path: Path) -> None:
    (found,) = readings(tmp_path, r"b = (X'X)^{-1} X'y")
    assert found.axes == {"b": {1}, "X": {2}, "y": {1}}


def test_a_loss_of_vectors_is_a_number(tmp_path: Path) -> None:
    (found,) = readings(
        tmp_path, r"l(\mathbf y, \hat{\mathbf y}) = -\sum_{j=1}^q y_j \log \hat y_j"
    )
    assert found.axes.pop("l") == {0} and list(found.axes.values()) == [{1}, {1}]


def test_brackets_that_hold_indices_with_words_and_numbers_hold_no_vectors(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(
        r"$$\alpha[t_{\text{in}}] = \mathrm{softmax}_{t_{\text{in}}} h[J_1] W[J_1,J_2] M[t_{\text{in}},J_2]$$",
        encoding="utf-8",
    )
    (found,) = load_document(path)
    assert not found.skipped
    assert {n: len(t.axes) for n, t in found.code.tensors.items()} == {
        "α": 1,
        "h": 1,
        "W": 2,
        "M": 2,
    }


def test_the_gate_of_a_row_goes_with_the_keys(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    display = READ["a gate for every key, in rows"][0]
    path.write_text(f"$${display}$$", encoding="utf-8")
    (found,) = load_document(path)
    S, k, v, alpha = (found.code.tensors[name] for name in ("S", "k", "v", "α"))
    assert alpha.axes[1] == k.axes[1] == S.axes[1] and v.axes[1] == S.axes[2]


def test_positive_numbers_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(
        "$$\\mathbf s_t = \\mathbf s_{t-1} - \\eta_t \\mathbf k_t \\mathbf p_t^\\top$$\n"
        "where $\\mathbf s_t \\in \\mathbb R^{d\\times e}$ and $\\eta_t \\in \\mathbb R^+$.\n",
        encoding="utf-8",
    )
    (found,) = load_document(path)
    axes = {name: len(tensor.axes) for name, tensor in found.code.tensors.items()}
    assert axes == {"s": 3, "η": 1, "k": 2, "p": 2}


def test_a_star_that_was_an_underscore(tmp_path: Path) -> None:
    (found,) = readings(tmp_path, r"\tilde{h}*t = \tanh(W x_t + U (r_t \odot h*{t-1}) + b)")
    assert not found.computed
    assert any("where a `_` is expected" in message.text for message in found.mistakes)


def test_a_sum_that_einstein_leaves_out_refutes_no_step(tmp_path: Path) -> None:
    (found,) = readings(
        tmp_path,
        r"\frac{\partial p_i}{\partial z_k} = \frac{\partial}{\partial z_k} \frac{e^{z_i}}{e^{z_m}}"
        r" = p_i (\delta_{ik} - p_k)",
    )
    assert not found.mistakes


def test_a_gate_alone_reads_a_state_of_elsewhere(tmp_path: Path) -> None:
    (gate,) = readings(tmp_path, r"z_t = \sigma(W x_t + U h_{t-1})")
    assert gate.axes["h"] == {2} and not gate.messages


def test_scores_that_are_called_e(tmp_path: Path) -> None:
    scores, weights, context = readings(
        tmp_path,
        r"e_i^t = v^T \tanh(W_h h_i + W_s s_t + b)",
        r"a^t = \text{softmax}(e^t)",
        r"h_t^* = \sum_i a_i^t h_i",
    )
    assert scores.axes == {"e": {2}, "v": {1}, "W_h": {2}, "h": {2}, "W_s": {2}, "s": {2}, "b": {1}}
    assert weights.axes == {"a": {2}, "e": {2}}  # all scores of a step, and no exponential
    assert context.axes == {"h^*": {2}, "a": {2}, "h": {2}}


def test_biases_are_like_what_they_are_added_to(tmp_path: Path) -> None:
    gate, words = readings(
        tmp_path,
        r"p = \sigma(w_s^\top s + b_p)",
        r"q = \text{softmax}(V' (V s + b) + b')",
    )
    assert gate.axes["b_p"] == {0}
    assert words.axes["b"] == words.axes["b'"] == {1}


def test_a_word_that_an_earlier_display_names(tmp_path: Path) -> None:
    _, out = readings(
        tmp_path,
        r"wkv_t = \frac{a_t}{b_t}",
        r"o_t = W_o (\sigma(r_t) \odot wkv_t)",
    )
    assert set(out.axes) == {"o", "W_o", "r", "wkv"}


def test_losses_that_nothing_defines_refute_no_step(tmp_path: Path) -> None:
    found = readings(
        tmp_path,
        r"\frac{\partial L}{\partial W} = \sum_{t=1}^T \frac{\partial L_t}{\partial W}",
        r"\frac{\partial L_t}{\partial W} = \sum_{k=1}^t \frac{\partial L_t}{\partial h_t}"
        r" \frac{\partial h_t}{\partial h_k} \frac{\partial h_k}{\partial W}",
    )
    assert not any(display.mistakes for display in found)


def test_a_display_in_a_quotation(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    text = "> A cell:\n> $$\n> h_t = W x_t\n> $$\n> and more\n"
    path.write_text(text, encoding="utf-8")
    found = reading(load_document(path), 0, len(text), str(path))
    assert not found.skipped and found.axes == {"h": {2}, "W": {2}, "x": {2}}


def test_an_accent_leaves_what_is_declared(tmp_path: Path) -> None:
    said = r"Here $B \in \mathbb{R}^{N \times 1}$."
    _, step = readings(tmp_path, said, r"g_k = B u_k", r"h_k = \bar A h_{k-1} + \bar B x_k")
    assert step.axes["x"] == {1} and step.axes["h"] == {2}


def test_a_width_beside_weights_of_layers(tmp_path: Path) -> None:
    layer, size = readings(tmp_path, r"h^{l+1} = f(W^l h^l + b^l)", r"O = \frac{W - K + 2P}{S} + 1")
    assert layer.axes["W"] == {3} and layer.axes["b"] == {2}
    assert {*map(str, size.axes)} == {*"OWKPS"} and all(n == {0} for n in size.axes.values())


def test_a_recurrence_may_begin_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    step = r"\beta_t(j) = \sum_i a_{ji} \beta_{t+1}(i)"
    path.write_text(f"$$\\beta_T(j) = 1$$\n\n$${step}$$\n")
    (found,) = load_document(path)
    matrix = np.array([[0.5, 0.25], [0.0, 1.0]])
    beta = found.interpret({"a": matrix}, {"a": matrix}, sizes={"T": 3})["β"]
    once = matrix.sum(axis=1)
    assert np.allclose(beta, [matrix @ once, once, np.ones(2)])


def test_the_exponential_of_a_matrix(tmp_path: Path) -> None:
    """Where its argument is inverted as well it is one for sure; else that of each element may be meant."""
    path = tmp_path / "notes.md"
    hold = r"\bar{A} = \exp(\Delta A), \quad \bar{B} = (\Delta A)^{-1} (\exp(\Delta A) - I) \cdot \Delta B"
    path.write_text(f"$${hold}$$\n")
    (found,) = load_document(path)
    rng = np.random.default_rng(0)
    values = {"A": rng.normal(size=(3, 3)), "B": rng.normal(size=(3, 2)), "Δ": 1.5}
    result = found.interpret(values, values)
    scaled = 1.5 * values["A"]
    levels, vectors = np.linalg.eig(scaled)
    expected = (vectors @ np.diag(np.exp(levels)) @ np.linalg.inv(vectors)).real
    discretised = np.linalg.inv(scaled) @ (expected - np.eye(3)) @ (1.5 * values["B"])
    assert np.allclose(result["Ā"], expected)
    assert np.allclose(result["B̄"], discretised)
    alone, _ = readings(tmp_path, r"\bar{A} = \exp(\Delta A)", r"h_t = \bar A h_{t-1}")
    assert not alone.computed and "exponential" in alone.skipped[0].reason


def test_a_letter_that_counts_is_bound_or_in_doubt(tmp_path: Path) -> None:
    """The j of `ψ_t(j)` is an index, whatever stands beside it, and never the first element."""
    _, best = readings(
        tmp_path,
        r"E_{t,k} = W_k h_t + b_k",
        r"\psi_t(j) = \arg\max_i [\delta_{t-1}(i) + T_{i,j}]",
    )
    assert best.axes == {"ψ": {2}, "δ": {2}, "T": {2}}


def test_a_step_of_prose_holds_for_all_that_it_numbers(tmp_path: Path) -> None:
    (found,) = readings(tmp_path, r"\mathbf q_m^\top \mathbf k_n = \mathbf x_m^\top W \mathbf x_n")
    assert not found.skipped and found.axes == {"q": {2}, "k": {2}, "x": {2}, "W": {2}}


def test_an_equation_that_is_not_read_shows_how_names_are_numbered(tmp_path: Path) -> None:
    """The T of `δ_T` is the last t, though what defines δ_t is left outside."""
    _, last = readings(
        tmp_path,
        r"\delta_t(j) = \max_{i \in \mathcal{Y}} [\delta_{t-1}(i) + T_{i,j}]",
        r"\hat y = \max_j \delta_T(j)",
    )
    assert last.axes["δ"] == {2}
    (program,) = load_document(tmp_path / "notes.md")
    assert "seen" not in program.explain()


def test_what_is_declared_is_no_parameter(tmp_path: Path) -> None:
    said = r"Here $x \in \mathbb{R}^d$."
    (mean,) = readings(tmp_path, said, r"\mu = \frac1d \sum_{i=1}^d x_i")
    assert {name: n for name, n in mean.axes.items() if name != "D"} == {"μ": {0}, "x": {1}}


def test_a_size_that_has_a_value_is_one(tmp_path: Path) -> None:
    said = r"Here $W_1 \in \mathbb{R}^{d \times f}$."
    layer, _ = readings(tmp_path, said, r"y = x W_1 + b", r"d = 512, \quad f = 2048")
    assert layer.axes == {"y": {1}, "x": {1}, "W_1": {2}, "b": {1}} and len(layer.sums) == 1


def test_a_step_of_what_nothing_defines_is_left_open(tmp_path: Path) -> None:
    (found,) = readings(tmp_path, r"\frac{\partial \hat y}{\partial z} = \hat y (1 - \hat y)")
    assert not found.mistakes


def test_a_convolution_is_no_step(tmp_path: Path) -> None:
    (found,) = readings(tmp_path, r"y_k = \sum_{j=0}^{k} K_{k-j} x_j = (K * x)_k")
    assert not found.mistakes


def test_a_chain_of_what_is_not_defined_is_left_open(tmp_path: Path) -> None:
    (found,) = readings(
        tmp_path,
        r"\frac{\partial L}{\partial W[i,j]} = \frac{\partial L}{\partial s[j]} \frac{\partial s[j]}{\partial W[i,j]}",
    )
    assert not found.mistakes


def test_a_chain_sums_over_what_stands_between_in_both_layouts(tmp_path: Path) -> None:
    """The gradient by x of a loss of h = tanh(W x), with the matrix of derivatives that the text gives."""
    forward = r"$$\mathbf h = \tanh(W \mathbf x)$$"
    given = r"$$\frac{\partial \mathbf h}{\partial \mathbf x} = \operatorname{diag}(1 - \mathbf h^2) W$$"
    inner, outer = (
        r"\frac{\partial L}{\partial \mathbf h}", r"\frac{\partial \mathbf h}{\partial \mathbf x}"
    )  # fmt: skip
    random = np.random.default_rng(0)
    weights, x, slope = random.normal(size=(3, 4)), random.normal(size=4), random.normal(size=3)
    expected = weights.T @ (slope * (1 - np.tanh(weights @ x) ** 2))
    for chain in (inner + outer, outer + inner):
        path = tmp_path / "notes.md"
        left = r"\frac{\partial L}{\partial \mathbf x}"
        path.write_text("\n\n".join((forward, given, f"$${left} = {chain}$$")), encoding="utf-8")
        (program,) = load_document(path)
        found = program.interpret({"W": weights, "x": x, "∂L/∂h": slope})["∂L/∂x"]
        np.testing.assert_allclose(found, expected)


def test_rows_of_a_declared_matrix(tmp_path: Path) -> None:
    """`A ∈ ℝ^{L×D}` beside `A_i`: i is one of its two indices, and no third."""
    (found,) = readings(
        tmp_path,
        r"Here $A \in \mathbb{R}^{L \times D}$.",
        r"\hat z_t = \sum_{i=1}^{L} \alpha_{t,i} A_i",
    )
    assert not found.skipped
    assert {name: max(axes) for name, axes in found.axes.items() if name in "αA"} == {
        "α": 2,
        "A": 2,
    }


def test_lists_with_dots_leave_the_other_displays_alone(tmp_path: Path) -> None:
    heads, lists = readings(tmp_path, r"Z_j = X W_j", r"Z_c = [Z_1, Z_2, \dots, Z_M]")
    assert heads.axes["Z"] == {3}
    assert lists.skipped and not heads.skipped


@pytest.mark.parametrize("own", ["j", "j'", "m", "l"])
def test_the_letter_of_a_sum_changes_nothing(own: str, tmp_path: Path) -> None:
    display = (
        rf"A_{{ij}} = \frac{{\exp(q_i \cdot k_j)}}{{\sum_{{{own}}} \exp(q_i \cdot k_{{{own}}})}}"
    )
    (tmp_path / "notes.md").write_text(f"$${display}$$", encoding="utf-8")
    (program,) = load_document(tmp_path / "notes.md")
    draw = np.random.default_rng(0)
    q, k = draw.standard_normal((2, 3)), draw.standard_normal((4, 3))
    scores = np.exp(q @ k.T)
    weights = scores / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(program.interpret({"q": q, "k": k})["A"], weights)


@pytest.mark.parametrize("told", ["vector $h_t$", "vector $s_t$"])
def test_elements_of_what_a_sentence_calls_a_vector(told: str, tmp_path: Path) -> None:
    """Gates whose sums are written out, in a section that speaks of vectors."""
    gate = r"g_{t,i} = \sigma(b_i + \sum_j W_{i,j} h_{t-1,j})"
    (found,) = readings(tmp_path, f"Here the {told} is the state.", gate)
    assert found.axes == {"g": {2}, "b": {1}, "W": {2}, "h": {2}} and not found.skipped


def test_elements_of_a_vector_of_another_section(tmp_path: Path) -> None:
    score = r"z = \sum_{i=1}^n w_i x_i + b"
    text = (
        "# One",
        score,
        "# Two",
        "Here $w$ is a weight vector, and $x$ a vector.",
        r"z = w \cdot x + b",
    )
    first, second = readings(tmp_path, *text)
    assert second.axes == {"z": {0}, "w": {1}, "x": {1}, "b": {0}}
    assert first.axes in ({}, second.axes)  # if anything, no vector for each i


@pytest.mark.parametrize(
    ("said", "display", "axes"),
    [
        ("Here $\\theta$ is the activation function.", r"r_m^t = \theta(s_m^t)", {"r": {2}, "s": {2}}),
        ("Here nothing is said.", r"v^{[l]} = g^{[l]}(q^{[l]}), \quad q^{[l]} = v^{[l-1]} + c^{[l]}",
         {"v": {1}, "q": {1}, "c": {1}}),
        ("Here $h$ is another non-linear function.", r"b_{i}^t = c_i^t h(s_i^t)",
         {"b": {2}, "c": {2}, "s": {2}}),
        (r"Here $\rho: \mathbb{R} \to \mathbb{R}$ is smooth.",
         r"y_i = \sum_{j=1}^J w_{ij} \rho(\sum_{k=1}^K u_{jk} x_k + c_j)",
         {"y": {1}, "w": {2}, "u": {2}, "x": {1}, "c": {1}}),
    ],
)  # fmt: skip
def test_a_function_that_is_only_named_is_taken_of_each_element(
    said: str, display: str, axes: dict[str, set[int]], tmp_path: Path
) -> None:
    (found,) = readings(tmp_path, said, display)
    assert found.axes == axes and not found.skipped


@pytest.mark.parametrize(
    ("said", "display"),
    [
        ("Here nothing is said.", r"r_m^t = \theta(s_m^t)"),
        (r"Here $\eta$ is a rate, and $g$ the activation function.", r"r_m = \eta(s_m)"),
        ("Here $f$ is a nonlinear map.", r"y_t = f(x_t, s_t)"),
    ],
)
def test_what_may_be_a_call_or_a_product_is_left_outside(
    said: str, display: str, tmp_path: Path
) -> None:
    (found,) = readings(tmp_path, said, display)
    assert not found.computed


def test_primes_transpose_in_all_of_a_text_that_shows_it(tmp_path: Path) -> None:
    spread, gain, other = readings(
        tmp_path,
        "# Spread",
        r"S_t = Z_t P_t Z_t' + H_t",
        "# Gain",
        r"K_t = P_t Z_t' S_t^{-1}",
        "# Means",
        r"g = Z_t'(y - \mu)",
    )
    assert spread.axes == {"S": {3}, "Z": {3}, "P": {3}, "H": {3}}
    assert gain.axes == {"K": {3}, "P": {3}, "Z": {3}, "S": {3}}
    assert "Z'" not in other.axes
    (layers,) = readings(tmp_path, r"q' = W q + b, \quad r = V q'")
    assert layers.axes["q'"] == {1}


def test_arrows_stand_between_equations(tmp_path: Path) -> None:
    (found,) = readings(
        tmp_path,
        r"\frac{\partial L}{\partial z_i} = p_i - y_i \quad\Rightarrow\quad s = \sum_i p_i",
    )
    assert found.axes == {"∂L/∂z": {1}, "p": {1}, "y": {1}, "s": {0}} and not found.skipped
    (more,) = readings(tmp_path, r"s = \sum_i p_i \Rightarrow s \gg 1")
    assert not more.computed


@pytest.mark.parametrize(
    ("display", "axes"),
    [
        (r"\delta_t = R_{t+1} + \gamma V(S_{t+1}) - V(S_t)", {"δ": 1, "R": 1, "γ": 0, "V": 1, "S": 1}),
        (r"q_t(j) = b_j(x_t) \sum_{i=1}^N q_{t-1}(i) a_{ij}", {"q": 2, "b": 2, "x": 1, "a": 2}),
        (r"y = \mathrm{clip}(W x + c, -1, 1)", {"y": 1, "W": 2, "x": 1, "c": 1}),
        (r"w_t = w_{t-1} - lr * g_t", {"w": 1, "lr": 0, "g": 1}),
        (r"\addtocounter{equation}{-1} \mathbold y = \mathbf W [\mathbf x \parallel \mathbf h]",
         {"y": 1, "W": 2, "x": 1, "h": 1}),
    ],
)  # fmt: skip
def test_tables_and_functions_that_everyone_knows(
    display: str, axes: dict[str, int], tmp_path: Path
) -> None:
    (found,) = readings(tmp_path, display)
    assert found.axes == {name: {count} for name, count in axes.items()}


def test_a_density_of_vectors_is_no_table(tmp_path: Path) -> None:
    found, state = readings(
        tmp_path,
        r"Here the vectors $x_t$ are given.",
        r"q_t(j) = b_j(x_t) \sum_{i=1}^N q_{t-1}(i) a_{ij}",
        r"r_t = W x_t + c",
    )
    assert not found.computed and state.axes == {"r": {2}, "W": {2}, "x": {2}, "c": {1}}


def test_a_size_keeps_the_letter_of_the_text(tmp_path: Path) -> None:
    (found,) = readings(tmp_path, r"s_{ij} = \frac{a_i^\top b_j}{\sqrt{D}}")
    assert found.letters == {"i", "j", "D", "I", "J"}


def test_coupled_gates_and_powers_are_no_slips(tmp_path: Path) -> None:
    gates = (
        r"\begin{aligned} i_t &= \sigma(W_i s_{t-1}) \\ f_t &= \sigma(W_f s_{t-1}) \end{aligned}"
    )
    coupled = r"s_t = f_t \odot s_{t-1} + (1 - f_t) \odot u_t"
    assert not any(found.mistakes for found in readings(tmp_path, gates, coupled))
    (powers,) = readings(tmp_path, r"m_{ij} = \rho^{n-i-1}")
    assert not powers.mistakes


def test_parts_of_a_matrix_that_are_named_are_no_mistake(tmp_path: Path) -> None:
    where = r"\mathbf{z} \in \mathbb{R}^{N \times D}, \mathbf{U} \in \mathbb{R}^{D \times 2 E}"
    found = readings(
        tmp_path,
        f"Here ${where}$.",
        r"[\mathbf{q}, \mathbf{k}] = \mathbf{z} \mathbf{U}",
        r"A = \mathbf{q} \mathbf{k}^\top",
    )
    assert not any(one.mistakes for one in found)


def test_what_a_row_defines_that_is_not_read_is_no_input_of_the_others(tmp_path: Path) -> None:
    (found,) = readings(
        tmp_path,
        r"\begin{aligned} M_t &= M_{t-1} B + u_t \otimes r_t \\ y_t &= M_t q_t \end{aligned}",
    )
    assert not found.computed and not found.mistakes


def test_steps_in_brackets_leave_powers_without(tmp_path: Path) -> None:
    _, closed = readings(
        tmp_path,
        r"\boldsymbol r^{(t)} = \boldsymbol W \boldsymbol r^{(t-1)}",
        r"\boldsymbol r^{(t)} = \boldsymbol W^t \boldsymbol r^{(0)}",
    )
    assert closed.axes["W"] == {2} and not closed.mistakes


def test_labels_and_bound_letters_are_what_they_look_like(tmp_path: Path) -> None:
    """`L_{logistic}` is no L_σ, a φ that a Σ runs over no label, and e^2 beside e_i no number."""
    loss, sums, square, _ = readings(
        tmp_path,
        r"L_{\text{logistic}} = -q \log p - (1 - q) \log(1 - p)",
        r"u_c = \sum_{\phi=1}^{H} w_{c\phi} r_\phi",
        r"E = \frac{1}{2} e^2",
        r"e_i = y_i - z_i",
    )
    assert loss.axes == {"L_{logistic}": {0}, "q": {0}, "p": {0}}
    assert sums.axes == {"u": {1}, "w": {2}, "r": {1}}
    assert not square.computed
