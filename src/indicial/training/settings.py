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
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from indicial.program.messages import IndicialError
from indicial.training.options import OPTIONS, OTHER_NAMES


@dataclass(frozen=True)
class Settings:
    """What was said, by the names in `options.py`; None where nothing was."""

    model: tuple[str, ...] = ()
    set: dict[str, str] = field(default_factory=dict)
    task: str | None = None
    objective: str | None = None
    from_: str | None = None  # `from` is a word of Python

    data: tuple[str, ...] = ()
    column: dict[str, str] = field(default_factory=dict)
    shares: tuple[str, ...] | None = None
    field: str | None = None
    documents: str | None = None
    tokens: str | None = None
    vocabulary: int | None = None
    validation: tuple[str, ...] | None = None
    world_size: int | None = None
    mirror: bool | None = None
    shift: int | None = None
    context: int | None = None

    minutes: float | None = None
    max_steps: int | None = None
    batch_size: int | None = None
    accumulate: int | None = None
    patience: int | None = None

    optimizer: str | None = None
    learning_rate: float | None = None
    warmup: int | None = None
    weight_decay: float | None = None
    clip: float | None = None
    clip_each: bool | None = None
    average: int | None = None

    eval_every: int | None = None
    eval_tokens: int | None = None
    save_every: int | None = None
    out: str | None = None
    tensorboard: bool | None = None

    device: str | None = None
    precision: str | None = None
    compile: bool | None = None
    fsdp: bool | None = None
    seed: int | None = None

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


def suggestion(name: str, more: Iterable[str] = ()) -> str:
    """`"learning-rte"` → `"; did you mean learning-rate?"`."""
    names = [name.replace("_", "-") for name in OPTIONS] + list(more)
    close = difflib.get_close_matches(_common(name), names, 1, 0.6)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(sorted(names))}"


def _common(name: str) -> str:
    plain = name.strip("-").replace("_", "-").lower()
    return OTHER_NAMES.get(plain, plain).split()[0]


def read_config(path: Path) -> Settings:
    """The settings of a YAML file: the same names as on the command line."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise IndicialError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise IndicialError(f"{path} is not UTF-8 text: {error}") from error
    try:
        found = yaml.safe_load(text)
        _check_once(path, yaml.compose(text, Loader=yaml.SafeLoader))
    except RecursionError:
        raise IndicialError(f"{path} is nested too deep: settings are names with values") from None
    except yaml.YAMLError as error:
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
