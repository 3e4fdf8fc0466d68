"""What is installed is decided by two files, and they must not disagree."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import indicial

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINS = [
    line
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_constraints_are_plain_pins() -> None:
    """No options, addresses, paths or local versions: the file works on any machine."""
    assert [pin for pin in PINS if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", pin)] == []


def test_build_backend_is_pinned_alike_in_both_files() -> None:
    assert set(PROJECT["build-system"]["requires"]) <= set(PINS)


def test_every_direct_dependency_is_pinned() -> None:
    project = PROJECT["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(one for extra in extras for one in extra)]
    names = {re.match(r"[\w-]+", requirement).group().lower() for requirement in wanted}
    assert names - {pin.split("==")[0] for pin in PINS} == {"indicial"}


def test_installed_version_is_the_package_version() -> None:
    assert metadata.version("indicial") == indicial.__version__
