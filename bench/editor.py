"""1,000 edits in a minute to a long document, as an editor sends them: does the server keep up?

$ python -m bench.editor notes.md
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

from tests.editor.client import Client

EDITS, SECONDS, PATIENCE = 1_000, 60.0, 600.0


def _seconds_of(process: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    file: Path = parser.parse_args().file
    text = file.read_text(encoding="utf-8")
    lines, draw, name = text.split("\n"), random.Random(0), str(file)
    with Client(patience=PATIENCE) as client:
        begun = time.monotonic()
        client.open(name, text, "markdown")
        client.diagnostics(name)
        print(f"{len(text):,} characters; first told after {time.monotonic() - begun:.1f} s")
        used, begun = _seconds_of(client.process.pid), time.monotonic()
        waits: list[float] = []
        for number in range(EDITS):
            line = len(lines) // 2 + number // 100
            place = {"line": line, "character": min(10, len(lines[line]))}
            new = draw.choice("ab \n$")
            client.change(name, number + 2, {"range": {"start": place, "end": place}, "text": new})
            if number % 20 == 0:
                asked = time.monotonic()
                client.at("completion", name, place["line"], place["character"])
                waits.append(time.monotonic() - asked)
            while not client.came.empty():
                client.take()
            time.sleep(max(0.0, begun + SECONDS * (number + 1) / EDITS - time.monotonic()))
        used, took = _seconds_of(client.process.pid) - used, time.monotonic() - begun
        print(f"{EDITS:,} edits in {took:.1f} s took {used:.1f} s of the server")
        print(
            f"an answer meanwhile: {sorted(waits)[len(waits) // 2]:.3f} s, at most {max(waits):.3f} s"
        )
        begun = time.monotonic()
        client.diagnostics(name, EDITS + 1)
        print(f"the last version told after {time.monotonic() - begun:.1f} s")


if __name__ == "__main__":
    main()
