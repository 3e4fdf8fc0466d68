"""The scorer of real notes, on tiny notes of its own: displays, labels, verdicts, agreement."""

from pathlib import Path

import pytest

from bench.notes import agreement, displays, labels, scoring
from bench.notes.__main__ import main
from bench.notes.displays import Display
from bench.notes.labels import Label, Slip, fold

TEX = r"""
\newcommand{\solution}[1]{}
% $$commented = out$$
\slide{Sums}
$$y[j] = \sum_i W[j,i]
  x[i]$$
\[a = b\]
\begin{eqnarray*} c & = & d \end{eqnarray*}
\ignore{ $$ignored = {1}$$ } \solution{$$hidden = 1$$}
\centerline{\color{red} $e = f$}
The text $g = h$ is no display.
"""

MARKDOWN = r"""# Vectors
$$z = x^\top y$$

```
$$code = 1$$
```
$$\begin{aligned} u &= v \end{aligned}$$
a paragraph that is broken before
$p = q$.
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder of notes with a display of each kind."""
    for name, text in (("lectures/a.tex", TEX), ("textbook/b.md", MARKDOWN)):
        path = tmp_path / "notes" / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "notes"


def test_displays_are_found_with_their_lines(notes: Path) -> None:
    found = displays.displays(notes)
    assert [(d.file, d.line, d.body.split()[0]) for d in found] == [
        ("lectures/a.tex", 5, "y[j]"),
        ("lectures/a.tex", 7, "a"),
        ("lectures/a.tex", 8, "c"),
        ("lectures/a.tex", 10, "e"),
        ("textbook/b.md", 2, "z"),
        ("textbook/b.md", 7, r"\begin{aligned}"),
    ]
    assert all(d.text[d.start : d.end].find(d.body) >= 0 for d in found)


def test_the_hash_does_not_depend_on_line_breaks() -> None:
    one, other = (displays.find(t, "f", "f/a.md")[0] for t in ("$$a = b$$", "$$\na\n=  b$$"))
    assert one.hash == other.hash != displays.find("$$a = c$$", "f", "f/a.md")[0].hash


def test_a_draw_takes_as_many_of_each_folder_and_none_that_is_known(notes: Path) -> None:
    every = displays.displays(notes)
    drawn = displays.draw(every, 4, seed=3)
    assert [d.folder for d in drawn] == ["lectures", "textbook"] * 2
    assert drawn == displays.draw(every, 4, seed=3)
    again = displays.draw(every, 6, seed=3, known=[(d.folder, d.hash) for d in drawn])
    assert {d.key for d in again}.isdisjoint(d.key for d in drawn)
    assert len(again) == 2  # all that is left: two of the lectures


@pytest.mark.parametrize(
    "one, other",
    [
        (r"W_{\textrm{xh}}", "W^{x,h}"),
        (r"\hat{\mathbf{y}}", "ŷ"),
        (r"\tilde{\Phi}", "Φ̃"),
        (r"{\cal L}", "L"),
        (r"\epsilon", "ϵ"),
        (r"\overline{x}", "x̄"),
        (r"x.\mathrm{value}", "x"),
        (r"\overleftarrow{h}", "h\u20d6"),
    ],
)
def test_spellings_of_a_name_are_one(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_different_names_stay_apart() -> None:
    names = ["h", r"\hat{h}", r"\tilde{h}", "H", "h'", "h_1", r"\eta", "x.grad"]
    assert len(set(map(fold, names))) == len(names)


def test_a_label_is_written_and_read_again(tmp_path: Path) -> None:
    label = Label(
        "lectures/a.tex", 5, "0123", "tensor", {"y": (1,), "v": (1, 2)}, {"f": (0,)},
        ("i",), (0, 1), (Slip("y", "lacks j", True), Slip("v", "is w")),
    )  # fmt: skip
    labels.write(tmp_path / "dev.jsonl", [label])
    labels.write(tmp_path / "dev-2.jsonl", [Label("b.md", 1, "4567", "outside")])
    assert labels.read_set("dev", tmp_path)[-1] == label
    assert len(labels.read_set("dev", tmp_path)) == 2


@pytest.mark.parametrize(
    "row, wrong",
    [
        ('{"file": "a", "line": 1, "hash": "0"}', "no field kind"),
        ('{"file": "a", "line": 1, "hash": "0", "kind": "maybe"}', "kind is one of"),
        ('{"file": "a", "line": 1, "hash": "0", "kind": "tensor", "axes": {}}', "unknown field"),
        ('{"file": "a", "line": 1, "hash": "0", "kind": "outside", "sums": ["i"]}', "has no names"),
        ('{"file": "a", "line": 1, "hash": "0", "kind": "tensor", "names": {"x": "1"}}', "no number"),
    ],
)  # fmt: skip
def test_a_wrong_label_is_told(tmp_path: Path, row: str, wrong: str) -> None:
    (tmp_path / "dev.jsonl").write_text(row)
    with pytest.raises(ValueError, match=wrong):
        labels.read(tmp_path / "dev.jsonl")


def test_labels_are_checked_against_the_notes(notes: Path) -> None:
    every = displays.displays(notes)
    good = Label(*every[0].key, "tensor", {"y": (1,), "W": (2,), "x": (1,)})
    assert labels.check([good], every) == []
    strange = Label(*every[0].key, "tensor", {"q": (1,)})
    moved = Label(good.file, 6, good.hash, "outside")
    told = labels.check([good, good, strange, moved], every)
    assert "labelled twice" in told[0]
    assert any("q does not occur" in line for line in told)
    assert "at lectures/a.tex:5" in told[-1]


def test_the_labels_of_the_project_are_sound() -> None:
    every = labels.read_set("*")
    assert len({label.key for label in every}) == len(every) >= 240
    for label in every:
        assert label.names or label.maybe or label.kind != "tensor", label.key


KEPT = (
    "public",
    "wild",
    "fresh",
    "stretches",
    "unseen",
    "afresh",
    "further",
    "chapters",
    "online",
    "mixture",
    "gathered",
    "sealed",
    "reserve",
    "kept",
    "textbooks",
    "lessons",
    "papers",
    "courses",
    "notebooks",
    "usual",
    "habits",
    "everyday",
    "margins",
    "dialects",
)
"""The sets whose displays stand in folders of the same names."""


def test_the_notes_that_are_kept_here_fit_their_labels() -> None:
    every = displays.displays(labels.FOLDER)
    known = [label for name in KEPT for label in labels.read_set(name)]
    assert labels.check(known, every) == []
    labelled = {label.key for label in known}
    found = {display.key for display in every}
    # Some displays of the newest are known from older sets, or have a name that no label can spell.
    others = {file.split("/")[0] for file, *_ in found - labelled}
    assert labelled <= found and others <= {"courses", "usual", "habits", "margins"}


# ---------------------------------------------------------------------- verdicts


def verdicts(folder: Path, text: str, *given: Label | str) -> list[scoring.Verdict]:
    """The verdicts on a document, a label for each display; a word is a label of that kind."""
    path = folder / "notes" / "a" / "a.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    every = displays.displays(folder / "notes")
    made = [
        Label(*display.key, label) if isinstance(label, str) else _at(display, label)
        for display, label in zip(every, given, strict=True)
    ]
    return scoring.score(folder / "notes", made, every)


def _at(display: Display, label: Label) -> Label:
    return labels.of_json(label.to_json() | dict(zip(("file", "line", "hash"), display.key)))  # noqa: B905


def tensor(*sums: str, products: int = 0, slips: tuple[Slip, ...] = (), **names: int) -> Label:
    given = {name: (count,) for name, count in names.items()}
    return Label("", 0, "", "tensor", given, {}, sums, (products,), slips)


SUM = r"$$y[j] = \sum_i W[j,i] x[i]$$"


@pytest.mark.parametrize(
    "label, outcome",
    [
        (tensor("k", y=1, W=2, x=1), "right"),
        (tensor(products=1, y=1, W=2, x=1), "right"),
        (tensor("i", y=1, W=1, x=1), "wrong"),
        (tensor("i", y=1, W=2), "wrong"),
        (tensor("i", y=1, W=2, x=1, b=1), "wrong"),
        (tensor("i", "i", y=1, W=2, x=1), "wrong"),
        ("outside", "wrong"),
        ("either", "wrong"),
    ],
)
def test_a_reading_is_compared_with_its_label(
    tmp_path: Path, label: Label | str, outcome: str
) -> None:
    assert [v.outcome for v in verdicts(tmp_path, SUM, label)] == [outcome]


def test_what_is_left_alone_is_outside(tmp_path: Path) -> None:
    (one,) = verdicts(tmp_path, r"$$a \gg b$$", "outside")
    assert one.outcome == "outside" and one.as_meant
    (one,) = verdicts(tmp_path, r"$$a \gg b$$", tensor(a=0, b=0))
    assert one.outcome == "outside" and not one.as_meant


LOST = "$$h[t,j] = G[t,j] h[t-1]$$\n\nHere is\n\n$$y[j] = W[j,I] x[I]$$"


def test_a_message_is_right_where_there_is_a_slip(tmp_path: Path) -> None:
    other = tensor(products=1, y=1, W=2, x=1)
    told, right = verdicts(tmp_path, LOST, tensor(h=2, G=2), other)
    assert told.outcome == "refused" and told.rejected
    assert right.outcome == "right"  # another display's mistake is not its own
    slip = Slip("h", "lacks its second index")
    told, _ = verdicts(tmp_path, LOST, tensor(h=2, G=2, slips=(slip,)), other)
    assert told.outcome == "right" and told.as_meant
    assert [s for _, s in told.accepted] == [slip]
    unrelated = Slip("Q", "something else")
    told, _ = verdicts(tmp_path, LOST, tensor(h=2, G=2, slips=(unrelated,)), other)
    assert told.outcome == "refused" and not told.as_meant


def test_a_repeated_row_is_read_as_the_first(tmp_path: Path) -> None:
    label = tensor("i", y=1, W=2, x=1)
    more = tensor("i", y=1, W=2, x=1, z=1)
    text = SUM + "\n\nand again\n\n" + SUM[:-2] + r" \\ z[j] = y[j]$$"
    assert [v.outcome for v in verdicts(tmp_path, text, label, more)] == ["right", "right"]


def test_an_element_or_a_numbered_name_is_no_other_name(tmp_path: Path) -> None:
    text = "$$z = x_1 + x_2$$"
    assert verdicts(tmp_path, text, tensor(z=0, x=1))[0].outcome == "right"
    numbered = Label("", 0, "", "tensor", {"z": (0,), "x_1": (0,), "x_2": (0,)})
    assert verdicts(tmp_path, text, numbered)[0].outcome == "right"


def test_the_table_counts_by_folder(tmp_path: Path) -> None:
    found = verdicts(tmp_path, LOST, tensor(h=2, G=2), tensor(products=1, y=1, W=2, x=1))
    rows = {row.text.strip(): row for row in scoring.rows(found)}
    messages = rows["messages that are right"]
    assert messages.count == 0 and messages.total and messages.total >= 1
    read = rows["displays about tensors: read rightly"]
    assert (read.count, read.total) == (1, 2)
    passing = rows["displays that pass as read and are read as meant"]
    assert (passing.count, passing.total) == (1, 1)
    assert "1 of 2" in scoring.table(found)


# ---------------------------------------------------------------------- two readers


def test_two_readers_agree_where_one_reading_suits_both() -> None:
    base = tensor("i", y=1, W=2, x=1)
    either = Label("", 0, "", "either", {"y": (0, 1), "W": (2,), "x": (1,)}, {}, (), (1,))
    assert agreement.disagreements(base, either) == []
    assert agreement.disagreements(base, Label("", 0, "", "outside")) == ["tensor or outside"]
    assert agreement.disagreements(base, tensor("i", y=1, W=1, x=1))
    assert agreement.disagreements(base, tensor("i", y=1, W=2))
    assert agreement.disagreements(base, tensor(y=1, W=2, x=1)) == ["different numbers of sums"]
    slip = Slip("x", "is z")
    assert agreement.disagreements(base, tensor("i", slips=(slip,), y=1, W=2, x=1))


def test_a_kind_that_only_suits_both_is_told_apart() -> None:
    names = {"y": (1,)}
    found = agreement.pairs(
        [Label("a", 1, "0", "tensor", names)], [Label("a", 1, "0", "either", names)]
    )
    told = agreement.text(found)
    assert "1 of 1 displays are labelled alike" in told
    assert "0 of 1 have the very same kind" in told and "tensor or either" in told


def test_batches_are_handed_out_and_the_agreement_is_told(
    notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "batches"
    given = ["--notes", str(notes)]
    drawing = ["draw", "--count", "4", "--seed", "1", "--batches", "2", "--out", str(out)]
    assert main([*given, *drawing]) == 0
    first, second = (labels.read(out / f"batch-{n}.jsonl") for n in (1, 2))
    assert [label.folder for label in (*first, *second)] == ["lectures", "textbook"] * 2
    assert first[0].hash in (out / "batch-1.txt").read_text(encoding="utf-8")
    path = str(out / "batch-1.jsonl")
    assert main([*given, "check", path]) == 0
    assert main([*given, "second", path, "--count", "2", "--out", str(tmp_path / "again")]) == 0
    capsys.readouterr()
    assert main(["second", path, "--with", str(tmp_path / "again" / "batch-1.jsonl")]) == 0
    assert "2 of 2 displays are labelled alike" in capsys.readouterr().out


@pytest.mark.parametrize("kept", KEPT)
def test_notes_that_are_kept_here_need_no_folder(
    kept: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = ["--notes", str(tmp_path / "none")]
    assert main([*given, "check", str(labels.FOLDER / f"{kept}.jsonl")]) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    monkeypatch.setattr(labels, "read_set", lambda name: [])
    assert main([*given, "score", "--set", kept]) == 0
    assert f"0 displays, labels {kept}" in capsys.readouterr().out


def test_without_notes_nothing_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--notes", str(tmp_path / "none"), "score"]) == 0
    assert "nothing is measured" in capsys.readouterr().out


def test_a_repeated_row_that_is_read_in_its_place_counts_once(tmp_path: Path) -> None:
    r"""The second display defines `\mathbf h` anew: it is a program of its own, with both its rows."""
    row = r"\mathbf o = \mathbf V \mathbf h"
    text = (
        rf"$$\mathbf h = \mathbf W \mathbf x \\ {row}$$ and "
        rf"$$\mathbf h = \sigma(\mathbf W \mathbf x) \\ {row}$$"
    )
    label = tensor(products=2, h=1, W=2, x=1, o=1, V=2)
    assert [v.outcome for v in verdicts(tmp_path, text, label, label)] == ["right", "right"]


def test_a_repeated_row_that_is_left_out_in_its_place_is_left_out(tmp_path: Path) -> None:
    row = "y[j] = W[j,I] x[I]"
    text = f"# One\n\n$${row}$$\n\n# Two\n\n$$dz = y dt + x dt, {row}$$\n"
    found = verdicts(tmp_path, text, tensor(products=1, y=1, W=2, x=1), "outside")
    assert [v.outcome for v in found] == ["right", "outside"]
