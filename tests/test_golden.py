"""The golden fixture itself: it fails on a difference, and only --update-golden writes."""

from pathlib import Path

import pytest

CONFTEST = (Path(__file__).parent / "conftest.py").read_text(encoding="utf-8")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("def test_it(golden): golden('sub/a.txt', 'σ(x)\\ntwo')")
    return pytester


def test_missing_golden_fails(project: pytest.Pytester) -> None:
    result = project.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*does not exist*--update-golden*"])
    assert not (project.path / "golden").exists()


def test_update_writes_then_passes(project: pytest.Pytester) -> None:
    project.runpytest("--update-golden").assert_outcomes(passed=1)
    assert (project.path / "golden/sub/a.txt").read_bytes() == "σ(x)\ntwo\n".encode()
    project.runpytest().assert_outcomes(passed=1)


def test_difference_fails_with_a_diff(project: pytest.Pytester) -> None:
    path = project.path / "golden/sub/a.txt"
    path.parent.mkdir(parents=True)
    path.write_text("σ(x)\none\n", encoding="utf-8")
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*-one", "*+two"])
    assert path.read_text(encoding="utf-8") == "σ(x)\none\n"
