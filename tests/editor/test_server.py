"""The language server as an editor sees it: the real command, over standard input and output."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indicial import library
from indicial.cli import main
from indicial.program.program import Program
from tests.editor.client import Client, Refused, applied, place

pytest.importorskip("pygls")

CELL = """\
input x[t,k]
# the state
h[t,j]=tanh(W[j,I]h[t-1,I] + U[j,K] x[t,K])   # a cell
y[t] = V[J] h[t,J]
"""
WRONG = "input x[t,k]\n\nh[t,j] = W[j,K] x[t,K] + h[t-1]\ny[t] = tnah(h[t,0])\n"
EVERYTHING = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def spot(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["line"] - 1, row["column"] - 1, row["end_line"] - 1, row["end"] - 1, row["code"]


def spot_of(diagnostic: dict[str, Any]) -> tuple[Any, ...]:
    start, end = diagnostic["range"]["start"], diagnostic["range"]["end"]
    where = start["line"], start["character"], end["line"], end["character"]
    return (*where, diagnostic["code"])


def test_diagnostics_are_what_check_says(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.eq"
    file.write_text(WRONG)
    main(["check", "--json", str(file)])
    rows = json.loads(capsys.readouterr().out)
    client.open(str(file), WRONG)
    found = client.diagnostics(str(file))
    assert list(map(spot_of, found)) == list(map(spot, rows))
    assert len(found) == 2
    for one, row in zip(found, rows, strict=True):
        assert one["message"] == f"{row['message']}\nhint: {row['hint']}"
        assert one["source"] == "indicial"


def test_code_actions_mend(client: Client) -> None:
    """Every hint that says what to write is an action, and the text is good after all of them."""
    client.open("mend.eq", WRONG)
    actions = client.about("codeAction", "mend.eq", range=EVERYTHING, context={"diagnostics": []})
    fixes = [a for a in actions if a.get("isPreferred")]
    assert [a["diagnostics"][0]["code"] for a in fixes] == ["index-count", "unknown-function"]
    edits = [e for a in fixes for e in a["edit"]["changes"][client.uri("mend.eq")]]
    assert Program.of_text(applied(WRONG, edits)).errors == []
    silences = [a for a in actions if a["title"].startswith("Silence")]
    edits = [e for a in silences for e in a["edit"]["changes"][client.uri("mend.eq")]]
    client.open("quiet.eq", applied(WRONG, edits))
    assert client.diagnostics("quiet.eq") == []


def test_hover(client: Client) -> None:
    client.open("hover.eq", CELL)
    said = client.at("hover", "hover.eq", *place(CELL, "W"))["contents"]["value"]
    assert "parameter" in said and "J × J" in said
    said = client.at("hover", "hover.eq", *place(CELL, "="))["contents"]["value"]
    cost = Program.of_text(CELL).cost.work_by_tensor["h"]
    assert f"{cost} operations" in said
    said = client.at("hover", "hover.eq", *place(CELL, "I"))["contents"]["value"]
    assert "0..J-1" in said
    assert client.at("hover", "hover.eq", *place(CELL, "the state")) is None


def test_definitions_and_references(client: Client) -> None:
    client.open("names.eq", CELL)
    (found,) = client.at("definition", "names.eq", *place(CELL, "h[t,J]"))
    assert found["range"]["start"] == {"line": 2, "character": 0}
    context = {"includeDeclaration": True}
    found = client.at("references", "names.eq", *place(CELL, "h[t-1"), context=context)
    assert [(f["range"]["start"]["line"]) for f in found] == [2, 2, 3]
    kinds = [h["kind"] for h in client.at("documentHighlight", "names.eq", 2, 0)]
    assert kinds == [3, 2, 2]
    symbols = client.about("documentSymbol", "names.eq")
    assert [s["name"] for s in symbols] == ["x", "h", "y"]


def test_a_model_leads_to_its_file(client: Client) -> None:
    text = "input x[t,k]\nh[t,J] = CELL(h[t-1,J], x[t,K])\nCELL = ugrnn\n"
    client.open("fill.eq", text)
    (found,) = client.at("definition", "fill.eq", *place(text, "ugrnn"))
    assert found["uri"] == Path(str(library.path("ugrnn"))).as_uri()


def test_completion(client: Client) -> None:
    text = "input velocity[t]\nτ = 2\ny[t] = ve\nCELL = ug\nug\nz = \\ta\n"
    client.open("complete.eq", text)
    client.diagnostics("complete.eq")

    def labels(line: int, column: int) -> dict[str, str]:
        items = client.at("completion", "complete.eq", line, column)["items"]
        return {i["label"]: i["textEdit"]["newText"] for i in items}

    assert list(labels(2, 9)) == ["velocity"]
    assert labels(3, 9)["ugrnn"] == "ugrnn"
    assert labels(4, 2)["ugrnn"] == library.path("ugrnn").read_text(encoding="utf-8")
    assert labels(5, 7)["\\tau"] == "τ"
    notes = "Prose about al.\n\n$$y = \\ta$$\n"
    client.open("complete.md", notes, "markdown")
    assert client.at("completion", "complete.md", 0, 14)["items"] == []
    items = client.at("completion", "complete.md", 2, 9)["items"]
    assert "\\tanh" in [i["label"] for i in items]


def test_rename(client: Client) -> None:
    notes = "𝔼 is $\\tau$ here.\n\n$$y_t = x_t / \\tau$$\n"
    client.open("rename.md", notes, "markdown")
    where = place(notes, "\\tau")
    assert client.at("prepareRename", "rename.md", *where)["placeholder"] == "τ"
    edit = client.at("rename", "rename.md", *where, newName="theta")
    new = applied(notes, edit["changes"][client.uri("rename.md")])
    assert new == notes.replace("\\tau", "\\theta")
    with pytest.raises(Refused, match="y is a name here already"):
        client.at("rename", "rename.md", *where, newName="y")


def test_formatting(client: Client) -> None:
    client.open("format.eq", CELL)
    options = {"tabSize": 4, "insertSpaces": True}
    edits = client.about("formatting", "format.eq", options=options)
    good = "h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])  # a cell"
    assert applied(CELL, edits).splitlines()[2] == good
    client.open("format.md", "$$a=b$$\n", "markdown")
    assert client.about("formatting", "format.md", options=options) is None


def test_inlay_hints(client: Client) -> None:
    client.open("hints.eq", CELL)
    hints = client.about("inlayHint", "hints.eq", range=EVERYTHING)
    at = {(h["position"]["line"], h["position"]["character"]): h["label"] for h in hints}
    assert at == {(2, CELL.splitlines()[2].index("h[t-1")): ": J × J"}


def test_claims_are_tried(client: Client) -> None:
    text = "input x[n]\nclaim x[n]^2 >= 0\nclaim x[n] >= 0\n"
    client.open("claims.eq", text)
    while not any(d["code"] == "claim" for d in client.published.get(client.uri("claims.eq"), [])):
        client.take()
    (wrong,) = client.published[client.uri("claims.eq")]
    assert wrong["range"]["start"]["line"] == 2
    assert "does not hold" in wrong["message"]


def test_edits_and_what_is_moved_by_them(client: Client) -> None:
    """Mistakes stay with their equations while lines come and go above them."""
    text, version = WRONG, 1
    client.open("edits.eq", text)
    assert len(client.diagnostics("edits.eq")) == 2
    for _ in range(30):
        version += 1
        change = {
            "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 0}}
        }
        client.change("edits.eq", version, {**change, "text": "# α 𝔼\r\n"})
    found = client.diagnostics("edits.eq", version)
    assert {d["range"]["start"]["line"] for d in found} == {32, 33}
    client.change("edits.eq", version + 1, {"text": CELL})
    assert client.diagnostics("edits.eq", version + 1) == []


def children(process: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks /proc for processes")
def test_killed_and_restarted_and_in_another_encoding() -> None:
    with Client(["utf-8"]) as client:
        assert client.ready["capabilities"]["positionEncoding"] == "utf-8"
        client.open("units.eq", "input x[t]\ny[t] = 𝔼é + x[t-1,0]\n")
        width = len("y[t] = 𝔼é + ".encode())
        starts = [d["range"]["start"]["character"] for d in client.diagnostics("units.eq")]
        assert width in starts
        client.open("killed.eq", WRONG)
        assert len(client.diagnostics("killed.eq")) == 2
        (reader,) = children(client.process.pid)
        os.kill(reader, signal.SIGKILL)
        client.change("killed.eq", 2, {"text": CELL})
        client.change("killed.eq", 3, {"text": WRONG})
        assert len(client.diagnostics("killed.eq", 3)) == 2
        (reader,) = children(client.process.pid)
        client.process.kill()  # the editor is gone, or the server is: nobody is left behind
        client.process.wait()
        for _ in range(600):
            if not Path(f"/proc/{reader}").exists():
                break
            time.sleep(0.05)
        assert not Path(f"/proc/{reader}").exists()


def test_without_an_editor() -> None:
    """The end of its input is the end of the server."""
    done = subprocess.run(
        [sys.executable, "-m", "indicial", "lsp", "--stdio"],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
