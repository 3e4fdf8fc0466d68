"""How quickly the lab answers, alone and with many pages at once.

    .venv/bin/python -m bench.lab.load                 every model alone, then 50 pages for 20 seconds
    .venv/bin/python -m bench.lab.load --pages 10 --seconds 5

Alone: each model of the library is changed by a sign and read again, as one types; the median of
five, over the wire and in processor time of the computation alone. Once the sign is a line's end, and
once a digit in the first equation that can be multiplied by a number, which gives all that is computed
from it another meaning: what was tried on values is tried again. Together: each page has a model
of its own, changes it every half second and asks for messages and costs. Told are percentiles, and
how many were refused.
"""

from __future__ import annotations

import argparse
import random
import statistics
import threading
from time import monotonic, process_time, sleep

from bench.lab.serving import Client, lab
from indicial import library
from indicial.page.wire import answer

PAUSE = 0.5
AGAIN = 5


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.lab.load", description=__doc__)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    with lab() as link:
        alone(link)
        together(link, options.pages, options.seconds)
    return 0


def alone(link: str) -> None:
    client = Client(link)
    client.ask("view", {"text": "y = x", "program": 0, "what": "torch"})  # once PyTorch is there
    rows: list[list[tuple[float, str]]] = [[], []]
    spent: list[list[tuple[float, str]]] = [[], []]
    for name in library.names():
        text = library.path(name).read_text(encoding="utf-8")
        for way, changed in enumerate((lengthened, multiplied)):
            if texts := changed(text):
                times = [client.ask("read", {"text": one})[1] for one in texts]
                rows[way].append((statistics.median(times), name))
                spent[way].append((processor(texts), name))
    for way, what in enumerate(("a line's end", "another factor")):
        report(f"read after {what}", rows[way])
        report("processor time of the same", spent[way])


def lengthened(text: str) -> list[str]:
    return [text + "\n" * n for n in range(1, AGAIN + 1)]


def multiplied(text: str) -> list[str]:
    """The first equation that can be, times a number; nothing where none can be."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        left, sign, right = line.partition(" = ")
        if not sign or line.startswith(("#", "P(")):
            continue
        found = [
            "\n".join([*lines[:number], f"{left} = 1.{n} {right}", *lines[number + 1 :], ""])
            for n in range(1, AGAIN + 1)
        ]
        if not answer("read", {"text": found[0]})["answer"]["messages"]:
            return found
    return []


def processor(texts: list[str]) -> float:
    """What the computation takes of the processor, whatever else runs."""
    times = []
    for text in texts:
        begun = process_time()
        answer("read", {"text": text})
        times.append(process_time() - begun)
    return statistics.median(times)


def report(what: str, rows: list[tuple[float, str]]) -> None:
    rows.sort(reverse=True)
    within = sum(seconds < 0.1 for seconds, _ in rows)
    middle = statistics.median(seconds for seconds, _ in rows)
    print(f"{what}, {len(rows)} models: median {1000 * middle:.0f} ms,")
    print(f"  {within} within 100 ms; the slowest:")
    for seconds, name in rows[:3]:
        print(f"  {name:<26} {1000 * seconds:.0f} ms")


def together(link: str, pages: int, seconds: float) -> None:
    times: list[float] = []
    failed: list[str] = []
    end = monotonic() + seconds
    names = library.names()

    def typed(number: int) -> None:
        drawn = random.Random(number)
        client = Client(link, f"page {number}")
        text = library.path(names[number % len(names)]).read_text(encoding="utf-8")
        while monotonic() < end:
            text += "\n"
            told, taken = client.ask("read", {"text": text})
            times.append(taken)
            if "answer" not in told:
                failed.append(str(told))
            told, _ = client.ask("facts", {"text": text, "program": 0, "sizes": {"T": 32}})
            if "answer" not in told:
                failed.append(str(told))
            sleep(PAUSE * (0.5 + drawn.random()))

    threads = [threading.Thread(target=typed, args=(n,)) for n in range(pages)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    print(f"{pages} pages for {seconds:g} s: {len(times)} texts read, {len(failed)} refused;")
    for share in (50, 90, 99):
        print(
            f"  {share} % within {1000 * times[min(len(times) - 1, len(times) * share // 100)]:.0f} ms"
        )
    for one in failed[:3]:
        print(f"  {one:.200}")


if __name__ == "__main__":
    raise SystemExit(main())
