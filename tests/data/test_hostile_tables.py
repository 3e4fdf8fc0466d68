"""Files that are damaged, or made to do harm: one message each, no traceback, no hang, no flood of memory."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pictures

from indicial.data import codings, documents, tables
from indicial.data.binding import File
from indicial.data.codings import Image, Label, Numbers, Places, Refused
from indicial.data.column_rows import picture_size
from indicial.data.tables import Bad, open_table
from indicial.program.messages import IndicialError
from tests.fuzz import tables as tables_fuzz


def npy(shape: object, kind: str = "<f4", data: bytes = bytes(64)) -> bytes:
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (63 - (len(head) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def npz(**entries: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in entries.items():
            packed.writestr(name, content)
    return made.getvalue()


def changed(content: bytes, place: int, value: int) -> bytes:
    return content[:place] + bytes([value]) + content[place + 1 :]


PACKED = npz(**{"x.npy": npy((3,))})
DIRECTORY = PACKED.index(b"PK\x01\x02")

WRONG: dict[str, bytes | Callable[[], bytes]] = {
    "absurd.npy": npy((10**13, 16)),
    "negative.npy": npy((-5,)),
    "beyond.npy": npy((2**63, 2**63)),
    "short.npy": npy((10, 40)),
    "pickle.npy": npy((3,), "|O", b"cos\nsystem\n(S'false'\ntR."),
    "one.npy": npy(()),
    "text.npy": b"hello",
    "deep.npy": b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535,
    "items.npy": npy((1,), "|V2147483647"),
    "absurd.npz": npz(**{"x.npy": npy((10**13, 16))}),
    "none.npz": npz(**{"readme.txt": b"hello"}),
    "text.npz": b"PK\x03\x04 and no more",
    "locked.npz": changed(changed(PACKED, 6, 1), DIRECTORY + 8, 1),
    "method.npz": changed(changed(PACKED, 8, 99), DIRECTORY + 10, 99),
    "damaged.npz": changed(PACKED, 45, 0xFF),
    "nul.csv": b"x,y\n1,\0\n",
    "latin.csv": b"x,y\n\xe4,b\n",
    "utf16.csv": b"\xff\xfex\0",
    "twice.csv": b"x,x\n1,2\n",
    "open.csv": b'x,"y\n1,2\n',
    "cut.csv.gz": gzip.compress(b"x,y\n" + os.urandom(3000).hex().encode())[:500],
    "no.jsonl": b"[1]\n" * 3,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, name: str) -> None:
    content = WRONG[name]
    (tmp_path / name).write_bytes(content() if callable(content) else content)
    with pytest.raises(IndicialError, match=name.replace(".", r"\.")):
        table = open_table(tmp_path / name)
        assert table.columns
        for _ in table.rows():
            pass


def test_what_unpacks_to_more_than_there_is_stays_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "memory", lambda: 1 << 20)
    (tmp_path / "bomb.npz").write_bytes(npz(**{"x.npy": npy((1 << 18,), data=bytes(1 << 20))}))
    with pytest.raises(IndicialError, match="unpacks to 1,048,704 bytes"):
        assert open_table(tmp_path / "bomb.npz").columns


def test_a_line_without_end_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LINE_MOST", 1 << 21)
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(b"[" * (1 << 23)))
    with pytest.raises(IndicialError, match="a line of more than 2,097,152 characters"):
        assert open_table(tmp_path / "bomb.jsonl.gz").columns


def test_lines_over_several_chunks_are_whole(tmp_path: Path) -> None:
    lines = ["a" * (3 << 20), "", "b" * (1 << 20), "c"]
    (tmp_path / "long.txt").write_text("\n".join(lines))
    assert [cells["line"] for _, cells in open_table(tmp_path / "long.txt").rows()] == lines


def test_very_many_columns_take_no_longer_than_they_are(tmp_path: Path) -> None:
    names = ",".join(f"c{n}" for n in range(100_000))
    (tmp_path / "wide.csv").write_text(f"{names}\n")
    assert len(open_table(tmp_path / "wide.csv").columns) == 100_000


@pytest.mark.parametrize("name", ["pipe.csv", "pipe.npz", "pipe.jsonl", "pipe.txt"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(IndicialError, match="neither a file nor a folder"):
        open_table(tmp_path / name)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000, '{"x":' * 100_000, '{"x":' + "9" * 5000 + "}", "nonsense", "{", '{"x": 1} {"x": 2}',
        r'{"x": "\ud800"}',
    ],
    ids=["deep", "deep objects", "digits", "text", "open", "two", "half"],
)  # fmt: skip
def test_lines_that_are_no_rows_are_bad(tmp_path: Path, line: str) -> None:
    (tmp_path / "rows.jsonl").write_text('{"x": 1}\n' + line + '\n{"x": 2}\n')
    rows = dict(open_table(tmp_path / "rows.jsonl").rows())
    assert isinstance(rows[2], Bad)
    assert rows[1] == {"x": 1} and rows[3] == {"x": 2}


CELLS = [
    None, True, 10**400, -(10**30), float("inf"), float("nan"), 1e308, "", "\0", "\ud800", "9" * 5000, [], {},
    [[]], [None], [[1], 2], {"a": 1}, np.zeros((2, 0)), np.array(["a"]), np.array([1 + 2j]), b"\xff",
    [float("inf")], [10**400], np.zeros(3, "V8"),
]  # fmt: skip


CODINGS = [Numbers(0), Numbers(1), Numbers(2), Places(), Label(["a"]), Image(2, 2, 3)]


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("coding", CODINGS, ids=lambda coding: coding.kind)
def test_any_cell_is_read_or_refused(coding: codings.Coding) -> None:
    deep = json.loads("[" * 900 + "]" * 900)
    for cell in [*CELLS, deep]:
        try:
            found = coding.encode(cell)
        except Refused:
            continue
        assert np.isfinite(coding.numbers(found)).all()


def png(width: int, height: int, points: bytes = b"") -> bytes:
    def part(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = part(b"IDAT", zlib.compress(points))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + packed + part(b"IEND", b"")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures" / "a"
    folder.mkdir(parents=True)
    (folder / "good.png").write_bytes(png(2, 2, (b"\0" + b"\x09" * 6) * 2))
    (folder / "bomb.png").write_bytes(png(60000, 60000))
    (folder / "bomb2.png").write_bytes(png(11000, 11000))
    (folder / "flat.png").write_bytes(png(0, 0))
    (folder / "wide.png").write_bytes(png(2**31 - 1, 1))
    (folder / "cut.png").write_bytes(png(2, 2)[:40])
    (folder / "text.png").write_text("hello")
    (folder / "gone.png").symlink_to("/nowhere")
    (folder / "self.png").symlink_to("self.png")
    (folder / "endless.png").symlink_to("/dev/zero")
    (folder / "up").symlink_to("..")
    os.mkfifo(folder / "pipe.png")
    return tmp_path / "pictures"


def test_pictures_are_read_or_refused(pictures: Path, recwarn: pytest.WarningsRecorder) -> None:
    table: Any = open_table(pictures)
    assert table.stamp()
    read = []
    for _, cells in table.rows():
        try:
            Image(2, 2, 3).encode(File(pictures / cells["file"], cells["file"]))
            read.append(cells["file"])
        except Refused as error:
            assert cells["file"].rpartition("/")[2] in str(error)
    assert read == ["a/good.png"]
    assert not recwarn.list


def test_changed_files_are_read_or_told(tmp_path: Path) -> None:
    """`make fuzz` tries many more."""
    assert tables_fuzz.attack(tmp_path, 150, seed=1)["bad"] == 0


def test_photographs_are_read_upright_and_in_all_their_greys(tmp_path: Path) -> None:
    """A camera that was turned says so in the file; PNG may have 16 bits for a point."""
    points = np.repeat(np.arange(4, dtype=np.uint8) * 60, 16).reshape(4, 16, 1).repeat(3, 2)
    turned = Pictures.fromarray(np.rot90(points))  # orientation 6: to be turned clockwise
    exif = Pictures.Exif()
    exif[0x0112] = 6
    turned.save(tmp_path / "turned.png", exif=exif)
    Pictures.fromarray((points[..., 0].astype(np.uint16) << 8) + 7).save(tmp_path / "fine.png")
    for name in ("turned.png", "fine.png"):
        file = File(tmp_path / name, name)
        assert np.array_equal(Image(4, 16, 3).encode(file), points), name
        assert picture_size(file) == (16, 4)
