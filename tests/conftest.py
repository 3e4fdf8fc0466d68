"""What all tests share: golden files, quick processes, read programs and the hypothesis profiles."""

import difflib
import functools
import gc
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from indicial import library
from indicial.library import loading
from indicial.program.program import Program
from indicial.training.equations import Equations
from tests.forked import Forked

GOLDEN = Path(__file__).resolve().parent / "golden"

# Workers share the cores. Threads that wait for each other wait awake, each on a core that another
# worker needs; before anything imports PyTorch.
if "PYTEST_XDIST_WORKER_COUNT" in os.environ:
    share = len(os.sched_getaffinity(0)) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, share)))

# What an optimiser makes of kernels is the subject of tests/compile; elsewhere they are made in a hurry.
if shutil.which("cc"):
    os.environ.setdefault("CC", str(Path(__file__).resolve().with_name("hasty_cc")))

# `ci` gives the same answer on every run; `fuzz` looks for something new on every run.
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=25)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=2000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def _once(made: Callable[..., Program], key: Callable[..., object]) -> Callable[..., Program]:
    """What reads and checks a program, once for each key: hundreds of tests begin with the same.

    Programs never change. A test that patches what reads or compiles them gets programs of its own, and
    so does what has no key.
    """
    kept: dict[object, Program] = {}

    @functools.wraps(made)
    def found(*what: Any, **told: Any) -> Program:
        known = None if patching else key(*what, **told)
        if known is None:
            return made(*what, **told)
        if known not in kept:
            kept[known] = made(*what, **told)
        return kept[known]

    return found


NAMES = frozenset(library.names())


def _of_library(*what: Any, **told: Any) -> object:
    named = bool(what) and all(isinstance(w, str) and w in NAMES for w in what)
    return (what, repr(sorted(told.items()))) if named else None


BEHIND = (
    "indicial.data",
    "indicial.training",
    "indicial.lab",
    "indicial.page",
    "matplotlib",
    "sys",
)
"""Where a patch changes neither how a program is read nor what is made of it."""


def _noticed(change: Callable[..., None]) -> Callable[..., None]:
    """`monkeypatch.setattr` that says whether programs may be read otherwise now."""

    @functools.wraps(change)
    def changed(self: pytest.MonkeyPatch, target: Any, *what: Any, **told: Any) -> None:
        global patching
        module = str(getattr(target, "__module__", getattr(target, "__name__", target)))
        patching |= not module.startswith(BEHIND)
        change(self, target, *what, **told)

    return changed


@pytest.fixture
def curves() -> None:
    """Who asks for it gets the pictures of trainings drawn."""


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are files without a picture: drawing takes longer than small trainings do."""
    monkeypatch.setattr(
        "matplotlib.figure.Figure.savefig", lambda figure, path, **_: Path(path).touch()
    )


drawn: list[Callable[..., None]] = []


def _draw_if_asked(asked: bool) -> None:
    """Two pictures of its curves take half the time of a small training; few tests look at them.

    Said anew for each test: a session inside a test has its own mind about it.
    """
    module = sys.modules.get("indicial.training.curves")
    if module is not None:
        if not drawn:
            drawn.append(module.Curves.ended)
        module.Curves.ended = drawn[0] if asked else lambda *_: None


made_ready: list[Callable[..., None]] = []


def _compile_what_is_asked_for(ahead: bool) -> None:
    """Kernels are compiled in the background before somebody asks for them, as those of a gradient.

    Many tests never do, and workers leave no core without work.
    """
    module = sys.modules.get("indicial.compile.native.toolchain")
    if module is not None and "PYTEST_XDIST_WORKER_COUNT" in os.environ:
        if not made_ready:
            made_ready.append(module.start)
        module.start = made_ready[0] if ahead else lambda *_, **__: None


patching = False
gc.disable()  # until all is imported and collected, which makes little garbage
loading.load = _once(loading.load, _of_library)  # before any test imports it
Equations.program = _once(Equations.program, repr)  # type: ignore[method-assign]
pytest.MonkeyPatch.setattr = _noticed(pytest.MonkeyPatch.setattr)  # type: ignore[method-assign]


def pytest_runtest_setup(item: pytest.Item) -> None:
    global patching
    fixtures = tuple(getattr(item, "fixturenames", ()))
    patching = False
    _draw_if_asked("curves" in fixtures)
    _compile_what_is_asked_for(item.path.parent.name == "native")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Of a test that goes through much of the library every other model is `long`.

    Which of the two halves differs from test to test: a fault of a pass shows on many models, and one
    of a model in many tests.
    """
    names = library.names()
    swept: dict[str, dict[pytest.Function, str]] = {}
    for item in items:
        given = item.callspec.params.values() if hasattr(item, "callspec") else ()
        for model in [value for value in given if isinstance(value, str) and value in names]:
            test = f"{item.path.name}::{item.originalname}"
            swept.setdefault(test, {})[item] = model
    for test, models in swept.items():
        if 3 * len(set(models.values())) >= len(names):
            for item, model in models.items():
                if (zlib.crc32(test.encode()) + names.index(model)) % 2:
                    item.add_marker(pytest.mark.long)


def pytest_collection_finish() -> None:
    """What was imported stays: to look through it for garbage again and again took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 50)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the files of tests/golden with what the tests produced",
    )


@pytest.fixture(scope="session")
def forked() -> Iterator[Forked]:
    """`forked.python` in the place of `python -m`: a process that need not import PyTorch."""
    with Forked() as made:
        yield made


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden("name.txt", text)`` asserts that text is what tests/golden/name.txt holds.

    With ``--update-golden`` the file is written instead; the change is then reviewed in git.
    """
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        __tracebackhide__ = True
        path = GOLDEN / name
        if not text.endswith("\n"):
            text += "\n"
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        if not path.exists():
            pytest.fail(f"tests/golden/{name} does not exist: run pytest --update-golden", False)
        expected = path.read_text(encoding="utf-8")
        if text != expected:
            diff = difflib.unified_diff(
                expected.splitlines(),
                text.splitlines(),
                f"tests/golden/{name}",
                "produced now",
                lineterm="",
            )
            pytest.fail("\n".join([*diff, "(pytest --update-golden accepts this)"]), False)

    return compare
