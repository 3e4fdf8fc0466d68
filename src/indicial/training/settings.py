"""Everything that can be said to a training run, by the names it has on the command line.

    indicial train ugrnn --data names.txt --batch-size 64 --set J=256

    Settings(model=("ugrnn",), data=("names.txt",), batch_size=64, set={"J": "256"}, …)

and the same in a file for `--config`:

    model: ugrnn
    data: names.txt
    batch-size: 64
    set: {J: 256}

What is not said is None here; `defaults.py` decides it. A name that is not known is refused, with
the one that was probably meant. In `Choices` every setting has a value; a run keeps them, so that it can go on as it
began, and does not ask a clock or a machine again.

An `Option` says how a setting is called, what it takes, and what the help says of it; what stands there in
brackets at the end is what happens if nothing is said.

    batch-size: 64   →   Option("batch_size", WHOLE, …).read("64")   →   64
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from indicial.program.inputs import Unfit, named_text
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


MODEL, DATA, AMOUNT = "model", "data", "how long and how much"
LEARNING, LOOKING, MACHINE = "learning", "looking and keeping", "machine"
"""The groups of the settings, in the order of the help."""


def told(group: str, text: str, metavar: str = "", default: Any = None, **more: Any) -> Any:
    """A field of `Settings` that nobody need say, with what an `Option` is told of it."""
    about = {"group": group, "help": text, "metavar": metavar, **more}
    if default == {}:
        return field(default_factory=dict, metadata=about)
    return field(default=default, metadata=about)


# fmt: off
@dataclass(frozen=True)
class Settings:
    """What was said, by the names of the options; None where nothing was. All options are made of these."""

    model: tuple[str, ...] = told(
        MODEL, "names of the library or .eq files; several are joined", "MODEL", default=())
    set: dict[str, str] = told(  # noqa: RUF009 (it is a field)
        MODEL, "a size (J=256), a constant (λ=0.01) or what fills a hole (CELL=lstm, CELL=cell.eq); may be repeated",
        "NAME=VALUE", default={})
    task: str | None = told(
        MODEL, "language: a word from those before it; blank: a word from all others; columns: what several inputs "
        "say (by the equations)", choices=("language", "blank", "columns"))
    objective: str | None = told(
        MODEL, "what is learned of a text: language, spans, blank, question, or several with shares, "
        "language=1,spans=2 (by the data)", "NAMES")
    from_: str | None = told(  # `from` is a word of Python
        MODEL, "start from the weights of another run: fine-tuning", "RUN")

    data: tuple[str, ...] = told(
        DATA, "text: files, folders, .gz, .jsonl, .csv, - for standard input, or a built-in world (people, village; "
        "with columns: phrasebook, scenes); x=PATH for the input x, or a table of columns", "PATH", default=())
    column: dict[str, str] = told(  # noqa: RUF009 (it is a field)
        DATA, "the column of a table that an input reads; may be repeated", "INPUT=COLUMN", default={},
        example="x=german")
    shares: tuple[str, ...] | None = told(
        DATA, "how often each of the files and folders of --data comes, in their order, such as 1 3 (by what is in "
        "them)", "X")
    field: str | None = told(DATA, "the field of .jsonl or .csv that holds the text", "NAME")
    tokens: str | None = told(
        DATA, "what a token is (by data and time)", choices=("auto", "bytes", "characters", "bpe"))
    documents: str | None = told(
        DATA, "what a document is (by the lines; a row of .jsonl or .csv)",
        choices=("auto", "file", "lines", "blank-lines"))
    vocabulary: int | None = told(DATA, "how many tokens bpe makes (by data and time)", "N", least=2, most=10**7)
    validation: tuple[str, ...] | None = told(
        DATA, "a part of the data, or files of their own (0.1)", "PART")
    world_size: int | None = told(
        DATA, "sentences or rows of a world that are made (by the world)", "N", least=10, most=10**9)
    mirror: bool | None = told(
        DATA, "mirror half of the pictures, left and right, anew each time they are seen")
    shift: int | None = told(
        DATA, "move each picture by up to so many points, anew each time (0)", "N", least=0)
    context: int | None = told(DATA, "tokens in a row of a batch (by the data)", "N", least=2)

    minutes: float | None = told(
        AMOUNT, "how long to train; sizes and steps are chosen for it (5)", "M", least=0.001)
    max_steps: int | None = told(AMOUNT, "how many steps, however long they take", "N", least=1)
    batch_size: int | None = told(AMOUNT, "rows in a batch (by the data)", "N", least=1)
    accumulate: int | None = told(
        AMOUNT, "batches in a step; their gradients are averaged (1)", "N", least=1)
    patience: int | None = told(
        AMOUNT, "stop after so many looks at the validation part without a better one (never)", "N", least=1)

    optimizer: str | None = told(
        LEARNING, "muon: Muon for matrices, AdamW for the rest (muon)", choices=("adamw", "muon"))
    learning_rate: float | None = told(
        LEARNING, "its largest value (by optimizer and width)", "X", least=1e-12)
    warmup: int | None = told(LEARNING, "steps in which it rises (a twentieth of all)", "N", least=0)
    weight_decay: float | None = told(LEARNING, "how much matrices shrink (0.1 to 0.5)", "X", least=0)
    clip: float | None = told(
        LEARNING, "the largest norm of the gradient; 0 clips nothing (1)", "X", least=0)
    clip_each: bool | None = told(LEARNING, "clip each tensor by its own norm")
    average: int | None = told(
        LEARNING, "keep the mean of the weights over about so many steps, and use it (0)", "N", least=0)

    eval_every: int | None = told(
        LOOKING, "steps from one look at the validation part to the next (a twentieth of all)", "N", least=1)
    eval_tokens: int | None = told(LOOKING, "tokens of it that a look counts (by its time)", "N", least=1)
    save_every: int | None = told(
        LOOKING, "steps from one checkpoint to the next (as eval-every)", "N", least=1)
    out: str | None = told(LOOKING, "the folder of the run (runs/MODEL-DATA-1)", "RUN")
    tensorboard: bool | None = told(LOOKING, "write a log for TensorBoard as well")

    device: str | None = told(MACHINE, "cpu, cuda, cuda:1, mps (the best there is)", "NAME")
    precision: str | None = told(
        MACHINE, "bfloat16: products in 16 bits (where the device is made for it)", choices=("float32", "bfloat16"))
    compile: bool | None = told(MACHINE, "hand the module to torch.compile")
    fsdp: bool | None = told(MACHINE, "divide the weights over the processes that torchrun started")
    seed: int | None = told(
        MACHINE, "of the first weights, the order of the data, dropout (0)", "N", least=0, most=2**32 - 1)
    # fmt: on

    @staticmethod
    def read(values: Mapping[str, object]) -> Settings:
        """Settings by name, `batch-size` or `batch_size`; None says nothing."""
        found: dict[str, Any] = {}
        for name, value in values.items():
            option = OPTIONS.get(str(name).replace("-", "_"))
            if option is None and name in ("resume", "config"):
                raise IndicialError(f"--{name} belongs on the command line, not in a file")
            if option is None:
                raise IndicialError(f"there is no setting {name}{suggestion(str(name))}")
            if value is not None:
                found["from_" if option.name == "from" else option.name] = option.read(value)
        return Settings(**found)

    @staticmethod
    def kept(values: Mapping[str, object]) -> Settings:
        """What a run was begun with: the settings in its `run.json`, where more stands beside them."""
        return Settings.read({name: value for name, value in values.items() if name in OPTIONS})

    def over(self, other: Settings) -> Settings:
        """What is said here, and else what the other says; `--set` and `--column` of both, name by name."""
        said = {
            f.name: value
            for f in fields(self)
            if (value := getattr(self, f.name)) not in (None, ())
        }
        both = {"set": {**other.set, **self.set}, "column": {**other.column, **self.column}}
        return replace(other, **{**said, **both})

    def check_complete(self) -> None:
        """What a new run cannot begin without."""
        if not self.model and self.from_ is None:
            raise IndicialError(
                "name what to train: a model of the library (`ugrnn`) or an .eq file"
            )
        if not self.data:
            raise IndicialError(
                "name the data to train on: --data PATH, or --data people, a built-in world"
            )

    @property
    def sources(self) -> tuple[str, ...]:
        """All that is named to be read, for training and for validation."""
        return (*self.data, *(self.validation or ()))

    def located(self) -> Settings:
        """The same with the files that it names by absolute paths: a run is gone on with from anywhere."""
        from indicial.data.sources import absolute

        validation = self.validation and tuple(map(absolute, self.validation))
        from_ = self.from_ and absolute(self.from_)
        return replace(
            self, data=tuple(map(absolute, self.data)), validation=validation, from_=from_
        )

    def said(self) -> dict[str, Any]:
        """What is not None, by its name on the command line, as JSON takes it."""
        found: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if value not in (None, (), {}):
                found[f.name.rstrip("_")] = list(value) if isinstance(value, tuple) else value
        return found


KINDS = {
    "int": "whole", "float": "number", "str": "word", "tuple[str, ...]": "words", "bool": "flag",
    "dict[str, str]": "pairs",
}  # fmt: skip
"""The kinds of options by the types of their values."""
GROUPS: dict[str, list[Option]] = {}
for _field in fields(Settings):
    _about = dict(_field.metadata)
    _kind = KINDS[str(_field.type).removesuffix(" | None")]
    GROUPS.setdefault(_about.pop("group"), []).append(
        Option(_field.name.rstrip("_"), _kind, **_about)
    )
OPTIONS = {option.name: option for group in GROUPS.values() for option in group}


def suggestion(name: str) -> str:
    """`"learning-rte"` → `"; did you mean learning-rate?"`."""
    names = [name.replace("_", "-") for name in OPTIONS]
    close = difflib.get_close_matches(_common(name), names, 1, 0.6)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(sorted(names))}"


def _common(name: str) -> str:
    plain = name.strip("-").replace("_", "-").lower()
    return OTHER_NAMES.get(plain, plain).split()[0]


def read_config(path: Path) -> Settings:
    """The settings of a YAML file: the same names as on the command line."""
    import yaml

    try:
        text = named_text(path)
    except OSError as error:
        raise IndicialError(f"cannot read {path}: {error.strerror}") from error
    except Unfit as error:
        raise IndicialError(f"cannot read {path}: {error}") from error
    except UnicodeDecodeError as error:
        raise IndicialError(f"{path} is not UTF-8 text: {error}") from error
    try:
        found = yaml.safe_load(text)
        _check_once(path, yaml.compose(text, Loader=yaml.SafeLoader))
    except RecursionError:
        raise IndicialError(f"{path} is nested too deep: settings are names with values") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # numbers and dates may be none
        raise IndicialError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from error
    if found is None:
        return Settings()
    if not isinstance(found, dict):
        raise IndicialError(f"{path} must hold lines `name: value`, such as `batch-size: 64`")
    try:
        return Settings.read(found)
    except IndicialError as error:
        raise IndicialError(f"{path}: {error}") from error


def _check_once(path: Path, node: Any) -> None:
    """YAML takes the last of two lines with one name, and says nothing of the first."""
    from yaml import MappingNode

    if not isinstance(node, MappingNode):
        return
    inner = [value for _, value in node.value if isinstance(value, MappingNode)]
    for keys in ([key for key, _ in mapping.value] for mapping in (node, *inner)):
        lines: dict[str, int] = {}
        for key in keys:
            name = str(key.value).replace("-", "_")  # both spellings are one name
            line = key.start_mark.line + 1
            if name in lines:
                raise IndicialError(
                    f"{path}: {key.value} is set in line {lines[name]} and again in line {line}: "
                    "keep one of them"
                )
            lines[name] = line


MAY_CHANGE = ("out", "device", "fsdp", "max_steps", "patience", "data", "tensorboard")
"""What changes no step of a training, only how many there are and who looks on."""

FLOAT32, BFLOAT16 = "float32", "bfloat16"


@dataclass(frozen=True)
class Choices:
    """Decided by whoever starts a run, or by `defaults.py`."""

    context: int
    batch_size: int
    max_steps: int
    """The last step, or the steps that the learning rate is planned for if there are `seconds`."""
    learning_rate: float
    accumulate: int = 1
    optimizer: str = "muon"
    warmup: int = 0
    weight_decay: float = 0.1
    clip: float = 1.0
    """0 clips nothing."""
    clip_each: bool = False
    average: int = 0
    """Steps whose weights are averaged; 0: none."""
    eval_every: int | None = 100
    """None: at the marks; so does `save_every`."""
    eval_tokens: int | None = None
    """None: all there are."""
    save_every: int | None = 100
    patience: int | None = None
    seconds: float | None = None
    """The time for all of it: the number of steps is planned anew at every mark on the way. None:
    just so many steps."""
    mark_every: int = 100
    """Steps of the plan from one mark to the next."""
    most_steps: int | None = None
    """More would only learn the data by heart."""
    seed: int = 0
    device: str = "cpu"
    precision: str = FLOAT32
    compile: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Choices:
        """Other settings, those of the data for instance, may stand beside them."""
        names = {f.name for f in fields(Choices)}
        try:
            return Choices(**{name: value for name, value in found.items() if name in names})
        except TypeError as error:
            raise IndicialError(f"the settings of the run are damaged: {error}") from error
