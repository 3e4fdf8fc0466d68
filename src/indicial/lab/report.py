"""A run as one page: equations, curves, texts, what its heads look at, what is inside.

>>> Path("report.html").write_text(report("runs/people-1"))          # HTML that stands alone

Every part is what a command shows: `explain`, `train`, `generate`, `attend`, `inspect`. What does not apply
to a model is told in its place. Where the data is a world, a text that it never says is marked: for the world
knows what is true.

The frame of a report: one HTML file that stands alone, for any screen, light or dark.

>>> page("ugrnn on people", [Section("Equations", "<math>…</math>")])
'<!doctype html>…'

Nothing is loaded: pictures are part of the file, and the script for the heads of attention is a page long.
"""

from __future__ import annotations

import base64
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any

from indicial.data.world import world
from indicial.decode.settings import Decoding
from indicial.decode.text import Speaker, Token, Written, with_alternatives
from indicial.inspect.attention import Look, attend
from indicial.inspect.attention_views import draw_attention, draw_on_picture
from indicial.inspect.findings import inspect_run
from indicial.inspect.findings import page as inside_page
from indicial.inspect.subjects import Seen, Subject, column_subject
from indicial.inspect.svg import mathml
from indicial.program.explain.explain import explain
from indicial.program.explain.numbers import count
from indicial.program.messages import IndicialError
from indicial.program.outputs import MADE
from indicial.training.curves import draw_curves, read_metrics
from indicial.training.run import Run

STYLE = """\
:root { color-scheme: light dark; --ink: #1b1f27; --paper: #fff; --soft: #f2f4f8; --line: #d5dae3; --mark: #3b5b92 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8f0; --paper: #15181e; --soft: #20252e; --line: #3a4250; --mark: #9db8e8 }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.7rem; margin: .5rem 0 }
h2 { font-size: 1.25rem; border-bottom: 1px solid var(--line); margin: 2rem 0 .7rem }
nav a { display: inline-block; margin-right: 1rem; color: var(--mark) }
pre, .scroll { overflow-x: auto }
pre { background: var(--soft); padding: .8rem; border-radius: .3rem; font-size: .85rem; line-height: 1.35 }
table { border-collapse: collapse }
td, th { border-bottom: 1px solid var(--line); padding: .2rem .9rem .2rem 0; text-align: left; vertical-align: top }
img { max-width: 100%; height: auto; background: #fff; border-radius: .3rem }
summary { cursor: pointer; color: var(--mark) }
.no { opacity: .75 }
.heads label { margin-right: 1rem }
.words { display: flex; flex-wrap: wrap; gap: .15rem; margin: .4rem 0 }
.words button { font: inherit; color: inherit; border: 1px solid transparent; border-radius: .2rem;
  padding: .1rem .3rem; background: none; white-space: pre }
.words.by button { cursor: pointer }
.written .words { gap: 0 }
.written button { background: color-mix(in srgb, var(--mark) calc(60% * var(--doubt)), transparent) }
.written .looped { text-decoration: underline wavy #c2255c }
.written td { font-variant-numeric: tabular-nums; white-space: pre }
.words button[aria-pressed=true], .words button:focus-visible { border-color: var(--mark) }
"""

SCRIPT = """\
for (const box of document.querySelectorAll(".written")) {
  const tokens = JSON.parse(box.querySelector("script").textContent);
  const words = [...box.querySelectorAll("button")], told = box.querySelector("tbody");
  let held = -1;
  const show = (n) => {
    words.forEach((word, m) => word.setAttribute("aria-pressed", m === held));
    told.replaceChildren(...tokens[n].others.map((other) => {
      const row = told.ownerDocument.createElement("tr");
      const drawn = other.drawn > 0 ? `drawn ${other.drawn.toFixed(3)}` : "cut off";
      for (const said of [other.text === tokens[n].text ? "▸" : "", other.text, other.probability.toFixed(3), drawn])
        row.insertCell().textContent = said;
      return row;
    }));
  };
  words.forEach((word, n) => {
    word.onmouseenter = word.onfocus = () => { if (held < 0) show(n); };
    word.onclick = () => { held = held === n ? -1 : n; show(n); };
  });
  box.onkeydown = (event) => { if (event.key === "Escape") { held = -1; show(0); } };
  if (tokens.length) show(0);
}
for (const box of document.querySelectorAll(".heads")) {
  const heads = JSON.parse(box.querySelector("script").textContent);
  const [by, at] = box.querySelectorAll(".words");
  const chosen = box.querySelector("select"), told = box.querySelector("output");
  let held = -1;
  const shown = (label) => label.trim() || "·";
  const words = (where, labels, act) => where.replaceChildren(...labels.map((label, n) => {
    const word = document.createElement("button");
    word.type = "button";
    word.textContent = label || "·";
    if (act) act(word, n); else word.tabIndex = -1;
    return word;
  }));
  const show = (row) => {
    const head = heads[chosen.value], weights = row < 0 ? null : head.weights[row];
    [...at.children].forEach((word, n) => {
      const weight = weights ? weights[n] ?? 0 : 0;
      word.style.background = `color-mix(in srgb, var(--mark) ${Math.round(75 * weight)}%, transparent)`;
      word.title = weights ? weight.toFixed(3) : "";
    });
    [...by.children].forEach((word, n) => word.setAttribute("aria-pressed", n === held));
    told.textContent = "";
    if (!weights) return;
    const most = weights.indexOf(Math.max(...weights));
    const [who, what] = [shown(head.rows.labels[row]), shown(head.columns.labels[most])];
    told.textContent = `${who} looks most at ${what} (${weights[most].toFixed(2)})`;
  };
  const choose = () => {
    held = -1;
    words(by, heads[chosen.value].rows.labels, (word, n) => {
      word.onmouseenter = word.onfocus = () => { if (held < 0) show(n); };
      word.onclick = () => { held = held === n ? -1 : n; show(n); };
    });
    words(at, heads[chosen.value].columns.labels);
    show(-1);
  };
  box.onkeydown = (event) => { if (event.key === "Escape") { held = -1; show(-1); } };
  chosen.onchange = choose;
  choose();
}
"""


@dataclass(frozen=True)
class Section:
    """A part of the page: HTML, or the reason why there is none."""

    title: str
    body: str = ""
    missing: str = ""

    @property
    def anchor(self) -> str:
        return self.title.lower().replace(" ", "-")

    def html(self) -> str:
        body = self.body or f'<p class="no">{escape(self.missing)}</p>'
        return f'<section id="{self.anchor}"><h2>{escape(self.title)}</h2>\n{body}\n</section>'


def page(title: str, sections: Sequence[Section]) -> str:
    """The whole file."""
    links = "".join(f'<a href="#{s.anchor}">{escape(s.title)}</a>' for s in sections)
    body = "\n".join(section.html() for section in sections)
    acts = 'class="heads"' in body or 'class="written"' in body
    script = f"<script>\n{SCRIPT}</script>" if acts else ""
    return (
        f'<!doctype html>\n<html lang="en">\n<!-- {MADE} -->\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}</style></head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n"
        f'<nav aria-label="Sections">{links}</nav>\n{body}\n{script}\n</body>\n</html>\n'
    )


def listed(rows: Mapping[str, Any]) -> str:
    """A table with two columns."""
    lines = [
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
        for name, value in rows.items()
    ]
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'


def pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def folded(summary: str, body: str) -> str:
    """Something that is opened by who wants it."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def picture(path: Path, says: str) -> str:
    """A picture as part of the page."""
    kind = {".svg": "svg+xml", ".png": "png"}[path.suffix]
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<p><img alt="{escape(says)}" src="data:image/{kind};base64,{data}"></p>'


def heads(looks: Iterable[tuple[str, Mapping[str, Any]]], says: str) -> str:
    """Heads of attention to choose from; a word shows where it looks, and a click holds that."""
    rows = list(looks)
    data = [
        {**one, "weights": [[round(w, 4) for w in row] for row in one["weights"]]}
        for _, one in rows
    ]
    options = "".join(f'<option value="{n}">{escape(t)}</option>' for n, (t, _) in enumerate(rows))
    return (
        f'<div class="heads"><p>{escape(says)}: point at a word, or tab to it; a click holds it, '
        "Esc lets go.</p>"
        f"<label>head <select>{options}</select></label><output></output>"
        '<div class="words by" role="group" aria-label="who looks"></div>'
        '<div class="words" role="group" aria-label="at what"></div>'
        f"{_stored(data)}</div>"
    )


def written(made: Written, says: str) -> str:
    """A text token by token: the darker, the less likely; a token shows what might have stood there."""
    start = len(made.tokens) if made.loop is None else made.loop.start
    words = "".join(
        f'<button type="button"{" class=looped" if n >= start else ""} style="--doubt:{_doubt(token)}">'
        f"{escape(token.text.replace(chr(10), '⏎'))}</button>"
        for n, token in enumerate(made.tokens)
    )
    looped = f"; it {made.loop}" if made.loop is not None else ""
    return (
        f'<div class="written"><p>{escape(says)}: {len(made.tokens)} tokens{looped}.</p>'
        f'<div class="words by" role="group" aria-label="the text, token by token">{words}</div>'
        "<table><caption>what might have stood there</caption><tbody></tbody></table>"
        f"{_stored([asdict(token) for token in made.tokens])}</div>"
    )


def _doubt(token: Token) -> str:
    """How unlikely it was: nothing at a probability of 1, all at one of a thousandth."""
    return f"{min(1.0, -math.log2(max(1e-6, token.probability)) / 10):.2f}"


def _stored(data: Any) -> str:
    """What a script reads."""
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json">{text}</script>'


WORDS, HEADS, ROWS = 200, 100, 3
"""How long a text may be whose attention is shown, how many heads, how many rows of a world."""
TOKENS = 60
"""Of a text with its alternatives."""


@dataclass(frozen=True)
class _Reads:
    """What the model is to read."""

    text: str | None
    given: Mapping[str, object]
    row: int | None
    checkpoint: str


def report(
    run: str | os.PathLike[str] | Run,
    *,
    text: str | None = None,
    given: Mapping[str, object] | None = None,
    row: int | None = None,
    checkpoint: str = "best",
) -> str:
    """The page of a run; `text` is what its heads read, `given` what its inputs do, or a row of a world."""
    reads = _Reads(text, given or {}, row, checkpoint)
    run = Run.open(run)
    title = f"{run.description.equations.title} on {run.description.data.get('name', 'data')}"
    with tempfile.TemporaryDirectory(prefix="indicial-") as folder:
        place = Path(folder)
        parts: dict[str, Callable[[], str]] = {
            "Summary": lambda: _summary(run),
            "Equations": lambda: _equations(run),
            "Curves": lambda: _curves(run, place, title),
            "Texts": lambda: _texts(run, reads),
            "Attention": lambda: _attention(run, place, reads),
            "Inside": lambda: _inside(run, place, checkpoint),
            "Settings": lambda: listed(dict(run.description.settings)),
        }
        sections = []
        for name, made in parts.items():
            try:
                sections.append(Section(name, made()))
            except IndicialError as error:
                sections.append(Section(name, missing=str(error)))
    return page(title, sections)


def _summary(run: Run) -> str:
    said = run.description
    metrics = list(read_metrics(run.metrics)) if run.metrics.exists() else []
    validations = [(m["step"], m["validation"]) for m in metrics if "validation" in m]
    steps = [m for m in metrics if "loss" in m]
    rows: dict[str, Any] = {
        "run": run.folder,
        "begun": said.created,
        "model": said.equations.title,
        "data": said.data.get("name", ""),
        "sizes": ", ".join(f"{name} = {count(size)}" for name, size in said.sizes.items()),
    }
    number = run.program.cost.parameters
    known = {name: said.sizes[name] for name in number.names if name in said.sizes}
    if len(known) == len(number.names):
        rows["parameters"] = count(number.value(known))
    if steps:
        rows["steps"] = (
            f"{count(steps[-1]['step'])} of {count(steps[-1].get('of', steps[-1]['step']))}"
        )
        rows["tokens"] = count(steps[-1].get("tokens", 0))
    if validations:
        step, best = min(validations, key=lambda found: found[1].get("loss") or float("inf"))
        means = {name: value for name, value in best.items() if isinstance(value, float)}
        scores = [f"{n.replace('_', ' ')} {v:.4g}" for n, v in means.items() if n != "nats"]
        rows["best validation"] = f"step {count(step)}: {', '.join(scores)}"
    return listed(rows)


def _equations(run: Run) -> str:
    program = run.program
    try:
        typeset = f'<div class="scroll">{mathml(program.latex())}</div>'
    except IndicialError:
        typeset = pre(program.unicode())  # without latex2mathml
    sizes = {n: s for n, s in run.description.sizes.items() if n in program.analysis.code.sizes}
    return typeset + folded("Names, ranges and costs", pre(explain(program, sizes=sizes)))


def _curves(run: Run, folder: Path, title: str) -> str:
    drawn = draw_curves(run.metrics, folder, title) if run.metrics.exists() else []
    found = [path for path in drawn if path.suffix == ".svg"]
    if not found:
        raise IndicialError("nothing has been trained yet")
    return picture(found[0], f"loss of {title} over its steps")


def _texts(run: Run, reads: _Reads) -> str:
    if run.description.task != "columns":
        marks = explained(run.folder)
        several = pre(samples(run.folder) + (f"\n{marks}" if marks else ""))
        speaker = Speaker.of(run)
        return several + "".join(_written(speaker, temperature) for temperature in (0.0, 0.8))
    first = _row(run, reads)
    rows = [None] if first is None else range(first, first + ROWS)
    seen = [_columns(run, replace(reads, row=number)) for number in rows]
    said = [[f"{t.reading.name}: {''.join(t.labels)}" for t in one.subject.texts] for one in seen]
    return pre("\n\n".join("\n".join(lines) for lines in said))


def _written(speaker: Speaker, temperature: float) -> str:
    """A text with what might have stood in the place of each token."""
    settings = Decoding(temperature=temperature, seed=1, max_new_tokens=TOKENS)
    return written(with_alternatives(speaker, "", settings), f"At temperature {temperature:g}")


def _attention(run: Run, folder: Path, reads: _Reads) -> str:
    """The heads to choose from, and all of them as a picture."""
    seen = _seen(run, reads)
    looks = attend(seen.subject)
    if seen.texts_across:
        looks = [k for k in looks if k.at or k.rows.name != k.columns.name] or looks
    file = folder / "attention.svg"
    shown = looks[:HEADS]
    if seen.picture is not None:
        draw_on_picture(shown, seen.picture, str(file), "")
        return picture(file, "where each word of the caption looks in the picture")
    draw_attention(shown[:24], str(file), "", seen.links)
    drawn = folded("All heads as a picture", picture(file, "attention weights of each head"))
    return heads([(look.title, _short(look)) for look in shown], looks[0].says) + drawn


def _short(look: Look) -> dict[str, Any]:
    """A head as data, of the first words of a long text."""
    found = look.to_json()
    for side in ("rows", "columns"):
        found[side] = {**found[side], "labels": found[side]["labels"][:WORDS]}
    return {**found, "weights": [line[:WORDS] for line in found["weights"][:WORDS]]}


def _seen(run: Run, reads: _Reads) -> Seen:
    """What the heads read: what was asked for, a row of the world, or what the model says itself."""
    if run.description.task == "columns":
        return _columns(run, reads)
    text = reads.text
    if text is None:
        said = Speaker.of(run).generate([""], Decoding(temperature=1.0, seed=1, max_new_tokens=30))
        text = str(said[0])
    return Seen(Subject.of_run(run, text, checkpoint=reads.checkpoint))


def _columns(run: Run, reads: _Reads) -> Seen:
    """Of a model with several inputs."""
    row = _row(run, reads)
    return column_subject(run, reads.given, row=row, checkpoint=reads.checkpoint)


def _row(run: Run, reads: _Reads) -> int | None:
    """Only a built-in world has rows; of other data, what is read must be given."""
    world = "world" in run.description.data and not reads.given
    return 0 if reads.row is None and world else reads.row


def _inside(run: Run, folder: Path, checkpoint: str) -> str:
    found = inspect_run(run, checkpoint=checkpoint)
    drawn = [path for path in found.draw(folder) if path.suffix == ".svg"]
    says = "gradients through time, or eigenvalues of a step"
    return pre(inside_page(found)) + "".join(picture(path, says) for path in drawn)


TEMPERATURES = {0.0: 1, 0.7: 3, 1.0: 3}
"""With how many texts there are of each: at 0 all would be the same."""
LONGEST = 60
MARK = "✗ "


def samples(folder: Path, width: int = 80, seed: int = 1) -> str:
    """A few texts of a run, indented under their temperatures."""
    run = Run.open(folder)
    speaker = Speaker.of(run)
    name = run.description.data.get("world", {}).get("name")
    lines = []
    for temperature, number in TEMPERATURES.items():
        settings = Decoding(
            temperature=temperature, num_return_sequences=number, seed=seed, max_new_tokens=LONGEST
        )
        lines.append(f"temperature {temperature:g}")
        for text in speaker.generate([""], settings):
            said = " ".join(str(text).split())  # a terminal obeys none of it
            shown = "".join(c if c.isprintable() else "�" for c in said)
            mark = MARK if name is not None and not _allowed(name, shown) else "  "
            lines += wrap(shown, width, initial_indent=f"  {mark}", subsequent_indent=" " * 4)
    return "\n".join(lines)


def explained(folder: Path) -> str:
    """What the mark means, if there may be one."""
    name = Run.open(folder).description.data.get("world", {}).get("name")
    return f"✗: false in the world {name}, or not its grammar" if name else ""


def _allowed(name: str, sentence: str) -> bool:
    try:
        world(name).log_probability(sentence)
    except IndicialError:
        return False
    return True
