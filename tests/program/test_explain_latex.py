"""LaTeX documents: `indicial explain --latex` compiles as it is."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from indicial import library
from indicial.cli import main
from indicial.compile.explain.gradient import gradient_latex
from indicial.library.loading import load
from indicial.notation.printers import unicode
from indicial.notation.signs import LATEX_LETTERS
from indicial.program.explain.explain import heading, shown_equations
from indicial.program.explain.latex import WIDEST, Part, latex_document

KNOWN = {
    "documentclass", "usepackage", "begin", "end", "section", "providecommand", "cev",
    "overleftarrow", "allowdisplaybreaks", "setlength", "parindent", "paragraph", "qquad",
    "quad", "text", "operatorname", "frac", "sqrt", "sum", "prod", "ln", "log", "tanh",
    "exp", "sin", "cos", "max", "min", "left", "right", "bar", "tilde", "hat", "vec",
    "mathcal", "mathbb", "partial", "cdot", "odot", "top", "mid", "dots", "le", "ge",
    "neq", "sim", "in", "infty", "to", "approx", "lfloor", "rfloor", "lceil", "rceil",
    "wedge", "vee", "neg",
}  # fmt: skip

GREEK = {command.strip("\\") for command in LATEX_LETTERS.values()}


BODIES = {"masked": "encoder", "language_model_stack": "stacked"}
"""What reads the last layer of another text, and a text that has layers."""


def model(name: str) -> str:
    program = load(name)
    return latex_document([Part(heading(program), shown_equations(program))])


def commands(document: str) -> set[str]:
    return set(re.findall(r"\\([A-Za-z]+)", document))


def test_a_document_reads_back_as_the_same_equations(tmp_path: Path) -> None:
    for name in library.names():
        program = load(*filter(None, (BODIES.get(name), name)))
        path = tmp_path / f"{name}.tex"
        text = latex_document([Part(heading(program), shown_equations(program))])
        path.write_text(text, encoding="utf-8")
        again = load(path)
        assert not again.skipped, name
        assert set(map(unicode, again.equations)) == set(map(unicode, program.equations)), name


def test_only_known_commands_and_no_report() -> None:
    for name in library.names():
        document = model(name)
        odd = commands(document) - {*KNOWN, *GREEK}
        assert not odd, (name, odd)
        assert "operations" not in document and document.startswith("\\documentclass")


def test_long_lines_are_broken_and_factors_stand_apart() -> None:
    document = model("bahdanau")
    rows = document.split("\\\\\n")
    assert max(map(len, rows[1:])) < 3 * WIDEST
    assert any(row.startswith("&\\qquad ") for row in rows)
    assert "]\\, " in document


def test_a_long_bracket_is_broken_and_reads_back(tmp_path: Path) -> None:
    terms = " + ".join(f"tanh(x[t]^{n} / {n} - {n}.5)" for n in range(2, 16))
    program = load(f"input x[t]\ny[t] = ({terms}) x[t]")
    path = tmp_path / "long.tex"
    path.write_text(latex_document([Part("long", program.written)]), encoding="utf-8")
    rows = path.read_text(encoding="utf-8").split("\\\\\n")
    assert max(map(len, rows[1:])) < 3 * WIDEST
    assert unicode(load(path).equations) == unicode(program.equations)


def test_the_command_prints_the_document_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "rnn", "--latex"]) == 0
    assert capsys.readouterr().out.strip() == model("rnn")
    assert main(["explain", "rnn", "--latex", "--gradient"]) == 0
    found = capsys.readouterr().out
    assert found.strip() == gradient_latex([load("rnn")])
    assert r"\delta^h[t,j] &=" in found and r"\paragraph{parameters}" in found


def test_claims_are_aligned_at_their_signs() -> None:
    program = load("y[i] = x[i] x[i]\nclaim y[i] >= 0")
    document = latex_document([Part("squares", program.written)])
    assert r"\text{claim } y[i] &\ge 0" in document


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")
def test_pdflatex_takes_it(tmp_path: Path) -> None:
    programs = [load(name) for name in library.names()]
    whole = latex_document([Part(heading(p), shown_equations(p)) for p in programs])
    gradient = gradient_latex([load("lstm"), load("gpt2"), load("bahdanau")])
    for name, document in (("whole", whole), ("gradient", gradient)):
        (tmp_path / f"{name}.tex").write_text(document, encoding="utf-8")
        ran = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", f"{name}.tex"],
            cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        assert ran.returncode == 0 and not re.findall(r"^!.*", ran.stdout, re.M), ran.stdout[-2000:]
        wide = [float(x) for x in re.findall(r"Overfull \\hbox \(([\d.]+)pt", ran.stdout)]
        assert max(wide, default=0) < 15
