"""Names are found wherever they stand, and a new name leaves all else as it was."""

import re

import pytest

from indicial import library
from indicial.editor.edits import CannotRename, renamed
from indicial.editor.occurrences import LETTER, TENSOR, Findings, Occurrence
from indicial.editor.reading import find
from indicial.library.loading import load
from indicial.notation.documents import read_text
from indicial.notation.parse import parse_text

NOTES = r"""# A cell

The state $h_t$ at a temperature $\tau > 0$:
$$h_t = \tanh(\mathbf{W} h_{t-1} + U x_t)/\tau$$

## Its output

$$y_t = V h_t$$
where $V$ maps $h_t$ to words.

# Another

$$h_s = V x_s$$
"""


def change(text: str, found: Findings, offset: int, new: str) -> str:
    for start, end, word in sorted(renamed(text, found.names, offset, new), reverse=True):
        text = text[:start] + word + text[end:]
    return text


def words(text: str, found: Findings, thing: int) -> list[str]:
    return [text[n.start : n.end] for n in found.names if n.thing == thing]


def named(found: Findings, key: str, program: int = 0) -> Occurrence:
    return next(n for n in found.names if n.key == key and n.program == program)


def test_a_document() -> None:
    found = find(NOTES, "notes.md")
    state = named(found, "h")
    assert words(NOTES, found, state.thing) == ["h_t", "h_t", "h_{t-1}", "h_t", "h_t"]
    assert [n.defines for n in found.names if n.thing == state.thing].count(True) == 1
    assert words(NOTES, found, named(found, "τ").thing) == [r"\tau", r"\tau"]
    assert len({n.thing for n in found.names if n.key == "h"}) == 2  # the other one is another h


def test_spellings() -> None:
    text = "input x[t]\nconstant tau = 2\ny[t] = x[t]/τ + \\tau  # tau\n"
    found = find(text, "y.eq")
    new = change(text, found, text.index("τ"), "theta")
    assert new == "input x[t]\nconstant theta = 2\ny[t] = x[t]/θ + theta  # tau\n"
    assert "y[η] = x[η]" in change(text, found, text.index("t]"), "η")
    assert change(NOTES, find(NOTES, "notes.md"), NOTES.index("\\tau"), "θ") == NOTES.replace(
        "\\tau", "\\theta"
    )


def test_the_letter_alone_is_changed() -> None:
    new = change(NOTES, find(NOTES, "notes.md"), NOTES.index("W}"), "M")
    assert new == NOTES.replace("{W}", "{M}")
    one, other = NOTES.split("# Another")
    new = change(NOTES, find(NOTES, "notes.md"), NOTES.index("h_t"), "g")
    assert new == one.replace("h_", "g_") + "# Another" + other


def test_what_cannot_be_renamed() -> None:
    text = "input x[t,k]\nh[t,j] = tanh(W[j,K] x[t,K])\n"
    found = find(text, "h.eq")
    for at, new, reason in [
        ("h[t", "W", "W is a name here already"),
        ("h[t", "k", "k is a name here already"),
        ("h[t", "1 + 2", "is no name"),
        ("h[t", "softmax", "a word of the language"),
        ("tanh", "f", "a function of the language"),
        ("t,k", "j", "j is a name here already"),
        ("t,k", "xs", "an index is a small letter"),
        ("= ", "f", "no name here"),
    ]:
        with pytest.raises(CannotRename, match=reason.replace("+", ".")):
            renamed(text, found.names, text.index(at), new)


def test_a_macro_is_left_alone() -> None:
    text = "\\newcommand{\\st}{h}\n\\[ \\st_t = \\tanh(W \\st_{t-1}) \\]\n"
    found = find(text, "notes.tex")
    with pytest.raises(CannotRename, match="macro"):
        renamed(text, found.names, text.index("\\st_t"), "g")


def facts(text: str) -> dict[str, object]:
    """What a program is, by the places of its names and not by their letters."""
    program = load(read_text(text, "m.eq"))
    code = program.code
    return {
        "tensors": [
            (t.role, len(t.axes), t.values is None, t.probability) for t in code.tensors.values()
        ],
        "work": program.cost.work.value(dict.fromkeys(program.cost.work.names, 3)),
        "mistakes": len(program.mistakes),
    }


MODELS = ["argmax_attention", "blank_log_loss", "gru", "lstm", "near", "stacked", "ugrnn"]


@pytest.mark.parametrize("model", MODELS)
def test_a_renamed_model_is_the_same(model: str) -> None:
    """Some of its names and letters; the old name leads back."""
    text = library.path(model).read_text(encoding="utf-8")
    found = find(text, f"{model}.eq")
    for kind, new in ((TENSOR, "Zed"), (LETTER, "g"), (LETTER, "η")):
        things = [n for n in found.names if n.kind == kind and n.key not in ("loss", "P", "w")]
        for one in things[len(model) % 5 :: 29]:
            scripts = "".join(re.findall("[_^].*", one.key)) if kind == TENSOR else ""
            try:
                changed = change(text, found, one.start, new + scripts)
            except CannotRename as error:
                assert re.search("already|capital", str(error))
                continue
            assert changed != text
            if kind == TENSOR:
                assert facts(changed) == facts(text), (one.key, new)
            again = find(changed, f"{model}.eq")
            assert len(again.names) == len(found.names)
            place = again.names[found.names.index(one)]
            back = change(changed, again, place.start, one.key)
            assert parse_text(back).statements == parse_text(text).statements
