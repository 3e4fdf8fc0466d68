"""What the commands share: making one, `--set NAME=VALUE`, and what was set.

train = command(commands, "train", "train a model", TEXT, run)
filling(train)
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from indicial.compile.ground import private
from indicial.program.messages import IndicialError
from indicial.program.outputs import MADE, check_output
from indicial.training.folders import check_run
from indicial.training.settings import Option

if TYPE_CHECKING:
    from indicial.notation.documents import Document
    from indicial.program.program import Program


MOST_NOTES = 10_000
"""Of how many files it is kept what they held."""


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


def option(
    parser: argparse._ActionsContainer, words: str, text: str, kind: Any = None, **more: Any
) -> None:
    """Adds `--context N`, which takes a value; `--json`, which is on or off; `--set NAME=VALUE …`, which may be
    repeated. `text` is what the help says of it."""
    flags = [word for word in words.split() if word.startswith("--")]
    value = words.split()[len(flags) :]
    if value:
        more["metavar"] = value[0]
    elif "choices" not in more:
        more.setdefault("action", "store_true")
    if value[1:] == ["…"]:
        more |= {"action": "append", "default": []}
    if kind is not None:
        more["type"] = kind
    parser.add_argument(*flags, help=text, **more)


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
    option(parser, "--force", "replace files that Indicial did not write")


def check_outputs(
    options: argparse.Namespace,
    *names: str,
    marks: Mapping[str, bytes] | None = None,
    **outputs: Iterable[Path],
) -> None:
    """Whether files may be written: no two are one, none is read by this call, none was edited.

    `names` are options that name a file, if they are said; `outputs` are all files of one. Whatever else the
    call names, and is there, counts as read. `marks` say by what files of an option are known as ours, where it
    is not the usual words. What a file of ours held when it was written is noted, once the command has ended
    (`note_outputs`): a handout with answers in it says that we made it, and is the user's all the same.
    """
    written = {name: [Path(file)] for name in names if (file := getattr(options, name))}
    written |= {name: list(paths) for name, paths in outputs.items()}
    said = [value for name, value in vars(options).items() if name not in written]
    words = [word for value in said for word in (value if isinstance(value, list) else [value])]
    parts = [part for word in words if isinstance(word, str) for part in (word, *word.split("="))]
    reads = [part for part in parts if part and "\0" not in part and os.path.exists(part)]
    known: dict[str, str] = {}
    for name, paths in written.items():
        for path in paths:
            flag = flag_of(name)
            if known.setdefault(os.path.realpath(path), flag) != flag:
                other = known[os.path.realpath(path)]
                raise IndicialError(f"{flag} and {other} are one file, {path}: choose two")
            check_output(
                path, reads, mark=(marks or {}).get(name, MADE.encode()), force=options.force
            )
            if not options.force and _edited(path):
                raise IndicialError(
                    f"{path} was changed since Indicial wrote it; choose another name, or add "
                    "--force to replace it"
                )
    every = (path for paths in written.values() for path in paths)
    options.to_note = (*getattr(options, "to_note", ()), *every)


def note_outputs(options: argparse.Namespace, ended: bool) -> None:
    """Keep what the files of a command hold, to know them again, whether it wrote them or failed before."""
    if not ended and getattr(options, "force", False):
        return  # what it was to replace may still be there
    for path in getattr(options, "to_note", ()):
        with contextlib.suppress(OSError):
            if path.is_file():
                private.written(_note(path), _content(path).encode())
                private.trim(_note(path).parent, MOST_NOTES)


def _edited(path: Path) -> bool:
    """Whether it is known what a file held, and it holds something else."""
    try:
        return path.is_file() and _note(path).read_text() != _content(path)
    except OSError:
        return False


def _note(path: Path) -> Path:
    """Where it is kept what was written to a path; `OSError` where nothing can be kept."""
    folder = private.place() / "outputs"
    if private.closed(folder) is not None:
        raise OSError(f"{folder} is not ours alone")
    return folder / hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]


def _content(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def flag_of(name: str) -> str:
    """`texts_out` → `--texts-out`."""
    return f"--{name.replace('_', '-')}"


def refuse(options: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Complain about an option that was said and would be passed over: `--ask is for …`."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value is not False and value != []:
            raise IndicialError(f"{flag_of(name)} {why}")


def reads_run(parser: Parser) -> None:
    """Adds RUN, the folder of a run; that it is one is known before anything heavy is imported."""
    parser.add_argument("run_folder", metavar="RUN", help="the folder of a run")
    run: Callable[[argparse.Namespace], int] = parser.get_default("run")

    def checked(options: argparse.Namespace) -> int:
        check_run(options.run_folder)
        return run(options)

    parser.set_defaults(run=checked)


def print_json(value: object, **how: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, **{"indent": 2, **how}))


def weights(parser: argparse._ActionsContainer) -> None:
    option(parser, "--checkpoint", "which weights of the run to use (best)", choices=["best", "last"],
           default="best")  # fmt: skip


def pair(word: str, flag: str, value: str = "VALUE") -> tuple[str, str]:
    """`"J=256"` → `("J", "256")`."""
    name, _, said = word.partition("=")
    if not name or not said:
        raise IndicialError(f"{flag} takes NAME={value}, not {word!r}")
    return name, said


def given_inputs(options: argparse.Namespace) -> dict[str, str]:
    """`--input x="ein hund" --input I=dog.jpg` → what each input reads."""
    return dict(pair(word, "--input", "TEXT or NAME=FILE") for word in options.input)


def columns_of(options: argparse.Namespace) -> dict[str, str]:
    """`--column question=0` → the column that an input reads."""
    return dict(item.partition("=")[::2] for item in options.column)


def choosing(parser: argparse.ArgumentParser) -> None:
    """Adds `--section`, `--from` and `--to`, which choose a stretch of a document."""
    option(parser, "--section TITLE", "only this section of a document, as one program", default="")
    option(parser, "--from TITLE", "a document from this section on, as one program", default="",
           dest="first")  # fmt: skip
    option(
        parser, "--to TITLE", "a document up to the end of this section", default="", dest="last"
    )


def stretch(options: argparse.Namespace) -> dict[str, Any]:
    """What was chosen, as `load_document` takes it."""
    found = {name: getattr(options, name, "") for name in ("section", "first", "last")}
    if found["section"] and (found["first"] or found["last"]):
        raise IndicialError("--section chooses one section, so not with --from or --to")
    return {name: title for name, title in found.items() if title}


def filling(parser: argparse.ArgumentParser) -> None:
    option(parser, "--set NAME=VALUE …", "a size (J=256), a constant (λ=0.1) or what fills a hole "
           "(CELL=lstm, CELL=cell.eq); may be repeated", dest="settings")  # fmt: skip


def with_settings(
    options: argparse.Namespace, read: Callable[[dict[str, str]], list[list[Program]]]
) -> tuple[list[list[Program]], dict[str, int]]:
    """What `read` gives with holes filled as `--set` says, and constants set; and the sizes that it says."""
    from indicial.library.loading import told_apart
    from indicial.program.names.fills import declared_constants

    given: dict[str, str] = {}
    for word in options.settings:
        name, value = pair(word, "--set")
        if given.setdefault(name, value) != value:
            raise IndicialError(f"--set says {name} twice: keep one of them")
    documents = read({})
    sizes, constants, fills = told_apart([p for d in documents for p in d], given)

    def with_constants(program: Program) -> Program:
        own = declared_constants(program.written) if constants else ()
        mine = {name: value for name, value in constants.items() if name in own}
        return program.with_constants(mine) if mine else program

    documents = read(fills) if fills else documents
    return [[with_constants(program) for program in one] for one in documents], sizes


def _piped() -> Document:
    """What is piped in, as a text whose looks tell what it is."""
    from indicial.notation.documents import read_text

    if sys.stdin is None or sys.stdin.isatty():
        raise IndicialError("- is standard input: pipe a text into it, or name a file")
    return read_text(sys.stdin.read(), "standard input")


def read_programs(
    options: argparse.Namespace, names: Sequence[str], join: bool = False
) -> tuple[list[list[Program]], dict[str, int]]:
    """The programs of each text that is named, or all as one; and the sizes that `--set` says."""
    from indicial.library.loading import load, load_document

    chosen = stretch(options)
    texts = [_piped() if name == "-" else name for name in names]

    def read(fills: dict[str, str]) -> list[list[Program]]:
        if join:
            return [[load(*texts, fills=fills)]]
        return [load_document(text, fills=fills, **chosen) for text in texts]

    return with_settings(options, read)
