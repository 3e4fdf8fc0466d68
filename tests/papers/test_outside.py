"""Papers that are not about tensors, or not in words that can be computed: left alone, and said to be."""

from __future__ import annotations

import pytest
from paper import FOLDER

import indicial

TEXTS = sorted(p for p in FOLDER.iterdir() if p.suffix in (".tex", ".md"))

OUTSIDE = (
    "alibi", "ddpm", "dpo", "gan", "gehring", "glove", "hyena", "resnet",
    "retnet_parallel", "rope_complex", "vae", "vae_gaussian",
)  # fmt: skip


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.stem)
def test_no_paper_is_accused(path: object) -> None:
    """Whatever is read of it, the author is told of no mistake: there is none."""
    for program in indicial.load_document(str(path)):
        assert not program.mistakes, "\n".join(m.render() for m in program.mistakes)


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside(name: str) -> None:
    """Nothing of it is computed, and each part is listed with its reason."""
    for program in indicial.load_document(FOLDER / f"{name}.tex"):
        assert program.skipped
        assert all(s.reason for s in program.skipped)
        assert not any(t.role == "defined" for t in program.code.tensors.values())


def test_what_linear_is_has_to_be_said() -> None:
    """`Linear_{d_h}(x_t)` of minGRU and minLSTM is a word for something that the text does not say."""
    for name in ("mingru", "minlstm"):
        programs = indicial.load_document(FOLDER / f"{name}.tex")
        reasons = [s.reason for program in programs for s in program.skipped]
        assert any("Linear" in said for said in reasons), reasons
