"""The site: every page is there, every link leads somewhere, equations are typeset without the net."""

import base64
import re
import zlib
from pathlib import Path

import pytest
import yaml

from indicial import library
from indicial.library.loading import load
from indicial.program.cost.cost import cost
from website import build

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*build.OTHERS, *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_pages_of_the_site(page: str) -> None:
    """Each link of a document is either one of the net, or leads to what the site has."""
    text = build._relinked((ROOT / page).read_text(encoding="utf-8"), ROOT / page)
    here = build._place(ROOT / page)
    assert here is not None
    known = {str(build._place(ROOT / p)) for p in PAGES}
    for link in build._LINK.finditer(build._CODE.sub("", text)):
        address = link[2].partition("#")[0]
        if not address or re.match("[a-z]+:", address):
            continue
        parts: list[str] = []
        for part in (*here.parts[:-1], *address.split("/")):
            parts = parts[:-1] if part == ".." else [*parts, part]
        to = "/".join(parts)
        assert to in known or (ROOT / "docs" / to).is_file(), link[0]


def test_packed_texts_are_those_of_the_lab() -> None:
    letters = build.packed("h[t,j] = σ(x)")
    data = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    assert zlib.decompress(data, -15).decode() == "h[t,j] = σ(x)"
    assert not set(letters) & set("+/=")


def test_every_page_is_in_the_navigation(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    for page in [*PAGES, "docs/library/index.md", "docs/library/rnn.md", "docs/new.md"]:
        place = pages / str(build._place(ROOT / page) or page.removeprefix("docs/"))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    build._settings(tmp_path, pages)
    nav = yaml.safe_load((tmp_path / "mkdocs.yml").read_text())["nav"]
    listed = [page for entry in nav for group in entry.values() for page in group]
    assert sorted(listed) == sorted(p.relative_to(pages).as_posix() for p in pages.rglob("*.md"))


def test_the_page_of_a_model() -> None:
    pytest.importorskip("latex2mathml")
    for name in ("ugrnn", "self_attention"):
        program = load(name)
        page = build.model_page(name, program)
        assert library.path(name).read_text(encoding="utf-8").rstrip() in page
        assert page.count("<mtr>") == len(program.written)
        assert "&amp;" not in page.partition("</math>")[0]
        for tensor in cost(program.code).parameters_by_tensor:
            assert tensor in page
        assert "operations" in page


def test_a_sheet_has_what_came_of_it() -> None:
    pytest.importorskip("latex2mathml")
    page = build._page(ROOT / "docs" / "problems" / "argmax.md")
    assert "claim holds" in page
    assert page.count('<div class="output">') == page.count("```indicial")
    assert "$$" not in page
    for output in re.findall(r'<div class="output">.*?</div>\n\n', page, re.DOTALL):
        assert "\n\n" not in output.rstrip()


def test_formulas() -> None:
    pytest.importorskip("latex2mathml")
    from indicial.inspect.svg import mathml

    made = mathml(r"\begin{aligned} y &= \cev{h} \\" + "\n" + r" z &\sim N(0, 1) \end{aligned}")
    assert made.count("<mtr>") == 2
    assert made.count("<mtd") == 4
    assert "cev" not in made
    text = "Costs $5 and $6, but $x_t$ and `$y$`:\n\n```text\n$$z$$\n```\n"
    shown = build._typeset(text)
    assert shown.count("<math") == 1
    assert "`$y$`" in shown and "$$z$$" in shown and "$5 and $6" in shown
