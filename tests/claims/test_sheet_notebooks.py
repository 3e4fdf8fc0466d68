"""The notebooks of docs/problems: made of their sheets, and run from top to bottom.

A kernel takes three seconds of CPU to import what claims need. So notebooks with cells of Python or
commands have a kernel of their own, and one of the others; the rest is run by IPython in this process.
"""

import base64
import doctest
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from IPython.utils.capture import capture_output

from indicial.claims.notebooks import Piece, failures, make, pieces, run, written
from indicial.claims.trying import Sheet, words
from indicial.cli import main
from indicial.library.loading import load_document
from indicial.program.messages import IndicialError
from tests.claims.test_problems import PROBLEMS
from tests.shells import fresh_shell, shown
from tests.test_docs import compare

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
MAGIC = re.compile(r"%%indicial (\w+) (\d+)(?: after (\w+))?\n")
CONSTANT = re.compile(r"^(constant \S+ = )(\d[\d.]*)$", re.MULTILINE)

# What two of the sheets claim of their constant holds whatever it is, and the figures stay the same.
CHANGEABLE = [
    path
    for path in PROBLEMS
    if CONSTANT.search(path.read_text(encoding="utf-8"))
    and path.stem not in ("positions", "repetition")
]

# Seconds each, for what `tests/claims` and `tests/test_docs.py` have run already.
LONG = ("repetition", "ugrnn_to_gru", "hand_design", "copying", "cnn")

sheets = pytest.mark.parametrize("sheet", PROBLEMS, ids=lambda path: path.stem)


def committed(sheet: Path) -> dict[str, Any]:
    return dict(json.loads(sheet.with_suffix(".ipynb").read_text(encoding="utf-8")))


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Without the first, which loads the magic."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"][1:]


def printed(cell: dict[str, Any]) -> str:
    """What a cell puts out, as text."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in cell["outputs"]]
    return "".join(line for text in texts for line in text)


def agree(one: str, other: str) -> bool:
    """Whether two outputs are the same but for the last digits, which are the processor's."""
    a, b = (" ".join(text.split()) for text in (one, other))
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    pairs = zip(NUMBER.findall(a), NUMBER.findall(b), strict=True)
    values = [(float(x.replace(",", "")), float(y.replace(",", ""))) for x, y in pairs]
    return all(abs(x - y) <= max(1e-8, 0.02 * abs(x)) for x, y in values)


def stated(sheet: Path) -> list[str]:
    """What is to be said of the claims of a sheet, each as it is stated."""
    tests = [test for program in load_document(sheet) for test in program.code.tests]
    return [
        ("false claim refuted: " if test.kind == "false" else "claim holds: ") + test.text + ":"
        for test in tests
        if test.kind != "step"
    ]


@sheets
def test_the_notebook_is_made_of_its_sheet(sheet: Path) -> None:
    kept = committed(sheet)
    nbformat.validate(kept)
    for cell in kept["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    assert kept == make(sheet), f"make notebooks SHEETS=docs/problems/{sheet.name}"


@sheets
def test_both_hold_the_same_programs(sheet: Path) -> None:
    """So `indicial check` says the same of both."""
    ours, theirs = load_document(sheet.with_suffix(".ipynb")), load_document(sheet)
    assert [p.title for p in ours] == [p.title for p in theirs]
    assert [p.written for p in ours] == [p.written for p in theirs]
    assert [m.render() for p in ours for m in p.mistakes] == []


@pytest.mark.parametrize(
    "sheet",
    [
        pytest.param(path, marks=[pytest.mark.long] if path.stem in LONG else [], id=path.stem)
        for path in PROBLEMS
    ],
)
def test_it_runs_from_top_to_bottom(sheet: Path) -> None:
    found = [p for p in pieces(sheet.read_text(encoding="utf-8")) if p.kind != "prose"]
    in_kernel = sheet.stem == "temperature" or any(piece.kind == "code" for piece in found)
    texts = run_in_kernel(sheet) if in_kernel else run_here(sheet)
    blocks = zip(texts, found, strict=True)
    said = " ".join(" ".join(text.split()) for text, piece in blocks if piece.kind == "notation")
    for line in (claims := stated(sheet)):
        assert " ".join(line.split()) in said
    assert len(re.findall("claim holds:|claim refuted:", said)) == len(claims)
    assert "error:" not in said
    for text, cell, piece in zip(texts, code_cells(committed(sheet)), found, strict=True):
        if piece.kind == "notation":
            assert agree(text, printed(cell)), f"make notebooks: {text}"
        elif piece.expected is not None and not piece.varies:
            assert as_expected(piece, text)


def run_in_kernel(sheet: Path) -> list[str]:
    return [printed(cell) for cell in code_cells(run(make(sheet)))]


def run_here(sheet: Path) -> list[str]:
    with fresh_shell() as shell:
        outputs = [shown(shell, "".join(cell["source"])) for cell in code_cells(make(sheet))]
    return ["".join(output["text/plain"] for output in one) for one in outputs]


def as_expected(piece: Piece, output: str) -> bool:
    """What code prints is what the sheet says, by the rules of the documents."""
    expected = piece.expected or ""
    if piece.text[0] in "%!":
        return not compare(expected.splitlines(), output)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(expected, f"{output.rstrip()}\n", flags)


@pytest.mark.parametrize("sheet", CHANGEABLE, ids=lambda path: path.stem)
def test_another_constant_gives_other_figures(sheet: Path) -> None:
    """The first constant of each sheet that is a number is made half as large again."""
    cells = ["".join(cell["source"]) for cell in code_cells(make(sheet))]
    texts = [cell for cell in cells if MAGIC.match(cell)]
    changed = next(number for number, text in enumerate(texts) if CONSTANT.search(text))
    section = MAGIC.match(texts[changed])
    assert section is not None
    notebook, before = Sheet(), list[str]()
    for number, text in enumerate(texts):
        match = MAGIC.match(text)
        assert match is not None
        if number <= changed or section[1] in (match[1], match[3]):
            outcome = notebook.run(match[1], int(match[2]), text[match.end() :], match[3] or "")
            before += map(words, outcome.verdicts)
    text = CONSTANT.sub(lambda m: f"{m[1]}{1.5 * float(m[2]):g}", texts[changed], count=1)
    outcome = notebook.run(
        section[1], int(section[2]), text[section.end() :], section[3] or "", seed=0
    )
    after = [words(verdict) for verdict in (*outcome.verdicts, *outcome.below)]
    assert outcome.program is not None
    assert [line for line in after if line not in before]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = next(path for path in PROBLEMS if path.stem == "run_time")
    out = tmp_path / "run_time.ipynb"
    assert main(["notebook", str(sheet), "--out", str(out)]) == 0
    assert re.fullmatch(
        rf"{re.escape(str(out))}: \d+ cells, \d+ of them to run\n", capsys.readouterr().out
    )
    assert out.read_text(encoding="utf-8") == written(make(sheet))
    assert main(["check", str(sheet)]) == 0
    theirs = capsys.readouterr().out
    assert main(["check", str(out)]) == 0
    place = re.compile(
        rf"^{re.escape(str(tmp_path))}\S+:\d+:\s|^{re.escape(str(sheet))}:\d+:\s", re.M
    )
    ours, theirs = (
        " ".join(place.sub("", text).split()) for text in (capsys.readouterr().out, theirs)
    )
    assert ours == theirs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.md"], "there is no file missing.md"),
        (["notes.tex"], "made of Markdown (.md), and not of notes.tex"),
        (["a.md", "b.md", "--out", "c.ipynb"], "--out is for one sheet, but there are 2"),
        (["prose.md"], "there is nothing to run in prose.md"),
    ],
)
def test_a_wrong_call(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prose.md").write_text("# Title\n\nno block\n", encoding="utf-8")
    assert main(["notebook", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_names_of_sections(tmp_path: Path) -> None:
    titles = ["How far open is the gate", "Print", "3 Gates", "Print", "Work of all gates"]
    block = "```indicial\na = 1\n```\n"
    path = tmp_path / "sheet.md"
    path.write_text(
        block + "".join(f"# {title}\n\n{block}" for title in titles)
        + "```indicial\nclaim work of work_of_all_gates = 0\n```\n",
        encoding="utf-8",
    )  # fmt: skip
    names = [MAGIC.match("".join(cell["source"])) for cell in code_cells(make(path))]
    assert [match[1] for match in names if match] == [
        "sheet", "how_far_open", "print_", "part_3_gates", "print__",
        "work_of_all_gates", "work_of_all_gates",
    ]  # fmt: skip


def test_a_formula_outside_of_blocks_stays_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sheet.md"
    path.write_text("$$a = 1$$\n\n```indicial\nb = 2\n```\n", encoding="utf-8")
    assert main(["notebook", str(path)]) == 0
    assert f"{path}:1: this formula stays text" in capsys.readouterr().out


def test_a_cell_that_fails_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sheet.md"
    path.write_text("```python\nx = 1\n```\n\n```python\n1 / 0\nx\n```\n", encoding="utf-8")
    with pytest.raises(IndicialError) as caught:
        run(make(path))
    assert "ZeroDivisionError: division by zero (in the cell '1 / 0')" in str(caught.value)


def test_a_cell_that_ends_its_process_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sheet.md"
    path.write_text("```python\nx = 1\n```\n\n```python\nimport os; os._exit(0)\n```\n")
    with pytest.raises(IndicialError, match=r"(?s)ends the process.*in the cell 'import os"):
        run(make(path))


def test_what_comes_in_pieces_is_one_output(tmp_path: Path) -> None:
    path = tmp_path / "sheet.md"
    text = "import time\nfor n in range(3):\n    print(n, flush=True)\n    time.sleep(0.3)"
    path.write_text(f"```python\n{text}\n```\n", encoding="utf-8")
    (cell,) = code_cells(run(make(path)))
    assert [output["text"] for output in cell["outputs"]] == [["0\n", "1\n", "2\n"]]


def test_what_the_sheet_leaves_open_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "sheet.md"
    path.write_text("```pycon\n>>> print('a')\na\n>>> print('b')\nb...\n```\n", encoding="utf-8")
    kept, open_ = code_cells(run(make(path)))
    assert printed(kept) == "a\n" and open_["outputs"] == []


def test_outputs_are_kept_where_only_prose_changes(tmp_path: Path) -> None:
    path, out = tmp_path / "sheet.md", tmp_path / "sheet.ipynb"
    path.write_text("Prose.\n\n```python\nprint('a')\n```\n", encoding="utf-8")
    out.write_text("no notebook", encoding="utf-8")
    assert main(["notebook", str(path), "--force"]) == 0
    notebook = json.loads(out.read_text(encoding="utf-8"))
    (cell,) = code_cells(notebook)
    assert cell["outputs"] == []
    cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": ["a\n"]}]
    for change, kept in (("Other prose.", "a\n"), ("```python\nx = 1\n```\n", "")):
        out.write_text(written(notebook), encoding="utf-8")
        path.write_text(f"{change}\n\n```python\nprint('a')\n```\n", encoding="utf-8")
        assert main(["notebook", str(path), "--force"]) == 0  # somebody has run it
        made = json.loads(out.read_text(encoding="utf-8"))
        assert "".join(map(printed, code_cells(made))) == kept
        assert ("Other prose." in str(made)) == bool(kept)


def test_a_formula_of_the_prose_is_no_part(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.md"
    sheet.write_text(
        "# Shares\n\nAs everybody knows,\n\n$$z = \\sum_i x_i$$\n\n"
        "```indicial\nα[n] = softmax_n x[n]\n```\n\n```indicial\nclaim Σ_n α[n] = 1\n```\n",
        encoding="utf-8",
    )
    firsts = ["".join(cell["source"]).split("\n")[0] for cell in code_cells(make(sheet))]
    assert firsts == ["%%indicial shares 1", "%%indicial shares 2"]


def test_pictures_are_inside(tmp_path: Path) -> None:
    picture = tmp_path / "curve.png"
    picture.write_bytes(b"\x89PNG and so on")
    sheet = tmp_path / "sheet.md"
    sheet.write_text(
        "# Curves\n\n![a curve](curve.png) and ![none](gone.png)\n\n```python\n1 + 1\n```\n",
        encoding="utf-8",
    )
    cell = make(sheet)["cells"][0]
    assert "![a curve](attachment:curve.png) and ![none](gone.png)" in "".join(cell["source"])
    assert base64.b64decode(cell["attachments"]["curve.png"]["image/png"]) == picture.read_bytes()


@pytest.mark.parametrize(
    ("block", "failed"),
    [
        ("claim x[0] = x[0]", False),
        ("claim false: x[0] = x[0] + 1", False),
        ("claim x[0] = x[0] + 1", True),
        ("y[j] = tnah(x[j])", True),
    ],
)
def test_a_cell_that_fails_is_marked(block: str, failed: bool) -> None:
    with fresh_shell() as shell, capture_output() as captured:
        shell.run_cell(f"%%indicial part 1\ninput x[j]\nz[j] = 2 x[j]\n{block}\n")
    outputs = [{"metadata": output.metadata} for output in captured.outputs]
    cell = {"cell_type": "code", "source": ["%%indicial part 1\n", block], "outputs": outputs}
    assert failures({"cells": [cell]}) == (["%%indicial part 1"] if failed else [])


@pytest.mark.parametrize("missed", [AssertionError(), AttributeError("'NoneType' object has no …")])
def test_ctrl_c_is_no_mistake_of_the_sheet(
    missed: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client ends its kernel then, and goes on without it until something fails."""
    client = pytest.importorskip("nbclient").NotebookClient

    def stopped(self: Any, **_: object) -> None:
        self._async_cleanup_kernel_future = object()
        raise missed

    def broken(self: Any, **_: object) -> None:
        raise missed

    sheet = tmp_path / "sheet.md"
    sheet.write_text("# One\n\n```python\n1 + 1\n```\n", encoding="utf-8")
    monkeypatch.setattr(client, "execute", stopped)
    assert main(["notebook", str(sheet), "--run"]) == 130
    monkeypatch.setattr(client, "execute", broken)
    with pytest.raises(type(missed)):
        main(["notebook", str(sheet), "--run"])
