"""How a stretch of a document was read: names, sums, what was left out, messages, by their place."""

from pathlib import Path

from bench.notes.reading import Reading, reading
from indicial import load_document

TEXT = r"""# A layer
$$y[j] = \sum_i W[j,i] x[i]$$

$$a \gg b$$

$$z[j] = \mathrm{softmax}_j \; y[j]$$

## A slip
$$h[t,j] = G[t,j] h[t-1]$$

$$m[t,j] = G[t,j]$$

## Next
$$v[t,J] = \mathrm{CELL}(v[t-1,J], u[t,J])$$

$$h(s) = s^2 + c$$
"""


def readings(folder: Path, text: str = TEXT) -> list[Reading]:
    """A reading of each display."""
    path = folder / "notes.md"
    path.write_text(text, encoding="utf-8")
    programs = load_document(path)
    marks = [n for n in range(len(text)) if text.startswith("$$", n)]
    pairs = zip(marks[::2], marks[1::2], strict=True)
    return [reading(programs, start, end + 2) for start, end in pairs]


def test_each_display_has_its_own_names_and_sums(tmp_path: Path) -> None:
    first, _, third, *_ = readings(tmp_path)
    assert first.axes == {"y": {1}, "W": {2}, "x": {1}}
    assert len(first.sums) == 1 and first.equations == 1 and not first.messages
    assert third.axes == {"z": {1}, "y": {1}}
    assert len(third.softmaxes) == 1 and not third.sums


def test_what_is_left_out_is_not_computed(tmp_path: Path) -> None:
    second = readings(tmp_path)[1]
    assert not second.computed and len(second.skipped) == 1


def test_a_message_belongs_to_the_display_in_which_it_stands(tmp_path: Path) -> None:
    first, _, _, slip, beside, *_ = readings(tmp_path)
    assert slip.errors and not first.mistakes and not beside.mistakes
    assert beside.faulty and not first.faulty


def test_a_function_that_is_only_named_adds_no_names(tmp_path: Path) -> None:
    *_, hole, own = readings(tmp_path)
    assert set(hole.axes) == {"v", "u"} and not hole.sums
    assert own.functions == own.equations == 1


def test_an_identity_that_nobody_wrote_down_is_no_name(tmp_path: Path) -> None:
    text = r"$$\mathbf z_t = (\mathbf I - \eta \mathbf A) \mathbf z_{t-1}$$"
    (found,) = readings(tmp_path, text)
    assert found.axes == {"z": {2}, "A": {2}, "η": {0}}
    (own,) = readings(tmp_path, r"$$I[i] = 2 x[i]$$")
    assert own.axes == {"I": {1}, "x": {1}}


def test_an_inverse_is_no_name_and_its_elimination_no_sum(tmp_path: Path) -> None:
    text = r"$$\mathbf w = (\mathbf X^\top \mathbf X)^{-1} \mathbf X^\top \mathbf y$$"
    (found,) = readings(tmp_path, text)
    assert found.axes == {"w": {1}, "X": {2}, "y": {1}} and len(found.sums) == 3


def test_a_join_that_is_written_twice_is_read_in_both_places(tmp_path: Path) -> None:
    text = r"""$$z_t = \sigma(W_z [h_{t-1}, x_t] + b_z)$$

$$r_t = \sigma(W_r [h_{t-1}, x_t] + b_r)$$

$$h_t = z_t \odot h_{t-1} + r_t$$
"""
    first, second, _ = readings(tmp_path, text)
    assert first.axes == {"z": {2}, "W_z": {2}, "h": {2}, "x": {2}, "b_z": {1}}
    assert second.axes == {"r": {2}, "W_r": {2}, "h": {2}, "x": {2}, "b_r": {1}}


def test_a_sum_in_the_argument_of_a_norm_counts(tmp_path: Path) -> None:
    (only,) = readings(tmp_path, r"$$c = \mathrm{RMSNorm}(x W)$$")
    assert len(only.sums) == 1
