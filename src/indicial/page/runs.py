"""What the page shows of runs: curves while they grow, text with its alternatives, what heads look at.

    found(["runs"])                             →   {"runs/names-1": /home/me/runs/names-1}
    curves({"run": "names-1", "known": 0, …})   →   the steps since byte 0 of its metrics

A run is named by its folder, and only those in the folders that the lab was called with exist.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from indicial.page import protocol
from indicial.program.inputs import Unfit, json_of, open_plain
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
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
    run = _opened(name)
    checkpoint = run.checkpoint("best")
    return _made(str(run.folder), checkpoint.step)


@lru_cache(3)
def _made(folder: str, step: int) -> Speaker:
    """The model of a run as of a step; remembered, since making it takes a second."""
    import torch

    from indicial.decode.text import Speaker

    torch.set_num_threads(1)
    return Speaker.of(folder)


def generate(question: protocol.AskText) -> protocol.Made:
    """A text that goes on from a prompt, each token with what might have stood in its place."""
    from indicial.decode.alternatives import with_alternatives
    from indicial.decode.settings import Decoding

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


# ---------------------------------------------------------------------- attention


def attend(question: protocol.AskLooks) -> protocol.Looks:
    """What each head looks at on a text."""
    from indicial.inspect import attention
    from indicial.inspect.subjects import Subject

    if any(len(text) > LONGEST_PROMPT for text in question["inputs"].values()):
        raise IndicialError(f"a text has at most {LONGEST_PROMPT:,} characters")
    run = _opened(question["run"])
    if run.description.task == "columns":
        subject = _of_columns(run, question)
    else:
        said = question["inputs"].get("text", "")
        subject = Subject.of_speaker(_speaker(question["run"]), said)
    looks = attention.attend(subject)
    room, kept = MOST_WEIGHTS, []
    for look in looks:
        room -= look.weights.size
        if room >= 0:
            kept.append(_look(look))
    return {
        "looks": kept,
        "left_out": len(looks) - len(kept),
        "cut": sum(text.left_out for text in subject.texts),
    }


def _of_columns(run: Run, question: protocol.AskLooks) -> Any:
    """Inputs by name. A text is a text: the name of a file would be read where a picture is expected."""
    from indicial.inspect.columns import column_subject

    codings = run.codings()
    for name in question["inputs"]:
        if name in codings and codings[name].kind != "text":
            raise IndicialError(f"{name} is no text; choose a row of the data instead")
    row = question["row"] if question["row"] >= 0 and not question["inputs"] else None
    return column_subject(run, question["inputs"], row=row).subject


def _look(look: Look) -> protocol.Look:
    import numpy as np

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
    }


def inputs(question: protocol.AskRun) -> protocol.Inputs:
    """What the model of a run reads: texts by name, or rows of a built-in world."""
    from indicial.data.world import tables

    run = _opened(question["run"])
    if run.description.task != "columns":
        return {"texts": ["text"], "rows": False, "writes": run.description.task != "blank"}
    from indicial.tasks.forms import form_of

    codings = run.codings()
    given = [slot.name for slot in form_of(run.program).given]
    texts = [name for name in given if codings[name].kind == "text"]
    return {
        "texts": texts if len(texts) == len(given) else [],
        "rows": str(run.description.data.get("name")) in tables(),
        "writes": False,
    }


def folders_from(words: str) -> None:
    """Takes the folders that the lab was called with, as JSON."""
    FOLDERS[:] = [str(folder) for folder in json.loads(words)]
