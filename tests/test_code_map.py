"""docs/code-map.md names every file of the package, and no other; the README counts the library."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

from indicial import library

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "indicial"
TEXT = (ROOT / "docs" / "code-map.md").read_text(encoding="utf-8")

LISTED = re.findall(r"^\| `([^`]+)` \|", TEXT, re.MULTILINE)
"""What the tables list: `notation/source.py`, `library/*.eq`."""


def files() -> list[str]:
    """The files of the package, `program/ir.py`; those without content need no explanation."""
    return sorted(
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.stat().st_size
    )


def test_every_file_is_listed() -> None:
    assert [f for f in files() if not any(fnmatchcase(f, entry) for entry in LISTED)] == []


def test_every_listed_file_exists() -> None:
    found = files()
    assert [entry for entry in LISTED if not any(fnmatchcase(f, entry) for f in found)] == []


def test_no_file_is_listed_twice() -> None:
    assert sorted(LISTED) == sorted(set(LISTED))


def test_files_named_in_the_text_exist() -> None:
    named = set(re.findall(r"`([\w/]+\.(?:py|md))`", TEXT))
    assert [n for n in sorted(named) if not any((p / n).exists() for p in (PACKAGE, ROOT))] == []


def test_links_of_the_documents_lead_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    prose = {
        d: re.sub(r"```.*?```", "", d.read_text(encoding="utf-8"), flags=re.S) for d in documents
    }
    broken = [
        f"{document.name}: {link}"
        for document, text in prose.items()
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
        if not link.startswith("http") and not (document.parent / link).exists()
    ]
    assert broken == []


def test_the_readme_counts_the_models() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"(\d+) models", readme) == [str(len(library.names()))]
