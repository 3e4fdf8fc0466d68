"""The frame of a report: one HTML file that stands alone, for any screen, light or dark.

>>> page("ugrnn on people", [Section("Equations", "<math>…</math>")])
'<!doctype html>…'

Nothing is loaded: pictures are part of the file, and the script for the heads of attention is a page long.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from indicial.decode.text import Token, Written
from indicial.program.outputs import MADE

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
