"""Small faults, put into the code one at a time: do the tests of the same folder notice?

    python tests/mutants.py --count 40 --seed 1
    killed    native    src/indicial/compile/native/reading/body.py:93  if a < b  →  if a <= b  (0.8 s)
    SURVIVED  claims    …
    38 of 40 killed, 1 survived, 1 known to change nothing

A mutant is a copy of the tree in which one comparison, sign, constant, condition, statement or pair of
arguments is another. Only tests of its own folder that call the changed function are run, the quick
ones first, until one fails. Which tests call what is found out once for each folder, and again for files
of tests that have changed (`--map` keeps it). Mutants that change nothing that could be
noticed are listed in `tests/mutants_equivalent.txt`, each with its reason, and are told apart.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import cProfile
import hashlib
import itertools
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.txt")
PASSES = ["adjoint", "elements", "forms", "algebra"]
FOLDERS = {
    "lowering": (["program/lowering/*.py"], ["tests/program"]),
    "adjoint": ([f"compile/passes/{name}.py" for name in PASSES], ["tests/compile/passes"]),
    "stepping": (["compile/stepping/*.py"], ["tests/compile/stepping"]),
    "native": (
        ["compile/native/*.py", "compile/native/writing/*.py"],
        ["tests/compile/native", "tests/compile/test_*.py"],
    ),
    "claims": (["claims/*.py"], ["tests/claims"]),
}
"""What is changed, and the tests that should notice: the kernels' stand in two places."""

LEAST = 30
"""Seconds of computing that any test may take; one that takes longer never ends, and is noticed."""

IDLE, IDLE_COMPUTES = 300, 0.5
"""Who computes less than this in so many seconds waits for what never comes."""


# ------------------------------------------------------------------ the mutants of a file


@dataclass(frozen=True)
class Mutant:
    path: str
    function: str
    """As Python calls it: `Class.method`; "" for what runs when the file is imported."""
    line: int
    begin: int
    end: int
    """Which bytes of the file are replaced."""
    text: str

    def lines(self, source: bytes) -> tuple[str, str]:
        """The line as it is, and as it becomes."""
        first = source.rfind(b"\n", 0, self.begin) + 1
        last = source.find(b"\n", self.end)
        before = source[first:last]
        after = source[first : self.begin] + self.text.encode() + source[self.end : last]
        return _one_line(before), _one_line(after)


def _one_line(text: bytes) -> str:
    return " ".join(text.decode().split())


OTHERS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.And: "or", ast.Or: "and",
}  # fmt: skip


SYMMETRIC = ("isinstance", "times", "plus", "both", "max", "min")


class _Finder(ast.NodeVisitor):
    """Every place of a file that can be changed."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source = path, source
        starts = [0]
        for line in source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts = starts
        self.names: list[str] = []
        self.found: list[Mutant] = []
        self.visit(ast.parse(source))

    def at(self, node: ast.AST, end: bool = False) -> int:
        where: Any = node
        line, column = where.lineno, where.col_offset
        if end:
            line, column = where.end_lineno, where.end_col_offset
        return self.starts[int(line) - 1] + int(column)

    def text(self, node: ast.AST) -> str:
        return self.source[self.at(node) : self.at(node, True)].decode()

    def add(self, begin: int, end: int, text: str) -> None:
        line = self.source.count(b"\n", 0, begin) + 1
        self.found.append(Mutant(self.path, ".".join(self.names), line, begin, end, text))

    def replace(self, node: ast.AST, text: str) -> None:
        self.add(self.at(node), self.at(node, True), text)

    def between(self, left: ast.AST, right: ast.AST, operator: ast.AST) -> None:
        """Another operator between two operands."""
        if type(operator) not in OTHERS:
            return
        begin, end = self.at(left, True), self.at(right)
        gap = self.source[begin:end].decode()
        before = len(gap) - len(gap.lstrip(" )\n"))
        after = len(gap.rstrip(" (\n"))
        text = gap[:before] + OTHERS[type(operator)] + gap[after:]
        if before < after and "#" not in gap:
            self.add(begin, end, text)

    # ---- what is looked into

    in_function = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        own = ["<locals>", node.name] if self.in_function else [node.name]
        outer, self.in_function = self.in_function, True
        self.names += own
        for statement in node.body:
            self.visit(statement)
        del self.names[-len(own) :]
        self.in_function = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer, self.in_function = self.in_function, False
        self.names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.names.pop()
        self.in_function = outer

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.replace(node, "pass")

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of `zip`: that lengths are equal, which is asserted
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    # ---- what is changed

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            self.between(left, right, operator)
            left = right
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.between(node.values[0], node.values[1], node.op)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.between(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self.replace(node, f"({self.text(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.replace(node, str(not node.value))
        elif isinstance(node.value, int):
            self.replace(node, str(node.value + 1))

    def condition(self, node: ast.expr) -> None:
        self.replace(node, "True")
        self.replace(node, "False")

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.condition(node.test)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.replace(node.test, "False")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self.condition(test)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        self.replace(node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self.replace(node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self.replace(node, "pass")

    def visit_Call(self, node: ast.Call) -> None:
        plain = [a for a in node.args if not isinstance(a, ast.Starred)]
        # Exchanged, the first fails wherever it runs, and the others give the same.
        typed = isinstance(node.func, ast.Name) and node.func.id in SYMMETRIC
        for first, second in itertools.pairwise(plain):
            one, two = self.text(first), self.text(second)
            if one != two and not typed:
                gap = self.source[self.at(first, True) : self.at(second)].decode()
                self.add(self.at(first), self.at(second, True), two + gap + one)
        self.generic_visit(node)


def mutants(tree: Path, path: str) -> list[Mutant]:
    return _Finder(path, (tree / path).read_bytes()).found


def sources(tree: Path, folder: str) -> list[str]:
    """The files of a folder that are changed; a file that is there no more is not left out in silence."""
    found: list[str] = []
    for pattern in FOLDERS[folder][0]:
        paths = [str(p.relative_to(tree)) for p in (tree / "src/indicial").glob(pattern)]
        if not paths:
            raise FileNotFoundError(f"{pattern} of {folder}")
        found += paths
    return sorted(found)


def sample(tree: Path, folders: list[str], count: int, seed: int) -> Iterator[tuple[str, Mutant]]:
    """So many mutants, from each folder as often as from any other."""
    chance = random.Random(seed)
    every = {}
    for folder in folders:
        found = [m for path in sources(tree, folder) for m in mutants(tree, path)]
        chance.shuffle(found)
        every[folder] = found
    for n in range(count):
        folder = folders[n % len(folders)]
        yield folder, every[folder][n // len(folders)]


# ------------------------------------------------------------------ running tests


class Runner:
    """A copy of the tree, and a process that has imported PyTorch to run its tests in."""

    def __init__(self, kept: Path | None) -> None:
        self.kept = kept
        self.tree = Path(tempfile.mkdtemp(prefix="mutants-"))
        listed = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listed, capture_output=True, text=True).stdout.splitlines():
            if (ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name)
        os.environ["INDICIAL_CACHE"] = str(self.tree / ".cache")
        os.environ["PYTHONPATH"] = f"{self.tree / 'src'}:{self.tree}"
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        for name in ("torch", "numpy", "hypothesis", "pytest"):
            __import__(name)
        self.maps: dict[str, dict[str, Any]] = {}

    def close(self) -> None:
        shutil.rmtree(self.tree, ignore_errors=True)

    def source(self, mutant: Mutant) -> bytes:
        """The file as it is without the fault."""
        return (self.tree / mutant.path).read_bytes()

    def files(self, folder: str) -> list[str]:
        found = []
        for pattern in FOLDERS[folder][1]:
            for path in sorted(self.tree.glob(pattern)):
                found += sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
        return [str(path.relative_to(self.tree)) for path in found]

    def map(self, folder: str) -> dict[str, Any]:
        """Test → how long it takes, and which functions it calls; files that changed are run again."""
        if folder in self.maps:
            return self.maps[folder]
        path = (self.kept or self.tree) / f"{folder}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        known = json.loads(path.read_text()) if path.exists() else {"files": {}, "tests": {}}
        now = {
            f: hashlib.sha256((self.tree / f).read_bytes()).hexdigest() for f in self.files(folder)
        }
        changed = [f for f in now if known["files"].get(f) != now[f]]
        tests = {t: seen for t, seen in known["tests"].items() if t.split("::")[0] not in changed}
        if changed:
            tell(f"which tests of {folder} call what: {', '.join(changed)}")
            found = self.tree / "watched.json"
            self.run(changed, _Watch(self.tree, found), limit=3600)
            tests |= json.loads(found.read_text())
            path.write_text(json.dumps({"files": now, "tests": tests}))
        self.maps[folder] = {t: seen for t, seen in tests.items() if seen["passed"]}
        return self.maps[folder]

    def tests(self, folder: str, mutant: Mutant) -> dict[str, float]:
        """Those that call the function, or anything in the file if it is no function."""
        key = f"{mutant.path}:{mutant.function}"
        return {
            test: seen["seconds"]
            for test, seen in self.map(folder).items()
            if key in seen["calls"]
            or (not mutant.function and any(call.startswith(key) for call in seen["calls"]))
        }

    def killed(self, folder: str, mutant: Mutant) -> tuple[bool, str]:
        """Whether a test fails, and which."""
        calling = self.tests(folder, mutant)
        wanted = sorted({test.split("::")[0] for test in calling})
        if not wanted:
            return False, "no test calls it"
        path, before = self.tree / mutant.path, self.source(mutant)
        path.write_bytes(before[: mutant.begin] + mutant.text.encode() + before[mutant.end :])
        limit = LEAST + 4 * sum(calling.values())
        try:
            return self.run(wanted, _Choice(calling), limit)
        finally:
            path.write_bytes(before)

    def run(self, files: list[str], plugin: object, limit: float) -> tuple[bool, str]:
        """Run tests in a process of their own; whether one failed, and which."""
        log = self.tree / "log.txt"
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                _child(self.tree, files, plugin, limit, log)
            os._exit(70)
        ended = threading.Event()
        watch = threading.Thread(target=_end_if_idle, args=(child, ended), daemon=True)
        watch.start()
        _, status = os.waitpid(child, 0)
        ended.set()
        watch.join()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what a fault left behind
        code = os.waitstatus_to_exitcode(status)
        failed = [
            s for s in log.read_text(errors="replace").splitlines() if s.startswith("FAILED ")
        ]
        what = failed[0][7:].split(" - ")[0] if failed else f"ended with {code}"
        return code not in (0, 5), what


def _end_if_idle(child: int, ended: threading.Event) -> None:
    """End a process that waits for what never comes. One that computes is ended by its limit: a
    clock would end those that a busy machine keeps waiting.
    """
    before = -IDLE_COMPUTES
    while not ended.wait(IDLE):
        now = _computed(child)
        if now - before < IDLE_COMPUTES:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            return
        before = now


def _computed(session: int) -> float:
    """Seconds that the processes of a session have computed, with those that they waited for."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _child(tree: Path, files: list[str], plugin: object, limit: float, log: Path) -> None:
    os.setsid()
    os.chdir(tree)
    seconds = int(limit)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.path[:0] = [str(tree / "src"), str(tree)]
    for name in [n for n in sys.modules if n.split(".")[0] in ("indicial", "tests")]:
        del sys.modules[name]
    import pytest

    stop = [] if isinstance(plugin, _Watch) else ["-x"]
    asked = ["-q", *stop, "-p", "no:cacheprovider", "-p", "no:randomly", "-n", "0", *files]
    code = pytest.main(asked, plugins=[plugin])
    sys.stdout.flush()
    os._exit(int(code))


@dataclass
class _Choice:
    """A plugin of pytest: some tests, the quick ones first, each with as much computing as it may need."""

    calling: dict[str, float]

    def pytest_runtest_setup(self, item: Any) -> None:
        # What never ends is ended by the signal, in Python or in C.
        signal.setitimer(signal.ITIMER_PROF, LEAST + 4 * self.calling[item.nodeid])

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        chosen = [item for item in items if item.nodeid in self.calling]
        items[:] = sorted(chosen, key=lambda item: self.calling[item.nodeid])


class _Watch:
    """A plugin of pytest that writes down which functions each test calls."""

    def __init__(self, tree: Path, target: Path) -> None:
        self.front = f"{tree / 'src'}{os.sep}"
        self.tree, self.target = tree, target
        self.found: dict[str, dict[str, Any]] = {}
        # In C: a function of Python's that is called at every call takes three times as long.
        self.calls = cProfile.Profile(subcalls=False, builtins=False)

    def pytest_runtest_setup(self, item: Any) -> None:
        self.begin = time.process_time()
        self.calls.clear()
        self.calls.enable()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when != "teardown":
            kept = self.found.setdefault(report.nodeid, {"passed": True})
            kept["passed"] &= bool(report.passed)
            return
        self.calls.disable()
        # Calls inside a comprehension or a function within are the outer function's as well.
        names = set()
        for code in [entry.code for entry in self.calls.getstats()]:
            if not isinstance(code, str) and code.co_filename.startswith(self.front):
                path = code.co_filename[len(str(self.tree)) + 1 :]
                parts = code.co_qualname.split(".<locals>.<")[0]
                names.add(f"{path}:{parts}")
        seconds = time.process_time() - self.begin
        self.found.setdefault(report.nodeid, {"passed": True}).update(
            seconds=round(seconds, 3), calls=sorted(names)
        )

    def pytest_sessionfinish(self) -> None:
        self.calls.disable()
        whole = {test: seen for test, seen in self.found.items() if "calls" in seen}
        self.target.write_text(json.dumps(whole))


# ------------------------------------------------------------------ the command


def equivalents() -> dict[str, str]:
    """`path: line → line` of the mutants that change nothing, with the reason."""
    found = {}
    if EQUIVALENT.exists():
        for line in EQUIVALENT.read_text().splitlines():
            if line and not line.startswith("#"):
                what, _, why = line.partition("   # ")
                found[what.strip()] = why
    return found


def tell(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=40, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--after", type=int, default=0, help="leave out so many of them, to go on")
    parser.add_argument("--folders", nargs="+", choices=FOLDERS, default=list(FOLDERS))
    parser.add_argument("--map", type=Path, help="where to keep which tests call what")
    parser.add_argument("--only", nargs="*", default=[], help="only mutants whose line has this")
    options = parser.parse_args()
    runner = Runner(options.map)
    known = equivalents()
    counts = {"killed": 0, "SURVIVED": 0, "nothing": 0}
    survivors: list[str] = []
    try:
        drawn = sample(runner.tree, options.folders, options.count, options.seed)
        for folder, mutant in itertools.islice(drawn, options.after, None):
            before, after = mutant.lines(runner.source(mutant))
            what = f"{mutant.path}: {before} → {after}"
            if not all(part in what for part in options.only):
                continue
            begin = time.monotonic()
            if what in known:
                verdict, how = "nothing", known[what]
            else:
                dead, how = runner.killed(folder, mutant)
                verdict = "killed" if dead else "SURVIVED"
            counts[verdict] += 1
            took = f"{time.monotonic() - begin:.0f} s"
            line = f"{mutant.path}:{mutant.line} {mutant.function}: {before}  →  {after}"
            tell(f"{verdict:9} {folder:9} {line}  ({took}; {how})")
            if verdict == "SURVIVED":
                survivors.append(what)
    finally:
        runner.close()
    told = f"{counts['killed']} of {sum(counts.values())} killed, {counts['SURVIVED']} survived"
    tell(f"\n{told}, {counts['nothing']} known to change nothing")
    for what in survivors:
        tell(f"  {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
