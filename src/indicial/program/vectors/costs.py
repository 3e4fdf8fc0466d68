r"""How unlikely everything is that a reading may assume: all numbers of the inference, in one place.

    \mathbf W       as a matrix 0, as a column 4.5, as a number 7       `WRITTEN["bold capital"]`
    W x, x a number beside a matrix                         2.5 × 1.2   `COST.small × COST.behind`

A reading costs the sum of what its names cost as they are written and of what the form of its equations
costs. The likeliest costs least. `python -m bench.notes.fit` says what another number would change.
"""

from __future__ import annotations

from dataclasses import dataclass

from indicial.program.vectors.shapes import COLUMN, MATRIX, NUMBER, ROW, Shape

Costs = dict[Shape, float]

NEVER = 99.0
"""In the table below: it is not taken at all."""

WRITTEN: dict[str, tuple[float, float, float, float]] = {
    # how a name is written, and its cost as a number, a column, a row, a matrix
    "diagonal": (4, NEVER, NEVER, 0),  # the D of `D^{-1/2} A D^{-1/2}`
    "compared": (6, 0, 0, NEVER),  # the A of `A · B / (‖A‖ ‖B‖)`
    "figure": (0, 4, 4, 5),  # the N_k of `N_{k+1} / (M N_k)`
    "contracted": (0, 3, 3, 4.5),  # the w of `Σ_j w_{kj} x_j`
    "bold capital with two indices": (0.3, 3, 3, 2.5),  # an element
    "part of a bold capital": (3, 1.5, 1.5, 0),  # the Λ_1 beside a Λ
    "bold Δ": (6, 0, 0, 1),  # errors, as a δ
    "bold capital": (7, 4.5, 4.5, 0),
    "numbered bold capital": (7, 1.5, 1.5, 0),  # `\mathbf X_i`
    "capital with an arrow": (7, 0, 0, 2.5),  # `\vec X`; in a text of arrows `\vec W x` is a matrix
    "bold": (6, 0, 0, NEVER),
    "bold with two indices": (1.5, 0, 0, NEVER),  # `Σ_j \mathbf w_{kj}`
    "layer": (6, 0, 0.3, 0.5),  # `LayerNorm`
    "word": (0.8, 1.3, 1.6, 1.5),  # `head_i`
    "word for a figure": (0.8, 3.5, 3.8, 3.7),  # `loss`
    "word with two indices": (-2, 1.3, 1.6, 1.5),  # `y.grad[b,j]` has its indices
    "Greek matrix": (3, 4, 4, 0),  # Σ
    "parameters": (0.6, 0.5, 1, 2),  # Φ
    "Δ": (0, 1.8, 3.5, 3.5),  # a step, or one for each unit; the change of a matrix
    "Greek capital": (1.2, 3, 3, 1),
    "Greek behind a capital": (1.5, 0.5, 0.5, NEVER),  # the β of `X β`
    "often a column": (0, 1.8, 1.8, NEVER),  # θ
    "Greek": (0, 2.5, 2.5, NEVER),
    "script capital": (0, 4, NEVER, 3),  # ℒ
    "capital with two indices": (0.3, 2.5, 2.5, 4.5),
    "numbered capital": (2, 0.8, 0.8, 1.2),  # `X_i`
    "capital with steps": (3, 1, 1, 0.6),  # `X_t`
    "capital beside k^⊤ v": (5, 1, 1, 0.6),  # the S_t of `S_t = S_{t-1} + k_t^⊤ v_t`
    "weight": (4.5, 4.5, 4.5, 0.5),  # the W of `W x`
    "numbered weight": (4.5, 1.2, 1.2, 0.5),  # the W_k of `E_{tk} = W_k h_t` may be a row
    "size in a product": (1, 3, 3, 0.5),  # the N of `N x`
    "capital in a product": (3, 3, 3, 0.5),
    "Y in a product": (3, 1.5, 1.5, 0.5),  # what a regression is fitted to
    "capital": (0.8, 3, 3, 1.2),
    "Y": (0.8, 1.5, 1.5, 1.2),
    "small before a join": (6, NEVER, 1.5, 0.5),  # the w of `w_u [h_{t-1}, x_t]`
    "small of matrices": (6, 1.2, 1.2, 0.4),  # the h_i of `h_i = softmax(Q_i K_i^⊤) V_i`
    "small weight": (0.4, 1.5, 1.5, 2.5),  # the w of `w_h h_{t-1}`
    "small beside a batch": (0.8, 0.8, 0.8, 1),  # the h of `h = tanh(x W + b)` with `x ∈ ℝ^{n×d}`
    "letter beside a batch": (0.4, 0.8, 0.8, 2),  # and the a of `a - y` there
    "plain bias": (0, 0.3, 0.3, 12),  # the b of `\mathbf W \mathbf x + b`
    "plain beside bold": (0, 4, 4, 12),
    "small with two indices": (0.2, 2, 2, 12),
    "count": (0, 3, 3, 12),  # n
    "often a vector": (1.4, 0.8, 0.8, 12),  # x, h, q
    "small": (0.4, 0.8, 0.8, 12),
}

SAID: dict[str, Costs] = {
    "matrix": {MATRIX: 0, COLUMN: 4, ROW: 4, NUMBER: 6},
    "vector": {COLUMN: 0, ROW: 0.5, MATRIX: 4, NUMBER: 5},
    "state": {COLUMN: 0, ROW: 0.5, MATRIX: 2, NUMBER: 4},
    "number": {NUMBER: 0, COLUMN: 4, ROW: 5, MATRIX: 5},
}
"""How unlikely a shape is for what a sentence calls so; how a name is written counts besides."""


@dataclass
class Form:
    """What a reading costs beyond what its names cost."""

    # names
    row: float = 3.0  # a row besides, in the convention of columns
    column: float = 0.2  # a bold column, in the convention of rows
    sentence: float = 7.0  # a small bold letter as a matrix there: the sentence x of `x W_Q`
    bold_greek: float = 5.0  # a small bold Greek letter as a matrix
    transposed: float = 36.0  # a small letter as a matrix, where it is transposed
    weights: float = 4.5  # the w of `(w^{l+1})^⊤ δ` as a matrix
    normed: float = 2.0  # a capital between double bars as a number
    elsewhere: float = 0.7  # what a sentence under another heading counts
    despite: float = 2.0  # what a name's letter says at most against a sentence
    # equations
    ahead: float = 0.25  # how much likelier a reading must be than any other
    odd: float = 2.35  # how odd an equation may be at most
    strained: float = 4.0  # what a sentence may be contradicted by at most
    rows: float = 2.0  # the convention of rows
    rows_shown: float = 0.5  # the same, where a weight stands behind what it multiplies
    vote: float = 2.0  # each product that speaks against a convention
    turned: float = 1.5  # a row that stands for a column in prose: `o_i = q_i^⊤ S`
    turned_at_last: float = 0.5  # the same, where it is asked how odd an equation is
    # sums and ⊙
    one_letter: float = 6.0  # `y - ŷ` of a vector and a number
    bias: float = 0.3  # `X W + b` with b added to every row
    across: float = 3.0  # the same with columns, in the convention of rows, or the other way round
    change: float = 2.5  # `W - η g`, `G + g` of a matrix and a vector
    gate: float = 5.0  # `a ⊙ x` with a number a
    gates: float = 8.0  # `a ⊙ b` of numbers
    # numbers beside vectors and matrices, in sums and products
    call: float = 2.0  # `tanh(a)` at most
    norm_added: float = 4.0  # `S_t + ‖g‖^2`, `S_t + k^⊤ v`
    norm: float = 0.5  # a norm, a written Σ, an inner product as a factor
    product: float = 6.0  # `(a b) X`
    other: float = 2.0  # anything else that is no name
    size: float = 0.2  # a size or index
    greek: float = 0.3  # `λ x`
    greek_added: float = 2.2  # `x + λ`
    plain: float = 0.5  # a plain letter beside bold ones
    plain_bias: float = 2.5  # the same if it is a bias
    element: float = 0.5  # `a_{ij} x`
    element_added: float = 2.2  # `x + a_{ij}`
    capital: float = 4.0  # `C x`
    small: float = 2.5  # `c x`
    before: float = 0.7  # how much of this counts for a first factor
    behind: float = 1.2  # and for a later one
    numbered: float = 1.0  # the y_i of `Σ_i α_i y_i x_i`, at most
    # products
    numbers: float = 3.0  # `W x` of numbers
    pair: float = 1.5  # `f_i P_i`, numbered by one letter, as vectors
    apart: float = 2.0  # `s_i · h_j` of numbers
    late: float = 2.0  # `W x` with a number x
    passed: float = 3.0  # `x W_Q` with a number x
    outer: float = 4.0  # `x y` of a column and a row
    outer_turned: float = 0.5  # `k_t^⊤ v_t` of rows
    dot: float = 4.0  # `a · b` with a matrix
    attended: float = 1.0  # the V_j of `softmax(…) V_j` as a column
    heads: float = 2.0  # `Q_j K_j^⊤` as columns
    gated: float = 2.0  # `a · b` of vectors, element by element
    gated_at_last: float = 0.4  # the same, where it is asked how odd an equation is
    inner: float = 0.5  # `a · b` of vectors, for which a ⊤ is the sign
    # operations
    transpose: float = 3.0  # `(a + b)^⊤` of numbers
    norm_of_number: float = 3.0  # `‖a‖`, `⟨a, b⟩`
    compared: float = 3.0  # `x > y` of vectors
    chain: float = 1.0  # `∂y/∂a ∂a/∂x` of a number and vectors
    divided: float = 1.0  # `x / y` of vectors
    alike: float = 2.0  # `m_t / √v_t` of a vector and a number
    softmax: float = 6.0  # `softmax(a)` of a number
    softmax_numbered: float = 0.3  # the same in `α_i = softmax(e_i)`
    total: float = 1.0  # `mean(a)` of a number
    joined: float = 1.0  # `[a; x]` of a number and a vector
    normalised: float = 4.0  # `LN(a)` of a number
    of_numbers: float = 0.7  # `exp(x)` of a vector
    inverse: float = 0.5  # `A^{-1}`
    power: float = 4.0  # `A^2` of a matrix
    squares: float = 1.0  # `x^2` of a vector
    step_above: float = 3.0  # `x^{t-1}` of a vector
    diagonal: float = 0.5  # `diag(A)` of a matrix


COST = Form()
