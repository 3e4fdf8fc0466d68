"""What the commands share: making one, `--set NAME=VALUE`, and what was set.

train = command(commands, "train", "train a model", TEXT, run)
filling(train)
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.program.program import Program
    from indicial.training.options import Option


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with a call, and which option was probably meant."""

    other_names: Mapping[str, str] = MappingProxyType({})
    """What others call an option; only used to say how it is called here: `{"lr": "learning-rate"}`."""

    stray: str = ""
    """What a word too many was probably meant for."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        # The beginning of a name stands for no option: `evaluate --tokens bytes` would write a file.
        super().__init__(*arguments, **{"allow_abbrev": False, **named})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        found, rest = super().parse_known_args(args, namespace)
        unknown = next((word for word in rest if word.startswith("-")), None)
        if unknown is not None:
            name = unknown.partition("=")[0]
            known = [o for action in self._actions for o in action.option_strings]
            plain = name.strip("-").replace("_", "-").lower()
            close = difflib.get_close_matches(f"--{plain}", known, 1, 0.6)
            if plain in self.other_names:
                close = [f"--{self.other_names[plain]}"]
            self.error(f"there is no {name}{f'; did you mean {close[0]}?' if close else ''}")
        if rest and self.stray:
            self.error(f"{rest[0]!r} does not belong to any option: {self.stray}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see `{self.prog} --help`)\n")


Commands = argparse._SubParsersAction
"""Where a command is added: `add(commands)` of each file of this folder does so."""


def command(commands: Commands[Any], name: str, line: str, text: str, run: object) -> Parser:
    """A new command: its name, one line for the list, the page of its `--help`, what it runs."""
    made: Parser = commands.add_parser(
        name, help=line, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.set_defaults(run=run)
    return made


def setting(group: argparse._ArgumentGroup, option: Option) -> None:
    """Adds a setting of a training; what is not said is None."""
    more: dict[str, Any] = {}
    if option.kind == "flag":
        more["action"] = "store_true"
    else:
        more["metavar"] = "|".join(option.choices) if option.choices else option.metavar
    if option.kind == "words":  # `--data a b`, and `--data a --data b` as well
        more |= {"nargs": "+", "action": "extend"}
    if option.kind == "pairs":
        more["action"] = "append"
    group.add_argument(option.flag, dest=option.name, default=None, help=option.help, **more)


def forcing(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--force", action="store_true",
                        help="replace files that Indicial did not write")  # fmt: skip


def check_outputs(
    options: argparse.Namespace, outputs: Mapping[str, Iterable[Path]], **marks: bytes
) -> None:
    """Whether the files of each option may be written: no two are one, and none is read by this call.

    Whatever else the call names, and is there, counts as read. `marks` say by what files of an option
    are known as ours, where it is not the usual words.
    """
    from indicial.program.outputs import MADE, check_output

    said = [value for name, value in vars(options).items() if name not in outputs]
    words = [word for value in said for word in (value if isinstance(value, list) else [value])]
    parts = [part for word in words if isinstance(word, str) for part in (word, *word.split("="))]
    reads = [part for part in parts if part and "\0" not in part and os.path.exists(part)]
    known: dict[str, str] = {}
    for name, paths in outputs.items():
        for path in paths:
            flag = f"--{name.replace('_', '-')}"
            if known.setdefault(os.path.realpath(path), flag) != flag:
                other = known[os.path.realpath(path)]
                raise IndicialError(f"{flag} and {other} are one file, {path}: choose two")
            check_output(path, reads, mark=marks.get(name, MADE.encode()), force=options.force)


def weights(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--checkpoint", choices=["best", "last"], default="best",
                        help="which weights of the run to use (best)")  # fmt: skip


def pair(word: str, flag: str, value: str = "VALUE") -> tuple[str, str]:
    """`"J=256"` → `("J", "256")`."""
    name, _, said = word.partition("=")
    if not name or not said:
        raise IndicialError(f"{flag} takes NAME={value}, not {word!r}")
    return name, said


def given_inputs(options: argparse.Namespace) -> dict[str, str]:
    """`--input x="ein hund" --input I=dog.jpg` → what each input reads."""
    return dict(pair(word, "--input", "TEXT or NAME=FILE") for word in options.input)


def choosing(parser: argparse.ArgumentParser) -> None:
    """Adds `--section`, `--from` and `--to`, which choose a stretch of a document."""
    parser.add_argument("--section", default="", metavar="TITLE",
                        help="only this section of a document, as one program")  # fmt: skip
    parser.add_argument("--from", default="", metavar="TITLE", dest="first",
                        help="a document from this section on, as one program")  # fmt: skip
    parser.add_argument("--to", default="", metavar="TITLE", dest="last",
                        help="a document up to the end of this section")  # fmt: skip


def stretch(options: argparse.Namespace) -> dict[str, Any]:
    """What was chosen, as `load_document` takes it."""
    found = {name: getattr(options, name) for name in ("section", "first", "last")}
    if found["section"] and (found["first"] or found["last"]):
        raise IndicialError("--section chooses one section, so not with --from or --to")
    return {name: title for name, title in found.items() if title}


def filling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
        help="a size (J=256), a constant (λ=0.1) or what fills a hole (CELL=lstm, CELL=cell.eq); "
        "may be repeated",
    )  # fmt: skip


def settings(options: argparse.Namespace) -> tuple[dict[str, str], dict[str, str]]:
    """`--set J=256 --set CELL=lstm` → ({"J": "256"}, {"CELL": "lstm"}): numbers, and words."""
    numbers: dict[str, str] = {}
    fills: dict[str, str] = {}
    for setting in options.settings:
        name, value = pair(setting, "--set")
        if name in numbers or name in fills:
            raise IndicialError(f"--set says {name} twice: keep one of them")
        (numbers if _NUMBER.fullmatch(value) else fills)[name] = value
    return numbers, fills


def with_constants(
    programs: Sequence[Program], numbers: Mapping[str, str]
) -> tuple[list[Program], dict[str, int]]:
    """The programs with those numbers that are constants of theirs, and the rest as sizes."""
    from indicial.notation.parse import canonical_name
    from indicial.program.names.fills import declared_constants

    declared = [declared_constants(program.written) for program in programs]
    constants = {n: v for n, v in numbers.items() if any(canonical_name(n) in d for d in declared)}
    sizes: dict[str, int] = {}
    for name, value in numbers.items():
        if name not in constants:
            if value.isdigit() and len(value) > 9:
                raise IndicialError(f"--set {name}={value}: a size is at most {10**9 - 1:,}")
            if not value.isdigit() or not int(value):
                known = ", ".join(dict.fromkeys(n for d in declared for n in d))
                raise IndicialError(
                    f"--set {name}={value}: a size is a whole number from 1, and {name} is not a constant "
                    f"of the equations{f' ({known})' if known else ''}"
                )
            sizes[name] = int(value)
    made = []
    for program, own in zip(programs, declared, strict=True):
        mine = {n: v for n, v in constants.items() if canonical_name(n) in own}
        made.append(program.with_constants(mine) if mine else program)
    return made, sizes


def check_fills(programs: Sequence[Program], fills: Mapping[str, str]) -> None:
    """`--set J=abc`: J is a size and no hole. `programs` are those to fill, as they were before."""
    from indicial.notation.parse import canonical_name

    for name, value in fills.items():
        known = {size for program in programs for size in program.analysis.code.sizes}
        holes = {hole for program in programs for hole in program.holes}
        if (name in known or canonical_name(name) in known) and name not in holes:
            raise IndicialError(
                f"--set {name}={value}: {name} is a size, which takes a whole number from 1, "
                f"such as {name}=64"
            )
