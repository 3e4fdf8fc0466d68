"""Designs on the command line: which one a word names, and two of them side by side.

$ indicial compare position mine.json --figure both.svg
"""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indicial.designs.design import Design


def named_design(word: str) -> Design | None:
    """A design by its file or by its name; None for what is a run, a model or nothing known."""
    from indicial.designs.design import Design
    from indicial.designs.hand import HAND, hand

    path = Path(word)
    if path.is_file() and path.suffix == ".json" and path.name != "run.json":
        return Design.load(path)
    return hand(word) if word in HAND and not path.exists() else None


def design_meant(word: str) -> str:
    """What to say about a word that is neither: ` (or did you mean the design position?)`."""
    from indicial.designs.hand import HAND

    close = difflib.get_close_matches(word, HAND, 1)
    return f" (or did you mean the design {close[0]}?)" if close else ""


def two_designs(words: list[str]) -> tuple[Design, Design] | None:
    """Both designs, if that is what the words name; of one alone it is said what is missing."""
    from indicial.program.messages import IndicialError

    if not any(word.endswith(".json") or "/" not in word for word in words):
        return None
    found = [named_design(word) for word in words]
    known = [design for design in found if design is not None]
    if not known:
        return None
    if len(known) != 2 or len(found) != 2:
        raise IndicialError(
            f"a design is compared with one other design; this names {', '.join(words)}"
        )
    return known[0], known[1]


def compare_designs(
    pair: tuple[Design, Design], text: str | None, figure: str | None, as_json: bool = False
) -> int:
    """Prints what is the same in two designs and what is not."""
    from indicial.designs.comparison import compare

    found = compare(*pair, text)
    if figure is not None:
        found.figure(figure)
    print(json.dumps(found.to_json(), ensure_ascii=False, indent=2) if as_json else found)
    return 0
