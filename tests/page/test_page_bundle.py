"""The bundle in the package is what the sources give; where there is no Node nobody can tell."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
BUILT = ROOT / "src" / "indicial" / "page" / "static"

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (WEB / "node_modules" / "esbuild").is_dir(),
    reason="there is no Node, or `make page` has not installed what it needs",
)


def test_the_bundle_is_what_the_sources_give(tmp_path: Path) -> None:
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=WEB, check=True, timeout=120)
    built = {path.name: path.read_bytes() for path in BUILT.iterdir()}
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(built) == set(made)
    assert [name for name in built if built[name] != made[name]] == [], "run `make page`"
