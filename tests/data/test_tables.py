"""Files of every kind → rows of cells, and what is wrong with them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from indicial.data.tables import Bad, open_table
from indicial.program.messages import IndicialError

CONLLU = """# sent_id = 1
# text = Dogs don't bark
1\tDogs\tdog\tNOUN\tNNS\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tbark\tbark\tVERB\tVB\t_\t0\troot\t_\t_
4.1\tbark\tbark\tVERB\tVB\t_\t_\t_\t_\t_

# text = Go
1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def test_lines(tmp_path: Path) -> None:
    table = open_table(write(tmp_path, "a.de", "ein Hund\n\nzwei\r\n"))
    assert [(line, cells["line"]) for line, cells in table.rows()] == [  # type: ignore[index]
        (1, "ein Hund"),
        (2, ""),
        (3, "zwei"),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", 'x\ty\nsay "hi"\t1\n'),
        ("a.tsv.gz", 'x\ty\nsay "hi"\t1\n'),
        ("a.csv", 'x,y\n"say ""hi""",1\n'),
        ("a.csv", 'x;y\n"say ""hi""";1\n'),
        ("a.jsonl", '{"x": "say \\"hi\\"", "y": "1"}\n'),
    ],
)
def test_the_same_table_in_every_form(tmp_path: Path, name: str, text: str) -> None:
    table = open_table(write(tmp_path, name, text))
    assert table.columns == ("x", "y")
    assert [cells for _, cells in table.rows()] == [{"x": 'say "hi"', "y": "1"}]


def test_bad_rows_say_why_and_where(tmp_path: Path) -> None:
    table = open_table(write(tmp_path, "a.csv", 'x,y\n1,2\n"a\nb",3\n1\n4,5,6\n7,8\n'))
    rows = list(table.rows())
    assert [line for line, _ in rows] == [2, 3, 5, 6, 7]
    assert [cells.why[:19] for _, cells in rows if isinstance(cells, Bad)] == [
        "it has 1 of 2 value",
        "it has 3 of 2 value",
    ]
    lines = open_table(write(tmp_path, "a.jsonl", '{"x": 1}\n\n{"x": \n[1]\n{"x": 2}\n'))
    whys = [(line, isinstance(cells, Bad)) for line, cells in lines.rows()]
    assert whys == [(1, False), (3, True), (4, True), (5, False)]


@pytest.mark.parametrize(
    ("torn", "why", "lost"),
    [
        ({102: '"'}, "lines 102 to 301: a quote that opens in line 102 is not closed", 200),
        ({102: '"', 152: '"'}, "lines 102 to 152: a quote that opens in line 102 is closed only in line 152", 51),
    ],
)  # fmt: skip
def test_a_quote_that_is_not_closed_swallows_no_file(
    tmp_path: Path, torn: dict[int, str], why: str, lost: int
) -> None:
    """The lines behind it are those of other rows, and as good as any."""
    lines = ["x,y", *(f"text {n},1" for n in range(2, 302))]
    for number, quote in torn.items():
        lines[number - 1] = quote + lines[number - 1]
    table = open_table(write(tmp_path, "a.csv", "\n".join(lines) + "\n"))
    with pytest.raises(IndicialError) as told:
        list(table.rows())
    assert f"a.csv, {why}" in str(told.value) and f"{lost} of 301 lines" in str(told.value)


def test_a_few_lines_that_a_quote_swallowed_are_a_bad_row(tmp_path: Path) -> None:
    lines = ["x,y", *(f"text {n},1" for n in range(2, 400)), '"open,1', "last,1"]
    (row,) = [
        (line, cells)
        for line, cells in open_table(write(tmp_path, "a.csv", "\n".join(lines))).rows()
        if isinstance(cells, Bad)
    ]
    assert row == (400, Bad("a quote that opens in line 400 is not closed", 2))


def test_conllu(tmp_path: Path) -> None:
    rows = list(open_table(write(tmp_path, "a.conllu", CONLLU)).rows())
    assert [line for line, _ in rows] == [1, 10]
    first = rows[0][1]
    assert isinstance(first, dict)
    assert first["form"] == ["Dogs", "do", "n't", "bark"] and first["text"] == "Dogs don't bark"
    # Places are counted from 0; the root is its own head.
    assert first["head"] == [3, 3, 3, 3]


def test_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(6).reshape(3, 2), y=np.array(["a", "b", "c"]))
    table = open_table(tmp_path / "a.npz")
    assert table.columns == ("x", "y")
    assert [cells["y"] for _, cells in table.rows() if isinstance(cells, dict)] == ["a", "b", "c"]
    np.savez(tmp_path / "b.npz", x=np.zeros(3), y=np.zeros(2))
    with pytest.raises(IndicialError, match="the first axis of each counts the rows"):
        _ = open_table(tmp_path / "b.npz").columns


def test_pickles_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(IndicialError, match="cannot be read"):
        _ = open_table(tmp_path / "a.npz").columns


def test_what_is_not_there(tmp_path: Path) -> None:
    write(tmp_path, "train.tsv", "x\n1\n")
    with pytest.raises(IndicialError, match=r"did you mean .*train\.tsv"):
        open_table(tmp_path / "trian.tsv")
    with pytest.raises(IndicialError, match="is empty"):
        open_table(write(tmp_path, "b.tsv", ""))
    with pytest.raises(IndicialError, match="two columns are called 'x'"):
        _ = open_table(write(tmp_path, "c.tsv", "x\tx\n1\t2\n")).columns


def test_parquet_names_what_it_needs(tmp_path: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        with pytest.raises(IndicialError, match="pip install pyarrow"):
            _ = open_table(write(tmp_path, "a.parquet", json.dumps(1))).columns
