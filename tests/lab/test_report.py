"""`indicial report`: one file that stands alone, and says what the commands say."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from indicial.cli import main
from indicial.decode.settings import Decoding
from indicial.decode.text import Other, Speaker, Token, Written, with_alternatives
from indicial.inspect.attention import attend
from indicial.inspect.subjects import Subject
from indicial.lab.report import Section, heads, page, written
from tests.decode.runs import make_run

VOID = {"meta", "img", "br", "hr", "input", "link"}


class Elements(HTMLParser):
    """Which elements are open; what is loaded from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open += [] if tag in VOID else [tag]
        for name, value in attrs:
            inside = (value or "").startswith(("data:", "#"))
            if name in ("src", "href", "srcset", "poster") and not inside:
                self.loaded.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def looked_at(text: str) -> Elements:
    found = Elements()
    found.feed(text)
    assert found.open == []
    assert found.loaded == []
    assert not re.search(r"@import|url\(|fetch\(|XMLHttp", text)
    return found


@pytest.mark.long
def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = tmp_path / "book.txt"
    book.write_text("ab ba cab ac\n" * 60, encoding="utf-8")
    told = {"context": 12, "batch_size": 4, "data": [str(book)]}
    run, _ = make_run(tmp_path / "run", "transformer", **told)
    steps = [{"step": n, "of": 9, "loss": 3 / n, "tokens": 8 * n} for n in range(1, 10)]
    steps.append({"step": 9, "validation": {"loss": 0.25, "perplexity": 1.284, "nats": 3.0}})
    run.metrics.write_text("".join(json.dumps(one) + "\n" for one in steps))
    assert main(["report", str(run.folder), "--text", "abca"]) == 0
    file = run.folder / "report.html"
    assert capsys.readouterr().out == f"the report is in {file}\n"
    text = file.read_text(encoding="utf-8")
    shown = "".join(looked_at(text).texts)
    assert "step 9: loss 0.25, perplexity 1.284" in shown
    assert "data:image/svg+xml;base64," in text
    assert "softmax" in shown
    assert "nearest words" in shown
    *_, stored = re.findall(r'<script type="application/json">(.*?)</script>', text)
    looks = attend(Subject.of_run(run, "abca"))
    for found, look in zip(json.loads(stored), looks, strict=True):
        assert found["rows"]["labels"] == list(look.rows.labels)
        assert abs(look.weights - found["weights"]).max() < 1e-4
    # Another time it takes the place of itself, and of nothing else.
    (tmp_path / "mine.html").write_text("mine")
    assert main(["report", str(run.folder), "--out", str(tmp_path / "mine.html")]) == 2
    assert (tmp_path / "mine.html").read_text() == "mine"


def test_what_does_not_apply_is_told(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path / "run", "rnn_lm")
    file = tmp_path / "report.html"
    assert main(["report", str(run.folder), "--out", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    looked_at(text)
    assert "nothing has been trained yet" in text
    assert text.count('<p class="no">') == 3  # neither curves, nor attention, nor data to read


def test_nothing_that_a_model_says_is_obeyed() -> None:
    bad = '</script><script>alert(1)</script><b onclick="x">'
    labels = {"labels": [bad, "a"]}
    made = heads([(bad, {"rows": labels, "columns": labels, "weights": [[0.5, 0.5]]})], bad)
    text = page(bad, [Section("Attention", made), Section("Texts", missing=bad)])
    looked_at(text)
    assert "<b" not in text.replace("<body", "")
    assert text.count("<script") == 2


def test_tokens_have_their_alternatives_and_loops_are_marked(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path / "run", "trigram", seed=2)
    made = with_alternatives(Speaker.of(run), "", Decoding(temperature=0, max_new_tokens=60))
    assert made.loop is not None
    text = page("a run", [Section("Texts", written(made, "Said"))])
    found = looked_at(text)
    assert text.count("class=looped") == len(made.tokens) - made.loop.start
    assert str(made.loop) in text
    [stored] = [one for one in found.texts if one.startswith('[{"text"')]
    told = json.loads(stored)
    assert "".join(token["text"] for token in told) == "".join(t.text for t in made.tokens)
    for token in told:
        likely = [other["probability"] for other in token["others"]]
        assert likely == sorted(likely, reverse=True)
        # At temperature 0 it is the likeliest, and no other could have been.
        assert token["others"][0]["text"] == token["text"]
        assert [other["drawn"] for other in token["others"]] == [1.0, *[0.0] * (len(likely) - 1)]


def test_a_token_is_text_and_not_markup() -> None:
    odd = Token("</script><b>", 0.5, [Other("<i>", 0.5, 0.0)])
    made = Written("", [odd], "length", None, 0.7)
    found = looked_at(page("a run", [Section("Texts", written(made, "Said"))]))
    assert "</script><b>" in found.texts and "b" not in found.open
