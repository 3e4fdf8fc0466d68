"""How each surface spells letters, words and signs.

`spell("α", LATEX)` → `\\alpha`, `spell("Key", LATEX)` → `\\text{Key}`, `spell("Δt", ASCII)` → `dt`
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from indicial.notation.signs import (
    ASCII_LETTERS,
    ASCII_NAMES,
    ASCII_SIGNS,
    DOUBLE_LETTERS,
    KEYS,
    LATEX_LETTERS,
    LATEX_SIGNS,
    NAME_COMMANDS,
    SCRIPT_LETTERS,
)
from indicial.notation.vocabulary import FUNCTIONS, REDUCTIONS


@dataclass(frozen=True)
class Surface:
    """The signs of one way of writing."""

    signs: dict[str, str]
    """The relations that are spelt otherwise than in Unicode."""
    operators: dict[str, str]
    numbers: dict[str, str]
    hadamard: str
    product: str
    top: str
    mid: str
    dots: str
    norm: str
    latex: bool = False
    ascii: bool = False
    pretty: bool = False
    """Unicode letters and combining accents."""
    key: bool = False
    """For keys: every word as it is, even where a parser would read it otherwise."""


_SIGMAS = {"sum": "Σ", "prod": "∏"}
_COMMANDS = {
    "sum": "\\sum", "prod": "\\prod", "max": "\\max", "min": "\\min",
    "mean": "\\operatorname{mean}",
    "argmax": "\\operatorname{argmax}", "argmin": "\\operatorname{argmin}",
    "softmax": "\\operatorname{softmax}",
}  # fmt: skip

ASCII = Surface(ASCII_SIGNS, {}, {"∞": "inf"}, ".*", "*", "\\top", "|", "...", "||", ascii=True)
UNICODE = Surface({}, _SIGMAS, {}, "⊙", "·", "⊤", "|", "…", "‖", pretty=True)
KEY = Surface({}, _SIGMAS, {}, "⊙", "·", "⊤", "|", "…", "‖", pretty=True, key=True)
LATEX = Surface(
    LATEX_SIGNS, _COMMANDS, {"∞": "\\infty"}, "\\odot", "\\cdot", "\\top", "\\mid", "\\dots", "",
    latex=True,
)  # fmt: skip

_PLAIN_WORD = re.compile(r"[A-Za-zÀ-ÖØ-öø-ɏ][A-Za-zÀ-ÖØ-öø-ɏ0-9]*")
_MISREAD = frozenset(ASCII_NAMES) | {"inf", "infinity", "norm", "cases", "claim"}
_SCRIPT = {sign: f"\\mathcal{{{letter}}}" for letter, sign in SCRIPT_LETTERS.items()}
_DOUBLE = {sign: f"\\mathbb{{{letter}}}" for letter, sign in DOUBLE_LETTERS.items()}
_WORDS = {word: command for command, word in NAME_COMMANDS.items() if word != "softmax"}
_OPERATORS = (frozenset(FUNCTIONS) | frozenset(REDUCTIONS)) - {"σ"}


def spell(base: str, surface: Surface) -> str:
    """The base of a name on a surface."""
    if surface.key:
        return base
    if base.startswith("Δ") and len(base) > 1 and "." not in base:
        return _difference(base[1:], surface)
    first, *rest = base.split(".") if re.fullmatch(r"[^.]+(\.[^.]+)+", base) else [base]
    return ".".join([_word(first, surface), *(_word(word, surface) for word in rest)])


def _difference(rest: str, surface: Surface) -> str:
    if surface.latex:
        return f"\\Delta {_word(rest, surface)}"
    if surface.pretty:
        return "Δ" + _word(rest, surface)
    return "d" + rest if len(rest) == 1 and rest.isascii() else f"Delta {_word(rest, surface)}"


def _word(base: str, surface: Surface) -> str:
    if surface.latex:
        return _latex_word(base)
    if base == "Σ":
        return "\\Sigma"
    if surface.pretty and base[0] in "|∂":
        return base  # `P_{|k-1}`, `∂L/∂W`
    if len(base) == 1 and not base.isascii():
        if surface.pretty:
            return base
        letter = ASCII_LETTERS.get(base) or LATEX_LETTERS.get(base)
        return letter or _SCRIPT.get(base) or _DOUBLE.get(base) or base
    misread = base in _MISREAD or (len(base) == 2 and base[0] == "d" and base[1].isalpha())
    if base in KEYS or base in ("+", "-", ":") or (_PLAIN_WORD.fullmatch(base) and not misread):
        return base
    return f"\\text{{{base}}}"


def _latex_word(base: str) -> str:
    if len(base) == 1:
        return LATEX_LETTERS.get(base) or _SCRIPT.get(base) or _DOUBLE.get(base) or base
    if base in _WORDS and base not in ("argmax", "argmin", "ReLU"):
        return _WORDS[base]
    return f"\\operatorname{{{base}}}" if base in _OPERATORS else f"\\text{{{base}}}"
