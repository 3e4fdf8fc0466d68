"""Runs as an attacker or a failing disk would leave them: changed at random, then used.

    python -m tests.fuzz.run_folders 10000 --seed 1

Each attempt copies a good run, changes it in one to three ways, and opens, reads, generates, evaluates
and sometimes resumes it. It must work or end in an `IndicialError`: no other exception, no hang, and no
file outside the folder may be opened.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LONGEST = 60
"""Seconds that an attempt may take; a loaded machine is slow."""

MEMORY = 12 << 30
"""Bytes of addresses; PyTorch alone takes half of them."""

ODD: list[Any] = [
    None, True, -1, 0, 1, 2, 10**9, 10**30, -(10**30), 1e308, float("inf"), float("nan"), 0.5, "", "x",
    "\x1b[31m", "../../etc/passwd", "/dev/zero", "a" * 5000, [], [1], [[]], {}, {"a": 1}, {"": None},
    "\ud800", "0", [None] * 3,
]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as place:
        os.environ["INDICIAL_CACHE"] = str(Path(place) / "cache")
        os.environ["INDICIAL_NATIVE"] = "0"  # equations change all the time, and compile slowly
        begun = time.time()
        found = attack(Path(place), options.count, options.seed, tell=print)
    print(f"{options.count:,} attempts in {time.time() - begun:.0f} s: {dict(found)}")
    sys.exit(found["bad"] > 0)


def attack(
    place: Path, count: int, seed: int, tell: Callable[[str], object] | None = None
) -> Counter[str]:
    """So many attempts; how they ended. `AssertionError` at the first that ended badly, or, where `tell`
    hears of each, at the end."""
    from tests.decode.runs import make_run

    good = place / "good"
    make_run(good, "trigram", context=8, seed=3, max_steps=1, batch_size=2)
    (good / "metrics.jsonl").write_text('{"step": 1, "loss": 2.5}\n')
    (place / "outside").mkdir()
    (place / "outside" / "secret").write_text("secret")
    (place / "text.txt").write_text("abab ba\n")
    found: Counter[str] = Counter()
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        folder = place / f"run-{number}"
        shutil.copytree(good, folder)
        ways = [rng.choice(WAYS) for _ in range(rng.choice([1, 1, 2, 3]))]
        said = []
        for way in ways:
            with contextlib.suppress(
                OSError, ValueError, KeyError, TypeError, IndexError, RecursionError
            ):
                said.append(f"{way.__name__}: {way(folder, rng, place / 'outside')}")
        try:
            with watchdog(), watched(place / "outside"):
                ended = use(folder, place / "text.txt", rng)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            told = "".join(traceback.format_exception(error))
            told = f"seed {seed}, attempt {number}, {said}:\n{told}"
            if tell is None:
                raise AssertionError(told) from error
            tell(told)
            ended = "bad"
        found[ended] += 1
        if tell and number % 500 == 499:
            tell(f"{number + 1:,}: {dict(found)}")
        shutil.rmtree(folder, ignore_errors=True)
    return found


def use(folder: Path, text: Path, rng: random.Random) -> str:
    """What people do with a run; how far it goes."""
    import torch

    from indicial.lab.compare import Run
    from indicial.program.messages import IndicialError

    kind = rng.random()
    try:
        run = Run.open(folder)
        if kind < 0.1:
            run.evaluate([str(text)])
        elif kind < 0.15:
            from indicial.training.curves import draw_curves

            draw_curves(run.metrics, folder)
        elif kind < 0.2:
            with run.claimed():
                run.mend(run.tokenizer())
        elif kind < 0.25:
            from indicial.training.settings import Settings
            from indicial.training.train import resume

            resume(str(folder), Settings.read({"data": [str(text)]}))
        else:
            torch.manual_seed(0)
            run.generate("ab", max_new_tokens=3)
    except (IndicialError, OSError) as error:
        assert str(error)
        return "message"
    return "used"


@contextlib.contextmanager
def watchdog() -> Iterator[None]:
    """A hang is an exception like others."""

    def bark(*_: object) -> None:
        raise TimeoutError(f"no end within {LONGEST} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


_forbidden: list[str] = []
_opened: list[str] = []
_hooked: list[bool] = []


@contextlib.contextmanager
def watched(outside: Path) -> Iterator[None]:
    """Whoever opens something there, or a device, is found out."""
    if not _hooked:
        sys.addaudithook(_heard)
        _hooked.append(True)
    _forbidden[:] = [str(outside), "/dev/zero", "/etc/passwd"]
    _opened.clear()
    try:
        yield
    finally:
        _forbidden.clear()
    assert not _opened, f"opened {_opened}"


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _forbidden and isinstance(arguments[0], str):
        path = arguments[0] if arguments[0].startswith("/proc") else os.path.realpath(arguments[0])
        if any(path.startswith(one) for one in _forbidden):
            _opened.append(path)


# ---------------------------------------------------------------------- the ways to change a run


def files(folder: Path) -> list[Path]:
    plain = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]
    return sorted(p for p in plain if p.stat().st_size < 1 << 20)


def some_value(folder: Path, rng: random.Random, outside: Path) -> str:
    """One value of a JSON file, the checksum of a checkpoint made anew."""
    path = rng.choice([p for p in files(folder) if p.suffix == ".json"])
    content = json.loads(path.read_text())
    place, key = rng.choice(_places(content))
    odd = rng.choice(ODD)
    action = rng.random()
    if action < 0.6:
        place[key] = odd
    elif action < 0.75:
        del place[key]
    elif isinstance(place, dict):
        place["odd"] = odd
    else:
        place.insert(key, odd)
    if "checkpoint" in content and rng.random() < 0.9:
        body = json.dumps(content["checkpoint"], ensure_ascii=False)
        content["sha256"] = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()
    indent = 1 if "checkpoint" in content else None
    path.write_text(
        json.dumps(content, ensure_ascii=False, indent=indent), encoding="utf-8", errors="replace"
    )
    return f"{path.name} {key}: {odd!r:.30} ({action:.2f})"


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one))
        for key in keys:
            found.append((one, key))
            if isinstance(one[key], dict | list):
                waiting.append(one[key])
    return found


def some_bytes(folder: Path, rng: random.Random, outside: Path) -> str:
    path = rng.choice(files(folder))
    content = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(content) + 1)
        how = rng.randrange(4)
        if how == 0 and at < len(content):
            content[at] = rng.randrange(256)
        elif how == 1:
            del content[at:]
        elif how == 2:
            content[at:at] = rng.randbytes(rng.randint(1, 50))
        else:
            del content[at : at + rng.randint(1, 50)]
    path.write_bytes(bytes(content))
    return path.name


def equations(folder: Path, rng: random.Random, outside: Path) -> str:
    (path,) = (p for p in files(folder) if p.name == "run.json")
    content = json.loads(path.read_text())
    entry = rng.choice(content["equations"])
    text = entry["text"]
    at = rng.randrange(len(text) + 1)
    signs = [
        "[t]",
        "(",
        ")",
        "Σ_t ",
        "W",
        "1e999",
        "/0",
        "\n",
        "{",
        "\\input{/etc/passwd}",
        "^",
        "$$",
        "e",
    ]
    odd = rng.choice(signs)
    entry["text"] = text[:at] + odd + text[at + rng.randrange(3) :]
    if rng.random() < 0.2:
        entry["name"] = rng.choice(["/etc/passwd.tex", "x.md", "x.tex", "x.ipynb", "", "\0"])
    path.write_text(json.dumps(content))
    return f"{odd!r} at {at}"


def tensors(folder: Path, rng: random.Random, outside: Path) -> str:
    """The header or the body of the weights, with a record that agrees."""
    (path,) = (p for p in files(folder) if p.name == "tensors.safetensors")
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, body = json.loads(content[8 : 8 + size]), content[8 + size :]
    name = rng.choice([n for n in header if n != "__metadata__"])
    how = rng.randrange(6)
    if how == 0:
        header[name]["dtype"] = rng.choice(["F64", "I8", "BOOL", "F8_E4M3", "C64", "XX", 3])
    elif how == 1:
        header[name]["shape"] = rng.choice([[10**12], [], [-1], [0], "x", [2**63], [1] * 40])
    elif how == 2:
        header[name]["data_offsets"] = rng.choice([[0, 10**15], [5, 1], [0], [-4, 4], "x"])
    elif how == 3:
        header[rng.choice(["model/other", "", "__metadata__", "a" * 9999])] = header.pop(name)
    elif how == 4:
        body = body[: rng.randrange(len(body))]
    text = json.dumps(header).encode()
    length = len(text) if how < 5 else rng.choice([0, 2**63, 2**64 - 1, 10**9, len(text) - 1])
    made = length.to_bytes(8, "little") + text + body
    path.write_bytes(made)
    (record,) = (p for p in files(folder) if p.name == "checkpoint.json")
    said = json.loads(record.read_text())["checkpoint"]
    said["files"] = {path.name: {"bytes": len(made), "sha256": hashlib.sha256(made).hexdigest()}}
    digest = hashlib.sha256(json.dumps(said, ensure_ascii=False).encode()).hexdigest()
    record.write_text(
        json.dumps({"checkpoint": said, "sha256": digest}, ensure_ascii=False, indent=1)
    )
    return f"{name} {how}"


def replaced(folder: Path, rng: random.Random, outside: Path) -> str:
    """Something else in the place of a file or folder."""
    every = [
        *files(folder),
        folder / "checkpoints",
        *folder.glob("checkpoints/*"),
        folder / ".claim",
    ]
    path = rng.choice(every)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    what = rng.choice(
        ["pipe", "zero", "secret", "folder", "nothing", "empty", "loop", "sparse", "dangling"]
    )
    if what == "pipe":
        os.mkfifo(path)
    elif what == "zero":
        path.symlink_to("/dev/zero")
    elif what == "secret":
        path.symlink_to(rng.choice([outside / "secret", outside]))
    elif what == "folder":
        path.mkdir()
    elif what == "empty":
        path.touch()
    elif what == "loop":
        path.symlink_to(path)
    elif what == "dangling":
        path.symlink_to(outside / "new")
    elif what == "sparse":
        with path.open("wb") as file:
            file.truncate(1 << 40)
    return f"{path.name} is {what}"


def deep(folder: Path, rng: random.Random, outside: Path) -> str:
    """JSON or a line of metrics that is nested without end."""
    path = rng.choice([p for p in files(folder) if p.suffix in (".json", ".jsonl")])
    path.write_text(
        rng.choice(["[" * 100_000, '{"a":' * 100_000, "[" * 90_000 + "]" * 90_000 + "\n"])
    )
    return path.name


def metrics(folder: Path, rng: random.Random, outside: Path) -> str:
    lines = [{"step": rng.choice(ODD), "loss": rng.choice(ODD), "validation": rng.choice(ODD),
              "tokens": rng.choice(ODD)} for _ in range(3)]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in [{"step": 1, "loss": 2.0}, *lines])
    path = folder / "metrics.jsonl"
    path.unlink(missing_ok=True)  # it may be a pipe by now, which nobody reads
    path.write_text(text)
    return text[:200]


WAYS: list[Callable[[Path, random.Random, Path], str]] = [
    some_value, some_value, some_value, some_bytes, some_bytes, equations, tensors, tensors, replaced,
    replaced, deep, metrics,
]  # fmt: skip


if __name__ == "__main__":
    main()
