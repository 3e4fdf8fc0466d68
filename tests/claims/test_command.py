"""`indicial check` on texts with claims."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from indicial.cli import main

TEXT = """\
x[n] ~ N(0, 1)
α[n] = softmax_n x[n]
claim α[n] ≥ 0
claim false: α[n] ≤ 1/N
claim mean of α[0] ≈ 1/N within 0.1
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("shares.eq")
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_all_is_well(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(file)]) == 0
    out = capsys.readouterr().out
    assert "shares.eq:3: claim holds: α[n] ≥ 0: least margin" in out
    assert "shares.eq:4: false claim refuted: α[n] ≤ 1/N: 0.731059 is not ≤ 0.5" in out
    assert "    with x = [0, 1]\n" in out
    assert out.endswith("2 equations in 1 program, 3 claims (seed 0): no mistakes\n")
    assert all(len(line) <= 80 for line in out.splitlines())


def test_a_claim_that_fails(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("false: ", ""), encoding="utf-8")
    assert main(["check", str(file)]) == 1
    out = capsys.readouterr().out
    assert "shares.eq:4:7: error: this claim does not hold: 0.731059 is not ≤ 0.5" in out
    assert "   4 | claim α[n] ≤ 1/N\n     |       ^^^^ is 0.731059\n" in out
    assert out.endswith("3 claims (seed 0): 1 error\n")


def test_a_false_claim_that_holds(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("claim α", "claim false: α"), encoding="utf-8")
    assert main(["check", str(file)]) == 1
    assert "this is claimed to be false, but it holds" in capsys.readouterr().out


def test_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(TEXT.replace("false: ", ""), encoding="utf-8")
    assert main(["check", "--json", str(file)]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [row["severity"] for row in rows] == ["note", "error", "note"]
    assert [row["claim"]["status"] for row in rows] == ["holds", "refuted", "holds"]
    assert rows[1]["line"] == 4
    assert rows[1]["claim"]["counterexample"] == {
        "left": "0.731059",
        "right": "0.5",
        "difference": "0.231059",
        "at": {"n": 1},
        "sizes": {"N": 2},
        "draw": {"x": "[0, 1]"},
    }


def test_seed_draws_and_sizes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*options: str) -> str:
        assert main(["check", str(file), *options]) == 0
        return capsys.readouterr().out

    assert printed("--seed", "5") == printed("--seed", "5") != printed()
    assert "(seed 5)" in printed("--seed", "5")
    assert "N = 3\n" in printed("--set", "N=3")
    assert " 400 draws" in printed("--set", "N=3", "--draws", "400")
    assert "where N = 3\n" in printed("--set", "N=3")


@pytest.mark.parametrize("option", [("--draws", "0"), ("--draws", "many"), ("--seed", "-1")])
def test_wrong_calls(file: Path, option: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(["check", str(file), *option])
    assert error.value.code == 2


def test_torch_stays_away_without_claims(tmp_path: Path) -> None:
    path = tmp_path / "text.eq"
    path.write_text("input x[n]\ny = Σ_n x[n]\n", encoding="utf-8")
    code = (
        "import sys; from indicial.cli import main; "
        f"main(['check', {str(path)!r}]); sys.exit('torch' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr


def test_the_first_line_says_something(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A first claim that fails needs no blank line before it, a second one does."""
    file.write_text("input x\nclaim x = 1\nclaim x = 2\nclaim x = x\n", encoding="utf-8")
    assert main(["check", str(file)]) == 1
    lines = capsys.readouterr().out.split("\n")
    starts = [n for n, line in enumerate(lines) if line.startswith("shares.eq:")]
    assert starts[0] == 0 and len(starts) == 3
    assert [lines[n - 1] for n in starts[1:]] == ["", ""]


def test_a_constant_is_set(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("constant M = 3\ny = 2 M\nclaim y ≤ 6\n", encoding="utf-8")
    assert main(["check", str(file), "--set", "M=1"]) == 0
    assert "no mistakes" in capsys.readouterr().out
