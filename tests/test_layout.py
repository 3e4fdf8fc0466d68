"""The folders stand in the order the data flows, and imports only point back along it."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import mutants

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "indicial"

# A file imports from its own folder and from folders earlier in this list. Modules directly
# in the package (cli.py, notebook.py, ...) and those of `commands` come last: they import
# everything, and no folder imports them.
ORDER = [
    "notation",
    "program",
    "derivations",
    "compile",
    "library",
    "claims",
    "data",
    "tasks",
    "training",
    "decode",
    "export",
    "inspect",
    "designs",
    "exercises",
    "lab",
    "editor",
    "page",
]

# The folders of `compile` in their order, which its own files follow in the same way. Other modules
# directly in `compile` come last. A folder inside one of these counts as part of it.
COMPILER = [
    "ground",
    "schedule",
    "passes",
    "emit",
    "native",
    "pipeline",
    "module",
    "stepping",
    "explain",
]
COMPILER_FRONT_DOOR = ("module/module.py", "stepping")  # a module begins and steps

# The front door: a `Program` compiles itself, by an import inside the function.
FRONT_DOORS = {("program/program.py", "compile")}


def imported_modules(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything imported by a file that lies in `package`.

    ``from a import b`` gives ``a.b``, whether b is a module or not. Imports inside functions and
    under TYPE_CHECKING count, and so does ``import_module("literal")``.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield node.lineno, alias.name
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package[: len(package) - level + 1] if level else []
                prefix = ".".join([*base, *([module] if module else [])])
                for alias in names:
                    yield node.lineno, f"{prefix}.{alias.name}"
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                if name.startswith("."):
                    level = len(name) - len(name.lstrip("."))
                    rest = name.lstrip(".")
                    name = ".".join([*package[: len(package) - level + 1], *rest.split(".")])
                yield node.lineno, name


def violations(package: Path) -> list[str]:
    """Every import below `package` (the folder `indicial`) that breaks the order."""
    found = []
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package).parts
        if len(parts) == 1 or parts[0] == "commands":
            continue  # the front doors may import everything
        where, folder = "/".join(parts), parts[0]
        if folder not in ORDER:
            found.append(f"{where}: folder {folder!r} has no place in the order")
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
        for line, name in imported_modules(tree, ["indicial", *parts[:-1]]):
            root, _, rest = name.partition(".")
            if root != "indicial" or rest == "__version__":
                continue
            target = rest.split(".")[0]
            if target not in ORDER:
                found.append(f"{where}:{line}: {folder} imports the top-level {name}")
            elif ORDER.index(target) > ORDER.index(folder) and (where, target) not in FRONT_DOORS:
                found.append(f"{where}:{line}: {folder} imports {name}, which comes after it")
    return found


def test_folders_of_the_compiler_follow_their_order() -> None:
    found = []
    for file in sorted((PACKAGE / "compile").rglob("*.py")):
        parts = file.relative_to(PACKAGE / "compile").parts
        if len(parts) == 1:
            continue
        where, folder = "/".join(parts), parts[0]
        tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
        for line, name in imported_modules(tree, ["indicial", "compile", *parts[:-1]]):
            _, inside, rest = name.partition("indicial.compile.")
            target = rest.split(".")[0]
            if not inside or target == folder or (where, target) == COMPILER_FRONT_DOOR:
                continue
            known = [*COMPILER, target]
            if known.index(target) > COMPILER.index(folder):
                found.append(f"{where}:{line}: {folder} imports {name}, which comes after it")
    assert found == []


INSIDE = {"compile/native": ["reading", "writing", ""]}
"""Folders inside a folder, in their order; "" are the files beside them."""


def test_folders_inside_a_folder_follow_their_order() -> None:
    found = []
    for place, order in INSIDE.items():
        package = ["indicial", *place.split("/")]
        for file in sorted((PACKAGE / place).rglob("*.py")):
            parts = ["", *file.relative_to(PACKAGE / place).parts]
            own = parts[-2]
            tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
            for line, name in imported_modules(tree, [*package, *parts[1:-1]]):
                _, inside, rest = name.partition(".".join([*package, ""]))
                target = next((folder for folder in order if rest.startswith(f"{folder}.")), "")
                if inside and order.index(target) > order.index(own):
                    found.append(f"{file.name}:{line}: {own} imports {name}, which comes after it")
        assert set(order) == {
            p.name for p in (PACKAGE / place).iterdir() if (p / "__init__.py").exists()
        } | {""}
    assert found == []


def test_imports_follow_the_order() -> None:
    assert list(PACKAGE.rglob("*.py")), f"no source below {PACKAGE}"
    assert violations(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "source", "expected"),
    [
        # forbidden, in every spelling
        ("notation/a.py", "import indicial.program.ir", "notation imports indicial.program.ir"),
        ("notation/a.py", "from indicial.program import ir", "indicial.program.ir"),
        ("notation/a.py", "from indicial import program", "indicial.program,"),
        ("notation/a.py", "from ..program.ir import X", "indicial.program.ir.X"),
        ("notation/a.py", "from .. import program", "indicial.program,"),
        ("notation/__init__.py", "from ..lab import X", "indicial.lab.X"),
        ("notation/deep/a.py", "from ...program import ir", "indicial.program.ir"),
        ("program/a.py", "def f():\n    from ..library import x", "a.py:2: program imports"),
        ("program/a.py", "import importlib\nimportlib.import_module('indicial.lab')", "a.py:2:"),
        ("program/a.py", "import_module('..lab', __package__)", "indicial.lab,"),
        ("program/a.py", "from indicial.compile import X", "which comes after it"),
        ("program/program.py", "from indicial.library import X", "which comes after it"),
        ("lab/a.py", "from indicial.cli import main", "imports the top-level indicial.cli.main"),
        ("lab/a.py", "import indicial", "imports the top-level indicial"),
        ("lab/a.py", "from indicial.commands import train", "imports the top-level"),
        ("stray/a.py", "", "folder 'stray' has no place in the order"),
        # allowed
        ("program/a.py", "from ..notation.syntax import X", None),
        ("program/program.py", "from indicial.compile.module import X", None),
        ("program/a.py", "from .ir import X\nfrom . import ir", None),
        ("program/deep/a.py", "from ..ir import X", None),
        ("lab/a.py", "from indicial.notation import syntax\nfrom indicial import training", None),
        ("lab/a.py", "from indicial import __version__\nfrom indicial_other import x", None),
        ("notation/a.py", "import inspect, numpy.lab\nfrom compile import x", None),
        ("commands/a.py", "from indicial.lab import x\nfrom indicial import paste", None),
        ("cli.py", "from indicial.lab import x\nfrom . import notebook", None),
    ],
)
def test_checker(tmp_path: Path, file: str, source: str, expected: str | None) -> None:
    path = tmp_path / "indicial" / file
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    found = violations(tmp_path / "indicial")
    if expected is None:
        assert found == []
    else:
        assert len(found) == 1
        assert expected in found[0]


def test_nothing_is_imported_before_ctrl_c_is_waited_for() -> None:
    """What takes time is imported by `main`, where an interruption ends without a traceback."""
    code = (
        "import sys; before = {*sys.modules}; import indicial.cli; "
        "sys.exit(', '.join({'typing', 'argparse', 're'} & {*sys.modules} - before) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("module", ["indicial", "indicial.cli", "indicial.compile.native.shared"])
def test_import_stays_light(module: str) -> None:
    """Checking and explaining must not wait seconds for torch; how its threads wait is decided before."""
    code = f"import sys, {module}; sys.exit('torch was imported' if 'torch' in sys.modules else 0)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr


def test_mutants_that_change_nothing_are_of_lines_that_are_there() -> None:
    assert all(mutants.sources(ROOT, folder) for folder in mutants.FOLDERS)
    known = mutants.equivalents()
    found: set[str] = set()
    for path in {what.partition(": ")[0] for what in known}:
        source = (ROOT / path).read_bytes()
        for one in mutants.mutants(ROOT, path):
            before, after = one.lines(source)
            found.add(f"{path}: {before} → {after}")
    assert known.keys() <= found
    assert all(known.values())
