"""`check --format`: the same messages for people, for GitHub and for whoever reads SARIF."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from indicial.cli import main

WRONG = "input x[t,k]\nh[t,j] = W[j,K] x[t,K] + h[t-1]\ny[t] = tnah(h[t,0])\n"


@pytest.fixture
def wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("my notes, 100%.eq").write_text(WRONG)
    return "my notes, 100%.eq"


def rows(capsys: pytest.CaptureFixture[str], file: str) -> list[dict[str, Any]]:
    assert main(["check", file, "--format", "json"]) == 1
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_json_is_what_it_was(capsys: pytest.CaptureFixture[str], wrong: str) -> None:
    new = rows(capsys, wrong)
    assert main(["check", wrong, "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == new
    assert {row["code"] for row in new} == {"index-count", "unknown-function"}


def test_a_fix_mends_the_text(capsys: pytest.CaptureFixture[str], wrong: str) -> None:
    """Applied as they say, from the last to the first, the fixes leave a text without errors."""
    lines = WRONG.splitlines()
    fixes = [row["fix"] for row in rows(capsys, wrong)]
    for fix in sorted(fixes, key=lambda f: (f["line"], f["column"]), reverse=True):
        line = lines[fix["line"] - 1]
        lines[fix["line"] - 1] = line[: fix["column"] - 1] + fix["text"] + line[fix["end"] - 1 :]
    Path(wrong).write_text("\n".join(lines))
    assert main(["check", wrong]) == 0


def test_github(capsys: pytest.CaptureFixture[str], wrong: str) -> None:
    """One line for each message, which the runner takes apart at its signs."""
    expected = rows(capsys, wrong)
    assert main(["check", wrong, "--format", "github"]) == 1
    *lines, summary = capsys.readouterr().out.splitlines()
    assert summary.endswith("2 errors")
    assert len(lines) == len(expected)
    for line, row in zip(lines, expected, strict=True):
        found = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert found is not None
        fields = dict(field.split("=") for field in found[2].split(","))
        assert unquote(fields["file"]) == wrong
        assert (found[1], fields["line"], fields["col"], fields["title"]) == (
            row["severity"], str(row["line"]), str(row["column"]), row["code"],
        )  # fmt: skip
        assert unquote(found[3]).startswith(row["message"])
        assert row["hint"] in unquote(found[3])


def test_github_says_nothing_but_the_summary_of_a_good_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", "rnn", "--format", "github"]) == 0
    assert "::" not in capsys.readouterr().out


# What the schema of SARIF 2.1.0 requires of each object, and the types of what is used here.
REQUIRED: dict[str, dict[str, type | tuple[type, ...]]] = {
    "log": {"version": str, "runs": list},
    "run": {"tool": dict},
    "tool": {"driver": dict},
    "driver": {"name": str},
    "rule": {"id": str},
    "result": {"message": dict},
    "message": {"text": str},
    "fix": {"artifactChanges": list},
    "change": {"artifactLocation": dict, "replacements": list},
    "replacement": {"deletedRegion": dict},
}


def hold(kind: str, thing: dict[str, Any]) -> dict[str, Any]:
    for name, of in REQUIRED[kind].items():
        assert isinstance(thing[name], of), (kind, name)
    return thing


def hold_region(region: dict[str, Any]) -> None:
    assert region["startLine"] >= 1
    assert all(isinstance(n, int) and n >= 1 for n in region.values())
    if region.get("endLine") == region["startLine"]:
        assert region["endColumn"] >= region["startColumn"]


def hold_place(place: dict[str, Any]) -> str:
    where = place["physicalLocation"]
    hold_region(where["region"])
    uri: str = where["artifactLocation"]["uri"]
    assert re.fullmatch(r"[A-Za-z0-9\-._~/%#]+", uri)
    return unquote(uri)


def test_sarif(capsys: pytest.CaptureFixture[str], wrong: str) -> None:
    expected = rows(capsys, wrong)
    assert main(["check", wrong, "--format", "sarif"]) == 1
    log = hold("log", json.loads(capsys.readouterr().out))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = hold("driver", hold("tool", hold("run", run)["tool"])["driver"])
    rules = [hold("rule", rule)["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    for result, row in zip(run["results"], expected, strict=True):
        hold("message", hold("result", result)["message"])
        assert result["level"] in ("none", "note", "warning", "error")
        assert rules[result["ruleIndex"]] == result["ruleId"] == row["code"]
        assert [hold_place(place) for place in result["locations"]] == [wrong]
        for place in result.get("relatedLocations", ()):
            assert hold_place(place) == wrong
        for change in hold("fix", result["fixes"][0])["artifactChanges"]:
            for replacement in hold("change", change)["replacements"]:
                hold_region(hold("replacement", replacement)["deletedRegion"])


def test_sarif_of_a_claim_and_of_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = tmp_path / "claims.eq"
    text.write_text("input x[n]\nclaim x[n]^2 >= 0\nclaim x[n] >= 0\n")
    assert main(["check", str(text), "--format", "sarif"]) == 1
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert [r["level"] for r in results if r["ruleId"] == "claim"] == ["note", "error"]
    assert main(["check", "rnn", "--format", "sarif"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"] == []
