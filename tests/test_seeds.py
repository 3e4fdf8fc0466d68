"""Five documents beside the project: docs/seeds.md says how each of their formulas is read."""

from pathlib import Path

import numpy as np
import pytest

import seeds_meanings
import seeds_mended
import seeds_table
from indicial.program.meaning.sample import sample, small_sizes
from indicial.program.program import Program

pytestmark = pytest.mark.skipif(not seeds_table.documents(), reason="shared/seeds is not there")

TABLE = Path(__file__).resolve().parents[1] / "docs" / "seeds.md"


def test_the_table_is_what_the_script_prints() -> None:
    assert TABLE.read_text(encoding="utf-8") == seeds_table.table(), (
        "run: python tests/seeds_table.py > docs/seeds.md, and look at what changed"
    )


def test_every_message_was_looked_at() -> None:
    new = [
        (*row.place, code)
        for row in seeds_table.rows()
        for code, words in row.remarks()
        if words == seeds_table.UNSEEN
    ]
    assert not new, "explain these in FOUND or FALSE of tests/seeds_table.py"


def test_no_remark_is_left_over() -> None:
    said = {(*row.place, code) for row in seeds_table.rows() for code in row.codes}
    assert set(seeds_table.FOUND) <= said
    places = {row.place for row in seeds_table.rows()}
    assert set(seeds_table.RESTATED) | set(seeds_table.NOT_FOUND) <= places


@pytest.mark.parametrize("document", seeds_table.documents(), ids=lambda path: path.name[:3])
def test_of_a_mended_document_nothing_is_said(document: Path, tmp_path: Path) -> None:
    assert seeds_mended.complaints(document, tmp_path) == []


def test_every_slip_that_is_found_is_mended() -> None:
    places = {place[:2] for place in (*seeds_table.FOUND, *seeds_table.SENTENCES)}
    assert places - set(seeds_mended.MENDED) <= {("000", 79)}  # its line 80 is mended


def test_nearly_every_equation_is_read() -> None:
    rows = seeds_table.rows()
    assert sum(not row.inline for row in rows) == 129
    assert sum(len(row.formulas) for row in rows) >= 109
    assert len(seeds_table.unread()) <= 10


def test_what_is_meant_is_computed() -> None:
    """A formula is right by its values; what is not right is vectors that no line says are vectors."""
    verdicts = {row.place: row.tried() for row in seeds_table.rows() if not row.inline}
    wrong = [place for place, found in verdicts.items() if found.startswith("**not as meant")]
    assert set(wrong) <= {("001", 135), ("001", 156)}
    assert sum(found == seeds_meanings.RIGHT for found in verdicts.values()) >= 45
    assert set(seeds_meanings.MEANT) <= set(verdicts)


@pytest.mark.parametrize("path", seeds_table.documents(), ids=lambda path: path.name[:3])
@pytest.mark.parametrize("size", [2, 3])
def test_what_is_read_without_error_runs(path: Path, size: int) -> None:
    ran = 0
    for program in seeds_table.programs(path):
        if program.errors or not program.equations:
            continue
        _run(program, size)
        ran += 1
    assert ran


def _run(program: Program, size: int) -> None:
    sizes = small_sizes(program.code, size)
    drawn = sample(program.code, sizes, seed=7)
    positive = {name: np.abs(array) for name, array in drawn.inputs.items()}  # some are logarithms
    found = program.interpret(
        {**program.code.constants, **positive},
        drawn.parameters,
        sizes=drawn.sizes,
        draws=drawn.draws,
    )
    for name in {s.target for s in program.code.statements}:
        assert name in found
        assert not np.isnan(found[name]).any(), f"{program.title}: {name}"
