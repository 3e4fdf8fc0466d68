"""What notes leave to the reader: functions everyone knows, and how far a sum reaches."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.nn.functional import binary_cross_entropy

import indicial
from indicial.program.program import Program


def program(folder: Path, text: str) -> Program:
    path = folder / "notes.md"
    path.write_text(text)
    (*_, last) = indicial.load_document(path)
    return last


def test_a_text_means_its_own_attention(tmp_path: Path) -> None:
    text = r"""# One
$$\text{Attention}(\mathbf Q, \mathbf K, \mathbf V) = \text{softmax}(\mathbf Q \mathbf K^\top) \mathbf V$$

# Two
$$\mathbf H = \text{Attention}(\mathbf X, \mathbf X, \mathbf X)$$
"""
    found = program(tmp_path, text)
    assert "sqrt" not in "".join(str(s.body) for s in found.analysis.code.statements)
    module = found.compile(D=3, E=4).double()
    x = torch.randn(3, 4, dtype=torch.float64)
    torch.testing.assert_close(module(X=x)["H"], torch.softmax(x @ x.T, 1) @ x)


def test_a_sum_reaches_as_far_as_its_index(tmp_path: Path) -> None:
    text = r"$$L = -\frac{1}{N} \sum_{i=1}^N y_i \ln p_i + (1 - y_i) \ln(1 - p_i)$$"
    found = program(tmp_path, text)
    assert [m.code for m in found.mistakes] == ["sum-end"]  # and the author is told
    y, p = (torch.rand(4, dtype=torch.float64) for _ in range(2))
    module = found.compile(N=4).double()
    torch.testing.assert_close(module(y=y, p=p)["L"], binary_cross_entropy(p, y))


def test_pairs_in_an_order(tmp_path: Path) -> None:
    found = program(tmp_path, r"$$J = \sum_{1 \le i < j \le n} a_{ij}$$")
    a = torch.randn(4, 4, dtype=torch.float64)
    sizes = {"n": 4}
    module = found.compile(**sizes).double()
    torch.testing.assert_close(module(a=a)["J"], a.triu(1).sum())


def test_even_and_odd_places(tmp_path: Path) -> None:
    text = r"""$$p_{t,j} = \begin{cases} \sin(t / 100^{j/4}) & \text{if } j \text{ is even} \\
\cos(t / 100^{(j-1)/4}) & \text{if } j \text{ is odd} \end{cases}$$"""
    module = program(tmp_path, text).compile(T=3, J=4).double()
    t, j = torch.arange(3.0).double()[:, None], torch.arange(4.0).double()
    even, odd = torch.sin(t / 100 ** (j / 4)), torch.cos(t / 100 ** ((j - 1) / 4))
    torch.testing.assert_close(module()["p"], torch.where(j % 2 == 0, even, odd))


def test_results_may_be_rounded(tmp_path: Path) -> None:
    rounded = program(tmp_path, r"$$g = \frac{0.818}{1.549} = 0.528$$")
    assert not rounded.mistakes
    wrong = program(tmp_path, r"$$g = \frac{1}{3} = 0.34$$")
    assert [m.code for m in wrong.mistakes] == ["step"]
