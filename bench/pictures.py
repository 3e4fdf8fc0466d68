"""The pictures of the README: what a person sees.

    .venv/bin/python -m bench.pictures                    docs/pictures/readme_*
    .venv/bin/python -m bench.pictures --only message     without training anything

The curves and the attention map are those of a `make run`, which takes two minutes of both cores; the
message is what `indicial check` prints, as a terminal shows it.
"""

from __future__ import annotations

import argparse
import io
import re
import tempfile
from contextlib import chdir, redirect_stdout
from html import escape
from pathlib import Path

import indicial
from indicial.cli import main as indicial_command
from indicial.inspect.attention_views import draw_attention
from indicial.lab.compare import Compared

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
TEXT = "Helen Kowalski was born in"
CHARACTER, LINE, MARGIN = 8.43, 19, 18
FONT = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
COLOURS = {"error": "#ff7b72", "note": "#8b949e", "^": "#f2cc60", "hint": "#7ee787"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.pictures", description=__doc__)
    parser.add_argument("--only", choices=["message", "run"], help="not all of them")
    only = parser.parse_args().only
    if only != "run":
        message(PICTURES / "readme_message.svg")
    if only != "message":
        with tempfile.TemporaryDirectory() as folder:
            trained(Path(folder) / "compared")
    return 0


def message(path: Path) -> None:
    """The mistake of the README, as `indicial check` tells it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    equations = re.search(r"```eq file=model\.eq\n(.*?)```", readme, re.DOTALL)
    assert equations is not None
    with tempfile.TemporaryDirectory() as folder:
        printed = io.StringIO()
        with chdir(folder), redirect_stdout(printed):
            Path("model.eq").write_text(equations[1], encoding="utf-8")
            indicial_command(["check", "model.eq"])
    shown = printed.getvalue().rstrip().splitlines()
    path.write_text(terminal(["$ indicial check model.eq", *shown]), encoding="utf-8")
    print(path)


def terminal(lines: list[str]) -> str:
    """Lines as a terminal shows them, as SVG; nothing in it comes from elsewhere."""
    width = round(2 * MARGIN + CHARACTER * max(map(len, lines)))
    height = 2 * MARGIN + LINE * len(lines)
    rows = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + LINE * (n + 0.75):.1f}" fill="{_colour(line)}" '
        f'textLength="{CHARACTER * len(line):.1f}" xml:space="preserve">{escape(line)}</text>'
        for n, line in enumerate(lines)
        if line
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{FONT}" font-size="14">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>\n{rows}\n</svg>\n'
    )


def _colour(line: str) -> str:
    """A message with its severity, the carets below the source, what to do."""
    if re.search(r": error: ", line):
        return COLOURS["error"]
    if re.fullmatch(r"\s*\|\s*\^+.*", line):
        return COLOURS["^"]
    if line.strip().startswith("hint:"):
        return COLOURS["hint"]
    return COLOURS["note"] if line.startswith(("$", "    [")) else "#e6edf3"


def trained(folder: Path) -> None:
    """What `make run` trains: its curves, and what the heads of its transformer look at."""
    found = indicial.compare("ugrnn", "transformer", data="people", minutes=2, out=folder)
    curves = PICTURES / "readme_run.png"
    curves.write_bytes((folder / "tokens.png").read_bytes())
    print(curves)
    assert isinstance(found, Compared)
    run = next(run for name, run in found.runs.items() if name.startswith("transformer"))
    looks = run.attend(TEXT)
    layers = {look.layer: [one for one in looks if one.layer == look.layer] for look in looks}
    decided = max(layers.values(), key=lambda heads: sum(h.weights.max(-1).mean() for h in heads))
    path = PICTURES / "readme_attention.png"
    draw_attention(decided, path, f"what the heads of a layer look at: “{TEXT}”")
    print(path)


if __name__ == "__main__":
    raise SystemExit(main())
