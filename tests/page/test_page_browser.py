"""The page in a real browser. Without Chromium, or the extra `browser`, there is nothing to try it in."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.chromium import chromium
from tests.decode.runs import make_run

CHROMIUM, ENVIRONMENT = chromium()
playwright = pytest.importorskip(
    "playwright.sync_api", reason="the extra `browser` is not installed: no tests in the browser"
)
pytestmark = [
    pytest.mark.skipif(
        not CHROMIUM, reason="there is no Chromium (`python -m tests.chromium` fetches one)"
    ),
    pytest.mark.long,
]
WRONG = "input x[t,k]\nh[t,j] = W[j,K] x[t,K] + h[t-1]\n"
PATIENCE = 60_000


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place = tmp_path_factory.mktemp("lab")
    make_run(place / "runs" / "former", "transformer", seed=3)
    command = [sys.executable, "-m", "indicial", "lab", "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=place, env=os.environ | {"BROWSER": "true"}
    )
    assert process.stdout is not None
    found = re.search(r"http\S+", process.stdout.readline())
    assert found is not None
    yield found.group()
    process.terminate()
    assert process.wait(20) is not None


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], env=ENVIRONMENT
        )
        yield made
        made.close()


@pytest.fixture
def page(browser: Any, link: str) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(link)
    page.wait_for_selector(".board .row")
    yield page
    context.close()
    assert troubles == []


def until(page: Any, holds: str, given: Any = None) -> None:
    """Waits for something to hold; Playwright's own way evaluates text, which the page forbids."""
    end = monotonic() + PATIENCE / 1000
    while not page.evaluate(holds, given):
        assert monotonic() < end, holds
        page.wait_for_timeout(30)


def write(page: Any, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_the_token_leaves_the_address_and_the_page_is_labelled(page: Any) -> None:
    assert "token" not in page.url
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, a[href], [role=tab]')]
        .filter(n => n.offsetParent && !(n.getAttribute('aria-label') || n.textContent.trim()
            || n.labels?.length)).map(n => n.outerHTML)"""
    )
    assert nameless == []
    assert page.get_by_role("tab", selected=True).count() == 1


def test_mistakes_are_marked_as_one_types_and_gone_when_mended(page: Any) -> None:
    write(page, WRONG)
    message = page.locator(".message.error").first
    message.wait_for()
    assert "^" in message.locator("pre").inner_text()
    assert page.locator(".cm-lintRange-error").count() >= 1
    write(page, WRONG.replace("h[t-1]", "h[t-1,j]"))
    until(page, "document.querySelector('.status').textContent === 'no mistakes'")
    assert page.locator(".message").count() == 0


def test_hovering_and_the_keyboard_tell_what_a_name_is(page: Any) -> None:
    write(page, "input x[k]\ny[j] = W[j,K] x[K]")
    until(page, "document.querySelector('.status').textContent === 'no mistakes'")
    until(page, "document.querySelector('.board').children.length === 2")
    page.keyboard.press("Home")
    page.keyboard.press("Control+i")
    until(page, "document.getElementById('said').textContent.includes('defined')")
    page.locator(".cm-content .tok-index").first.hover()
    page.wait_for_selector(".card")
    assert "k = 0..K-1" in page.locator(".card").inner_text()


@pytest.mark.parametrize(
    ("tab", "wanted"),
    [("Try", ".tensor table"), ("Claims", ".claim.good"), ("Graph", ".graph svg"),
     ("Gradient", "pre.page"), ("PyTorch", "pre.page"), ("Names", "table.facts")],
)  # fmt: skip
def test_tabs(page: Any, tab: str, wanted: str) -> None:
    page.get_by_role("tab", name=tab, exact=True).click()
    page.wait_for_selector(wanted)


def test_sizes_move_the_costs(page: Any) -> None:
    cell = page.locator("table.facts .number").first
    before = cell.inner_text()
    page.get_by_label("size J", exact=True).fill("1000")
    until(
        page,
        "before => document.querySelector('table.facts .number').textContent !== before",
        before,
    )


def test_a_link_holds_the_text(page: Any) -> None:
    write(page, "z[j] = tanh(u[j])  # 𝔼 ε")
    page.get_by_role("button", name="Copy link").click()
    until(page, "location.hash.startsWith('#eq=')")
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector(".cm-content")
    until(other, "document.querySelector('.cm-content').textContent.includes('𝔼 ε')")


def test_a_page_that_is_cut_off_goes_on(page: Any) -> None:
    page.route("**/ask/*", lambda route: route.abort())
    write(page, "input x[k]\ny[j] = W[j,K] x[K]\nz = y[J] y[J]")
    page.wait_for_selector(".trouble:visible")
    page.unroute("**/ask/*")
    page.wait_for_selector(".trouble", state="hidden")
    until(page, "document.querySelectorAll('.board > *').length === 3")
    page.reload()
    until(page, "document.querySelectorAll('.board > *').length === 3")


def test_attention_is_dragged_and_moved_by_keys(page: Any) -> None:
    page.get_by_role("link", name="Attention").click()
    dot = page.locator(".plane .dot.query").first
    before = dot.get_attribute("aria-valuetext")
    dot.focus()
    page.keyboard.press("ArrowUp")
    moved = dot.get_attribute("aria-valuetext")
    assert moved != before
    box = dot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] - 40, box["y"] + 60)
    page.mouse.up()
    assert dot.get_attribute("aria-valuetext") != moved
    page.get_by_role("button", name="Averaging").click()
    page.get_by_role("link", name="The problem sheet").click()
    until(
        page,
        "document.querySelector('.look select')?.selectedOptions[0]?.textContent === 'Averaging two'",
    )


def test_runs_write_and_look(page: Any) -> None:
    page.get_by_role("link", name="Runs").click()
    page.wait_for_selector(".written .token")
    # Nothing was stopped here, so there is nothing to go on with.
    assert page.get_by_role("button", name="Go on training").count() == 0
    page.locator(".written .token").nth(1).hover()
    assert page.locator("table.others tr").count() > 2
    page.get_by_label("heads read").fill("ab ba")
    page.wait_for_selector(".thumb")
    assert page.locator(".thumb").count() == 2
    page.locator(".thumb").nth(1).click()
    assert page.locator(".thumb").nth(1).get_attribute("aria-pressed") == "true"


def test_a_matrix_is_judged_as_one_types(page: Any) -> None:
    page.get_by_role("link", name="By hand").click()
    page.wait_for_selector(".verdict .status.good")
    page.get_by_label("W^K, i=0, p0").fill("-5")
    page.wait_for_selector(".verdict .status.bad")
    page.get_by_role("button", name="The design by hand").click()
    page.wait_for_selector(".verdict .status.good")


def test_nothing_is_wider_than_a_phone(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for name in ("Equations", "Attention", "By hand", "Runs"):
        page.get_by_role("link", name=name).click()
        page.wait_for_timeout(300)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, name


def test_a_link_without_its_token_is_refused(browser: Any, link: str, tmp_path: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(link.partition("?")[0])
    assert "not complete" in page.content()
    context.close()
