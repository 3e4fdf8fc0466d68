"""The score: what Indicial makes of labelled displays, beside what they say.

    displays about tensors    63
      read, and rightly       21   33 %
    …

A reading is compared in what matters, the names, their number of axes and how many indices are summed,
and not in what does not: the order of axes, the letters, the spelling of a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.notes.displays import Display
from bench.notes.labels import Label, Slip, fold, is_element, spellings
from bench.notes.reading import Reading, reading
from indicial import Program, load_document
from indicial.notation.displays import parse_document
from indicial.notation.documents import read
from indicial.notation.source import Span
from indicial.notation.syntax import Statement
from indicial.program.messages import Message

_POWER = re.compile(r"\^\d|_·")
"""A power stands for what it is of, also below a derivative: `∂L/∂σ^2`. So does one of many: `∂L_·/∂W`."""
OUTCOMES = ("right", "wrong", "refused", "outside")


@dataclass
class Verdict:
    """One display: what was made of it."""

    label: Label
    display: Display
    reading: Reading
    outcome: str
    """One of OUTCOMES; a display of which part is left out is outside, if the rest is right."""
    reasons: list[str] = field(default_factory=list)
    """Where the reading differs from the label."""
    accepted: list[tuple[Message, Slip]] = field(default_factory=list)
    rejected: list[Message] = field(default_factory=list)

    @property
    def as_meant(self) -> bool:
        """Whether nobody has to mend anything here: read rightly, or left alone where it may be."""
        wanted = {"tensor": ["right"], "either": ["right", "outside"], "outside": ["outside"]}
        found = {slip for _, slip in self.accepted}
        missed = any(not s.minor and s not in found for s in self.label.slips)
        return self.outcome in wanted[self.label.kind] and not self.rejected and not missed


def score(notes: Path, labels: Iterable[Label], every: Iterable[Display]) -> list[Verdict]:
    """A verdict on each label, in the order of the labels."""
    by_key = {display.key: display for display in every}
    by_file: dict[str, list[Label]] = {}
    for label in labels:
        if label.key in by_key:
            by_file.setdefault(label.file, []).append(label)
    return [
        verdict
        for file, some in by_file.items()
        for verdict in _score_file(notes / file, some, by_key)
    ]


def _score_file(
    path: Path, labels: Sequence[Label], by_key: dict[tuple[str, int, str], Display]
) -> list[Verdict]:
    verdicts = []
    crash: Exception | None = None
    programs: list[Program] = []
    written: list[Statement] = []
    try:
        programs = load_document(path)
        written = [s for _, _, parsed in parse_document(read(path)) for s in parsed.statements]
    except Exception as error:  # a crash is a result
        crash = error
    for label in labels:
        display = by_key[label.key]
        try:
            found = _reading(programs, written, display, str(path))
        except Exception as error:
            found, crash = Reading(), error
        verdict = judge(label, display, found)
        if crash is not None:
            verdict.outcome = "refused"
            verdict.reasons.append(f"crashed: {type(crash).__name__}: {crash}")
        verdicts.append(verdict)
    return verdicts


def _reading(
    programs: Sequence[Program], written: Sequence[Statement], display: Display, file: str
) -> Reading:
    """How a display was read; a row that repeats an earlier one was read there, unless it was left out."""
    # By place: the text was read twice, and spans of two readings are never the same.
    kept = {_place(s.span) for program in programs for s in program.written}
    left_out = {_place(s.span) for program in programs for s in program.skipped}
    first = {s: s.span for program in reversed(programs) for s in reversed(program.written)}
    rows = [
        s
        for s in written
        if s.span.source.name == file and display.start <= s.span.start < display.end
    ]
    lost = {s for s in rows if _place(s.span) in left_out}
    again = [first[s] for s in rows if _place(s.span) not in kept and s not in lost and s in first]
    return reading(programs, display.start, display.end, file, again)


def _place(span: Span) -> tuple[str, int]:
    return span.source.name, span.start


def judge(label: Label, display: Display, found: Reading) -> Verdict:
    """What a reading is worth, by its label."""
    verdict = Verdict(label, display, found, "right")
    for message in found.mistakes:
        slip = next((s for s in label.slips if _speaks_of(message, s)), None)
        if slip is None:
            verdict.rejected.append(message)
        else:
            verdict.accepted.append((message, slip))
    rejected_errors = [m for m in verdict.rejected if m.severity == "error"]
    if rejected_errors:
        verdict.outcome = "refused"
    elif label.kind == "outside":
        verdict.outcome = "wrong" if found.computed else "outside"
    elif not found.computed and not found.errors:
        verdict.outcome = "outside"
    elif found.errors:
        pass  # the author was told of a slip
    else:
        partly = bool(found.skipped)
        verdict.reasons = differences(label, found, partly)
        verdict.outcome = "wrong" if verdict.reasons else "outside" if partly else "right"
        if verdict.reasons and found.faulty:
            verdict.outcome = "refused"
            verdict.reasons.append("its program has an error elsewhere")
    return verdict


def differences(label: Label, found: Reading, partly: bool = False) -> list[str]:
    """Where a reading differs from a label; of one that left a part out, only what it has too much.

    The inside of a function is read where it is called; where it is only defined, it is not compared.
    """
    partly = partly or bool(found.functions)
    letters = set(map(fold, found.letters))
    unexplained = dict(found.axes)
    reasons = []
    spoken: set[str] = set()
    for name, axes in found.axes.items():
        if parts := _differentiated(name, axes, label):
            spoken.update(parts)
            unexplained.pop(name)
    for name, counts in (*label.names.items(), *label.maybe.items()):
        there = fold(name) in spoken
        for spelling, right in spellings(name, counts).items():
            for known, axes in found.axes.items():
                if fold(known) == spelling and not axes <= right:
                    reasons.append(f"{name} has {_list(axes)} axes, not {_list(right)}")
                elif fold(known) != spelling and not is_element(known, spelling, axes, right):
                    continue
                there = True
                unexplained.pop(known, None)
            if there:
                break
        number_only = 0 in counts and fold(name) in letters
        if not there and name in label.names and not number_only and not partly:
            reasons.append(f"{name} is not there")
    sizes = letters | set(map(fold, label.maybe))
    reasons += [
        f"{name} is no name here"
        for name, axes in unexplained.items()
        if axes != {0} or not {fold(name), fold(name.lower())} & sizes  # the D of `2t/d`
    ]
    sums, softmaxes = len(found.sums), len(found.softmaxes)
    # A softmax that is written out may be read as one.
    if not partly and not label.totals & {sums, sums + softmaxes}:
        reasons.append(f"{sums} indices are summed, not {_list(label.totals)}")
    return reasons


def _differentiated(name: str, axes: set[int], label: Label) -> list[str]:
    """The L and the W of `∂L/∂W`, if it has as many axes as both, those that they share once; else nothing."""
    above, sign, below = name.removeprefix("∂").partition("/∂")
    parts = [fold(_POWER.sub("", part)) for part in (above, below)] if sign else []
    known: dict[str, tuple[set[int], str]] = {}
    for n, counts in (*label.names.items(), *label.maybe.items()):
        known |= {spelling: (right, fold(n)) for spelling, right in spellings(n, counts).items()}
    if not parts or not all(part in known for part in parts):
        return []
    (one, above), (other, below) = (known[part] for part in parts)
    fits = {n for a in one for b in other for n in range(max(a, b), a + b + 1)}
    return [above, below] if axes <= fits else []


def _speaks_of(message: Message, slip: Slip) -> bool:
    """Whether a message is about this slip: it names what the slip is about, or points at it."""
    if message.code == "bracket":  # which has no name: `at` is one beside it
        return "bracket" in slip.what
    name = fold(slip.at)
    words = (word.strip(".,:;`“”") for word in message.text.split())
    return any(fold(w) == name for w in words) or any(
        name in fold(s.text) for s, _ in message.sites
    )


def _list(numbers: Iterable[int]) -> str:
    return " or ".join(map(str, sorted(numbers)))


# ---------------------------------------------------------------------- the table


@dataclass(frozen=True)
class Row:
    """So many of so many; a total of None has no percentage."""

    text: str
    count: int
    total: int | None = None

    def share(self) -> str:
        if self.total is None:
            return f"{self.count}"
        percent = f"{100 * self.count / self.total:.0f} %" if self.total else "–"
        return f"{self.count} of {self.total}  {percent:>5}"


def rows(verdicts: Sequence[Verdict]) -> list[Row]:
    """The figures, those that are aimed at first."""
    accepted = sum(len(v.accepted) for v in verdicts)
    messages = accepted + sum(len(v.rejected) for v in verdicts)
    passing = [v for v in verdicts if v.reading.computed and not v.reading.mistakes]
    passing = [v for v in passing if v.outcome in ("right", "wrong")]
    outside = [v for v in verdicts if v.label.kind == "outside"]
    # What may be left alone counts where it was put.
    outside += [v for v in verdicts if v.label.kind == "either" and v.outcome == "outside"]
    tensor = [v for v in verdicts if v.label.kind == "tensor"]
    tensor += [v for v in verdicts if v.label.kind == "either" and v.outcome != "outside"]
    alone = [v for v in outside if v.outcome == "outside" and not v.reading.mistakes]
    slips = [(v, s) for v in verdicts for s in v.label.slips if not s.minor]
    found = [s for v, s in slips if s in {slip for _, slip in v.accepted}]
    inside = [(v, s) for v, s in slips if v.label.kind != "outside"]
    found_inside = [s for v, s in inside if s in {slip for _, slip in v.accepted}]
    counted = {o: sum(v.outcome == o for v in tensor) for o in OUTCOMES}
    functions = sum(
        v.outcome == "right" and v.reading.functions == v.reading.equations > 0 for v in tensor
    )
    return [
        Row("messages that are right", accepted, messages),
        Row("displays that pass as read and are read as meant",
            sum(v.outcome == "right" for v in passing), len(passing)),
        Row("displays about tensors: read rightly", counted["right"], len(tensor)),
        Row("  of these only functions, not compared", functions, len(tensor)),
        Row("  read wrongly", counted["wrong"], len(tensor)),
        Row("  refused with an error", counted["refused"], len(tensor)),
        Row("  left outside, in whole or in part", counted["outside"], len(tensor)),
        Row("displays that are outside and left alone", len(alone), len(outside)),
        Row("true slips found", len(found), len(slips)),
        Row("  in displays about tensors", len(found_inside), len(inside)),
    ]  # fmt: skip


def table(verdicts: Sequence[Verdict]) -> str:
    """All figures, for each folder and together."""
    folders = sorted({v.label.folder for v in verdicts})
    columns = [[v for v in verdicts if v.label.folder == folder] for folder in folders]
    columns.append(list(verdicts))
    figures = [rows(column) for column in columns]
    width = max(len(row.text) for row in figures[-1])
    lines = [" " * width + "".join(f"{title:>20}" for title in (*folders, "all"))]
    for number, row in enumerate(figures[-1]):
        shares = "".join(f"{column[number].share():>20}" for column in figures)
        lines.append(f"{row.text:<{width}}{shares}")
    return "\n".join(lines)


def report(verdict: Verdict) -> str:
    """A display that is not as meant, with what is wrong: for whoever mends the reader."""
    label, display = verdict.label, verdict.display
    lines = [
        f"{label.file}:{label.line}  {label.kind}, {verdict.outcome}",
        display.body.strip("\n"),
    ]
    lines += [f"  {reason}" for reason in verdict.reasons]
    lines += [f"  wrong {m.severity}: {m.text} [{m.code}]" for m in verdict.rejected]
    lines += [f"  right {m.severity}: {m.text} [{m.code}]" for m, _ in verdict.accepted]
    found = {slip for _, slip in verdict.accepted}
    lines += [f"  missed: {s.at}: {s.what}" for s in label.slips if s not in found and not s.minor]
    if verdict.outcome == "wrong":
        axes = ", ".join(f"{n}: {_list(c)}" for n, c in verdict.reading.axes.items())
        lines.append(f"  read as: {axes or 'nothing with axes'}")
    lines += [f"  left out: {skipped.reason}" for skipped in verdict.reading.skipped[:3]]
    return "\n".join(lines)
