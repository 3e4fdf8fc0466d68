"""Bad input: whatever a text says, it gets messages; never a traceback, never a hang.

`make fuzz` runs the property tests here with many more examples.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indicial import library
from indicial.loading import load_document

RELAXED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

PIECES = [
    "[", "]", "(", ")", "{", "}", "^", "_", "=", "~", "|", ";", "&", "\\\\", "'", "\n", "…", "∈",
    "Σ_{i}", "\\sum_{i=1}^n", "\\frac{", "}{", "softmax_{t}", "P(", "w_t", "h[t,j]", "t-1", "ℓ+1", "Δt",
    "cases {", "\\begin{cases}", "\\end{cases}", "input ", "range ", "size ", "label ", "constant ",
    "CELL(", "Φ", "⊤", "‖", "max", "argmax", "e^{", "+=", "or", "for", "if", "0", "-1", "1e999",
    "99999999999", "\x00", "\u0303", "\u202e", "💥", "$$", "\\def\\x{\\x\\x}", "\\input{x}",
]  # fmt: skip


def check(path: Path, text: str | bytes) -> None:
    """Reads a text, and looks at all that is said about it."""
    if isinstance(text, str):
        text = text.encode("utf-8", errors="surrogatepass")
    path.write_bytes(text)
    for program in load_document(path):
        for message in program.messages:
            message.render()
            message.to_json()


NASTY = {
    "nothing": "",
    "one sign": "=",
    "deep brackets": "y = " + "(" * 5000 + "x" + ")" * 5000,
    "deep scripts": "y = " + "x_{" * 3000 + "i" + "}" * 3000,
    "deep fractions": "y = " + "\\frac{1}{" * 2000 + "2" + "}" * 2000,
    "deep minus": "y = " + "-" * 5000 + "x",
    "a huge number": "y = 1e999999999 + 10^{10^{10^{10}}}",
    "a huge index": "y = x[99999999999999999999]",
    "a huge size": "size J = 999999999999\ny[j] = x[j]",
    "a huge range": "range t = 0..1000000000\ninput x[t]\ny[t] = x[t] = x[t]",
    "a huge sum": "y = Σ_{i=1}^{1000000000} i = Σ_{i=1}^{1000000000} i",
    "a huge window": "range Δt = -1000000000..1000000000\ninput x[t]\ny = Σ_{t,Δt} x[t+Δt]",
    "a long line": "y = " + " + ".join(f"a{n}" for n in range(3000)),
    "a long name": f"{'x' * 20000} = 1",
    "odd letters": "ß[ı] = ﬁ[ǅ] + ٣ + ５ + Ⅷ + 𝟛 + ª",
    "text that runs from right to left": "y[\u202ei\u202c] = x[i]",
    "a program in Python": "__import__('os').system('false') = open('/dev/null')",
    "everything twice": "y = 1\ny = 2\nx = y\nx = x",
    "every circle": "a = b\nb = c\nc = a",
}


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("ending", ["eq", "md", "tex"])
def test_nasty_texts(name: str, ending: str, tmp_path: Path) -> None:
    text = NASTY[name] if ending == "eq" else f"$$\n{NASTY[name]}\n$$"
    check(tmp_path / f"nasty.{ending}", text)


def test_a_text_runs_no_code(tmp_path: Path) -> None:
    """Names stay names, whatever they are called."""
    trap = tmp_path / "trap"
    evil = f"__import__('pathlib').Path({str(trap)!r}).touch()"
    check(tmp_path / "evil.eq", f"y = {evil}\n{evil} = 1\n\\text{{{evil}}}[t] = 2")
    assert not trap.exists()


@RELAXED
@given(st.binary(max_size=300), st.sampled_from(["eq", "md", "tex", "txt", "ipynb"]))
def test_any_bytes(tmp_path: Path, data: bytes, ending: str) -> None:
    check(tmp_path / f"any.{ending}", data)


@RELAXED
@given(st.lists(st.sampled_from(PIECES), max_size=40), st.booleans())
def test_any_pieces(tmp_path: Path, pieces: list[str], latex: bool) -> None:
    text = "".join(pieces)
    check(tmp_path / ("pieces.md" if latex else "pieces.eq"), f"$${text}$$" if latex else text)


@RELAXED
@given(st.sampled_from(library.names()), st.integers(0, 10**9), st.integers(1, 5))
def test_broken_models(tmp_path: Path, name: str, seed: int, times: int) -> None:
    """Models with signs lost, doubled, exchanged and put in."""
    letters = list(library.path(name).read_text(encoding="utf-8"))
    chance = random.Random(seed)
    for _ in range(times):
        at = chance.randrange(len(letters))
        kind = chance.randrange(4)
        if kind == 0:
            del letters[at : at + chance.randrange(1, 6)]
        elif kind == 1:
            letters.insert(at, chance.choice(PIECES))
        elif kind == 2:
            letters[at:at] = letters[at : at + chance.randrange(1, 30)]
        else:
            other = chance.randrange(len(letters))
            letters[at], letters[other] = letters[other], letters[at]
    check(tmp_path / "broken.eq", "".join(letters))
