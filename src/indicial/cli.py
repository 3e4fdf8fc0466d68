"""The command `indicial`: arguments only; each command is a few calls into the package.

$ indicial check notes.tex
$ indicial explain transformer --set J=512
$ indicial models

Everything is imported inside `main`, where Ctrl-C is waited for.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # without importing typing
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

DESCRIPTION = "Index notation that runs: check, explain and train equations of sequence models."

EXAMPLES = """\
examples:
  indicial models                      the models of the library
  indicial check notes.md ugrnn        every mistake in notes.md and in a model
  indicial explain transformer         its equations, names, sizes and costs
  indicial explain ugrnn --set J=256   the costs as numbers
  indicial try "y[j] = W[j,I] x[I]"    run equations on small random values
  indicial train ugrnn --data people   train a model, here on a built-in world
  indicial generate runs/ugrnn-people-1    text from that model
  indicial compare rnn gru --data people   models on equal terms, side by side
  indicial lab transformer             equations, costs and runs in the browser
"""

COMMANDS = (
    "check", "exercise", "explain", "train", "generate", "evaluate", "attend", "export",
)  # fmt: skip
"""Files of `commands`, in the order in which `--help` lists them; each adds its commands to the parser."""

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives the exit status."""
    try:
        from indicial.program.terminal import shown_safely

        with shown_safely():
            return _run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: Sequence[str] | None) -> int:
    import gc

    from indicial.commands.arguments import note_outputs
    from indicial.program.messages import IndicialError

    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    # What is read lives to the end, so looking for garbage often finds none; in a long document it
    # would take a third of the time.
    gc.set_threshold(100_000, 50, 50)
    ended = False
    try:
        status = int(options.run(options))
        ended = True
        return status
    except IndicialError as error:
        print(f"indicial: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except RecursionError:
        print(
            "indicial: that is nested too deep; give inner parts names of their own",
            file=sys.stderr,
        )
        return 2
    except MemoryError:
        print("indicial: there is not enough memory for that", file=sys.stderr)
        return 2
    except OSError as error:  # a full disk, a closed terminal
        where = f" {error.filename}" if error.filename else ""
        print(f"indicial: cannot go on:{where} {error.strerror or error}", file=sys.stderr)
        return 2
    finally:
        note_outputs(options, ended)


def _parser() -> argparse.ArgumentParser:
    import argparse
    from importlib import import_module

    from indicial import __version__
    from indicial.commands.arguments import Parser

    parser = Parser(
        prog="indicial", description=DESCRIPTION, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"indicial {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in COMMANDS:
        import_module(f"indicial.commands.{name}").add(commands)
    return parser
