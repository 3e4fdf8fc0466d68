"""A coverage-guided search for texts that the reader does not survive; needs atheris.

    python tests/fuzz/target.py [what] [-max_total_time=600] [more options of libFuzzer]

`what` is plain, latex, document or whole (the default: a file is read and checked, all its messages
rendered). It begins with the library, the restated documents and the seeds where they are. Texts that
fail are kept in .fuzz/ beside the Makefile.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

with atheris.instrument_imports(include=["indicial"]):
    from indicial.library.loading import load_document
    from indicial.notation.displays import parse_document, parse_inline
    from indicial.notation.documents import read_text
    from indicial.notation.parse import parse_text
    from nasty import NASTY, SCRAPS, SUFFIXES, corpus

FOUND = ROOT / ".fuzz"
PLACE = Path(tempfile.mkdtemp(prefix="indicial-fuzz-"))


def plain(data: bytes) -> None:
    parse_text(data.decode("utf-8", "replace"))


def latex(data: bytes) -> None:
    parse_text(data.decode("utf-8", "replace"), latex=True)


def document(data: bytes) -> None:
    suffix, text = _dressed(data)
    found = read_text(text.decode("utf-8", "replace"), f"text{suffix}")
    parse_document(found)
    parse_inline(found)


def whole(data: bytes) -> None:
    suffix, text = _dressed(data)
    path = PLACE / f"text{suffix}"
    path.write_bytes(text)
    for program in load_document(path):
        for message in program.messages:
            message.render()


def _dressed(data: bytes) -> tuple[str, bytes]:
    """The first byte says what kind of file the rest is."""
    return SUFFIXES[data[0] % len(SUFFIXES) if data else 0], data[1:]


WHAT = {"plain": plain, "latex": latex, "document": document, "whole": whole}


def seeds(folder: Path, dressed: bool) -> None:
    """The texts to begin with, and the words of the notation."""
    texts = [*corpus(), *((suffix, text[:5000]) for suffix, text in NASTY.values())]
    for number, (suffix, text) in enumerate(texts):
        kind = bytes([SUFFIXES.index(suffix)]) if dressed else b""
        data = text.encode("utf-8", "surrogatepass")
        (folder / f"{number:03}").write_bytes(kind + data)
    words = ("".join(f"\\x{byte:02x}" for byte in scrap.encode()) for scrap in SCRAPS)
    (PLACE / "words").write_text("".join(f'"{word}"\n' for word in words), encoding="utf-8")


def main() -> None:
    arguments = sys.argv[1:]
    what = arguments.pop(0) if arguments and arguments[0] in WHAT else "whole"
    folder = PLACE / "corpus"
    folder.mkdir()
    seeds(folder, what in ("document", "whole"))
    FOUND.mkdir(exist_ok=True)
    options = ["-timeout=20", "-rss_limit_mb=4000", "-max_len=20000", f"-dict={PLACE / 'words'}",
               f"-artifact_prefix={FOUND}/{what}-"]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, *arguments, str(folder)], WHAT[what])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
