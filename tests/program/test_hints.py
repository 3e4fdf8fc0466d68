"""A hint that says what to write is tried: with it the text is free of the message."""

from pathlib import Path

import pytest

from indicial import load, load_document
from indicial.program.messages import Message

HEAD = r"""# A
$$\alpha_{\ell+1}[k, t_1, t_2] = \text{softmax}_{t_2} q_{\ell+1}[k, t_1, I] q_{\ell+1}[k, t_2, I]$$
"""
SLIPS = {
    "a layer is left out": (
        HEAD + r"$$h_{\ell+1}[k, t, i] = \alpha[k, t, T] v_{\ell+1}[k, T, i]$$",
        "index-count",
        r"write \alpha_{\ell+1}[k, t, T]",
    ),
    "an index stands twice": (
        r"$$h[t, j] = G_t[t, j] h[t-1, j] + (1 - G[t, j]) R[t, j]$$",
        "index-count",
        "write G[t, j]",
    ),
    "what is predicted is given": (
        r"$$P(w_{t+1} | w_t, w_{t+1}) = \text{softmax}_{w_{t+2}} a[w_t,I] a[w_{t+1},I] e[w_{t+2}, I]$$",
        "softmax-variable",
        "write w_{t+2} in the place of w_{t+1} on the left",
    ),
    "another softmax": (
        r"$$P(w_t | w_0, \dots, w_{t-1}) = \text{softmax}_{w_{t+1}} e[w_t, I] h[t-1, I]$$",
        "softmax-variable",
        "write softmax_{w_t}",
    ),
    "a batch": (r"$$L[b, t, i] = e[w[t], i]$$", "batch-index", "write w[b, …]"),
}


def messages(text: str, folder: Path) -> list[Message]:
    (folder / "a.md").write_text(text, encoding="utf-8")
    return [m for program in load_document(folder / "a.md") for m in program.mistakes]


@pytest.mark.parametrize("name", SLIPS)
def test_the_fix_helps(name: str, tmp_path: Path) -> None:
    text, code, hint = SLIPS[name]
    found = next(m for m in messages(text, tmp_path) if m.code == code)
    assert hint in found.hint
    assert found.fix is not None
    span, new = found.fix
    mended = span.source.text[: span.start] + new + span.source.text[span.end :]
    assert found.about not in [m.about for m in messages(mended, tmp_path)]


@pytest.mark.parametrize("before", ["", "y[t] = x[t] + 1\n", "input x[t]\ny[t] = x[t] + 1\n"])
def test_a_misspelt_function_of_what_may_be_a_token_is_one(before: str) -> None:
    (found,) = load(f"{before}z[t] = tnah(y[t])").mistakes
    assert (found.text, found.hint) == ("unknown function tnah", "did you mean tanh?")


def test_what_the_left_side_has_is_not_left_out_on_both_sides() -> None:
    """`h[t-1]` lacks its j; it does not give h a third index."""
    text = "R[t,j] = tanh(W[j,I] h[t-1,I])\nh[t,j] = G[j] h[t-1] + (1 - G[j]) R[t,j]"
    (found,) = load(text).mistakes
    assert found.text == "h has 2 indices, but is used with 1 here"
    assert found.hint == "elsewhere it is h[t, j]; write h[t-1, j]"


def test_a_caret_stands_on_what_is_wrong(tmp_path: Path) -> None:
    (found,) = messages(SLIPS["an index stands twice"][0], tmp_path)
    assert found.span.text == "G_t[t, j]"


def test_a_hint_that_does_not_help_is_not_shown() -> None:
    """`exq` is nearly `exp`, which takes one argument."""
    (found,) = load("input x[i]\ny[i] = tanj(x[i])").mistakes
    assert found.hint == "did you mean tanh?"
    program = load("input x[i]\ny[i] = W[i,J] q[J,k] x[i]\nq[j,k,i] = x[i]")
    hints = [m.hint for m in program.mistakes if m.code == "index-count"]
    assert all("write" not in hint for hint in hints)


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        (
            "input x[t,j]\ny[t] = ‖g[J] x[t,J]‖",
            "a norm takes a vector, but gets a number",
            "write ⊙",
        ),
        (
            "input x[t,j]\ny[t,j] = layernorm(x[t,J] + g[J] x[t,J])[j]",
            "this term sums over J",
            "write ⊙",
        ),
        ("input x[t,j]\ny[t,j] = layernorm(g[J] x[t,J])[j]", "but gets a number", "write ⊙"),
    ],
)
def test_what_a_product_sums_where_a_vector_is_meant(text: str, said: str, hint: str) -> None:
    (found,) = load(text).mistakes
    assert said in found.text and hint in found.hint


def test_the_pairs_inside_a_rotation_are_no_shifted_reads() -> None:
    text = "input x[t,j]\nk[t,i] = W[i,J] x[t,J]\ny[t,I] = rope(k[t,I], t)"
    assert load(text).mistakes == []
    (found,) = load(text.replace("rope(k[t,I], t)", "k[t+1,I]")).mistakes
    assert found.code == "shifted-read"
