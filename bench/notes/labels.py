r"""Labels: what a display says, as a person reads it. One JSON object a line, without the display's text.

{"file": "textbook/rnn.md", "line": 99, "hash": "e268df10f8ae", "kind": "tensor",
 "names": {"H": 3, "X": 3, "W_{xh}": 2, "W_{hh}": 2, "b_h": 1}, "products": 2}

README.md beside this file says what each field means and how to decide.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.notes.displays import Display

KINDS = ("tensor", "either", "outside")
FOLDER = Path(__file__).resolve().parent

Key = tuple[str, int, str]


@dataclass(frozen=True)
class Slip:
    """Something that the author would want to be told.

    A message about a `minor` one is right, but nobody misses it.
    """

    at: str
    what: str
    minor: bool = False


@dataclass(frozen=True)
class Label:
    """What one display says."""

    file: str
    line: int
    hash: str
    kind: str
    names: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Each name with its number of axes; several numbers where several are right."""
    maybe: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Names that a right reading may have or not: a function that is read as its value."""
    sums: tuple[str, ...] = ()
    """The letters of all written sums, in the order of the text."""
    products: tuple[int, ...] = (0,)
    """How many indices are summed without Σ: in products, norms, loops, capital letters."""
    slips: tuple[Slip, ...] = ()

    @property
    def key(self) -> Key:
        return self.file, self.line, self.hash

    @property
    def folder(self) -> str:
        return self.file.partition("/")[0]

    @property
    def totals(self) -> set[int]:
        """How many indices may be summed in all."""
        return {len(self.sums) + number for number in self.products}

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"file": self.file, "line": self.line, "hash": self.hash}
        row["kind"] = self.kind
        for name in ("names", "maybe"):
            if given := getattr(self, name):
                row[name] = {key: _short(counts) for key, counts in given.items()}
        if self.sums:
            row["sums"] = list(self.sums)
        if self.products != (0,):
            row["products"] = _short(self.products)
        if self.slips:
            row["slips"] = [
                {"at": s.at, "what": s.what} | ({"minor": True} if s.minor else {})
                for s in self.slips
            ]
        return row


def of_json(row: Mapping[str, Any]) -> Label:
    """A label of what a line holds; ValueError says what is wrong with it."""
    known = {"file", "line", "hash", "kind", "names", "maybe", "sums", "products", "slips"}
    if strange := set(row) - known:
        raise ValueError(f"unknown field {', '.join(sorted(strange))}")
    if missing := {"file", "line", "hash", "kind"} - set(row):
        raise ValueError(f"no field {', '.join(sorted(missing))}")
    if row["kind"] not in KINDS:
        raise ValueError(f"kind is one of {', '.join(KINDS)}, not {row['kind']}")
    if row["kind"] == "outside" and set(row) & {"names", "maybe", "sums", "products"}:
        raise ValueError("a display that is outside has no names and no sums")
    slips = tuple(
        Slip(str(s["at"]), str(s["what"]), bool(s.get("minor", False)))
        for s in row.get("slips", ())
    )
    return Label(
        str(row["file"]),
        int(row["line"]),
        str(row["hash"]),
        str(row["kind"]),
        {name: _counts(given) for name, given in row.get("names", {}).items()},
        {name: _counts(given) for name, given in row.get("maybe", {}).items()},
        tuple(map(str, row.get("sums", ()))),
        _counts(row.get("products", 0)),
        slips,
    )


def read(path: Path) -> list[Label]:
    """The labels of one file; ValueError with the line that is wrong."""
    labels = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                labels.append(of_json(json.loads(line)))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(f"{path.name}:{number}: {error}") from error
    return labels


def read_set(name: str, folder: Path = FOLDER) -> list[Label]:
    """All labels of a set: `dev` stands for `dev.jsonl`, `dev-2.jsonl` and so on."""
    paths = sorted({*folder.glob(f"{name}.jsonl"), *folder.glob(f"{name}-*.jsonl")})
    return [label for path in paths for label in read(path)]


def write(path: Path, labels: Iterable[Label]) -> None:
    rows = (json.dumps(label.to_json(), ensure_ascii=False) for label in labels)
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


# ---------------------------------------------------------------------- names

_GREEK = {
    unicodedata.name(chr(code)).split()[-1].lower(): chr(code)
    for code in range(0x3B1, 0x3CA)
    if "FINAL" not in unicodedata.name(chr(code))
}
_GREEK["lambda"] = _GREEK.pop("lamda")
_ACCENTS = {
    "hat": "\u0302", "widehat": "\u0302", "tilde": "\u0303", "widetilde": "\u0303",
    "bar": "\u0304", "overline": "\u0304", "dot": "\u0307", "vec": "\u20d7", "cev": "\u20d6",
    "overrightarrow": "\u20d7", "overleftarrow": "\u20d6", "underline": "\u0332",
}  # fmt: skip
_FONTS = re.compile(
    "math(bf|rm|it|sf|cal|bb|tt)|text(rm|bf|it)?|boldsymbol|bm|operatorname|left|right|bigg?|limits"
)
_MARKS = re.compile("[\u0300-\u036f\u20d0-\u20ff]{2,}")
"""Accents on one letter, whose order says nothing."""
_SIGNS = {"infty": "∞", "prime": "'", "ell": "l", "star": "*", "ast": "*"}


def fold(name: str) -> str:
    r"""One spelling for all of a name: `\hat{\mathbf{y}}`, `ŷ` → `y` with its hat.

    Fonts, braces, blanks and the signs `_ ^ ,` are dropped, so that `W_{\textrm{xh}}`, `W_{xh}` and
    `W^{x,h}` are one.
    """
    text = re.sub(r"\\(?:color\{\w+\}|cal|bf|rm|it)\b", "", name)
    text = re.sub(r"_\{\|[^}]*\}", "", text)  # the bar of `P_{k|k-1}` says by what it is known
    text = re.sub(r"\.(?:value|\\(?:mathrm|text)\{value\})$", "", text)
    for accent, sign in _ACCENTS.items():
        # The letter below the accent may stand in braces and in a font of its own.
        text = re.sub(rf"\\{accent}\b\s*((?:\{{|\\\w+\{{|\s)*)(\\\w+|\w)", rf"\1\2{sign}", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda m: _command(m[1]), text)
    text = unicodedata.normalize("NFKD", text).replace("ϵ", "ε").replace("′", "'")
    text = _MARKS.sub(lambda marks: "".join(sorted(marks[0])), text)  # `\\vec{\\tilde c}`
    return re.sub(r"[{}\s_^,()\\$!;]", "", text).replace("\u0305", "\u0304")


def _command(name: str) -> str:
    if name in _SIGNS:
        return _SIGNS[name]
    letter = _GREEK.get(name.lower().removeprefix("var"))
    if letter is None:
        return "" if _FONTS.fullmatch(name) else name
    return letter.upper() if name[0].isupper() else letter


_NUMBER = re.compile(r"[_^](?:\{\(?\d+\)?\}|\(?\d+\)?)")
_PARAMETERS = re.compile(r"_\{?(?:[ΦΨΘθφψ]|\\(?:Phi|Psi|Theta|theta|phi|psi))\}?")


def spellings(name: str, counts: Iterable[int]) -> dict[str, set[int]]:
    r"""How a name may be spelled, and how many axes it then has.

    `W^{(1)}` with two axes may be `W` with three, read at 1. `P_\Phi` may be `P`: that it depends on the
    parameters is no index.
    """
    found = {fold(name): set(counts)}
    found.setdefault(fold(_PARAMETERS.sub("", name)), set(counts))
    if numbers := _NUMBER.findall(name):
        stem = fold(_NUMBER.sub("", name))
        found.setdefault(stem, {count + len(numbers) for count in counts})
    return found


_NEW = "_{+}"
"""Behind the name of what `x ← x - g` makes new."""


def is_element(name: str, stem: str, axes: set[int], counts: set[int]) -> bool:
    r"""Whether a name is a part of another: `x_0` of `x`, with an axis less; or its power, `σ^2`, or its new value."""
    if name.endswith(_NEW) and fold(name.removesuffix(_NEW)) == stem:
        return axes <= counts
    numbers = _NUMBER.findall(name)
    if not numbers or fold(_NUMBER.sub("", name)) != stem:
        return False
    less = {count - len(numbers) for count in counts}
    return axes <= less or (axes <= counts and all(n.startswith("^") for n in numbers))


# ---------------------------------------------------------------------- checking


def check(labels: Iterable[Label], every: Iterable[Display]) -> list[str]:
    """What is wrong with labels, as far as the notes can tell."""
    found = []
    by_place = {(d.file, d.line): d for d in every}
    by_hash = {d.hash: d for d in by_place.values()}
    seen: set[Key] = set()
    for label in labels:
        where = f"{label.file}:{label.line}"
        if label.key in seen:
            found.append(f"{where}: labelled twice")
        seen.add(label.key)
        display = by_place.get((label.file, label.line))
        if display is None or display.hash != label.hash:
            other = by_hash.get(label.hash)
            hint = f"; that display is at {other.file}:{other.line}" if other else ""
            found.append(f"{where}: no display with hash {label.hash}{hint}")
            continue
        if label.kind == "tensor" and not (label.names or label.maybe):
            found.append(f"{where}: about tensors, but no name has axes")
        written = fold(display.body)
        for name in (*label.names, *label.maybe, *(slip.at for slip in label.slips)):
            if not _occurs(fold(name), written):
                found.append(f"{where}: {name} does not occur")
    return found


def _occurs(name: str, written: str) -> bool:
    """Whether the signs of a name stand in the text, in their order and not far apart."""
    gaps = r"[^=+]{0,12}?".join(map(re.escape, name))
    return re.search(gaps, written) is not None


def _counts(given: Any) -> tuple[int, ...]:
    counts = tuple(given) if isinstance(given, list) else (given,)
    if not counts or not all(isinstance(c, int) and 0 <= c < 20 for c in counts):
        raise ValueError(f"{given} is no number of axes, nor a list of some")
    return counts


def _short(counts: tuple[int, ...]) -> int | list[int]:
    return counts[0] if len(counts) == 1 else list(counts)
