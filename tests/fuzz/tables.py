"""Tables as an attacker or a failing disk would leave them: changed at random, then read.

    python -m tests.fuzz.tables 10000 --seed 1

Each attempt takes a good file, changes some of its bytes, and reads its columns, its rows and every cell in each
way that inputs are read. It must work or end in an `IndicialError`: no other exception, no hang, no flood of memory.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from indicial.data.binding import File
from indicial.data.codings import Image, Label, Numbers, Places, Refused
from indicial.data.column_rows import line_of
from indicial.data.tables import Bad, open_table
from indicial.program.messages import IndicialError

LONGEST = 20
MEMORY = 6 << 30
CODINGS = [Numbers(0), Numbers(1), Numbers(3), Places(), Label(["a", "1"]), Image(2, 2, 3)]
PIECES = [b"\0", b"\xff" * 8, b"\n", b'"', b",", b"\t", b"\r", b"{", b"[" * 3000, b"9" * 400, b"1e999", b"NaN",
          b"\\ud800", b"\x1b[2J", b"=cmd()", "\u202e".encode()]  # fmt: skip


def good() -> dict[str, bytes]:
    """A small file of each kind."""
    from PIL import Image as Pictures

    rows = [{"x": "ein Hund", "y": n, "z": [n, 1]} for n in range(6)]
    word = "\t".join(["1", "Hund", "Hund", "NOUN", "NN", "_", "0", "root", "_", "_"])
    arrays = {"x": np.arange(12.0).reshape(6, 2), "y": np.array(["a", "b", "c", "d", "e", "f"])}
    packed, plain, picture = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez_compressed(packed, **arrays)
    np.save(plain, arrays["x"])
    Pictures.new("RGB", (4, 3), (9, 99, 200)).save(picture, "PNG")
    photo = io.BytesIO()
    Pictures.new("RGB", (9, 7), (9, 99, 200)).save(photo, "JPEG")
    return {
        "a.csv": b"x,y\n" + b'"ein, Hund",1\nzwei,2\n' * 4,
        "a.tsv": b"x\ty\n" + b"ein Hund\t1\n" * 6,
        "a.jsonl": "\n".join(map(json.dumps, rows)).encode(),
        "a.conllu": f"# text = Hund\n{word}\n\n".encode() * 4,
        "a.txt": b"eine Zeile\nnoch eine\n",
        "a.npz": packed.getvalue(),
        "a.npy": plain.getvalue(),
        "a.png": picture.getvalue(),
        "a.jpg": photo.getvalue(),
    }


def changed(content: bytes, draw: random.Random) -> bytes:
    """The same with a few bytes changed, put in, left out, or cut off."""
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(content) + 1)
        match draw.randrange(5):
            case 0:
                content = content[:at] + bytes([draw.randrange(256)]) + content[at + 1 :]
            case 1:
                content = content[:at] + draw.choice(PIECES) + content[at:]
            case 2:
                content = content[:at] + content[at + draw.randint(1, 20) :]
            case 3:
                content = content[:at] + content[max(0, at - 40) :]
            case _:
                content = content[: max(1, at)]
    return content or b"x"


def read(path: Path) -> None:
    """Everything that is done with a table before a model sees it."""
    if path.suffix in (".png", ".jpg"):
        cells: list[Any] = [File(path, path.name)]
    else:
        table = open_table(path)
        assert table.columns is not None
        cells = [c for _, row in table.rows() if not isinstance(row, Bad) for c in row.values()]
    for cell in cells:
        line_of(cell).encode("utf-8", "strict" if isinstance(cell, str) else "replace")
        for coding in CODINGS:
            try:
                coding.numbers(coding.encode(cell))
            except Refused:
                continue


def attack(place: Path, count: int, seed: int) -> Counter[str]:
    """How many attempts were read, told, or went wrong; those are printed."""
    files, found = good(), Counter[str]()
    for number in range(count):
        draw = random.Random(f"{seed} {number}")
        name = draw.choice(list(files))
        (place / name).write_bytes(changed(files[name], draw))
        signal.alarm(LONGEST)
        try:
            read(place / name)
            found["read"] += 1
        except IndicialError:
            found["told"] += 1
        except BaseException:
            found["bad"] += 1
            print(f"{name}, seed {seed} {number}:\n{traceback.format_exc()}")
        finally:
            signal.alarm(0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    begun = time.time()
    with tempfile.TemporaryDirectory() as place:
        found = attack(Path(place), options.count, options.seed)
    print(f"{options.count:,} attempts in {time.time() - begun:.0f} s: {dict(found)}")
    sys.exit(found["bad"] > 0)


if __name__ == "__main__":
    main()
