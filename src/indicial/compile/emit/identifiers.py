"""Names of the notation → identifiers of Python, each its own.

>>> names = Names()
>>> names.new("W^{h,R}"), names.new("h̃_{in}"), names.new("CELL.W^h"), names.new("α"), names.new("F")
('W_hR', 'h_in_tilde', 'CELL_W_h', 'α', 'F_')

An identifier is built from letters, digits and a list of words: nothing else of a name gets into
the text, whatever the name is.
"""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable

RESERVED = {
    "torch", "math", "F", "p", "x", "n", "lengths", "draws", "run", "device", "dtype", "_",
}  # fmt: skip

MARKS = {
    "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0305": "bar", "\u0307": "dot",
    "\u0308": "ddot", "\u030c": "check", "\u0301": "acute", "\u0300": "grave", "\u0306": "breve",
    "\u20d7": "forward", "\u20d6": "backward", "'": "prime", "′": "prime", "*": "star",
    "∗": "star", "†": "dagger", "+": "plus", "-": "minus",
}  # fmt: skip
GREEK = re.compile("[α-ωΑ-Ω]")


class Identifiers:
    """The identifiers that are taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = {*RESERVED, *keyword.kwlist, *keyword.softkwlist, *dir(builtins), *taken}

    def new(self, name: str, free: str = "") -> str:
        """An identifier that nothing else has; `free` is one that may be taken all the same."""
        base = identifier(name)
        if base not in self.taken or base == free:
            self.taken.add(base)
            return base
        if f"{base}_" not in self.taken:
            self.taken.add(f"{base}_")
            return f"{base}_"
        number = 2
        while f"{base}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{base}_{number}")
        return f"{base}_{number}"


def identifier(name: str) -> str:
    """`h̃_{in}` → `h_in_tilde`: letters and digits as they are, marks as words at the end."""
    words: list[str] = []
    letters = ""
    for character in unicodedata.normalize("NFD", name):
        plain = unicodedata.normalize("NFKC", character)
        if character in MARKS:
            words.append(MARKS[character])
        elif (plain.isascii() and plain.isalnum()) or GREEK.fullmatch(plain):
            letters += plain
        elif character in "^_." and letters and not letters.endswith("_"):
            letters += "_"
    text = "_".join([letters.rstrip("_") or "v", *words])
    return text if text.isidentifier() else f"v{text}"


def letter(index: str) -> str:
    """What the values of an index are called: `t` for `t_2`."""
    return identifier(index.partition("_")[0].rstrip("'0123456789"))
