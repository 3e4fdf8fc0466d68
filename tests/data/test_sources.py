"""What `--data` may name, and what is said when it is not as it should be."""

import gzip
import io
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.data import documents as documents_module
from indicial.data.documents import SPLITS, File, _separated, chunks
from indicial.data.sources import Files, open_source
from indicial.data.world import World, worlds
from indicial.program.messages import IndicialError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tests name files as a user does who stands beside them."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, content: str | bytes) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def documents_of(*what: str, field: str | None = None, documents: str = "auto") -> list[str]:
    source = open_source(what, field, documents)
    assert isinstance(source, Files)
    return list(source.documents())


# What is read


def test_a_text_is_one_document() -> None:
    assert documents_of(write("a.txt", "one\n\ntwo\n")) == ["one\n\ntwo\n"]


def test_several_files_in_the_order_given() -> None:
    assert documents_of(write("b.txt", "b"), write("a.txt", "a")) == ["b", "a"]


def test_lines_and_paragraphs() -> None:
    write("a.txt", "one\n\n two\nthree\n \n\nfour\n")
    assert documents_of("a.txt", documents="lines") == ["one", " two", "three", "four"]
    assert documents_of("a.txt", documents="blank-lines") == ["one", " two\nthree", "four"]
    assert documents_of("a.txt", documents="file") == ["one\n\n two\nthree\n \n\nfour\n"]


def test_only_newlines_end_lines() -> None:
    text = "a\u2028b\x0bc\x85d\x1ce"
    assert documents_of(write("a.txt", text), documents="lines") == [text]


def test_a_folder() -> None:
    for name in ("t/b.txt", "t/a.md", "t/deep/c.py", "t/.hidden", "t/.git/config"):
        write(name, name)
    write("t/empty.txt", "")
    write("t/picture.png", b"\x89PNG\r\n\0\0")
    source = open_source(["t"])
    assert isinstance(source, Files)
    assert list(source.documents()) == ["t/a.md", "t/b.txt", "t/deep/c.py"]
    assert source.notes == ("1 file is not text and left out",)


@pytest.mark.parametrize("name", ["a.txt.gz", "named-otherwise"])
def test_gzip(name: str) -> None:
    assert documents_of(write(name, gzip.compress(b"packed\n"))) == ["packed\n"]


def test_rows_of_jsonl() -> None:
    rows = [{"text": "one\ntwo", "n": 1}, {"text": "", "n": 2}, {"text": "three", "n": 3}]
    write("a.jsonl", "\n".join(map(json.dumps, rows)) + "\n\n")
    assert documents_of("a.jsonl") == ["one\ntwo", "three"]
    assert documents_of("a.jsonl", field="text") == ["one\ntwo", "three"]
    assert documents_of(write("b.jsonl", '"one"\n"two"\n')) == ["one", "two"]
    assert documents_of(write("c.jsonl.gz", gzip.compress(b'{"a": "x", "b": null}'))) == ["x"]
    assert documents_of(write("d.json", '{"a": "x"}\n{"a": null}'), field="a") == ["x"]


def test_rows_of_csv() -> None:
    write("a.csv", 'id,text\r\n1,"one, two\r\nthree"\r\n2,four\r\n')
    assert documents_of("a.csv") == ["one, two\nthree", "four"]
    write("a.tsv", 'question\tplace\nWhere is "it?\tOslo\n')
    assert documents_of("a.tsv", field="question") == ['Where is "it?']
    write("c.csv", 'id;text\n1;"one; two, three"\n2;four\n')  # as spreadsheets write it in Europe
    assert documents_of("c.csv") == ["one; two, three", "four"]
    assert documents_of(write("d.csv", "id\ttext\n1\tone, two\n"), field="text") == ["one, two"]
    assert documents_of(write("e.csv", "text\none; two\n")) == ["one; two"]
    long = "x" * 200_000
    assert documents_of(write("b.csv", f"text\n{long}\n")) == [long]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"from\nafar\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    source = open_source(["-"], documents="lines")
    assert isinstance(source, Files)
    assert (source.name, list(source.documents())) == ("standard input", ["from", "afar"])
    assert list(source.documents()) == ["from", "afar"]  # again


def test_byte_order_mark_and_line_ends() -> None:
    assert documents_of(write("a.txt", b"\xef\xbb\xbfone\r\ntwo\rthree")) == ["one\ntwo\nthree"]
    assert documents_of("a.txt", documents="lines") == ["one", "two", "three"]


def test_raw_bytes_are_left_alone() -> None:
    raw = b"\xef\xbb\xbfa\r\n\0\xff"
    source = open_source([write("a.bin", raw)], raw=True)
    assert isinstance(source, Files)
    [text] = source.documents()
    assert text.encode("utf-8", "surrogateescape") == raw


def test_a_world_and_a_file_of_its_name() -> None:
    name = worlds()[0]
    write(name, "a file")
    assert isinstance(open_source([name]), World)
    assert documents_of(f"./{name}") == ["a file"]
    assert documents_of(os.path.abspath(name)) == ["a file"]


# Pieces


@given(
    st.text(st.sampled_from("ab \n\t"), max_size=60),
    st.integers(1, 9),
    st.integers(1, 9),
    st.sampled_from(["lines", "blank-lines", "file"]),
)
def test_pieces_are_the_documents(text: str, size: int, most: int, unit: str) -> None:
    """However the text comes in and wherever long documents are cut, the documents are the same."""
    split, trimmed = SPLITS[unit]
    expected = [document.strip(trimmed) for document in split(text) if document.strip()]
    texts = [text[begin : begin + size] for begin in range(0, len(text), size)]
    patch = pytest.MonkeyPatch()
    patch.setattr(documents_module, "CHUNK", most)
    pieces = list(_separated(texts, split, trimmed))
    patch.undo()
    found, begun = [], ""
    for piece in pieces:
        begun += piece.text
        if piece.ends:
            found.append(begun)
            begun = ""
    assert begun == ""
    if unit != "blank-lines":
        assert found == expected
    else:  # a paragraph longer than a chunk may keep a newline at its end
        assert [document.strip("\n") for document in found] == expected


@given(st.text(st.sampled_from("aé😀\n\r\u2028"), max_size=40), st.integers(1, 7))
def test_chunks_are_the_text(text: str, size: int) -> None:
    path = Path("text.txt")
    path.write_bytes(text.encode())
    patch = pytest.MonkeyPatch()
    patch.setattr(documents_module, "CHUNK", size)
    found = "".join(chunks(File(path, "text.txt")))
    raw = "".join(chunks(File(path, "text.txt"), raw=True))
    patch.undo()
    assert found == text.replace("\r\n", "\n").replace("\r", "\n")
    assert raw == text


def test_long_documents_come_in_pieces() -> None:
    text = "word " * 700_000
    source = open_source([write("long.txt", text)])
    assert isinstance(source, Files)
    pieces = list(source.pieces())
    assert "".join(piece.text for piece in pieces) == text
    assert [piece.ends for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert len(pieces) == 3
    assert all(piece.text.startswith(" ") for piece in pieces[1:])
    unbroken = open_source([write("unbroken.txt", "x" * 3_000_000)])
    assert isinstance(unbroken, Files)
    assert "".join(piece.text for piece in unbroken.pieces()) == "x" * 3_000_000
    assert [piece.ends for piece in unbroken.pieces()] == [False, True]


# What is refused


def refusal(
    *what: str, field: str | None = None, documents: str = "auto", raw: bool = False
) -> str:
    with pytest.raises(IndicialError) as caught:
        source = open_source(what, field, documents, raw)
        assert isinstance(source, Files)
        list(source.documents())
    return str(caught.value)


def test_a_missing_file() -> None:
    write("book.txt", "x")
    write("n.txt", "x")
    write("texts/notes.txt", "x")
    assert refusal("https://a.example/book.txt").endswith("download it first, and name the file")
    assert refusal("bok.txt") == "there is no file, folder or world bok.txt; did you mean book.txt?"
    assert refusal("texts/note.txt").endswith("did you mean texts/notes.txt?")
    assert refusal("text/notes.txt").endswith("did you mean texts?")
    assert refusal("peeple").endswith("did you mean people?")
    assert refusal("zzz").endswith(f"built-in are {', '.join(worlds())}")
    assert refusal() == f"no data: name files, a folder or a world ({', '.join(worlds())})"
    assert "cannot be read: File name too long" in refusal("x" * 5000)


def test_an_empty_file() -> None:
    assert refusal(write("a.txt", "")) == "a.txt is empty: give a file with text in it"


def test_not_utf8() -> None:
    before = "é" * 600_000  # more than one chunk, cut inside a character
    write("a.txt", before.encode() + b"a\xe9b")
    assert refusal("a.txt") == (
        "a.txt is not UTF-8: byte 1200001 is 0xE9. Convert it (if it is Latin-1: "
        "iconv -f ISO-8859-1 -t UTF-8 a.txt > converted.txt); a model trained with --tokens bytes "
        "reads any file as it is"
    )
    assert "byte 3 is 0xC3" in refusal(write("b.txt", b"abc\xc3"))  # the end is missing
    assert refusal(write("c.txt", "text".encode("utf-16"))) == (
        "c.txt is UTF-16: convert it, iconv -f UTF-16 -t UTF-8 c.txt > converted.txt"
    )


def test_nul() -> None:
    assert refusal(write("a.txt", b"abc\0def")) == (
        "a.txt has a NUL at byte 3, so it is not text: give a text file (a model trained with "
        "--tokens bytes reads any file)"
    )


def test_a_file_that_is_named_twice_is_read_once() -> None:
    write("texts/a.txt", "one")
    write("b.txt", "two")
    found = open_source(["texts", "b.txt", "texts/../b.txt", "texts/a.txt"])
    assert isinstance(found, Files)
    assert list(found.documents()) == ["one", "two"]
    assert found.notes == ("texts/../b.txt and 1 more: named twice, and read once",)
    again = open_source(["b.txt", "b.txt"])
    assert isinstance(again, Files)
    assert list(again.documents()) == ["two"]


def test_folders_without_text() -> None:
    Path("empty").mkdir()
    write("pictures/a.png", b"\x89PNG\0")
    write("pictures/b.png", b"\x89PNG\0")
    assert refusal("empty") == "the folder empty has no text: it has no files with anything in them"
    assert refusal("pictures") == (
        "the folder pictures has no text: the 2 files in it are not text "
        "(a model trained with --tokens bytes reads any file)"
    )


def test_damaged_gzip() -> None:
    packed = gzip.compress(bytes(range(256)) * 999)
    for broken in (packed[:-9], packed[:50] + b"xxxx" + packed[54:]):
        assert "a.gz is packed with gzip and damaged" in refusal(write("a.gz", broken))


def test_malformed_json() -> None:
    assert refusal(write("a.jsonl", '{"text": "x"}\n\n{"text": \n')) == (
        "a.jsonl, line 3: not JSON (Expecting value, column 10). Each line of this file is one JSON "
        'object, such as {"text": "…"}'
    )
    assert "line 1: not an object with fields" in refusal(write("b.jsonl", "[1, 2]\n"))
    assert "line 1: not JSON" in refusal(write("c.jsonl", "[" * 100_000))
    assert "(jq -c '.[]' d.json > rows.jsonl makes a line of each)" in refusal(
        write("d.json", '[{"text": "x"}, {"text": "y"}]'), field="text"
    )
    rows = [{"text": "x"}, {"text": "y"}]
    said = refusal(write("e.json", json.dumps(rows, indent=1)), field="text")
    assert said.endswith("(jq -c '.[]' e.json > rows.jsonl makes such lines)")
    said = refusal(write("f.json", json.dumps(rows[0], indent=1)), field="text")
    assert said.endswith("(jq -c '.' f.json > rows.jsonl makes such lines)")


def test_fields() -> None:
    write("a.jsonl", '{"title": "x", "body": "y", "n": 1}\n')
    assert refusal("a.jsonl") == (
        "a.jsonl has the fields title, body, n: say which holds the text, --field title"
    )
    assert refusal("a.jsonl", field="text") == (
        "a.jsonl, line 1: there is no field 'text'; the fields are title, body, n. "
        "Name the one that holds the text with --field"
    )
    assert "line 1: the field 'n' is not text but 1" in refusal("a.jsonl", field="n")
    write("b.jsonl", '{"text": "x"}\n{"txt": "y"}\n')
    assert "b.jsonl, line 2: there is no field 'text'; the fields are txt" in refusal("b.jsonl")
    write("a.csv", "title,body\nx,y\nz\n")
    assert "the fields title, body (by its first line): say which" in refusal("a.csv")
    assert refusal("a.csv", field="body") == (
        "a.csv, line 3: the row ends before the column 'body'; the columns are title, body"
    )
    assert "a.csv, line 2: there is no field 'text'" in refusal("a.csv", field="text")
    assert "b.csv, lines 2 to 3: a quote that opens in line 2 is not closed" in refusal(
        write("b.csv", 'text\n"open\nto the end\n')
    )


def test_a_link_that_leads_nowhere() -> None:
    Path("link.txt").symlink_to("gone.txt")
    assert refusal("link.txt") == "link.txt is a link that leads nowhere: name the file itself"


def test_no_part_of_a_row_is_lost() -> None:
    said = refusal(write("a.csv", "n,text\n1,one\n2,two, or three, or four\n"), field="text")
    assert said.startswith("a.csv, line 3: there are 4 values for 2 columns (n, text).")
    assert 'stands in quotes: "one, two"' in said
    said = refusal(write("c.csv", "n;text\n1;one; two\n"), field="text")
    assert "there are 3 values for 2 columns" in said and '"one; two"' in said
    said = refusal(write("a.tsv", "text\none\ttwo\n"))
    assert said.startswith("a.tsv, line 2: there are 2 values for 1 column (text).")
    said = refusal(write("b.csv", "text,text\none,two\n"))
    assert said == "b.csv, line 1: two columns are called 'text'; rename one"


def test_options_that_do_not_fit() -> None:
    write("a.txt", "x")
    write("a.jsonl", '{"text": "x"}')
    assert refusal("a.txt", field="text") == (
        "--field text is for .jsonl, .csv and .tsv, and a.txt is plain text"
    )
    assert refusal("a.jsonl", documents="lines") == (
        "--documents lines is for plain text; in a.jsonl each row is a document"
    )
    assert refusal("a.txt", documents="words") == (
        "--documents is auto, file, lines, blank-lines; got words"
    )
    assert refusal("people", "a.txt") == (
        "people is a built-in world, which cannot be joined with files; a file of that name is ./people"
    )


def test_no_files_at_all() -> None:
    os.mkfifo("pipe")
    assert refusal("pipe") == "pipe is neither a file nor a folder; standard input is --data -"


def test_no_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)  # `<&-`
    with pytest.raises(IndicialError, match="standard input is closed"):
        open_source(["-"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert refusal("-") == "standard input is empty: pipe a text into it, or name a file"
