"""Rows as papers lay them out: columns, remarks, lists of equations, signs that stand alone."""

from __future__ import annotations

import pytest

from indicial.notation.parse import parse_text
from indicial.notation.printers import unicode


def read(text: str) -> tuple[list[str], list[str]]:
    parsed = parse_text(text, "text", latex=True)
    assert not parsed.faults, parsed.faults
    return [unicode(s).strip() for s in parsed.statements], [s.reason for s in parsed.skipped]


@pytest.mark.parametrize(
    ("text", "equations"),
    [
        (r"x &= a + b & y &= c \\ z &= d & w &= e", ["x = a + b", "y = c", "z = d", "w = e"]),
        (r"x &= a + b && y = c", ["x = a + b", "y = c"]),
        (r"x =& a \\ +& b", ["x = a + b"]),
        (r"x & = & a", ["x = a"]),
        (r"x &= a \\ &\quad + b", ["x = a + b"]),
        (r"x &= a + b && \text{cell state} \\ y &= c && \text{gate}", ["x = a + b", "y = c"]),
        (r"x = a + b \qquad \text{(the sum)}", ["x = a + b"]),
        (r"x = \exp(\tilde x), \qquad \tilde x = a && \text{input gate}", ["x = exp(x̃)", "x̃ = a"]),
        (r"\text{where}~\mathrm{head_i} = x", ["head_i = x"]),
        (r"x = a \quad \text{with} \quad a = b", ["x = a", "a = b"]),
        (r"f', i' \leftarrow \frac{f}{f + i}, \frac{i}{f + i}", ["f' = f/(f + i)", "i' = i/(f + i)"]),
        (r"x, y = f(a, b)", None),
        (r"y = \lfloor x / 2 \rfloor + \lceil x \rceil", ["y = floor(x/2) + (-floor(-x))"]),
        (r"P^-_k = A P^{+}_{k-1}", ["P_k^{-} = A P_{k-1}^{+}"]),
        (r"y = [a \| b]", ["y = [a; b]"]),
        (r"y = \|a\| + [a \,\|\, \|b\|]", None),
    ],
)  # fmt: skip
def test_rows(text: str, equations: list[str] | None) -> None:
    if equations is None:
        assert not parse_text(text, "text", latex=True).statements
        return
    found, skipped = read(text)
    assert found == equations
    assert not skipped
    for equation in found:  # what is printed is read again
        assert [unicode(s).strip() for s in parse_text(equation, "text").statements] == [equation]


def test_a_divergence_is_left_out() -> None:
    found, skipped = read(r"L = -D_{KL}(q(z) \| p(z)) + a")
    assert not found
    assert skipped == ["it compares two distributions"]


def test_a_norm_stays_one() -> None:
    assert read(r"y = \|a - b\|^2 + (\|c\|)") == (["y = ‖a - b‖^2 + (‖c‖)"], [])


@pytest.mark.parametrize(
    ("text", "equations"),
    [
        (r"wkv_t = a \\ o_t = W wkv_t", ["wkv_t = a", "o_t = W wkv_t"]),
        (r"PE_{(pos,2i)} = sin(pos / 2)", ["PE_{(pos,2i)} = sin(pos/2)"]),
        (r"y = xyz + \sqrt{2 + abc}", ["y = x y z + sqrt(2 + a b c)"]),
        (r"dx_t = a", ["d x_t = a"]),
    ],
)
def test_words_of_ones_own(text: str, equations: list[str]) -> None:
    assert read(text) == (equations, [])
