"""The settings one by one: how each is called, what it takes, what the help says of it.

    batch-size: 64   →   Option("batch_size", WHOLE, …).read("64")   →   64

`settings.py` holds their values. What stands in brackets at the end of a help line is what happens
if nothing is said.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from indicial.program.messages import IndicialError


@dataclass(frozen=True)
class Option:
    """One setting, as the command line and a file know it."""

    name: str
    """`batch_size`; on the command line `--batch-size`."""
    kind: str
    """`whole`, `number`, `word`, `words`, `flag` or `pairs`."""
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    least: float = -math.inf
    """Numbers from here on are allowed."""
    most: float = math.inf
    """And up to here."""
    example: str = "J=256 or CELL=lstm"
    """Of pairs."""

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    def read(self, value: object) -> Any:
        """A value as it was typed or stood in a file, checked: `"64"` → `64`."""
        match self.kind:
            case "whole":
                return self._whole(value)
            case "number":
                return self._number(value)
            case "word":
                return self._word(value)
            case "words":
                listed = value if isinstance(value, list | tuple) else [value]
                return tuple(self._text(item) for item in listed)
            case "pairs":
                return self._pairs(value)
        if not isinstance(value, bool):
            raise self._wrong(value, "is either on or off: true or false")
        return value

    def _whole(self, value: object) -> int:
        number = self._number(value)
        if number != int(number):
            raise self._wrong(value, "takes a whole number")
        return int(number)

    def _number(self, value: object) -> float:
        try:
            # YAML takes 1e-3 for a word; `true` would be 1.
            number = math.nan if isinstance(value, bool) else float(str(value).replace("_", ""))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self._wrong(value, "takes a number")
        if number < self.least:
            raise self._wrong(value, f"takes a number of at least {self.least:g}")
        if number > self.most:
            raise self._wrong(value, f"takes a number up to {self.most:,.0f}")
        return number

    def _word(self, value: object) -> str:
        word = self._text(value)
        if self.choices and word not in self.choices:
            close = difflib.get_close_matches(word, self.choices, 1)
            error = self._wrong(value, f"takes one of {', '.join(self.choices)}")
            raise IndicialError(f"{error}; did you mean {close[0]}?") if close else error
        return word

    def _text(self, value: object) -> str:
        """A word or a number; YAML makes a truth value of `no`, and nothing of an empty line."""
        if isinstance(value, bool) or value is None:
            raise self._wrong(value, "takes a word: put it in quotes")
        if not isinstance(value, str | int | float | os.PathLike):
            raise self._wrong(value, "takes one word")
        return str(value)

    def _pairs(self, value: object) -> dict[str, str]:
        """`["J=256", "CELL=lstm"]` or `{J: 256}` → `{"J": "256", …}`."""
        if isinstance(value, Mapping):
            return {self._text(name): self._text(given) for name, given in value.items()}
        found: dict[str, str] = {}
        for item in value if isinstance(value, list | tuple) else [value]:
            name, equals, given = str(item).partition("=")
            if not (equals and name.strip() and given.strip()):
                raise self._wrong(item, f"takes {self.metavar}, such as {self.example}")
            name, given = name.strip(), given.strip()
            if found.get(name, given) != given:
                raise IndicialError(
                    f"{self.flag} says {name} twice, {found[name]} and {given}: keep one of them"
                )
            found[name] = given
        return found

    def _wrong(self, value: object, what: str) -> IndicialError:
        return IndicialError(f"{self.flag} {what}; got {value}")


WHOLE, NUMBER, WORD, WORDS, FLAG, PAIRS = "whole", "number", "word", "words", "flag", "pairs"

MODEL = [
    Option("model", WORDS, "names of the library or .eq files; several are joined", "MODEL"),
    Option(
        "set", PAIRS, "a size (J=256), a constant (λ=0.01) or what fills a hole (CELL=lstm, "
        "CELL=cell.eq); may be repeated", "NAME=VALUE",
    ),
    Option(
        "task", WORD, "language: a word from those before it; blank: a word from all others"
        "; columns: what several inputs say (by the equations)", choices=("language", "blank", "columns"),
    ),
    Option(
        "objective", WORD, "what is learned of a text: language, spans, blank, question, or several with "
        "shares, language=1,spans=2 (by the data)", "NAMES",
    ),
    Option("from", WORD, "start from the weights of another run: fine-tuning", "RUN"),
]  # fmt: skip
DATA = [
    Option(
        "data", WORDS, "text: files, folders, .gz, .jsonl, .csv, - for standard input, or a "
        "built-in world (people, village; with columns: phrasebook, scenes); x=PATH for the input x, or "
        "a table of columns", "PATH",
    ),
    Option(
        "column", PAIRS, "the column of a table that an input reads; may be repeated", "INPUT=COLUMN",
        example="x=german",
    ),
    Option(
        "shares", WORDS, "how often each of the files and folders of --data comes, in their order, such as 1 3 "
        "(by what is in them)", "X",
    ),
    Option("field", WORD, "the field of .jsonl or .csv that holds the text", "NAME"),
    Option("tokens", WORD, "what a token is (by data and time)", choices=("auto", "bytes", "characters", "bpe")),
    Option(
        "documents", WORD, "what a document is (by the lines; a row of .jsonl or .csv)",
        choices=("auto", "file", "lines", "blank-lines"),
    ),
    Option("vocabulary", WHOLE, "how many tokens bpe makes (by data and time)", "N", least=2),
    Option("validation", WORDS, "a part of the data, or files of their own (0.1)", "PART"),
    Option("world_size", WHOLE, "sentences or rows of a world that are made (by the world)", "N", least=10),
    Option("mirror", FLAG, "mirror half of the pictures, left and right, anew each time they are seen"),
    Option("shift", WHOLE, "move each picture by up to so many points, anew each time (0)", "N", least=0),
    Option("context", WHOLE, "tokens in a row of a batch (by the data)", "N", least=2),
]  # fmt: skip
AMOUNT = [
    Option("minutes", NUMBER, "how long to train; sizes and steps are chosen for it (5)", "M", least=0.001),
    Option("max_steps", WHOLE, "how many steps, however long they take", "N", least=1),
    Option("batch_size", WHOLE, "rows in a batch (by the data)", "N", least=1),
    Option("accumulate", WHOLE, "batches in a step; their gradients are averaged (1)", "N", least=1),
    Option(
        "patience", WHOLE, "stop after so many looks at the validation part without a better one "
        "(never)", "N", least=1,
    ),
]  # fmt: skip
LEARNING = [
    Option(
        "optimizer", WORD, "muon: Muon for matrices, AdamW for the rest (muon)",
        choices=("adamw", "muon"),
    ),
    Option("learning_rate", NUMBER, "its largest value (by optimizer and width)", "X", least=1e-12),
    Option("warmup", WHOLE, "steps in which it rises (a twentieth of all)", "N", least=0),
    Option("weight_decay", NUMBER, "how much matrices shrink (0.1 to 0.5)", "X", least=0),
    Option("clip", NUMBER, "the largest norm of the gradient; 0 clips nothing (1)", "X", least=0),
    Option("clip_each", FLAG, "clip each tensor by its own norm"),
    Option("average", WHOLE, "keep the mean of the weights over about so many steps, and use it (0)", "N", least=0),
]  # fmt: skip
LOOKING = [
    Option(
        "eval_every", WHOLE, "steps from one look at the validation part to the next (a "
        "twentieth of all)", "N", least=1,
    ),
    Option("eval_tokens", WHOLE, "tokens of it that a look counts (by its time)", "N", least=1),
    Option("save_every", WHOLE, "steps from one checkpoint to the next (as eval-every)", "N", least=1),
    Option("out", WORD, "the folder of the run (runs/MODEL-DATA-1)", "RUN"),
    Option("tensorboard", FLAG, "write a log for TensorBoard as well"),
]  # fmt: skip
MACHINE = [
    Option("device", WORD, "cpu, cuda, cuda:1, mps (the best there is)", "NAME"),
    Option(
        "precision", WORD, "bfloat16: products in 16 bits (where the device is made for it)",
        choices=("float32", "bfloat16"),
    ),
    Option("compile", FLAG, "hand the module to torch.compile"),
    Option("fsdp", FLAG, "divide the weights over the processes that torchrun started"),
    Option("seed", WHOLE, "of the first weights, the order of the data, dropout (0)", "N", least=0, most=2**32 - 1),
]  # fmt: skip

GROUPS = {
    "model": MODEL,
    "data": DATA,
    "how long and how much": AMOUNT,
    "learning": LEARNING,
    "looking and keeping": LOOKING,
    "machine": MACHINE,
}
"""In the order of the help."""

OPTIONS = {option.name: option for group in GROUPS.values() for option in group}

OTHER_NAMES = {
    "lr": "learning-rate", "epochs": "max-steps", "epoch": "max-steps", "steps": "max-steps",
    "iterations": "max-steps", "bs": "batch-size",
    "batch": "batch-size", "wd": "weight-decay", "block-size": "context", "seq-len": "context",
    "max-length": "context", "grad-clip": "clip", "max-grad-norm": "clip", "output-dir": "out",
    "gradient-accumulation-steps": "accumulate", "time": "minutes", "dtype": "precision",
    "tokenizer": "tokens", "vocab-size": "vocabulary", "init-from": "from", "eval-interval": "eval-every",
    "max-iters": "max-steps", "n-layer": "set L=4", "num-layers": "set L=4", "layers": "set L=4",
    "n-head": "set K=4", "num-heads": "set K=4", "heads": "set K=4", "n-embd": "set J=256",
    "hidden-size": "set J=256", "hidden": "set J=256", "d-model": "set J=256", "width": "set J=256",
    "dropout": "set p=0.1",
}  # fmt: skip
"""What others call it; only used to say how it is called here. The letters are those of the library."""
