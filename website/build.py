"""The documents, the problem sheets with what came of them, and the library → pages of a site.

$ python website/build.py build/website      # then mkdocs makes the site of it: `make site`

Everything on the pages is what the commands compute: equations typeset by the printers, costs by
`explain`, the figures of a sheet from its notebook.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import re
import shutil
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import yaml

from indicial import library
from indicial.inspect.graph import draw
from indicial.inspect.svg import mathml
from indicial.library.loading import load
from indicial.program.explain.explain import explain
from indicial.program.explain.facts import Facts, read
from indicial.program.explain.numbers import formula
from indicial.program.program import Program

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
OTHERS = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages that lie above docs/, and what they are called in the site."""
LAB = "http://127.0.0.1:8765/#eq="

_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")
_BLOCK = re.compile(r"^```(?:indicial|design)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"^(```+|~~~+)[^\n]*\n.*?^\1`*\s*?$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_SHOWN = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_INLINE = re.compile(r"(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<!\s)\$(?![\w$])")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    build(parser.parse_args().folder)


def build(folder: Path) -> list[str]:
    """Writes the pages; gives links that lead nowhere."""
    pages = folder / "pages"
    shutil.rmtree(folder, ignore_errors=True)
    pages.mkdir(parents=True)
    for path in sorted((ROOT / "docs").rglob("*")):
        to = pages / path.relative_to(ROOT / "docs")
        if path.suffix == ".md" and path.is_file():
            _write(to, _page(path))
        elif path.suffix in (".png", ".svg", ".ipynb"):
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)
    for source, name in OTHERS.items():
        _write(pages / name, _page(ROOT / source))
    (pages / "problems" / "README.md").rename(pages / "problems" / "index.md")
    for name in library.names():
        program = load(name)
        (pages / "library").mkdir(exist_ok=True)
        (pages / "library" / f"{name}.svg").write_text(draw(program), encoding="utf-8")
        _write(pages / "library" / f"{name}.md", model_page(name, program))
    _write(pages / "library" / "index.md", library_page())
    shutil.copy(HERE / "site.css", pages / "site.css")
    _settings(folder, pages)
    broken = list(broken_links(pages))
    for line in broken:
        print(line, file=sys.stderr)
    return broken


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _settings(folder: Path, pages: Path) -> None:
    """The settings of mkdocs, with a line of navigation for each sheet, model and new document."""
    settings = yaml.safe_load((HERE / "mkdocs.yml").read_text(encoding="utf-8"))
    settings |= {"docs_dir": str(pages.resolve()), "site_dir": str((folder / "site").resolve())}
    for entry in settings["nav"]:
        for title, listed in entry.items():
            if isinstance(listed, str):
                rest = sorted(p.name for p in (pages / listed).glob("*.md") if p.stem != "index")
                entry[title] = [f"{listed}/{name}" for name in ("index.md", *rest)]
    listed = {page for entry in settings["nav"] for group in entry.values() for page in group}
    new = sorted(path.name for path in pages.glob("*.md") if path.name not in listed)
    next(entry for entry in settings["nav"] if "Training" in entry)["Training"].extend(new)
    text = yaml.safe_dump(settings, allow_unicode=True, sort_keys=False)
    (folder / "mkdocs.yml").write_text(text, encoding="utf-8")


# ---------------------------------------------------------------------- documents


def _page(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    text = _typeset(text)
    if path.with_suffix(".ipynb").exists():
        text = _with_outputs(text, path.with_suffix(".ipynb"))
    return _relinked(text, path)


def _typeset(text: str) -> str:
    """Formulas as MathML, but for those in code."""
    parts, end = [], 0
    for code in _CODE.finditer(text):
        # What tests are told behind the language (`file=cell.eq`, `no-run`) is not for readers.
        shown = re.sub(r"\A(```+|~~~+)[ \t]*(\w*)[^\n]*", r"\1\2", code[0]) if code[1] else code[0]
        parts += [_formulas(text[end : code.start()]), shown]
        end = code.end()
    return "".join([*parts, _formulas(text[end:])])


def _formulas(text: str) -> str:
    text = _SHOWN.sub(lambda m: f'<div class="typeset">{mathml(html.unescape(m[1]))}</div>', text)
    return _INLINE.sub(lambda m: mathml(html.unescape(m[1]), inline=True), text)


def _with_outputs(text: str, notebook: Path) -> str:
    """What came of each block of a sheet, below it: typeset equations, claims, figures."""
    known: dict[str, str] = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        first, _, body = "".join(cell["source"]).partition("\n")
        data = [output.get("data", {}).get("text/html", ()) for output in cell.get("outputs", ())]
        if first.startswith("%%indicial") and any(data):
            known[body.strip()] = "".join("".join(lines) for lines in data)

    def below(block: re.Match[str]) -> str:
        output = known.get(block[1].strip())
        if output is None:
            return block[0]
        # A blank line would end the element in Markdown.
        made = re.sub(r"\n\s*\n", "\n", _formulas(output))
        return f'{block[0]}\n\n<div class="output">{made}</div>\n'

    return _BLOCK.sub(below, text)


def _relinked(text: str, path: Path) -> str:
    """Links of the repository as links of the site; what is not in it is shown without a link."""

    def changed(link: re.Match[str]) -> str:
        shown, target = link[1], link[2]
        address, mark, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not address:
            return link[0]
        to = (path.parent / address).resolve()
        new = _place(to)
        if new is None:
            return shown.strip("![]") if not shown.startswith("!") else ""
        here = _place(path)
        assert here is not None
        relative = _relative(new, here)
        return f"{shown}({relative}{mark}{anchor})"

    parts, end = [], 0
    for code in re.finditer(r"^(```+|~~~+)[^\n]*\n.*?^\1`*\s*?$", text, re.DOTALL | re.MULTILINE):
        parts += [_LINK.sub(changed, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(changed, text[end:])])


def _place(path: Path) -> PurePosixPath | None:
    """Where a file of the repository is in the site."""
    if not path.is_relative_to(ROOT) or not path.exists():
        return None
    inside = path.relative_to(ROOT).as_posix()
    if inside in OTHERS:
        return PurePosixPath(OTHERS[inside])
    if inside in ("docs/problems", "docs/problems/README.md"):
        return PurePosixPath("problems/index.md")
    within = inside.startswith("docs/") and path.suffix in (".md", ".png", ".svg", ".ipynb")
    return PurePosixPath(inside.removeprefix("docs/")) if within else None


def _relative(target: PurePosixPath, page: PurePosixPath) -> str:
    up = len(page.parts) - 1
    return "../" * up + str(target) if up and target.parts[:up] != page.parts[:up] else str(
        target.relative_to(PurePosixPath(*page.parts[:up]))
    )  # fmt: skip


def broken_links(pages: Path) -> Iterator[str]:
    """Links between pages that lead to no file."""
    for page in sorted(pages.rglob("*.md")):
        text = _CODE.sub("", page.read_text(encoding="utf-8"))
        for link in _LINK.finditer(text):
            address = link[2].partition("#")[0]
            if address and not re.match(r"[a-z]+:", address) and not (page.parent / address).exists():  # fmt: skip
                yield f"{page.relative_to(pages)}: there is no {link[2]}"


# ---------------------------------------------------------------------- the library


def library_page() -> str:
    """All models in a table."""
    lines = [
        "# The library", "", f"{len(library.names())} models, one short file each.", "",
        "| model | what it is | parameters | parallel time |", "| --- | --- | --- | --- |",
    ]  # fmt: skip
    for name in library.names():
        facts = read(load(name))
        cost = facts.program.cost
        size = _short(formula(facts.tied(cost.parameters)))
        time = facts.growth(cost.parallel_time)
        lines.append(f"| [{name}]({name}.md) | {library.summary(name)} | {size} | {time} |")
    return "\n".join(lines) + "\n"


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else text[: text.rfind(" + ", 0, most)] + " + …"


def model_page(name: str, program: Program) -> str:
    """A model: typeset, as text, its names, its costs, and how to run it."""
    text = library.path(name).read_text(encoding="utf-8")
    facts = read(program)
    source = text.split("\n")[1].lstrip("# ")
    graph = f"![what needs what in {name}]({name}.svg)"
    parts = [
        f"# {name}", f"{library.summary(name).capitalize()}. {html.escape(source)}",
        f'<div class="typeset">{mathml(program.latex())}</div>',
        "## As text", f"```text\n{text.rstrip()}\n```",
        "## Names", *_names(facts),
        "## What it costs", f"```text\n{_costs(program)}\n```",
        "## What needs what", graph,
        "## Run it", f"```console\n$ indicial explain {name}\n$ indicial try {name}\n"
        f"$ indicial lab {name}\n```",
        f"In a lab that is running: [open the equations]({LAB}{packed(text)}).",
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _names(facts: Facts) -> list[str]:
    rows = ["| name | role | shape |", "| --- | --- | --- |"]
    for named in facts.names:
        if not named.made:
            shape = " × ".join(formula(facts.tied(axis.extent)) for axis in named.tensor.axes)
            rows.append(f"| `{named.shown}` | {named.role} | {shape or '1'} |")
    return ["\n".join(rows)]


def _costs(program: Program) -> str:
    """The end of the page that `explain` prints."""
    text = explain(program)
    start = text.find("\nparameters")
    lines = text[start + 1 :].split("\n") if start >= 0 else []
    kept = ("parameters", "work", "memory", "forward", "backward", "  ")
    shown, keep = [], False
    for line in lines or text.split("\n"):
        keep = line.startswith(kept) if not line.startswith("  ") else keep
        shown += [line] if keep else []
    return "\n".join(shown)


def packed(text: str) -> str:
    """A text as the lab has it in its links."""
    squeezed = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = squeezed.compress(text.encode()) + squeezed.flush()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


if __name__ == "__main__":
    main()
