"""What is installed is decided by two files, and they must not disagree; and it works."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

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


BUILD = """
import sys
from setuptools import build_meta
print(build_meta.build_wheel(sys.argv[1]))
"""

USE = """
import torch
import indicial
module = indicial.load("ugrnn").compile(J=4, K=3)
module(x=torch.randn(2, 5, 3))["h"].sum().backward()
assert module.parameter("W^{h,R}").grad.abs().sum() > 0
print(indicial.__file__)
"""


def done(*command: str | Path, folder: Path) -> str:
    """What a command prints, if all goes well."""
    result = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.long
def test_the_wheel_works_in_an_environment_of_its_own(tmp_path: Path) -> None:
    """Built from the sources as a release is, and installed beside nothing but the dependencies."""
    copy = tmp_path / "sources"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    sources = ROOT / "src" / "indicial"
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(sources, copy / "src" / "indicial", ignore=unwanted)
    wheel = tmp_path / done(sys.executable, "-c", BUILD, tmp_path, folder=copy).splitlines()[-1]
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = (path for path in sources.rglob("*") if path.is_file())
    kept = {path.relative_to(sources.parent).as_posix() for path in files}
    assert packed == {name for name in kept if "__pycache__" not in name}

    fresh = tmp_path / "fresh"
    done(sys.executable, "-m", "venv", "--without-pip", fresh, folder=tmp_path)
    (packages,) = fresh.glob("lib/python*/site-packages")
    others = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "dependencies.pth").write_text("\n".join(others) + "\n", encoding="utf-8")
    python = fresh / "bin" / "python"
    done(
        sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python,
        "install", "--quiet", "--no-index", "--no-deps", wheel, folder=tmp_path,
    )  # fmt: skip
    used = done(python, "-c", USE, folder=tmp_path).strip()
    assert Path(used).is_relative_to(packages)
    assert "ugrnn" in done(fresh / "bin" / "indicial", "models", folder=tmp_path)


def test_the_versions_of_python_that_are_named() -> None:
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    assert named == ["3.11", "3.12", "3.13"]
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"
