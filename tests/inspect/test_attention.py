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
from indicial.inspect.attention import Look, attend, attentions, place_labels, shift, values
from indicial.inspect.attention_figure import draw_attention
from indicial.inspect.subjects import Subject
from indicial.inspect.tracing import trace
from indicial.inspect.weights import clipped, weights_map
from indicial.program.messages import columns

WEIGHTS = {
    "bahdanau": ["α"], "cross_attention": ["α"], "encoder": ["α"], "gpt2": ["α"],
    "encoder_decoder": ["α^E", "α^Z", "α^X"], "encoder_decoder_prenorm": ["α^E", "α^Z", "α^X"],
    "merged_attention": ["α"], "positions_relative": ["α"], "selects": ["α"],
    "self_attention": ["α"], "synthesizer_dense": ["α"], "synthesizer_random": ["α"],
    "transformer": ["α"],
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


def test_weights_are_those_of_the_equations(transformer: ProgramModule) -> None:
    tokens, labels = [3, 1, 4], ["a", "b", "c"]
    looks = attend(transformer, tokens, labels)
    assert [(look.layer, look.head) for look in looks] == [
        (n, k) for n in (1, 2, 3) for k in (0, 1)
    ]
    # Place t reads w[t-1]: there is a fourth place, which reads the last token.
    assert looks[0].labels == ("·", "a", "b", "c")
    whole = transformer(w=torch.tensor([3, 1, 4, 0]), want=["α"])["α"].detach().numpy()
    for look in looks:
        assert look.layer is not None and look.head is not None
        np.testing.assert_allclose(look.weights, whole[look.layer - 1, look.head], atol=1e-6)
        np.testing.assert_allclose(look.weights.sum(-1), 1, atol=1e-6)
    (one,) = attend(transformer, tokens, labels, layer=2, head=1)
    assert one.title == "α, layer 2, head 1"


def test_which_token_a_place_reads() -> None:
    shifts = {name: shift(load(name).code, "w") for name in ("transformer", "gpt2", "selects")}
    assert shifts == {"transformer": -1, "gpt2": 0, "selects": 0}
    assert place_labels(load("gpt2").code, "abc") == ("a", "b", "c")


def test_what_is_not_there(transformer: ProgramModule) -> None:
    with pytest.raises(IndicialError, match="no layer 7; there are 1 to 3"):
        attend(transformer, [1], ["a"], layer=7)
    with pytest.raises(IndicialError, match="no head 2; there are 0 to 1"):
        attend(transformer, [1], ["a"], head=2)
    with pytest.raises(IndicialError, match="it has no layers"):
        attend(hand("position").module, [0], ["A"], layer=1)
    with pytest.raises(IndicialError, match="text is empty"):
        values(transformer, [], ["y"])
    rnn = load("rnn_lm").compile(V=5, J=3)
    with pytest.raises(IndicialError, match="rnn_lm has no attention"):
        attend(rnn, [1, 2], ["a", "b"])


# ---------------------------------------------------------------------- as text


def random_look(places: int, label: str = "word") -> Look:
    weights = np.tril(np.random.default_rng(0).random((places, places)))
    weights /= weights.sum(-1, keepdims=True)
    return Look("α", 1, 0, weights, tuple(f"{label}{n}" for n in range(places)))


def test_a_small_map() -> None:
    look = Look("α", None, None, np.array([[1.0, 0], [0.37, 0.63]]), (" Anna", " knows"))
    assert weights_map(look) == [
        "α: each row looks at the columns, in percent",
        "          Anna knows",
        "0 Anna   █ 100",
        "1 knows  ▒  37 ▓  63",
    ]


@pytest.mark.parametrize("places", [1, 5, 11, 12, 13, 30, 40, 200])
@pytest.mark.parametrize("label", ["w", "a very long word ", "漢字漢字漢字漢字"])
def test_maps_fit(places: int, label: str) -> None:
    lines = weights_map(random_look(places, label))
    assert max(columns(line) for line in lines) <= 80
    shown = [line for line in lines if line.lstrip()[:1].isdigit() and label[0] in line]
    told = [line for line in lines if line.startswith("…")]
    assert (len(shown) == places) != bool(told)


def test_places_are_chosen() -> None:
    lines = weights_map(random_look(100), first=40, last=44)
    assert [line.split()[0] for line in lines[2:7]] == ["40", "41", "42", "43", "44"]
    assert lines[7].startswith("… places 0 to 39 and 45 to 99 left out")


def test_labels_are_cut() -> None:
    assert [clipped(s, 5) for s in (" dog", "elephant", " ", "", "漢字漢字")] == [
        "dog", "elep…", "␣", "", "漢字…",
    ]  # fmt: skip


# ---------------------------------------------------------------------- traces, commands


def test_any_value(transformer: ProgramModule) -> None:
    subject = Subject.cut(transformer, [3, 1], ["a", "b"])
    weights, matrix = trace(subject, ["alpha", "W^Q"])
    assert (weights.name, weights.letters, weights.lowers) == (
        "α",
        ("ℓ", "k", "t", "t"),
        (1, 0, 0, 0),
    )
    assert matrix.values.shape == (3, 2, 2, 4)
    with pytest.raises(IndicialError, match="did you mean Query"):
        trace(subject, ["Qeury"])
    with pytest.raises(IndicialError, match="w is given, not computed: it is an input"):
        trace(subject, ["w"])


def test_a_long_text_is_cut(transformer: ProgramModule) -> None:
    subject = Subject.cut(transformer, [1] * 20, ["a"] * 20)
    assert (len(subject.tokens), subject.left_out) == (7, 13)
    assert len(attend(transformer, subject.tokens, subject.labels)[0].labels) == 8


def test_names_with_commas() -> None:
    assert split_names("alpha, W^{h,R},h") == ["alpha", "W^{h,R}", "h"]


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = hand("position").save(tmp_path / "mine.json")
    assert main(["attend", str(path), "BCA", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    weights = np.array(found["heads"][0]["weights"])
    assert found["tokens"] == ["B", "C", "A"] and weights[:, 0].min() > 0.99
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
        (["attend", "position", "A", "--figure", "a.txt"], "ends in .svg, .png or .pdf"),
        (["trace", "position", "A", "--want", "alhpa"], "no tensor alhpa"),
        (["compare", "position"], "compared with one other design"),
        (["compare", "position", "content"], "differ in tokens, positions"),
    ],
)
def test_wrong_calls(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_too_many_heads(tmp_path: Path) -> None:
    with pytest.raises(IndicialError, match="100 heads do not fit"):
        draw_attention([random_look(2)] * 100, tmp_path / "all.svg")
