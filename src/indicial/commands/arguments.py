"""What the commands share: making one, `--set NAME=VALUE`, and what was set.

train = command(commands, "train", "train a model", TEXT, run)
filling(train)
"""

from __future__ import annotations

import argparse
from typing import Any

Commands = argparse._SubParsersAction
"""Where a command is added: `add(commands)` of each file of this folder does so."""


def command(
    commands: Commands[Any], name: str, line: str, text: str, run: object
) -> argparse.ArgumentParser:
    """A new command: its name, one line for the list, the page of its `--help`, what it runs."""
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=line, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.set_defaults(run=run)
    return made


def filling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
        help="a size (J=256) or what fills a hole (CELL=lstm); may be repeated",
    )  # fmt: skip


def settings(options: argparse.Namespace) -> tuple[dict[str, int], dict[str, str]]:
    """`--set J=256 --set CELL=lstm` → ({"J": 256}, {"CELL": "lstm"})."""
    from indicial.program.messages import IndicialError

    sizes: dict[str, int] = {}
    fills: dict[str, str] = {}
    for setting in options.settings:
        name, equals, value = setting.partition("=")
        if not equals or not name or not value:
            raise IndicialError(f"--set takes NAME=VALUE, not {setting!r}")
        if value.replace(".", "", 1).lstrip("+-").isdigit():
            if not value.isdigit() or not 0 < int(value) < 10**9:
                raise IndicialError(f"the size {name} must be a whole number from 1, not {value}")
            sizes[name] = int(value)
        else:
            fills[name] = value
    return sizes, fills
