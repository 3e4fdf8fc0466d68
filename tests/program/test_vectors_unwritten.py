"""Signs that authors of vector style leave out, beside the same with all of them."""

from __future__ import annotations

import pytest

from indicial.notation.printers import unicode
from indicial.program.program import Program


def rewritten(*lines: str) -> list[str]:
    found = Program.of_text(r" \\ ".join(lines), latex=True, document=True)
    return [unicode(statement).strip() for statement in found.statements]


CELL = r"f_t = \sigma(W x_t + U h_{t-1})"


@pytest.mark.parametrize(
    ("lines", "same"),
    [
        ([CELL, r"h_t = f_t h_{t-1} + (1 - f_t) \tanh(V x_t)"],
         [CELL, r"h_t = f_t \odot h_{t-1} + (1 - f_t) \odot \tanh(V x_t)"]),
        ([r"z_t = W x_t", r"h_t = U [z_t \circ h_{t-1}]"],
         [r"z_t = W x_t", r"h_t = U (z_t \odot h_{t-1})"]),
        ([r"y_t = e^{u + W x_t} \odot x_t"], [r"y_t = \exp(u + W x_t) \odot x_t"]),
        ([r"z_t^j = \sigma(W \mathbf{x}_t)^j", r"h_t^j = z_t^j + 1"],
         [r"z_{t,j} = \sigma(W \mathbf{x}_t)_j", r"h_{t,j} = z_{t,j} + 1"]),
        ([r"r_j = [\mathbf{W} \mathbf{h}_{\langle t-1 \rangle}]_j",
          r"h_j^{\langle t \rangle} = r_j h_j^{\langle t-1 \rangle}"],
         [r"r_j = [\mathbf{W} \mathbf{h}_{t-1}]_j", r"h_{t,j} = r_j h_{t-1,j}"]),
    ],
)  # fmt: skip
def test_left_out(lines: list[str], same: list[str]) -> None:
    assert rewritten(*lines) == rewritten(*same)


def test_a_transpose_says_that_columns_are_not_multiplied_so() -> None:
    found = rewritten(r"C_t = f_t C_{t-1} + v_t k_t^\top", r"f_t = \sigma(w^\top x_t)")
    assert found[1].startswith("f[t] = σ(w[")
    assert "⊙" not in found[0]
