"""What the page shows of runs: curves while they grow, text with its alternatives, what heads look at.

    found(["runs"])                             →   {"runs/names-1": /home/me/runs/names-1}
    curves({"run": "names-1", "known": 0, …})   →   the steps since byte 0 of its metrics

A run is named by its folder, and only those in the folders that the lab was called with exist.

Trainings that are started from the page: one at a time, in a process of its own.

    trainings = Trainings(["/home/me/runs", "/home/me/texts"])
    trainings.start({"text": "…", "data": "people", "minutes": 2, …})      →   the run lab-1 in the first
    trainings.start({"text": "…", "data": "texts/book.txt", …})            →   on a file of the second
    trainings.stop()         it saves, as at Ctrl-C
    trainings.go_on("lab-1")

What is trained is the text of the page, on a built-in world or a file that lies in the lab's folders: what
comes over the wire is one of the names that were listed, and no path. A training ends with the lab, and
saves before it does.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from indicial.data.world import tables, worlds
from indicial.page import protocol
from indicial.page.equations import LONGEST_TEXT
from indicial.program.inputs import Unfit, json_of, open_plain
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.data.world.world import Link
    from indicial.decode.answers import Answerer
    from indicial.decode.text import Speaker
    from indicial.inspect.attention import Look
    from indicial.training.run import Run


FOLDERS: list[str] = []
"""Where this process looks for runs: what the lab was called with."""
MOST_NEW = 400
LONGEST_PROMPT = 20_000
MOST_WEIGHTS = 6_000_000
"""Of all heads together; more would take a browser seconds to read."""
MOST_RUNS = 500
LAST_ROW = 9999
"""Of a world; they are made one after the other."""


def is_run(folder: Path) -> bool:
    return (folder / "run.json").is_file()


def runs_in(folder: Path) -> Iterator[Path]:
    """A run itself, or the runs that lie in a folder."""
    if is_run(folder):
        yield folder
    elif folder.is_dir():
        entries = (entry for entry in sorted(folder.iterdir()) if not entry.is_symlink())
        yield from (entry for entry in entries if entry.is_dir() and is_run(entry))


def found(folders: Sequence[str]) -> dict[str, Path]:
    """The runs that there are now, by their names; one that comes twice has its folder before it."""
    names: dict[str, Path] = {}
    for folder in map(Path, folders):
        with contextlib.suppress(OSError):
            for path in runs_in(folder):
                if path in names.values():
                    continue
                name = path.name if path.name not in names else f"{path.parent.name}/{path.name}"
                names.setdefault(name, path)
                if len(names) == MOST_RUNS:
                    return names
    return names


def _folder(name: str) -> Path:
    folder = found(FOLDERS).get(name)
    if folder is None:
        raise IndicialError(f"there is no run {name} in the folders of this lab")
    return folder


# ---------------------------------------------------------------------- which there are


def runs(_: protocol.Nothing) -> protocol.Runs:
    """All runs with a line on each; what cannot be read is left out."""
    rows: list[protocol.RunOf] = []
    for name, folder in found(FOLDERS).items():
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            said = json_of((folder / "run.json").read_bytes())
            rows.append(
                {
                    "name": name,
                    "title": str(said.get("title", "")),
                    "data": str(said["data"].get("name", "")),
                    "task": str(said["task"]),
                    "sizes": ", ".join(f"{n} = {v}" for n, v in said["sizes"].items()),
                    "created": str(said["created"]),
                    "training": _is_trained(folder),
                }
            )
    rows.sort(key=lambda row: row["created"], reverse=True)
    return {"runs": rows}


def _is_trained(folder: Path) -> bool:
    """Whether a process trains here now: it holds the lock."""
    import fcntl

    try:
        with open(folder / ".claim", encoding="utf-8") as claim:
            fcntl.flock(claim, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


# ---------------------------------------------------------------------- curves


def curves(question: protocol.AskCurves) -> protocol.Curves:
    """What was written of a training since the page asked last."""
    folder = _folder(question["run"])
    told: protocol.Curves = {
        "fresh": False,
        "known": question["known"],
        "training": _is_trained(folder),
        "of": 0,
        "steps": [],
        "loss": [],
        "validated": [],
        "validation": [],
        "entropy": None,
    }
    try:
        with open(open_plain(folder / "metrics.jsonl", os.O_RDONLY), "rb") as file:
            if os.fstat(file.fileno()).st_size < question["known"]:
                told["known"], told["fresh"] = 0, True  # it went on from an earlier checkpoint
            file.seek(told["known"])
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it is still being written
                told["known"] += len(line)
                with contextlib.suppress(ValueError):
                    _add(told, json_of(line))
    except (OSError, Unfit):
        pass  # nothing was written yet
    return told


def _add(told: protocol.Curves, line: Any) -> None:
    if not isinstance(line, dict) or not isinstance(line.get("step"), int):
        return
    validation = line.get("validation")
    if isinstance(validation, dict):
        told["validated"].append(line["step"])
        told["validation"].append(_number(validation.get("loss")))
        told["entropy"] = _number(validation.get("entropy"))
    else:
        told["steps"].append(line["step"])
        told["loss"].append(_number(line.get("loss")))
        told["of"] = line["of"] if isinstance(line.get("of"), int) else 0


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


# ---------------------------------------------------------------------- text


def _opened(name: str) -> Run:
    from indicial.training.run import Run

    return Run.open(_folder(name))


def _speaker(name: str) -> Speaker:
    from indicial.decode.text import Speaker

    return cast("Speaker", _model(name, Speaker.of))


def _answerer(name: str) -> Answerer:
    from indicial.decode.answers import Answerer

    return cast("Answerer", _model(name, Answerer.of))


def _model(name: str, made: Callable[[str], object]) -> object:
    run = _opened(name)
    return _remembered(made, str(run.folder), run.checkpoint("best").step)


@lru_cache(3)
def _remembered(made: Callable[[str], object], folder: str, step: int) -> object:
    """The model of a run as of a step; making it takes a second."""
    import torch

    torch.set_num_threads(1)
    return made(folder)


def generate(question: protocol.AskText) -> protocol.Made:
    """A text that goes on from a prompt, each token with what might have stood in its place."""
    from indicial.decode.settings import Decoding
    from indicial.decode.text import with_alternatives

    if len(question["prompt"]) > LONGEST_PROMPT:
        raise IndicialError(f"a prompt has at most {LONGEST_PROMPT:,} characters")
    settings = Decoding.read(
        {
            "temperature": question["temperature"],
            "top_p": question["top_p"],
            "seed": question["seed"],
            "max_new_tokens": min(max(1, question["count"]), MOST_NEW),
        }
    )
    made = with_alternatives(_speaker(question["run"]), question["prompt"], settings)
    told = asdict(made)
    loop = told.pop("loop") or {"start": -1, "period": 0}
    found: Any = {**told, "loop": loop["start"], "period": loop["period"]}
    return cast("protocol.Made", found)


# ---------------------------------------------------------------------- attention and answers


def attend(question: protocol.AskLooks) -> protocol.Looks:
    """What each head looks at on a text."""
    from indicial.inspect import attention
    from indicial.inspect.subjects import Seen, Subject, column_subject

    run = _opened(question["run"])
    if run.description.task == "columns":
        seen = column_subject(run, _cells(run, question))
    else:
        text = question["inputs"].get("text", "")[:LONGEST_PROMPT]
        seen = Seen(Subject.of_speaker(_speaker(question["run"]), text))
    looks = attention.attend(seen.subject)
    room, kept = MOST_WEIGHTS, []
    for look in looks:
        room -= look.weights.size
        if room >= 0:
            kept.append(_look(look, seen.links))
    return {
        "looks": kept,
        "left_out": len(looks) - len(kept),
        "cut": sum(text.left_out for text in seen.subject.texts),
        "picture": "" if seen.picture is None else _address(seen.picture),
    }


def said(question: protocol.AskLooks) -> protocol.Said:
    """What a model with several inputs says of them: a text, a label, or something of each word."""
    from indicial.inspect.pictures import heads_of

    answerer = _answerer(question["run"])
    cells = _cells(_opened(question["run"]), question)
    (answer,) = answerer.answers([cells])
    parse = answerer.parsed(cells, answer)
    arcs = heads_of(parse) if parse else []
    return {
        "text": "" if parse else answer.text,
        "others": [{"text": label, "probability": chance} for label, chance in answer.others],
        "words": parse.get("form", []),
        "tags": list(map(str, parse.get("upos", []))),
        "arcs": [{"word": arc.word, "head": arc.head, "label": arc.label} for arc in arcs],
    }


def _cells(run: Run, question: protocol.AskLooks) -> dict[str, Any]:
    """What is read, by the names of inputs: a row of the world, or texts. A text is never the name of a file,
    as it would be where a picture or an array is expected."""
    from indicial.inspect.subjects import row_of
    from indicial.tasks.forms import form_of

    if question["row"] > LAST_ROW:
        raise IndicialError(f"rows are shown up to {LAST_ROW:,}")
    if not question["inputs"]:
        return row_of(run, max(0, question["row"]), form_of(run.program))
    codings, cells = run.codings(), {}
    for name, text in question["inputs"].items():
        if len(text) > LONGEST_PROMPT:
            raise IndicialError(f"a text has at most {LONGEST_PROMPT:,} characters")
        if name not in codings or codings[name].kind == "image":
            raise IndicialError(f"{name} is no text; choose a row of the data instead")
        cells[name] = text if codings[name].size is not None else text.split()
    return cells


def _look(look: Look, links: Sequence[Link]) -> protocol.Look:
    import numpy as np

    from indicial.inspect.attention_views import framed

    scaled = np.clip(np.nan_to_num(look.weights) * 65535 + 0.5, 0, 65535).astype("<u2")
    return {
        "name": look.name,
        "layer": look.layer,
        "head": look.head,
        "place": look.at or "",
        "rows": list(look.rows.labels),
        "columns": list(look.columns.labels),
        "says": look.says,
        "weights": base64.b64encode(np.ascontiguousarray(scaled).tobytes()).decode("ascii"),
        "links": [{"row": r, "column": c, "sure": sure} for r, c, sure in framed(look, links)],
    }


def _address(picture: Any) -> str:
    """A picture as an address that holds it."""
    import numpy as np
    from PIL import Image

    data = io.BytesIO()
    Image.fromarray(np.asarray(picture, np.uint8).squeeze()).save(data, "PNG")
    return f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode('ascii')}"


def inputs(question: protocol.AskRun) -> protocol.Inputs:
    """What the model of a run reads: texts by name, or rows of a built-in world."""
    from indicial.data.world import tables

    run = _opened(question["run"])
    task = run.description.task
    if task != "columns":
        writes = task != "blank"
        return {"texts": ["text"], "targets": [], "rows": False, "writes": writes, "answers": False}
    from indicial.data.binding import spelt
    from indicial.tasks.forms import form_of

    form, codings = form_of(run.program), run.codings()
    given = [slot.name for slot in form.given if spelt(slot, form.given) is None]
    predicted = [part.slot.name for part in form.parts]
    seen = any(codings[name].kind == "image" for name in given)
    return {
        "texts": [] if seen else given,
        "targets": [] if seen else [name for name in predicted if codings[name].kind == "text"],
        "rows": str(run.description.data.get("name")) in tables(),
        "writes": False,
        "answers": True,
    }


def folders_from(words: str) -> None:
    """Takes the folders that the lab was called with, as JSON."""
    FOLDERS[:] = [str(folder) for folder in json.loads(words)]


MOST_MINUTES = 60
MOST_FILES = 200
KINDS = (".txt", ".tsv", ".csv", ".jsonl", ".ndjson", ".conllu", ".conll", ".parquet", ".npz")
"""How the names of data end; .gz may follow."""
TOLD = 4000
"""Characters of what a training said last."""
_SIZE = re.compile(r"\w[\w{}^,]*", re.UNICODE)


def data_in(folders: Sequence[str]) -> dict[str, Path]:
    """The files that can be trained on, by the names that the page shows: `texts/book.txt`."""
    found: dict[str, Path] = {}
    for folder in map(Path, folders):
        with contextlib.suppress(OSError):
            for path in sorted(folder.iterdir()):
                fits = path.name.lower().removesuffix(".gz").endswith(KINDS)
                if fits and path.is_file() and not path.is_symlink() and len(found) < MOST_FILES:
                    found[f"{folder.resolve().name}/{path.name}"] = path.resolve()
    return found


class Trainings:
    """The training that was started last, if any."""

    def __init__(self, folders: Sequence[str], settings: Sequence[str] = ()) -> None:
        self.folder, self.folders = Path(folders[0]), list(folders)
        self.settings = list(settings)
        """Words that every training gets: `--world-size 2000` for a quick one."""
        self.name = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._text: tempfile.TemporaryDirectory[str] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def status(self) -> protocol.Training:
        failed = self._process is not None and self._process.poll() not in (None, 0, 130, -15)
        return {
            "run": self.name,
            "running": self.running,
            "said": self._told() if failed else "",
            "data": [*worlds(), *tables(), *data_in(self.folders)],
        }

    def start(self, question: protocol.AskTraining) -> protocol.Training:
        """Begins a training of a text; its run is in the folder, under a name that is free."""
        files = data_in(self.folders)
        if question["data"] not in [*worlds(), *tables(), *files]:
            raise IndicialError(f"there is no {question['data']} in the folders of this lab")
        if len(question["text"]) > LONGEST_TEXT:
            raise IndicialError("the text is too long to be trained from the page")
        sizes = []
        for name, value in question["sizes"].items():
            if not _SIZE.fullmatch(name) or not 1 <= value <= 1024:
                raise IndicialError(f"the size {name} is from 1 to 1,024 here")
            sizes += ["--set", f"{name}={value}"]
        columns = [f"--column={name}={of}" for name, of in question["columns"].items()]
        if not all(map(str.isprintable, columns)):
            raise IndicialError("the name of a column is made of signs that can be read")
        self._check_free()
        self._text = tempfile.TemporaryDirectory()
        path = Path(self._text.name) / "lab.eq"
        path.write_text(question["text"], encoding="utf-8")
        minutes = min(max(0.1, float(question["minutes"])), MOST_MINUTES)
        name = self._free_name()
        data = str(files.get(question["data"], question["data"]))
        words = [str(path), "--data", data, *columns, "--minutes", f"{minutes:g}", *sizes]
        return self._begin(name, [*words, *self.settings, "--out", str(self.folder / name)])

    def go_on(self, name: str, folder: Path) -> protocol.Training:
        """Goes on with a run of the lab."""
        self._check_free()
        return self._begin(name, ["--resume", str(folder)])

    def stop(self) -> protocol.Training:
        """Asks it to save and to end."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
        return self.status()

    def close(self) -> None:
        """Ends it with the lab."""
        self.stop()
        if self._process is not None:
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._text is not None:
            self._text.cleanup()

    def _check_free(self) -> None:
        if self.running:
            raise IndicialError(f"{self.name} is being trained; stop it first")

    def _free_name(self) -> str:
        number = 1
        while (self.folder / f"lab-{number}").exists():
            number += 1
        return f"lab-{number}"

    def _begin(self, name: str, words: list[str]) -> protocol.Training:
        self.name = name
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "indicial", "train", *words],
            stdin=subprocess.DEVNULL, stdout=self._said, stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal is for the lab, which asks it to save
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "80"},
        )  # fmt: skip
        return self.status()

    def _told(self) -> str:
        if self._said is None:
            return ""
        self._said.seek(0)
        return self._said.read().decode("utf-8", "replace")[-TOLD:].strip()
