"""Answers looked up in pages: the right rows are learned, and what is found is what the equations say."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from indicial.cli import main
from indicial.data.codings import Text
from indicial.data.column_rows import load_codings
from indicial.data.questions import Index, Paged, between, looked_up, opened, parted
from indicial.decode.lookup import Librarian, Said, is_broken
from indicial.lab.compare import train
from indicial.library.loading import load
from indicial.program.messages import IndicialError
from indicial.tasks.forms import form_of
from indicial.tasks.predictions import Measure
from indicial.training.run import Run
from indicial.training.settings import Settings
from indicial.training.starting import begin

torch.set_num_threads(1)
SMALL = """
input q[u] in V
input d[n,s] in V
input n in N
input x[r] in V
input w[t] in V
f[m] = Σ_u c[q[u],m]
g[n,m] = Σ_s c[d[n,s],m]
P_{find}(n | q) = softmax_n 1/4 f[M] g[n,M] / (‖f[M]‖ ‖g[n,M]‖)
y[t,j] = tanh(e[w[t-1],j] + mean_r e'[x[r],j])
α[t,r] = softmax_r y[t,J] e[x[r],J]
γ[t] = σ(v[J] y[t,J])
κ[t,v] = Σ_r α[t,r] 1[x[r] = v]
P(w[t] | x, w[0], …, w[t-1]) = γ[t] κ[t,w_t] + (1 - γ[t]) softmax_{w_t} e[w_t,J] y[t,J]
ℒ_{read} = 1/T Σ_t -ln P(w_t | …)
loss = -ln P_{find}(n | q) + ℒ_{read}
w[t] ~ P(w_t | …)
"""
PEOPLE = {
    "Ann Ott": "Lund",
    "Bo Ruiz": "Rome",
    "Cy Lee": "Oslo",
    "Di Roy": "Lund",
    "Eve Ito": "Kyiv",
}
PAGES = [f"{name} is from {place} ." for name, place in PEOPLE.items()]
ASKED = {"question": "0", "answer": "1"}


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("answer.eq").write_text(SMALL, encoding="utf-8")
    Path("pages.txt").write_text("".join(f"{page}\n" for page in PAGES))
    rows = [f"Where is {name} from?\t{place}\n" for name, place in PEOPLE.items()]
    Path("qa.tsv").write_text("".join(rows))
    return tmp_path


def trained(**settings: object) -> Run:
    return train(
        "answer.eq", data=["pages.txt", "qa.tsv"], column=ASKED, validation="qa.tsv", quiet=True, out="run",
        set={"M": "16", "J": "16"}, batch_size=5, max_steps=2, documents="lines", **settings,
    )  # fmt: skip


def test_a_question_is_about_the_page_with_its_rare_words() -> None:
    pages = [
        "John Fisher. Born in Oslo .",
        "John Stephen. Born in Rome .",
        "Fisher John. Born in Lund .",
    ]
    index = Index(pages)
    assert [index.find(f"Where was {name} born?") for name in ("John Fisher", "John Stephen")] == [
        0,
        1,
    ]
    twice = Index(["Ann Ott. A painter .", "Ann Ott. A poet from Lund ."])
    assert twice.find("Where is Ann Ott from?", "Lund") == 1
    assert index.find("xyz") == 0


def test_rows_have_the_question_its_page_and_its_answer(people: Path) -> None:
    slots = form_of(load(SMALL)).slots
    (table,), columns = looked_up(slots, ["pages.txt", "qa.tsv"], ASKED, "lines")
    assert columns == {"q": "question", "d": "page", "x": "page", "w": "asked"}
    assert isinstance(table, Paged)
    rows = [cells for _, cells in table.rows()]
    assert [row["page"] for row in rows] == [opened(page) for page in PAGES]  # type: ignore[index]
    assert rows[1]["asked"] == "Where is Bo Ruiz from? ⁇ Rome"  # type: ignore[index]
    assert parted(between("Where?", "Rome")) == ("Where?", "Rome")
    # Columns that are there already are taken as they are.
    assert looked_up(slots, ["rows.tsv"], {}) == (["rows.tsv"], {})


def test_what_is_found_is_what_the_equations_say(people: Path) -> None:
    run = trained()
    librarian = Librarian.of(run)
    assert list(librarian.pages) == PAGES
    question = "Where is Cy Lee from?"
    # The interpreter reads the whole program: pages of one length, padded with what has no vector.
    program, coding = run.program, load_codings(run.folder)["q"]
    assert isinstance(coding, Text)
    weights = run.module().state_dict()
    c = next(v for k, v in weights.items() if k == "c").double().numpy()
    vector = lambda text: c[coding.encode(text)].sum(0)  # noqa: E731
    f, g = vector(question), np.stack([vector(opened(page)) for page in PAGES])
    logits = g @ f / 4 / np.linalg.norm(g, axis=1) / np.linalg.norm(f)
    chances = np.exp(logits) / np.exp(logits).sum()
    (found,) = librarian.find([question], 3)
    order = np.argsort(-chances)[:3]
    assert [n for n, _ in found] == order.tolist()
    assert [p for _, p in found] == pytest.approx(chances[order].tolist(), rel=1e-4)
    # By Bayes' rule with the likelihood of the question, page by page.
    read = form_of(program).read
    assert read is not None
    measure = Measure(librarian.reader, read)
    codings = run.codings()
    asked = codings["w"].tokenizer.encode(between(question))  # type: ignore[attr-defined]
    scores = []
    for number, chance in found:
        x = torch.tensor(codings["x"].encode(opened(PAGES[number])).tolist())
        nats = measure({"x": x[None], "w": torch.tensor([asked])})
        scores.append(chance * math.exp(-float(nats.double().sum())))
    ((*ranked,),) = librarian.ranked([question], [found])
    expected = {n: s / sum(scores) for (n, _), s in zip(found, scores, strict=True)}
    assert dict(ranked) == pytest.approx(expected, rel=1e-3)


def test_asked_by_commands(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained()
    assert run.summary is not None and set(run.summary.last.figures) == {"accuracy", "match"}  # type: ignore[union-attr]
    assert run.description.data["columns"]["d"] == "page"
    prompt = ["--prompt", "Where is Cy Lee from?"]
    assert main(["generate", "run", *prompt, "--show-source"]) == 0
    said, source = capsys.readouterr().out.splitlines()
    assert said.startswith("Where is Cy Lee from?") and source.partition("): ")[2] in PAGES
    # Pages are read anew.
    Path("pages.txt").write_text("Cy Lee is from Bonn .\n")
    assert main(["generate", "run", *prompt, "--show-source"]) == 0
    assert "page 1 (1.00): Cy Lee is from Bonn ." in capsys.readouterr().out
    assert main(["generate", "run", "--ask", "--out", "asked.tsv", "--pages", "pages.txt"]) == 0
    assert main(["evaluate", "run", "--data", "qa.tsv", "--match"]) == 0
    assert "is found: 100.0% among the first" in capsys.readouterr().out
    with pytest.raises(IndicialError, match="looks nothing up"):
        plain = train("transformer", data="pages.txt", max_steps=1, quiet=True, out="plain", context=8,
                      set={"J": "8", "L": "1", "K": "1"}, documents="lines")  # fmt: skip
        Librarian.of(plain)


def test_the_library_answers_from_a_folder_of_ones_own(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that it was never asked about is found: what is learned is how to look, not what is there."""
    Path("pages").mkdir()
    homes = {
        "Anna": "Lund", "Bruno": "Rome", "Cyrus": "Oslo", "Diana": "Kyiv", "Ewald": "Bern", "Felix": "Graz",
        "Greta": "Nice", "Hugo": "York", "Ivan": "Bonn", "Jutta": "Cork", "Kuno": "Riga", "Moritz": "Bari",
    }  # fmt: skip
    for number, (name, town) in enumerate(homes.items()):
        Path(f"pages/{number}.txt").write_text(f"{name} is a painter .\nHe is from {town} .\n")
    rows = [f"Where is {n} from?\t{t}\n" for n, t in homes.items()]
    Path("own.tsv").write_text("".join(rows[:-1]))
    files = "--data pages --data own.tsv --column question=0 --column answer=1"
    sizes = "--set J=16 --set K=1 --set M=32 --batch-size 12 --max-steps 5"
    assert main(["train", "answer", *f"{files} {sizes} --out own".split()]) == 0
    assert main(["generate", "own", "--prompt", "Where is Moritz from?", "--show-source"]) == 0
    *_, first, second = capsys.readouterr().out.splitlines()
    assert "Moritz is a painter ." in first and second == "    He is from Bari ."


def test_what_is_not_there_is_told(people: Path) -> None:
    Path("one.tsv").write_text("Where is Ann Ott from?\n")
    with pytest.raises(IndicialError, match="name a text or a folder beside the questions"):
        train("answer.eq", data=["qa.tsv"], column=ASKED, max_steps=1, quiet=True, out="no")
    with pytest.raises(IndicialError, match=r"one\.tsv has one column, 0: questions with answers"):
        train("answer.eq", data=["pages.txt", "one.tsv"], column=ASKED, max_steps=1, out="no")
    with pytest.raises(
        IndicialError, match=r"there is no file.* page\.txt; did you mean pages\.txt"
    ):
        Librarian.of(trained(), pages=["page.txt"])


def test_an_answer_is_no_part_of_a_word(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_broken("Sacramen", "Born in Sacramento .") and is_broken("etnam", "(1965 Vietnam)")
    assert not is_broken("Rome", "Romeo is from Rome.") and not is_broken("Oslo", "from Rome")
    assert not is_broken("Stoke-on-Trent", "(Stoke-on-Trent, 1970)")
    librarian, searched = Librarian.of(trained()), []

    def said(pages: list[str], questions: list[str], beams: int = 1) -> list[list[Said]]:
        searched.append((len(pages), beams))
        first = {"Ann": ("Lun", 0.9), "Bo": ("Rome", 0.9), "Cy": ("from", 0.4), "Di": ("Di", 0.2)}
        more = {"Ann": ("Lund", 0.05), "Cy": ("Oslo", 0.5), "Di": ("Lun", 0.3), "Bo": ("", 0)}
        names = [question.split()[2] for question in questions]
        every = [
            [Said(q, *first[n]), Said(q, *more[n])] for q, n in zip(questions, names, strict=True)
        ]
        best = [sorted(several, key=lambda one: -one.probability) for several in every]
        return best if beams > 1 else [several[:1] for several in every]

    monkeypatch.setattr(librarian, "_said", said)
    found = librarian._read(PAGES[:4], [f"Where is {name} from?" for name in list(PEOPLE)[:4]])
    # Of Rome it is sure; the others are searched, and the likeliest of whole words is taken.
    assert [one.answer for one in found] == ["Lund", "Rome", "Oslo", "Di"]
    assert searched == [(4, 1), (3, 4)]


def test_pages_stay_whole_when_a_run_is_gone_on_with(people: Path) -> None:
    # The positions of answers are learned, and how many there are says nothing of how long a page is.
    text = SMALL.replace("e[w[t-1],j] +", "e[w[t-1],j] + pos[t,j] +") + "parameter pos[t,j]\n"
    Path("answer.eq").write_text(text, encoding="utf-8")
    long = " and was seen in many other towns and ports of the north" * 4
    Path("pages.txt").write_text("".join(f"{page[:-2]}{long} .\n" for page in PAGES))
    first = trained()
    places = first.description.sizes["T"]
    assert places < first.number("context")
    Path("qa.tsv").write_text("Where is Ann Ott from, do you know that?\tLund\n" * 5)
    said: list[str] = []
    ready = begin(
        Settings.read({
            "from": "run", "data": ["pages.txt", "qa.tsv"], "column": ASKED, "validation": ["qa.tsv"],
            "documents": "lines", "max_steps": 1, "batch_size": 5, "out": "more",
        }),
        said.append,
    )  # fmt: skip
    assert not any("cut" in text for text in said)
    pages = ready.task.batch(0).lengths["R"]
    assert int(pages.max()) == first.number("context")
    # There are more positions than before; those that there were are as they were.
    pos, before = ready.module.parameter("pos"), first.module("best").parameter("pos")
    assert len(pos) > len(before) == places
    assert torch.equal(pos[:places], before)
    assert any("tensors" in text and "anew" not in text for text in said)
