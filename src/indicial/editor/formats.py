"""Messages as other tools want them: annotations of GitHub, and SARIF.

    cell.eq:3:22: error: h has 2 indices, but 1 is written [index-count]
      →  ::error file=cell.eq,line=3,col=22,endLine=3,endColumn=28,title=index-count::h has 2 indices, …

Both take the rows of `check --format json`, so all formats say the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from indicial import __version__

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
