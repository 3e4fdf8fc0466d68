"""The files that other programs read: the extension for VS Code, the hook, the action."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from indicial import __version__
from indicial.cli import _parser
from indicial.notation.vocabulary import FUNCTIONS, KEYWORDS, REDUCTIONS

ROOT = Path(__file__).resolve().parents[2]
VSCODE = ROOT / "vscode"


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((VSCODE / "package.json").read_text())
    return found


def test_manifest(manifest: dict[str, Any]) -> None:
    contributes = manifest["contributes"]
    named = [manifest["icon"], *(g["path"] for g in contributes["grammars"])]
    named += [x["configuration"] for x in contributes["languages"]]
    named += [icon for x in contributes["languages"] for icon in x["icon"].values()]
    for path in named:
        assert (VSCODE / path).is_file(), path
    assert manifest["version"] == __version__
    command = contributes["configuration"]["properties"]["indicial.command"]["default"]
    assert command[0] == "indicial"
    assert _parser().parse_args(command[1:]).command == "lsp"


def scope(line: str, at: int) -> str:
    """What the grammar calls the sign at a place of a line, by its patterns in their order."""
    grammar = json.loads((VSCODE / "syntaxes" / "indicial.tmLanguage.json").read_text())
    letters = "[^\\W\\d_]"
    position = 0
    while position <= at:
        best: tuple[int, int, str] | None = None
        for pattern in grammar["patterns"]:
            rule = pattern.get("match", pattern.get("begin")).replace("[\\p{L}]", letters)
            rule = rule.replace("[\\p{L}\\p{M}\\p{N}]", "\\w")
            found = re.compile(rule).search(line, position)
            if found and found.end() > found.start() and (best is None or found.start() < best[0]):
                best = (found.start(), found.end(), pattern.get("name", ""))
        if best is None or at < best[0]:
            return ""
        if at < best[1]:
            return best[2]
        position = best[1]
    return ""


@pytest.mark.parametrize(("words", "form", "called"), [
    (KEYWORDS, "{} x[t,k]", "keyword.other.declaration"),
    (REDUCTIONS, "y = {}_j x[j]", "keyword.operator.reduction"),
    (list(FUNCTIONS), "y = {}(x)", "support.function"),
])  # fmt: skip
def test_the_grammar_knows_the_words_of_the_language(
    words: list[str], form: str, called: str
) -> None:
    for word in words:
        line = form.format(word)
        assert scope(line, line.index(word)).startswith(called), word


def test_the_grammar_reads_a_line() -> None:
    line = "h[t,j] = 0.5 tanhx(α) - input  # σ"
    expected = {
        "variable": ["h", "tanhx", "α", "input"],
        "constant.numeric": ["0.5"],
        "comment": ["#", "σ"],
    }
    for called, signs in expected.items():
        assert all(scope(line, line.index(sign)).startswith(called) for sign in signs), called


def test_hook_and_action() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {"id", "name", "entry", "language"} <= hook.keys()
    program, *arguments = hook["entry"].split()
    assert program == "indicial"
    assert _parser().parse_args([*arguments, "a.eq", "b.md"]).files == ["a.eq", "b.md"]
    for name in ("notes.md", "cell.eq", "slides/x.tex", "a.ipynb"):
        assert re.search(hook["files"], name)
    assert not re.search(hook["files"], "a.eqx")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(action["runs"])))
    assert used == set(action["inputs"])
    (check,) = [s["run"] for s in action["runs"]["steps"] if s.get("name") == "Check"]
    for line in re.findall(r"indicial (.*?)(?: >|$)", check, re.MULTILINE):
        words = line.replace("$PATHS", "notes slides").replace("$ARGUMENTS", "--notes").split()
        assert _parser().parse_args(words).files == ["notes", "slides"]
