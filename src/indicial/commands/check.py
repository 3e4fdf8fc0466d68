"""The commands `check` and `models`.

Messages as other tools want them: annotations of GitHub, and SARIF.

    cell.eq:3:22: error: h has 2 indices, but 1 is written [index-count]
      →  ::error file=cell.eq,line=3,col=22,endLine=3,endColumn=28,title=index-count::h has 2 indices, …

Both take the rows of `check --format json`, so all formats say the same.
"""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from indicial import __version__
from indicial.commands.arguments import (
    Commands,
    choosing,
    command,
    filling,
    option,
    print_json,
    read_programs,
)
from indicial.program.messages import IndicialError, Message, counted, in_order, there_is

if TYPE_CHECKING:
    from indicial.claims.experiment import Verdict
    from indicial.program.program import Program


TEXTS = (".eq", ".md", ".rst", ".tex", ".ipynb")
"""The endings of files that are checked in a folder."""

CHECK = """\
Checks files and models. Documents (.md, .tex, .txt, .rst, .ipynb) may hold
many programs, one for each heading; an .eq file is one program, and - is
standard input. A folder stands for the .eq, .md, .rst, .tex and .ipynb files in
it and in its folders, except notebooks beside the .md file that they were made
from. Every mistake is shown with its place, what was derived and what to do. A
comment silences a message: `# indicial: ignore[code]` on its line or on the
line before.

Claims are tried on random draws and at corner sizes, each with a line that
says how near it came. One that does not hold is an error, with the smallest
draw found that breaks it; `claim false: …` is an error if it does hold.

exit status: 0 if there are no errors (there may be warnings), 1 if there are,
2 for wrong usage.
"""


def add(commands: Commands[Any]) -> None:
    """Adds `check` and `models` to the parser of `indicial`."""
    check = command(commands, "check", "find mistakes in equations", CHECK, _check)
    check.add_argument(
        "files", nargs="+", metavar="FILE", help="a file, a folder, the name of a model, or -"
    )
    option(check, "--join", "read all files as one program")
    option(check, "--format", "messages as text, as JSON, as annotations of GitHub, or as SARIF "
           "(text)", choices=FORMATS, default="text")  # fmt: skip
    option(check, "--json", "the same as --format json", const="json", dest="format", action="store_const")  # fmt: skip
    option(check, "--notes", "also what is in doubt, and what is not read and why")
    option(check, "--seed N", "the draws that claims are tried on (0)", _whole, default=0)
    option(check, "--draws N", "draws for each claim (200; about a distribution, at most "
           "1,000,000)", _positive)  # fmt: skip
    choosing(check)
    filling(check)

    models = command(commands, "models", "list the models of the library, or print one",
                     "Lists the models of the library with one line each, or prints the text of one:\n\n"
                     "  indicial models bahdanau > mine.eq\n", _models)  # fmt: skip
    models.add_argument("model", nargs="?", metavar="MODEL", help="the one to print")
    option(models, "--json", "as JSON")


def _whole(text: str) -> int:
    if not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 0")
    return int(text)


def _positive(text: str) -> int:
    if not _whole(text):
        raise argparse.ArgumentTypeError("at least one draw is needed")
    return int(text)


def _check(options: argparse.Namespace) -> int:
    files = [file for name in options.files for file in _files(name)]
    documents, sizes = read_programs(options, files, options.join)
    programs = [program for document in documents for program in document]
    known = {name for program in programs for name in program.analysis.code.sizes}
    for name in sizes:
        if name not in known:
            raise IndicialError(f"there is no size {name}; {there_is(sorted(known))}")
    every: dict[Message, None] = {m: None for program in programs for m in program.messages}
    found = in_order(m for m in every if options.notes or m.severity != "note")
    order = {name: number for number, name in enumerate(files)}
    skipped = sorted(
        (s for p in programs for s in p.skipped),
        key=lambda s: (order.get(s.span.source.name, 0), s.span.source.name, s.span.start),
    )
    # One by one: a claim speaks of headings of its own document.
    verdicts = [v for document in documents for v in _claims(document, sizes, options)]
    errors = sum(1 for m in found if m.severity == "error")
    errors += sum(1 for verdict in verdicts if not verdict.as_stated)
    warnings = sum(1 for m in found if m.severity == "warning")
    designs = list(_designs(files))
    errors += sum(1 for design in designs if not design.passed)
    equations = sum(len(p.equations) for p in programs)
    tried = f"{counted(len(verdicts), 'claim')} (seed {options.seed})" if verdicts else ""
    summary = _summary(equations, len(programs), tried, errors, warnings, len(skipped))
    if options.format != "text":
        rows = [m.to_json() for m in found] + [verdict.to_json() for verdict in verdicts]
        rows += [design.to_json() for design in designs]
        if options.format == "github":  # who reads a pull request is told of mistakes alone
            rows = [row for row in rows if options.notes or row["severity"] != "note"]
        print(shown(rows, options.format), end="\n" if rows or options.format != "github" else "")
        if options.format == "github":
            print(summary)
        return 1 if errors else 0
    for message in found:
        print(message.render(), end="\n\n")
    for before, verdict in zip([None, *verdicts], verdicts, strict=False):
        if before is not None and not (before.as_stated and verdict.as_stated):
            print()  # a message stands apart
        print(verdict.line() if verdict.as_stated else verdict.message().render())
    print(end="\n" if verdicts else "")
    for design in designs:
        print(design.line(), end="\n\n")
    if options.notes:
        for one in skipped:
            print(f"{one.span.source.name}:{one.span.line}: not read: {one.reason}")
    print(summary)
    return 1 if errors else 0


def _files(name: str) -> list[str]:
    """What a name stands for: the texts of a folder, else itself."""
    from indicial import library
    from indicial.library.loading import named_path

    folder = named_path(name)
    if name in library.names() or not folder.is_dir():
        return [name]
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in TEXTS
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and not (path.suffix == ".ipynb" and path.with_suffix(".md").exists())
    ]
    if not found:
        raise IndicialError(f"there is nothing to check in {name}: no {', '.join(TEXTS)} file")
    return list(map(str, found))


def _claims(
    programs: list[Program], sizes: dict[str, int], options: argparse.Namespace
) -> list[Verdict]:
    """What came of the claims; without claims nothing is loaded that would draw."""
    from indicial.claims.trying import has_claims, try_claims

    if not any(map(has_claims, programs)):
        return []
    return try_claims(programs, sizes=sizes, seed=options.seed, draws=options.draws)


@dataclass(frozen=True)
class _Design:
    """What came of a design in a sheet: `of` is the line of its block or the number of its cell."""

    file: str
    of: int
    told: str
    passed: bool

    def line(self) -> str:
        mark = "#cell" if self.file.lower().endswith(".ipynb") else ":"
        return f"{self.file}{mark}{self.of}: {self.told}"

    def to_json(self) -> dict[str, Any]:
        row = {"code": "design", "severity": "note" if self.passed else "error"}
        return {**row, "message": self.line(), "file": self.file, "line": self.of}


def _designs(files: list[str]) -> Iterator[_Design]:
    """What came of the designs in sheets, of which every case is tried."""
    for file in files:
        notebook = file.lower().endswith(".ipynb")
        if (
            not (notebook or file.lower().endswith((".md", ".markdown")))
            or not Path(file).is_file()
        ):
            continue
        text = Path(file).read_text(encoding="utf-8", errors="replace")
        if ("%%indicial design" if notebook else "```design") not in text:
            continue
        from indicial.designs.hand import design_blocks, design_cells

        for block in (design_cells if notebook else design_blocks)(text):
            try:
                found = block.design().check(block.task)
                yield _Design(file, block.line, f"design: {found}", found.passed)
            except IndicialError as error:
                told = f"error: this design cannot be tried: {error}"
                yield _Design(file, block.line, told, False)


def _summary(
    equations: int, programs: int, claims: str, errors: int, warnings: int, skipped: int
) -> str:
    read = f"{counted(equations, 'equation')} in {counted(programs, 'program')}"
    read += f", {claims}" if claims else ""
    if not errors and not warnings:
        verdict = "no mistakes"
    else:
        parts = [counted(n, w) for n, w in ((errors, "error"), (warnings, "warning")) if n]
        verdict = ", ".join(parts)
    tail = f"; {skipped} not read (see --notes)" if skipped else ""
    return f"{read}: {verdict}{tail}"


def _models(options: argparse.Namespace) -> int:
    from indicial import library

    if options.model is not None:
        try:
            print(library.path(options.model).read_text(encoding="utf-8"), end="")
        except LookupError as error:
            raise IndicialError(str(error)) from None
        return 0
    rows = {name: library.summary(name) for name in library.names()}
    if options.json:
        print_json(rows)
        return 0
    width = max(len(name) for name in rows)
    room = shutil.get_terminal_size((80, 24)).columns
    for name, line in rows.items():
        start, hang = f"{name:<{width}}  ", " " * (width + 2)
        print(textwrap.fill(line, room, initial_indent=start, subsequent_indent=hang))
    return 0


FORMATS = ("text", "json", "github", "sarif")
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}

Row = Mapping[str, Any]


def shown(rows: Sequence[Row], form: str) -> str:
    """All rows in one of the formats."""
    if form == "json":
        return json.dumps(rows, ensure_ascii=False, indent=2)
    if form == "sarif":
        return json.dumps(sarif(rows), ensure_ascii=False, indent=2)
    return "\n".join(annotation(row) for row in rows)


def whole_text(row: Row) -> str:
    """What a message says, with what was found, the other places and the hint."""
    sites = row.get("sites", ())[1:]
    others = [f"line {s['line']}: {s['text']}: {s['remark']}" for s in sites if s["remark"]]
    hint = [f"hint: {row['hint']}"] if row.get("hint") else []
    return "\n".join([row["message"], *row.get("details", ()), *others, *hint])


# ---------------------------------------------------------------------- GitHub


def annotation(row: Row) -> str:
    """A command of a GitHub workflow; it marks the line in the pull request."""
    fields = {
        "file": row.get("file"), "line": row.get("line"), "col": row.get("column"),
        "endLine": row.get("end_line"), "endColumn": row.get("end"), "title": row["code"],
    }  # fmt: skip
    said = ",".join(f"{name}={_property(value)}" for name, value in fields.items() if value)
    return f"::{_COMMANDS[row['severity']]} {said}::{_escaped(whole_text(row))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: object) -> str:
    return _escaped(str(value)).replace(":", "%3A").replace(",", "%2C")


# ---------------------------------------------------------------------- SARIF


def sarif(rows: Sequence[Row]) -> dict[str, Any]:
    """A log of SARIF 2.1.0 with one run."""
    codes = list(dict.fromkeys(row["code"] for row in rows))
    driver = {"name": "Indicial", "version": __version__, "rules": [{"id": c} for c in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(row, codes.index(row["code"])) for row in rows],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(row: Row, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": row["code"],
        "ruleIndex": rule,
        "level": row["severity"],
        "message": {"text": whole_text(row)},
        "locations": list(_locations([row])),
    }
    related = list(_locations(row.get("sites", ())[1:]))
    if related:
        result["relatedLocations"] = related
    if "fix" in row:
        result["fixes"] = [_fix(row)]
    return result


def _fix(row: Row) -> dict[str, Any]:
    fix = row["fix"]
    replacement = {"deletedRegion": _region(fix), "insertedContent": {"text": fix["text"]}}
    change = {"artifactLocation": _artifact(fix), "replacements": [replacement]}
    return {"description": {"text": row["hint"]}, "artifactChanges": [change]}


def _locations(places: Iterable[Row]) -> Iterable[dict[str, Any]]:
    for place in places:
        if not place.get("file"):
            continue
        found: dict[str, Any] = {
            "physicalLocation": {"artifactLocation": _artifact(place), "region": _region(place)}
        }
        if place.get("remark"):
            found["message"] = {"text": place["remark"]}
        yield found


def _artifact(place: Row) -> dict[str, str]:
    return {"uri": quote(place["file"].replace("\\", "/"), safe="/#")}


def _region(place: Row) -> dict[str, int]:
    region = {"startLine": place["line"]}
    if "column" in place:
        region["startColumn"] = place["column"]
    if "end_line" in place:
        region |= {"endLine": place["end_line"], "endColumn": place["end"]}
    return region
