"""Characters that say more than one thing: letters set small, and letters of a font of their own.

>>> [set_small(sign) for sign in "ₜ₋⁽²"]
[('_', 't'), ('_', '-'), ('^', '('), ('^', '2')]
>>> plain_letter("𝐡"), plain_letter("𝑊"), plain_letter("ℒ")
(('h', 'bold'), ('W', ''), None)

Texts that were copied from pages, slides and chats are full of them: `hₜ₋₁`, `Wᵀ`, `𝐱ₜ`.
"""

from __future__ import annotations

import sys
import unicodedata

from indicial.notation.signs import DOUBLE_LETTERS, LETTER_CHARACTERS, SCRIPT_LETTERS

_SMALL = {"super": "^", "sub": "_"}
_NOT_RAISED = frozenset("ªº")
"""Small letters that belong to words: 1ª, 2º."""
_KEPT = frozenset({*SCRIPT_LETTERS.values(), *DOUBLE_LETTERS.values(), *LETTER_CHARACTERS})
"""Letters that are names of their own in the tree, or that the table of look-alikes knows."""


_BLOCKS = (range(0xB2, 0x300), range(0x1D2C, 0x1DC0), range(0x2070, 0x20A0), range(0x2C7C, 0x2C7E))
"""Where small letters stand."""


def _small() -> dict[str, tuple[str, str]]:
    found = {}
    for character in map(chr, (code for block in _BLOCKS for code in block)):
        kind, _, code = unicodedata.decomposition(character).partition(" ")
        if kind[1:-1] in _SMALL and " " not in code and character not in _NOT_RAISED:
            sign = chr(int(code, 16)).replace("\u2212", "-")
            found[character] = (_SMALL[kind[1:-1]], sign)
    return found


SMALL = _small()
RAISED = "".join(c for c, (sign, _) in SMALL.items() if sign == "^")
LOWERED = "".join(c for c, (sign, _) in SMALL.items() if sign == "_")
STYLED = "\u210e\U0001d400-\U0001d7ff"
"""Letters and digits of the fonts of formulas, as a class of a regular expression."""


def set_small(character: str) -> tuple[str, str] | None:
    """The sign of a script and what stands in it; None of a character of the usual size."""
    return SMALL.get(character)


def plain_letter(character: str) -> tuple[str, str] | None:
    """The letter or digit that a character of another font is, and `bold` if it is; None of any other."""
    if character in _KEPT or (character != "\u210e" and character < "\U0001d400"):
        return None
    kind, _, code = unicodedata.decomposition(character).partition(" ")
    if kind != "<font>":
        return None
    name = unicodedata.name(character)
    letter = chr(int(code, 16))
    if "SCRIPT" in name:
        letter = SCRIPT_LETTERS.get(letter, letter)
    return sys.intern(LETTER_CHARACTERS.get(letter, letter)), "bold" if " BOLD " in name else ""
