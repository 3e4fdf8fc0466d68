"""What trained models say, at three temperatures.

>>> print(samples(Path("runs/compare-people-1/ugrnn-300k-seed-0")))
temperature 0
    Helen Kowalski was born in Lund .
temperature 0.7
  ✗ the farmers whom the nurse visits grows potatoes .
    …

Where the data is a world, a text that it never says is marked: for the world knows what is true.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap

from indicial.data.world import world
from indicial.decode.settings import Decoding
from indicial.decode.text import Speaker
from indicial.program.messages import IndicialError
from indicial.training.run import Run

TEMPERATURES = {0.0: 1, 0.7: 3, 1.0: 3}
"""With how many texts there are of each: at 0 all would be the same."""
LONGEST = 60
MARK = "✗ "


def samples(folder: Path, width: int = 80, seed: int = 1) -> str:
    """A few texts of a run, indented under their temperatures."""
    run = Run.open(folder)
    speaker = Speaker.of(run)
    name = run.description.data.get("world", {}).get("name")
    lines = []
    for temperature, number in TEMPERATURES.items():
        settings = Decoding(
            temperature=temperature, num_return_sequences=number, seed=seed, max_new_tokens=LONGEST
        )
        lines.append(f"temperature {temperature:g}")
        for text in speaker.generate([""], settings):
            said = " ".join(str(text).split())  # a terminal obeys none of it
            shown = "".join(c if c.isprintable() else "�" for c in said)
            mark = MARK if name is not None and not _allowed(name, shown) else "  "
            lines += wrap(shown, width, initial_indent=f"  {mark}", subsequent_indent=" " * 4)
    return "\n".join(lines)


def explained(folder: Path) -> str:
    """What the mark means, if there may be one."""
    name = Run.open(folder).description.data.get("world", {}).get("name")
    return f"✗: false in the world {name}, or not its grammar" if name else ""


def _allowed(name: str, sentence: str) -> bool:
    try:
        world(name).log_probability(sentence)
    except IndicialError:
        return False
    return True
