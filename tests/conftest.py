"""What all tests share: golden files, quick processes and the hypothesis profiles."""

import difflib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.forked import Forked

GOLDEN = Path(__file__).resolve().parent / "golden"

# Workers share the cores. Threads that wait for each other wait awake, each on a core that another
# worker needs; before anything imports PyTorch.
if "PYTEST_XDIST_WORKER_COUNT" in os.environ:
    share = len(os.sched_getaffinity(0)) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, share)))

# `ci` gives the same answer on every run; `fuzz` looks for something new on every run.
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=2000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


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
