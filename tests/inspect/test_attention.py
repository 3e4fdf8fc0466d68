"""Attention weights: found in the equations, computed, shown, drawn; any value traced."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from indicial import IndicialError, library, load
from indicial.cli import main
from indicial.commands.attend import split_names
from indicial.compile.module.module import ProgramModule
from indicial.designs.hand import hand
from indicial.inspect.attention import Look, Side, attend, attentions
from indicial.inspect.attention_views import clipped, draw_attention, weights_map
from indicial.inspect.subjects import Reading, Subject, readings, trace
from indicial.program.messages import columns

WEIGHTS = {
    "answer": ["β", "α"],
    "bahdanau": ["α"], "captioning": ["α"], "captioning_features": ["α"], "cross_attention": ["α"],
    "encoder": ["α"], "experts": ["α"], "gpt2": ["α"],
    "encoder_decoder": ["α^E", "α^Z", "α^X"], "encoder_decoder_prenorm": ["α^E", "α^Z", "α^X"],
    "merged_attention": ["α"], "positions_relative": ["α"], "selects": ["α"],
    "self_attention": ["α"], "synthesizer_dense": ["α"], "synthesizer_random": ["α"],
    "transformer": ["α"], "transformer_bilinear": ["α"], "transformer_joined": ["α"],
    "transformer_relative": ["α"], "transformer_rotary": ["α"], "random_synthesizer": ["α"],
}  # fmt: skip


@pytest.fixture(scope="module")
def transformer() -> ProgramModule:
    torch.manual_seed(0)
    return load("transformer").compile(V=9, J=4, K=2, I=2, D=4, T=8, L=3).eval()


@pytest.mark.parametrize("name", library.names())
def test_which_tensors_are_weights(name: str) -> None:
    assert [found.name for found in attentions(load(name).code)] == WEIGHTS.get(name, [])


def test_a_softmax_that_nobody_sums_over_is_none() -> None:
    code = load("input w[t] in V\nα[t,s] = softmax_s a[t,s]\ny[t] = α[t,t]\ninput a[t,s]").code
    assert attentions(code) == []


def words(reading: Reading, said: str) -> tuple[list[int], list[str]]:
    """Every word is a token, by its length."""
    found = said.split()
    return [len(word) % 9 for word in found], [f" {word}" for word in found]


def test_weights_are_those_of_the_equations(transformer: ProgramModule) -> None:
    looks = attend(Subject.make(transformer, words, "aaa b cccc"))
    assert [(look.layer, look.head) for look in looks] == [
        (n, k) for n in (1, 2, 3) for k in (0, 1)
    ]
    # Place t reads w[t-1]: there is a fourth place, which reads the last token.
    assert looks[0].rows.labels == ("·", " aaa", " b", " cccc") == looks[0].columns.labels
    whole = transformer(w=torch.tensor([3, 1, 4, 0]), want=["α"])["α"].detach().numpy()
    for look in looks:
        assert look.layer is not None and look.head is not None
        np.testing.assert_allclose(look.weights, whole[look.layer - 1, look.head], atol=1e-6)
        np.testing.assert_allclose(look.weights.sum(-1), 1, atol=1e-6)
    (one,) = attend(Subject.make(transformer, words, "aaa b cccc"), layer=2, head=1)
    assert one.title == "α, layer 2, head 1"


def test_which_token_a_place_reads() -> None:
    found = {
        name: [(one.name, one.shift, one.predicted) for one in readings(load(name).code)]
        for name in ("transformer", "gpt2", "selects", "encoder_decoder", "bahdanau", "captioning")
    }
    assert found == {
        "transformer": [("w", -1, True)], "gpt2": [("w", 0, True)], "selects": [("w", 0, False)],
        "encoder_decoder": [("x", 0, False), ("w", -1, True)],
        "bahdanau": [("x", 0, False), ("w", -1, True)], "captioning": [("w", -1, True)],
    }  # fmt: skip
    masked = readings(load("encoder", "masked").code)
    assert [(one.name, one.copy) for one in masked] == [("w", "u")]


@pytest.fixture(scope="module")
def translator() -> ProgramModule:
    torch.manual_seed(0)
    program = load("encoder_decoder")
    lengths = {"S": 8, "T": 8, "U": 9, "V": 9, "L": 2}
    sizes = {name: lengths.get(name, 2) for name in program.code.sizes}
    return program.compile(sizes=sizes | {"J": 4}).eval()


def test_a_source_and_a_target(translator: ProgramModule) -> None:
    subject = Subject.make(translator, words, "der kleine Hund", "the dog")
    looks = {(look.name, look.layer, look.head): look for look in attend(subject)}
    assert len(looks) == 12
    source, target = (" der", " kleine", " Hund"), ("·", " the", " dog")
    own, own_target = looks["α^E", 1, 0], looks["α^Z", 2, 1]
    assert (own.rows.labels, own.columns.labels) == (source, source)
    assert (own_target.rows.labels, own_target.columns.labels) == (target, target)
    cross = looks["α^X", 2, 1]
    assert (cross.rows.name, cross.columns.name) == ("w", "x")
    assert cross.columns.labels == source
    assert cross.rows.labels == ("· → the", "the → dog", "dog → ?")
    given = {"x": torch.tensor([3, 6, 4]), "w": torch.tensor([3, 3, 0])}
    whole = translator(**given, want=["α^E", "α^X"])
    np.testing.assert_allclose(own.weights, whole["α^E"][0, 0].detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(cross.weights, whole["α^X"][1, 1].detach().numpy(), atol=1e-6)
    assert weights_map(cross)[0].endswith("each row (w) looks at the columns (x), in percent")


def test_a_long_source_has_a_legend(translator: ProgramModule) -> None:
    subject = Subject.make(translator, words, "a b c d e f g h", "the dog")
    lines = weights_map(attend(subject)[-1], width=44)
    assert lines[-2:] == ["columns:  0 a  1 b  2 c  3 d  4 e  5 f  6 g", "7 h"]
    assert max(map(columns, lines)) <= 44


def test_an_image() -> None:
    """Each place of the text has an image of its own."""
    torch.manual_seed(0)
    module = load("captioning_features").compile(V=9, K=3, J=4, I=2).eval()
    image = np.random.default_rng(0).normal(size=(2, 5, 3))
    looks = attend(Subject.make(module, words, "a dog", arrays={"M": image}))
    assert [look.at for look in looks] == ["0 a → dog", "1 dog → ?"]
    whole = module(
        M=torch.from_numpy(image).float(), w=torch.tensor([1, 3]), want=["α"]
    )["α"].detach()  # fmt: skip
    for look, weights in zip(looks, whole.numpy(), strict=True):
        np.testing.assert_allclose(look.weights, weights, atol=1e-6)
        assert (look.rows.name, look.columns.name) == ("x", "y")


def test_which_inputs_a_model_has(transformer: ProgramModule, translator: ProgramModule) -> None:
    numbers = load("self_attention").compile(J=4, K=2, I=2)
    x = np.eye(4)
    assert len(attend(Subject.make(numbers, words, arrays={"x": x}))) == 2
    for module, arguments, message in [
        (transformer, ("a", "b"), "reads one text, so there is no target"),
        (translator, ("a",), "reads two texts, x and w: give the second too, --target TEXT"),
        (translator, ("a", ""), "the text for w is empty"),
        (transformer, (), "say the text"),
        (numbers, ("a",), "reads no tokens"),
        (transformer, ("a", None, {"w": x}), "w takes a text"),
        (numbers, (None, None, {"y": x}), "y is no input"),
        (numbers, (None, None, {"x": "much"}), "x is given no array of numbers"),
    ]:
        with pytest.raises(IndicialError, match=message):
            Subject.make(module, words, *arguments)


def test_what_is_not_there(transformer: ProgramModule) -> None:
    subject = Subject.make(transformer, words, "a")
    with pytest.raises(IndicialError, match="no layer 7; there are 1 to 3"):
        attend(subject, layer=7)
    with pytest.raises(IndicialError, match="no head 2; there are 0 to 1"):
        attend(subject, head=2)
    with pytest.raises(IndicialError, match="it has no layers"):
        attend(hand("position").subject("A"), layer=1)
    with pytest.raises(IndicialError, match="text is empty"):
        Subject.make(transformer, words, " ")
    rnn = load("rnn_lm").compile(V=9, J=3)
    with pytest.raises(IndicialError, match="rnn_lm has no attention"):
        attend(Subject.make(rnn, words, "a b"))


# ---------------------------------------------------------------------- as text


def random_look(places: int, label: str = "word") -> Look:
    weights = np.tril(np.random.default_rng(0).random((places, places)))
    weights /= weights.sum(-1, keepdims=True)
    side = Side("w", tuple(f"{label}{n}" for n in range(places)))
    return Look("α", 1, 0, weights, side, side)


def test_a_small_map() -> None:
    side = Side("w", (" Anna", " knows"))
    look = Look("α", None, None, np.array([[1.0, 0], [0.37, 0.63]]), side, side)
    assert weights_map(look) == [
        "α: each row looks at the columns, in percent",
        "          Anna knows",
        "0 Anna   █ 100",
        "1 knows  ▒  37 ▓  63",
    ]


def test_numbers_without_room_for_shades() -> None:
    weights = np.eye(20)
    weights[19, :2] = 0.25, 0.75
    weights[19, 19] = 0
    side = Side("w", tuple("abcdefghijklmnopqrst"))
    lines = weights_map(Look("α", None, None, weights, side, side))
    assert lines[1].split() == [str(n) for n in range(20)]
    assert lines[2] == " 0 a 100" and lines[-1] == "19 t  25 75"


def test_shades_are_those_of_a_row() -> None:
    weights = np.full((40, 40), 0.02)
    weights[:, 7] = 0.08
    side = Side("w", ("a",) * 40)
    lines = weights_map(Look("α", None, None, weights, side, side))
    assert lines[-1] == "39 a   8 " + "░" * 7 + "█" + "░" * 32


@pytest.mark.parametrize("places", [1, 5, 11, 12, 13, 24, 30, 40, 200])
@pytest.mark.parametrize("label", ["w", "a very long word ", "漢字漢字漢字漢字"])
@pytest.mark.parametrize("width", [80, 40])
def test_maps_fit(places: int, label: str, width: int) -> None:
    lines = weights_map(random_look(places, label), width=width)
    assert max(columns(line) for line in lines) <= width
    shown = [line for line in lines if line.lstrip()[:1].isdigit() and label[0] in line]
    told = [line for line in lines if line.startswith("…")]
    assert (len(shown) == places) != bool(told)
    if width == 80 and places <= 40:
        assert not told


def test_places_are_chosen() -> None:
    lines = weights_map(random_look(100), first=40, last=44)
    assert [line.split()[0] for line in lines[2:7]] == ["40", "41", "42", "43", "44"]
    assert lines[7].startswith("… rows and columns 0 to 39 and 45 to 99 left out")


def test_labels_are_cut() -> None:
    assert [clipped(s, 5) for s in (" dog", "elephant", " ", "", "漢字漢字")] == [
        "dog", "elep…", "␣", "", "漢字…",
    ]  # fmt: skip


# ---------------------------------------------------------------------- traces, commands


def test_any_value(transformer: ProgramModule) -> None:
    subject = Subject.make(transformer, words, "aaa b")
    weights, matrix = trace(subject, ["alpha", "W^Q"])
    assert (weights.name, weights.letters, weights.lowers) == (
        "α",
        ("ℓ", "k", "t_1", "t_2"),
        (1, 0, 0, 0),
    )
    assert weights.labels == ("·", " aaa", " b") and matrix.labels == ()
    assert matrix.values.shape == (3, 2, 2, 4)
    with pytest.raises(IndicialError, match="did you mean Query"):
        trace(subject, ["Qeury"])
    with pytest.raises(IndicialError, match="w is given, not computed: it is an input"):
        trace(subject, ["w"])


def test_a_long_text_is_cut(transformer: ProgramModule) -> None:
    subject = Subject.make(transformer, words, "a " * 20)
    assert (len(subject.texts[0].tokens), subject.texts[0].left_out) == (7, 13)
    assert len(attend(subject)[0].rows) == 8


def test_names_with_commas() -> None:
    assert split_names("alpha, W^{h,R},h") == ["alpha", "W^{h,R}", "h"]


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = hand("position").save(tmp_path / "mine.json")
    assert main(["attend", str(path), "BCA", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    weights = np.array(found["heads"][0]["weights"])
    assert found["texts"] == {"w": ["B", "C", "A"]} and weights[:, 0].min() > 0.99
    assert main(["trace", "position", "BCA", "--want", "alpha,W^V", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["values"]
    assert told["α"]["values"] == weights.tolist() and told["W^V"]["shape"] == [3, 7]
    assert main(["attend", "position", "BCA"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("0 B  █ 100")
    figure = tmp_path / "weights.svg"
    assert main(["attend", "position", "BCA", "--figure", str(figure)]) == 0
    assert "<svg" in figure.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["compare", "position", str(path)]) == 0
    assert "have the same pattern (cosine 1.000)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["attend", "postion", "A"], "did you mean the design position?"),
        (["attend", "position", "AD"], "no token 'D'; it has A, B, C"),
        (["attend", "position", ""], "the text is empty"),
        (["attend", "position", "A", "--places", "3-1"], "--places takes FIRST-LAST"),
        (["attend", "position", "AB", "--places", "5-9"], "no place 5: the places are 0 to 1"),
        (["attend", "position", "A", "--figure", "a.txt"], "ends in .svg, .png or .pdf"),
        (["trace", "position", "A", "--want", "alhpa"], "did you mean alpha (α)?"),
        (["compare", "position"], "a design or a run is compared with one other; this names 1"),
        (["attend", "transformer", "A"], "train it first"),
        (["attend", "position"], "say the text"),
        (["attend", "position", "A", "--input", "x"], "--input takes NAME=FILE"),
        (["attend", "position", "A", "--input", "x=none.npy"], "cannot read none.npy"),
        (["attend", "position", "A", "--target", "A"], "selects reads one text"),
        (["compare", "position", "content"], "has 4 positions and content by hand 6"),
    ],
)
def test_wrong_calls(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_too_many_heads(tmp_path: Path) -> None:
    with pytest.raises(IndicialError, match="100 matrices do not fit"):
        draw_attention([random_look(2)] * 100, tmp_path / "all.svg")
