"""The page in the system's Chromium: how fluid it is, and its pictures for docs/lab.md.

    .venv/bin/pip install -c constraints.txt -e ".[browser]"
    .venv/bin/python -m bench.lab.browser              figures
    .venv/bin/python -m bench.lab.browser --pictures   docs/pictures/lab_*.png

Told are the time until the first view is whole, what typing costs from a key to the messages, and how
long the frames are while the pointer goes over 100 heads of 200 tokens each.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from bench.lab.serving import lab
from indicial.cli import main as indicial_command
from indicial.page.protocol import QUESTIONS
from indicial.page.wire import checked

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
HEADS, TOKENS = 100, 200
TRAINING = ["--data", "village", "--world-size", "2000", "--max-steps", "120", "--set", "J=32",
            "--set", "L=2", "--set", "K=4"]  # fmt: skip
WRONG = """# each word is predicted from a state that has read it
input w[t] in V
h[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t],j] - B[j])
P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.lab.browser", description=__doc__)
    parser.add_argument("--pictures", action="store_true", help="make those of docs/lab.md again")
    with tempfile.TemporaryDirectory() as place, opened() as browser:
        folder = Path(place)
        if parser.parse_args().pictures:
            with_runs(folder)
            pictures(browser, folder)
        else:
            figures(browser, folder)
    return 0


@contextmanager
def opened() -> Iterator[Any]:
    where = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=where, args=["--no-sandbox"])
        yield browser
        browser.close()


def page_of(browser: Any, link: str, dark: bool = False, width: int = 1280) -> Any:
    scheme = "dark" if dark else "light"
    context = browser.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme)
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(link)
    return page


# ---------------------------------------------------------------------- figures


def figures(browser: Any, folder: Path) -> None:
    (folder / "runs" / "wide").mkdir(parents=True)
    described = {"title": "wide", "data": {"name": "none"}, "task": "language", "sizes": {},
                 "created": ""}  # fmt: skip
    (folder / "runs" / "wide" / "run.json").write_text(json.dumps(described), encoding="utf-8")
    with lab("transformer", folder=folder) as link:
        page = page_of(browser, link)
        page.wait_for_selector(".plot")
        meter = page.context.new_cdp_session(page)
        meter.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.reload()  # with all that is imported once
        page.wait_for_selector(".board .row")
        first = page.evaluate("performance.now()")
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        metrics = meter.send("Performance.getMetrics")["metrics"]
        busy = 1000 * next(m["value"] for m in metrics if m["name"] == "TaskDuration")
        print(f"first view: paint after {paint:.0f} ms, typeset after {first:.0f} ms; "
              f"{busy:.0f} ms of the page's processor time")  # fmt: skip
        typing(page)
        heads(page)


def typing(page: Any) -> None:
    page.wait_for_selector(".plot")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.evaluate("performance.clearMeasures()")
    read = "performance.getEntriesByName('read').map(e => e.duration)"
    found: list[float] = []
    for letter in "z[j] = tanh(y[0,j])":
        page.keyboard.type(letter)
        before = len(found)
        while len(found) == before:
            page.wait_for_timeout(50)
            found = page.evaluate(read)
    print(f"transformer, a key to its messages: median {statistics.median(found):.0f} ms, "
          f"worst {max(found):.0f} ms of {len(found)}")  # fmt: skip


def answering(body: str) -> Any:
    return lambda route: route.fulfill(body=body, content_type="application/json")


def heads(page: Any) -> None:
    rng = np.random.default_rng(0)
    labels = [f" word{n}" for n in range(TOKENS)]
    looks = []
    for number in range(HEADS):
        weights = np.tril(rng.random((TOKENS, TOKENS)) ** 8)
        weights /= weights.sum(1, keepdims=True) + 1e-9
        packed = base64.b64encode((weights * 65535).astype("<u2").tobytes()).decode()
        looks.append({"name": "α", "layer": number // 10 + 1, "head": number % 10, "place": "",
                      "rows": labels, "columns": labels, "says": "", "weights": packed,
                      "links": []})  # fmt: skip
    told = {
        "inputs": {
            "texts": ["text"],
            "targets": [],
            "rows": False,
            "writes": False,
            "answers": False,
        },
        "attend": {"looks": looks, "left_out": 0, "cut": 0, "picture": ""},
    }
    for name, answer in told.items():
        checked(QUESTIONS[name][1], answer)
    for name, answer in told.items():
        page.route(f"**/ask/{name}", answering(json.dumps({"answer": answer})))
    page.get_by_role("link", name="Runs").click()
    page.get_by_label("heads read").fill("words")
    page.wait_for_selector(".thumb")
    page.evaluate(
        """() => { window.frames_ = []; let last = performance.now();
        const tick = now => { window.frames_.push(now - last); last = now;
            requestAnimationFrame(tick); }; requestAnimationFrame(tick); }"""
    )
    for number in range(0, HEADS, 4):
        page.locator(".thumb").nth(number).hover()
    box = page.locator(".map canvas").bounding_box()
    for step in range(60):
        page.mouse.move(box["x"] + 4 + step * 5, box["y"] + 4 + step * 5)
    frames = sorted(page.evaluate("window.frames_")[1:])
    print(f"{HEADS} heads of {TOKENS} tokens: frames of {statistics.median(frames):.0f} ms in the "
          f"median, {frames[len(frames) * 95 // 100]:.0f} ms at 95 %")  # fmt: skip


# ---------------------------------------------------------------------- pictures


def with_runs(folder: Path) -> None:
    """Two small runs, in half a minute."""
    for name in ("ugrnn", "transformer"):
        sizes = TRAINING if name == "transformer" else TRAINING[:8]
        indicial_command(["train", name, *sizes, "--out", str(folder / "runs" / name)])


def pictures(browser: Any, folder: Path) -> None:
    with lab("transformer", folder=folder) as link:
        page = page_of(browser, link)
        page.wait_for_selector(".plot")
        page.screenshot(path=PICTURES / "lab_equations.png")
        page.locator(".cm-content").click()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(WRONG)
        page.wait_for_selector(".message")
        page.wait_for_timeout(500)
        page.screenshot(path=PICTURES / "lab_messages.png",
                        clip={"x": 0, "y": 0, "width": 640, "height": 540})  # fmt: skip
        page.get_by_role("link", name="Attention").click()
        page.get_by_role("button", name="Noisy keys").click()
        page.screenshot(path=PICTURES / "lab_attention.png")
        page.get_by_role("link", name="By hand").click()
        page.wait_for_selector(".verdict .status")
        page.get_by_role("button", name="Learn it").click()
        page.wait_for_selector("text=What is the same in both")
        page.wait_for_timeout(1500)
        page.screenshot(path=PICTURES / "lab_designs.png")
        page.get_by_role("link", name="Runs").click()
        page.wait_for_selector(".written .token")
        page.get_by_label("prompt").fill("the mayor of")
        page.get_by_label("heads read").fill(
            "the mayor of Bergen is old and the dog of the mayor is here ."
        )
        page.wait_for_selector(".thumb")
        page.wait_for_timeout(2500)
        page.set_viewport_size({"width": 1280, "height": 1250})
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(800)
        page.screenshot(path=PICTURES / "lab_runs.png")


if __name__ == "__main__":
    raise SystemExit(main())
