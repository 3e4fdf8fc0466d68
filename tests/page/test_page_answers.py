"""What the page is told is what the commands compute."""

import json

import numpy as np
import pytest

from indicial import library
from indicial.library.loading import load
from indicial.page import protocol
from indicial.page.protocol import QUESTIONS
from indicial.page.server import HERE
from indicial.page.wire import ANSWERS, answer, checked, typescript
from indicial.program.explain.places import Descriptions, places
from indicial.program.messages import IndicialError

UGRNN = library.path("ugrnn").read_text(encoding="utf-8")


def units(text: str, start: int, end: int) -> str:
    """A stretch of a text as a browser would cut it out."""
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def asked(name: str, **question: object) -> dict:  # type: ignore[type-arg]
    told = answer(name, question)
    assert "answer" in told, told
    json.dumps(told, allow_nan=False)
    checked(QUESTIONS[name][1], told["answer"], "the answer")
    return told["answer"]  # type: ignore[no-any-return]


def test_every_question_has_an_answer() -> None:
    assert set(ANSWERS) | set(HERE) == set(QUESTIONS)
    assert not set(ANSWERS) & set(HERE)


def test_the_types_of_the_page_are_made_of_these(pytestconfig: pytest.Config) -> None:
    made = pytestconfig.rootpath / "web" / "src" / "protocol.ts"
    assert made.read_text(encoding="utf-8") == typescript(), "run `make page`"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (protocol.ReadText, {}),
        (protocol.ReadText, {"text": 1}),
        (protocol.ReadText, {"text": "", "more": 1}),
        (protocol.AboutText, {"text": "", "program": 0, "sizes": {"J": 1.5}}),
        (protocol.AboutText, {"text": "", "program": True, "sizes": {}}),
        (protocol.AskView, {"text": "", "program": 0, "what": "shell"}),
        (protocol.ReadText, ["text"]),
    ],
)
def test_what_is_no_question_is_refused(kind: type, value: object) -> None:
    with pytest.raises(IndicialError):
        checked(kind, value)


def test_marks_stand_where_browsers_count() -> None:
    text = "# 𝔼 and 𝒩 take two units\ninput x[t,k]\nh[t,j] = tanh(W[j,K] x[t,K])"
    found = asked("read", text=text)
    shown = {(units(text, m["start"], m["end"]), m["about"]) for m in found["marks"]}
    assert {("h[t,j]", "name h"), ("W[j,K]", "name W"), ("K", "index k"), ("t", "index t")} <= shown


def test_a_message_points_at_every_place() -> None:
    text = "input x[t,k]\nh[t,j] = W[j,K] x[t,K] + h[t-1]"
    found = asked("read", text=text)
    [message] = [m for m in found["messages"] if m["severity"] == "error"]
    sites = [units(text, s["start"], s["end"]) for s in message["sites"]]
    assert "h[t-1]" in sites
    assert any("^" in line for line in message["excerpt"])
    assert found["programs"][0]["errors"] == 1


def test_scripts_of_a_name_are_no_names() -> None:
    spans = {p.span.text: p.about for p in places(load(UGRNN))}
    assert spans["W^{h,R}[j,I]"] == "name W^{h,R}"
    assert spans["I"] == "index i"
    assert "h,R" not in spans


@pytest.mark.parametrize("name", ["lstm", "transformer", "captioning"])
def test_all_that_is_marked_can_be_told(name: str) -> None:
    program = load(name)
    known = Descriptions(program).every()
    assert {place.about for place in places(program)} <= set(known)


def test_costs_are_those_of_explain() -> None:
    sizes = {"T": 10, "J": 7, "K": 3}
    found = asked("facts", text=UGRNN, program=0, sizes=sizes)
    cost = load(UGRNN).cost
    numbers = {row["name"]: row["number"] for row in found["costs"]}
    assert numbers["parameters"] == cost.parameters.value(sizes)
    assert numbers["work"] == cost.work.value(sizes)
    for curve in found["curves"]:
        if curve["cost"] == "work":
            for at, value in zip(curve["at"], curve["values"], strict=True):
                assert value == cost.work.value({**sizes, curve["size"]: at})


def test_sizes_that_are_absurd_or_unknown_are_put_right() -> None:
    found = asked("facts", text=UGRNN, program=0, sizes={"J": 10**30, "nope": 3})
    assert {s["name"]: s["chosen"] for s in found["sizes"]}["J"] == 10**7


def test_a_trial_is_what_the_interpreter_says() -> None:
    text = "input x[i]\ny[j] = W[j,I] x[I]"
    found = asked("try", text=text, program=0, sizes={"I": 2, "J": 3}, seed=5)
    arrays = {a["name"]: np.array(a["values"]).reshape(a["shape"]) for a in found["arrays"]}
    assert arrays["W"].shape == (3, 2)
    assert np.allclose(arrays["y"], arrays["W"] @ arrays["x"], atol=1e-4)


def test_a_claim_comes_with_what_breaks_it() -> None:
    text = "input x[j]\ny[j] = x[j]^2\nclaim y[j] >= 0\nclaim y[j] >= 0.1"
    found = asked("claims", text=text, program=0, sizes={}, seed=0)["verdicts"]
    assert [v["status"] for v in found] == ["holds", "refuted"]
    assert any("x = " in line for line in found[1]["counterexample"])
    assert units(text, found[1]["start"], found[1]["end"]) == "claim y[j] >= 0.1"


@pytest.mark.parametrize(("what", "word"), [("graph", "<svg"), ("gradient", "h̄")])
def test_views(what: str, word: str) -> None:
    shown = asked("view", text=UGRNN, program=0, what=what)
    assert word in shown["text"] + shown["svg"]


def test_a_text_is_never_the_name_of_a_file() -> None:
    for text in ("/etc/passwd", "ugrnn", "\\input{/etc/passwd}", ""):
        found = asked("read", text=text)
        assert "root" not in json.dumps(found)
        assert not any(p["title"] == "ugrnn" for p in found["programs"])


@pytest.mark.parametrize("name", ["../../../etc/passwd", "ugrnn/../gru", "", "nope"])
def test_a_model_is_one_of_the_library(name: str) -> None:
    assert "error" in answer("model", {"name": name})


def test_what_has_mistakes_is_not_computed() -> None:
    for name in ("facts", "try"):
        question = {"text": "y[j] = (", "program": 0, "sizes": {}}
        told = answer(name, question | ({"seed": 0} if name == "try" else {}))
        assert "mistakes" in told["error"]
    assert "no equations" in answer("facts", {"text": "", "program": 0, "sizes": {}})["error"]


def test_programs_of_a_document_are_told_apart() -> None:
    text = "# One\n\n$$y_j = W_{ji} x_i$$\n\n# Two\n\n$$z_j = \\tanh(V_{ji} u_i)$$\n"
    found = asked("read", text=text)
    assert [p["title"] for p in found["programs"]] == ["One", "Two"]
    assert asked("facts", text=text, program=1, sizes={})["title"] == "Two"


def test_halves_of_characters_are_signs_of_their_own() -> None:
    """JSON can hold them, an answer cannot; places stay as the browser counts them."""
    text = "y[j] = x\ud800[j]\nz = y[\U0001d53c]\udfff"
    asked = checked(protocol.ReadText, json.loads(json.dumps({"text": text})))
    assert asked["text"] == "y[j] = x\ufffd[j]\nz = y[\U0001d53c]\ufffd"
    json.dumps(answer("read", {"text": text}), ensure_ascii=False).encode()
    json.dumps(answer("read", {"\ud800": text}), ensure_ascii=False).encode()


@pytest.mark.parametrize("seed", [-1, 10**40])
def test_any_seed_will_do(seed: int) -> None:
    asked = {"text": "input x[i]\ny[j] = W[j,I] x[I]", "program": 0, "sizes": {}, "seed": seed}
    assert "answer" in answer("try", asked)
    assert "answer" in answer("claims", asked)
