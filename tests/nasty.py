"""Texts that no writer means, and what must hold for all of them: a message, or none, and nothing else.

`check(data, suffix)` reads bytes as a file of that kind and gives all messages. It fails if that takes
longer than it may or does anything but compute.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import random
import resource
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import indicial
from indicial import library
from indicial.library.loading import load_document
from indicial.program.messages import Message

TESTS = Path(__file__).resolve().parent
SEEDS = TESTS.parents[1] / "shared" / "seeds"
SUFFIXES = (".eq", ".md", ".tex", ".txt", ".ipynb")
SECONDS = 20
"""Of the processor's time, however busy the machine is: what takes longer hangs."""
MEMORY = 1 << 30
"""Bytes beside those that the process has: who wants more fails."""


class Hang(AssertionError):
    """Reading a text takes too long."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang(f"more than {seconds} s of computing")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    pages, most = int(Path("/proc/self/statm").read_text().split()[0]), resource.RLIMIT_AS
    allowed = resource.getrlimit(most)
    resource.setrlimit(most, (pages * resource.getpagesize() + MEMORY, allowed[1]))
    try:
        yield
    finally:
        resource.setrlimit(most, allowed)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


_deeds: list[str] = []
_watched = False
_FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.", "os.remove",
              "os.rename", "os.mkdir", "shutil.", "exec", "ctypes.", "pickle.find_class")  # fmt: skip


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _watched:
        return
    if event == "exec" and getattr(arguments[0], "co_filename", "").endswith(".py"):
        return  # a module of Python that is imported late
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if writes or event.startswith(_FORBIDDEN):
        _deeds.append(f"{event}{arguments!r}"[:200])


@cache
def _warm() -> None:
    """Import all that is imported on demand, and begin to watch what Python is asked to do."""
    for module in pkgutil.walk_packages(indicial.__path__, "indicial."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("transformer", "rnn_lm", "captioning_features"):
        for program in load_document(name):
            _ = [m.render() for m in program.messages]
    sys.addaudithook(_hook)


@contextmanager
def watched() -> Iterator[None]:
    """Fails if anything is executed, written, deleted or sent meanwhile."""
    global _watched
    _warm()
    _deeds.clear()
    _watched = True
    try:
        yield
    finally:
        _watched = False
    assert not _deeds, _deeds


def check(data: bytes | str, suffix: str, seconds: int = SECONDS) -> list[Message]:
    """All messages about a text, each rendered once: they too must not fail."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"text{suffix}"
        path.write_bytes(data)
        with limited(seconds), watched():
            found = [m for program in load_document(path) for m in program.messages]
            for message in found[:20]:
                assert message.render()
                assert message.to_json()
    return found


# ---------------------------------------------------------------------- texts to begin with


@cache
def corpus() -> tuple[tuple[str, str], ...]:
    """Texts with their suffixes: the library, restated documents, and the seeds where they are."""
    found = [(".eq", library.path(name).read_text(encoding="utf-8")) for name in library.names()]
    for path in sorted((TESTS / "program" / "restated").iterdir()):
        found.append((path.suffix, path.read_text(encoding="utf-8")))
    for path in sorted(SEEDS.glob("*.txt")) if SEEDS.is_dir() else ():
        found.append((".txt", path.read_text(encoding="utf-8")))
    return tuple(found)


SCRAPS = (
    "(", ")", "[", "]", "{", "}", "$", "$$", "\\", "\\[", "\\]", "\\frac", "\\frac{", "\\begin{cases}", "\\end{cases}",
    "\\newcommand{\\a}{\\a\\a}", "\\a", "\\input{a}", "\\\\", "&", "%", "#", "_", "^", "_{", "^{", "'", "=", "≈", "~",
    "+=", ";", ",", ";;", "…", "...", "|", "‖", "⊙", "⊤", "Σ", "Σ_{i}", "softmax", "argmax_", "P(", "P(w_t | ", "E_{",
    "input ", "size J = ", "range t = ", "constant ", "label ", "claim ", "for ", "if ", "otherwise", "cases {", "ℓ+1",
    "t-1", "2t", "99999999999", "1e999999", "0", "-1", "∞", "1.5", "x_{", "h̃", "\u0301", "\u202e", "\u200b", "\u200d",
    "🤖", "\ufeff", "\x00", "\r", "\r\n", "\t", "\u2028", "\x0c", "\ufffd", "# ", "## ", "```eq\n", "```",
    "<!-- ", " -->", "ignore[", "CELL = lstm", "CELL = CELL", "f(x) = f(f(x))", "T", "J", "K-1", "W^{h,R}", "α_{21}",
)  # fmt: skip


def mutate(text: str, seed: int, steps: int) -> str:
    """The text with some pieces cut, doubled, moved, exchanged or put in; the same for one seed."""
    chance = random.Random(seed)
    for _ in range(steps):
        a = chance.randrange(len(text) + 1)
        b = min(len(text), a + chance.choice((1, 1, 2, 5, 20, 200)))
        piece = text[a:b]
        match chance.randrange(7):
            case 0:
                text = text[:a] + text[b:]
            case 1:
                text = text[:a] + piece * chance.choice((2, 2, 3, 30)) + text[b:]
            case 2:
                other = chance.randrange(len(text) + 1)
                text = text[:other] + piece + text[other:]
            case 3:
                text = text[:a] + chance.choice(SCRAPS) + text[a:]
            case 4:
                text = text[:a] + chance.choice(SCRAPS) + text[b:]
            case 5:
                _, other_text = chance.choice(corpus())
                c = chance.randrange(len(other_text) + 1)
                text = text[:a] + other_text[c : c + 60] + text[b:]
            case _:
                text = text[:a] + piece[::-1] + text[b:]
    return text[:20_000]


# ---------------------------------------------------------------------- texts that were thought of


def _macros(count: int) -> str:
    names = ["\\m" + "".join(chr(97 + int(d)) for d in str(n)) for n in range(count + 1)]
    made = "".join(f"\\newcommand{{{a}}}{{{b} {b}}}" for a, b in itertools.pairwise(names))
    return f"\\documentclass{{a}}\\begin{{document}}{made}\\[ y = {names[0]} \\]\\end{{document}}"


DEEP = 10_000
LETTERS = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,u,v,w"

NASTY: dict[str, tuple[str, str]] = {
    "empty": (".eq", ""),
    "brackets": (".eq", "y = " + "(" * DEEP + "1" + ")" * DEEP),
    "open brackets": (".eq", "y = " + "(" * DEEP),
    "closed brackets": (".eq", "y = " + ")" * DEEP),
    "lists": (".eq", "y = " + "[" * DEEP + "1" + "]" * DEEP),
    "indices": (".eq", "y = " + "x[" * DEEP + "i" + "]" * DEEP),
    "fractions": (".md", "$$y = " + r"\frac{1}{" * DEEP + "1" + "}" * DEEP + "$$"),
    "roots": (".md", "$$y = " + r"\sqrt{" * DEEP + "1" + "}" * DEEP + "$$"),
    "powers": (".eq", "y = " + "x^{" * DEEP + "1" + "}" * DEEP),
    "subscripts": (".eq", "y = " + "x_{" * DEEP + "1" + "}" * DEEP),
    "signs": (".eq", "y = " + "-" * DEEP + "1"),
    "calls": (".eq", "y = " + "f(" * DEEP + "1" + ")" * DEEP),
    "sums": (".eq", "y = " + "Σ_i " * DEEP + "x[i]"),
    "sides": (".eq", "y = " + "a = " * DEEP + "x"),
    "primes": (".eq", "y = x" + "'" * DEEP),
    "environments": (".md", "$$" + r"\begin{aligned}" * DEEP + "a = b" + r"\end{aligned}" * DEEP + "$$"),
    "cases": (".md", "$$ y = " + r"\begin{cases} 1 & " * 500 + "2" + r"\end{cases}" * 500 + "$$"),
    "quotations": (".md", ">" * DEEP + " $a = b$\n"),
    "doubling macros": (".tex", _macros(200)),
    "macro of itself": (".tex", r"\documentclass{a}\newcommand{\a}{\a}\begin{document}\[y = \a\]\end{document}"),
    "functions of themselves": (".eq", "f(x) = f(f(x))\ny = f(f(1))\n"),
    "doubling functions": (
        ".eq", "f_1(x) = x + x\n"
        + "".join(f"f_{n + 1}(x) = f_{n}(f_{n}(x))\n" for n in range(1, 40)) + "y = f_{40}(1)",
    ),
    "doubled arguments": (".eq", "g(x) = x x\ny = " + "g(" * 60 + "z" + ")" * 60),
    "cell of itself": (".eq", "CELL = CELL\nh[t,J] = CELL(h[t-1,J])\n"),
    "input of itself": (".tex", r"\documentclass{a}\begin{document}\input{text}\input{text.tex}\end{document}"),
    "huge number": (".eq", "y = 1e999999 = 1e999999\nz = 10^{10^10} = 10^{10^{10^{10}}}\n"),
    "long number": (".eq", "y = " + "9" * 1_000_000 + "\nx[t] = u[t-" + "9" * 100_000 + "] = 1\n"),
    "long subscript": (".eq", "x_" + "1" * 100_000 + " = 1\nx_{" + "abcd" * 50_000 + "} = 1\n"),
    "long name": (".eq", "a" * 500_000 + " = 1\n"),
    "far index": (".eq", "input x[i]\ny = x[99999999999]\nz = x[999999999] = 1 x[999999999]\n"),
    "far shift": (".eq", "input x[t]\nh[t] = h[t-999999999] + x[t] = x[t] + h[t-999999999]\n"),
    "far stride": (".eq", "input x[t]\ny[t] = x[999999999t] = 1 x[999999999t]\nz[t] = x[99999999999t]\n"),
    "long range": (".eq", "range t = 0..999999999\ninput x[t]\ny = Σ_t x[t] + Σ_t x[t] = 2 Σ_t x[t]\n"),
    "longer range": (".eq", "range t = 0..1000000000\ninput x[t]\ny[t] = x[t] = 1 x[t]\n"),
    "long text": (
        ".eq", "range t = 0..999999999\ninput w[t] in V\nh[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t],j])\n"
        "P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t-1,J]\n",
    ),
    "long sum": (".eq", "y = Σ_{i=1}^{999999999} i = Σ_{i=1}^{1000000000} i\n"),
    "wide window": (".eq", "range Δt = -999999999..999999999\ninput x[t]\ny[t] = Σ_{Δt} x[t+Δt] = 1 Σ_{Δt} x[t+Δt]\n"),
    "large size": (".eq", "size J = 999999999\ninput x[j]\ny = Σ_j x[j] = Σ_j 1 x[j]\n"),
    "larger size": (".eq", "size J = 10000000000\ninput x[j]\ny = Σ_j x[j] = Σ_j 1 x[j]\n"),
    "large circle": (".eq", "range t = 0..999999999\na[t] = b[t+1] + a[t-1]\nb[t] = a[t-1] + b[t+1]\n"),
    "large power of a size": (".eq", "input x[j]\ny = Σ_{j=0}^{J^{1000000}} x[j]\nz = J^{99999999} = J\n"),
    "many indices": (".eq", f"input x[{LETTERS}]\ny = Σ_{{{LETTERS}}} x[{LETTERS}] = 1 x[{LETTERS.upper()}]\n"),
    "undefined values": (
        ".eq", "a = exp(exp(exp(1000))) = 1\nb = ln(0) = 1\nc = 1/0 = 1\n"
        "d = sqrt(-1) = (-1)^{0.5}\ne = 0^{-1} = 1\n",
    ),
    "odd indices": (".eq", "input x[t]\ny = x[1.5]\nz = x[1e400]\nq = x[-1e400]\nu = x[∞] = 1\n"),
    "tower of conditions": (".eq", "y = Σ_{0≤i<j<k<l<m<n<o<p<q<1000} 1 = 1\n"),
    "unicode": (".eq", "h\u0301\u0302\u0303[t] = \u202e x[t] \u200b\u200d 🤖[t] + \ufffd \u2066\n👩‍👩‍👧[t] = 1\n" * 20),
    "combining marks": (".eq", "h" + "\u0301" * 100_000 + " = 1\n"),
    "bidi": (".md", "# \u202eabc\u2069\n$$\u2067h[t] = \u2066x[t]\u2069$$\n"),
    "surrogates": (".md", "$$h\ud800[t] = \udfffx[t]$$ \ud83d"),
    "nul": (".eq", "y\0[j] = x\0[j]\r\nz = \r 1\n\0"),
    "line ends": (".md", "# a\r\n\r\n$$a =\r b$$\r\n\x85$$c = d$$\u2028$$e = f$$\x0b"),
    "long line": (".md", "a $x = y$ " * 20_000),
    "dollars": (".md", "$" * 50_001),
    "fences": (".md", "```" * 10_001 + "\n" + "~~~\n" * 1001),
    "headings": (".md", "# a\n" * 5000 + "=\n-\n" * 5000),
    "comments": (".tex", "%" * 10_000 + "\n\\begin{document}" + "\\begin{comment}" * 1000),
    "no notebook": (".ipynb", "[" * DEEP),
    "odd notebook": (
        ".ipynb", '{"cells": [{"cell_type": 1, "source": {"a": [1e999]}}, 7, null, {"source": ["$$a", 3, "= b$$"]}]}',
    ),
    "code": (
        ".eq", "__import__('os').system('touch /tmp/x')[t] = eval(x)[t] + {x.__class__} + %s + `id` + $(id)\n"
        "exec = open(a)\nimport os\nlambda = 1\n",
    ),
    "code in TeX": (
        ".tex", r"\documentclass{a}\begin{document}\write18{id}\input{|id}\input{/etc/passwd}"
        r"\[ a = \directlua{x} \]\end{document}",
    ),
}  # fmt: skip

SHORT = {
    "nothing": "",
    "one sign": "=",
    "one word": "for ",
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
"""Texts that are tried as plain notation and as a formula of a document."""
