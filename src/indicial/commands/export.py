"""The commands `export`, `report`, `lab` and `lsp`: a model as files, a run as a page; a browser, an editor."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import (
    Commands,
    check_outputs,
    command,
    forcing,
    given_inputs,
    option,
    reads_run,
    weights,
)
from indicial.commands.attend import design_meant
from indicial.program.messages import IndicialError
from indicial.program.outputs import write_text
from indicial.program.terminal import raw

if TYPE_CHECKING:
    from indicial.export.checking import OnnxFile, Port
    from indicial.export.onnx_file import OnnxExport

EXPORT = """\
Writes the model of a run, or a design, as files that run without Indicial.

  indicial export runs/book --format torch      model.py and model.safetensors
  indicial export runs/book --format onnx       model.onnx and model-step.onnx
  indicial export mine.json --format torch      a design: mine.py beside it
  indicial export position --format onnx --length 4

The PyTorch file has a class Model: forward(tokens) for whole texts, begin()
and step(state, token) for one token after the other. The ONNX files do the
same, for any batch and any length; model-begin.safetensors is the state to
begin with. What was written is run and compared with the model before the
command ends.

exit status: 0, 2 for wrong usage or a model that cannot be exported.
"""

ENDINGS = {"torch": ".py", "onnx": ".onnx"}


def add(commands: Commands[Any]) -> None:
    """Adds `export`, `report`, `lab` and `lsp` to the parser of `indicial`."""
    parser = command(commands, "export", "write a model as PyTorch or ONNX", EXPORT, _export)
    parser.add_argument("run_folder", metavar="RUN",
                        help="the folder of a run, or a design by its file or name")  # fmt: skip
    option(parser, "--format", "what to write", choices=sorted(ENDINGS), required=True)
    option(parser, "--out FILE", "where to (model.py or model.onnx in the run)")
    option(parser, "--checkpoint", "which weights of the run to use (best)", choices=["best", "last"])  # fmt: skip
    forcing(parser)
    option(parser, "--length N", "ONNX for texts of N tokens only, where any length is not possible", int)  # fmt: skip
    _add_report(commands)
    _add_lab(commands)
    _add_lsp(commands)


def _export(options: argparse.Namespace) -> int:
    from indicial.designs.hand import named_design
    from indicial.training.run import Run

    ending = ENDINGS[options.format]
    if options.length is not None and (options.format != "onnx" or options.length < 1):
        raise IndicialError(
            "--length is a number of tokens, at least 1, and only for --format onnx"
        )
    if options.format == "onnx":
        from indicial.export.onnx_file import check_packages

        check_packages()
    design = named_design(options.run_folder)
    if design is not None and options.checkpoint is not None:
        raise IndicialError("--checkpoint is for a run: a design has one set of matrices")
    if design is not None:
        path = Path(options.run_folder).with_suffix(ending)
    else:
        with design_meant(options.run_folder):
            run = Run.open(options.run_folder)
        path = run.folder / f"model{ending}"
    if options.out is not None:
        path = Path(options.out)
    path = path if path.suffix == ending else path.with_name(path.name + ending)
    check_outputs(options, out=_files(path, options.format))
    chosen = options.checkpoint or "best"
    module = design.compiled() if design is not None else run.module(chosen, device="cpu")
    if options.format == "torch":
        print(_torch(module, path))
    else:
        from indicial.export.onnx_file import export_onnx

        print(_onnx(export_onnx(module, path, options.length), path))
    return 0


def _files(path: Path, form: str) -> list[Path]:
    """All that may be written."""
    if form == "torch":
        return [path, path.with_suffix(".safetensors")]
    from indicial.export.onnx_file import begin_path, data_path, step_path

    models = [path, step_path(path)]
    # Weights beside a model of ours are ours: they bear no mark themselves.
    data = [data_path(model) for model in models if not model.exists()]
    return [*models, begin_path(path), *data]


def _torch(module: Any, path: Path) -> str:
    from indicial.export.checking import check_torch
    from indicial.export.torch_file import arguments_of, export_torch

    made = export_torch(module, path)
    worst = check_torch(module, made, path)
    lines = [
        f"{path}",
        f"{path.with_suffix('.safetensors')}",
        f"  Model.forward({', '.join(arguments_of(made.inputs))}) → {', '.join(made.outputs)}",
    ]
    if isinstance(made.steps, str):
        lines.append(f"  without step: {made.steps}")
    else:
        token = ", ".join(arguments_of(made.steps.inputs))
        lines.append("  Model.begin(batch) → state, out")
        lines.append(f"  Model.step(state, {token}) → state, {', '.join(made.outputs)}")
    lines.append(f"it was run: its numbers differ from the model's by {worst:.1g} at most")
    return "\n".join(lines)


def _onnx(found: OnnxExport, path: Path) -> str:
    lines = []
    for file in found.files:
        lines += _ports(file)
    if any(file.path != path for file in found.files):
        from indicial.export.onnx_file import begin_path

        lines.append(f"{begin_path(path)}")
        lines.append("  the state of one example before its first token")
    for missing in found.missing:
        lines += missing.lines()
    worst = max(file.difference for file in found.files)
    lines.append(
        f"run with onnxruntime: its numbers differ from the model's by {worst:.1g} at most"
    )
    return "\n".join(lines)


def _ports(file: OnnxFile) -> list[str]:
    lines = [f"{file.path}"]
    lines += [f"  in   {_port(port)}" for port in file.inputs]
    return lines + [f"  out  {_port(port)}" for port in file.outputs]


def _port(port: Port) -> str:
    return f"{port.name}  {port.type} ({', '.join(map(str, port.shape))})"


REPORT = """\
Writes one HTML file about a run that stands alone: its equations typeset, its
curves, texts that it says, what its heads look at (point at a word; a click
holds it), gradients and eigenvalues, settings. It can be sent to somebody, and
needs no net. For typeset equations: pip install "indicial[report]".

  indicial report runs/people-1
  indicial report runs/people-1 --out people.html --text "Helen was born in"
  indicial report runs/translation-1 --input x="ein Hund schläft"

exit status: 0, 2 for wrong usage.
"""


def _add_report(commands: Commands[Any]) -> None:
    """Adds `report` to the parser of `indicial`."""
    parser = command(commands, "report", "write a page about a run", REPORT, _report)
    reads_run(parser)
    option(parser, "--out FILE", "the file (report.html in the run)")
    option(parser, "--text TEXT", "what the heads read (what the model says itself)")
    option(parser, "--input NAME=VALUE …", "what an input reads, of a model with several")
    option(parser, "--row N", "of a model of the phrasebook or of scenes: from this row on (0)", int)  # fmt: skip
    weights(parser)
    forcing(parser)


def _report(options: argparse.Namespace) -> int:
    from indicial.lab.report import report
    from indicial.training.run import Run

    run = Run.open(options.run_folder)
    file = Path(options.out) if options.out is not None else run.folder / "report.html"
    check_outputs(options, out=[file])
    made = report(
        run,
        text=options.text,
        given=given_inputs(options),
        row=options.row,
        checkpoint=options.checkpoint,
    )
    write_text(file, made)
    print(f"the report is in {file}")
    return 0


LAB = """\
Opens a page in the browser: equations with their messages, costs and heat maps
as one types, attention with vectors that one drags, and the runs of trainings.

  indicial lab                       an empty text, and the runs in runs/
  indicial lab model.eq              that text; the file itself is never changed
  indicial lab transformer           a model of the library
  indicial lab runs/cell-people-1    that run; or a folder with several
  indicial lab cell.eq texts/        with the files of a folder to train on
  indicial lab "http://127.0.0.1:8765/#eq=…"     a link that somebody copied

The page is served on this machine only, to whoever has the link that is
printed; nothing is fetched from anywhere else. Ctrl-C ends it.

exit status: 0, 2 for wrong usage.
"""
PORT = 8765


def _add_lab(commands: Commands[Any]) -> None:
    parser = command(commands, "lab", "open equations and runs in the browser", LAB, _lab)
    parser.add_argument("what", nargs="*", metavar="FILE|MODEL|FOLDER|LINK", help="what to show")
    option(parser, "--port N", f"where to serve ({PORT}, or another that is free)", int)
    option(parser, "--no-browser", "only print the link")


def _lab(options: argparse.Namespace) -> int:
    try:
        from indicial.page.server import Lab, serve
    except ImportError as error:
        raise IndicialError(
            f"the lab needs {error.name}, which is not installed: pip install 'indicial[lab]'"
        ) from None
    from indicial.page.runs import Trainings
    from indicial.page.server import beginning
    from indicial.page.workers import Workers

    begun, folders, fragment = beginning(options.what)
    port = _free(options.port)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = Workers(max(2, min(4, cores or 2)), folders=folders)
    lab = Lab(begun, port, workers, Trainings(folders))
    link = f"{lab.link}{fragment}"

    def ready() -> None:
        print(f"the lab is at {link}\nCtrl-C ends it", flush=True)
        if not options.no_browser:
            import webbrowser

            webbrowser.open(link)

    serve(lab, ready)
    return 0


def _free(wanted: int | None) -> int:
    """The port that is wanted, or one that is free."""
    if wanted is not None and not 0 <= wanted <= 65535:
        raise IndicialError(f"a port is a number from 0 (any) to 65535, not {wanted}")
    for port in [PORT, 0] if wanted is None else [wanted]:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as door:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                door.bind(("127.0.0.1", port))
            except OSError as error:
                if wanted is not None:
                    raise IndicialError(f"port {wanted} cannot be used: {error.strerror}") from None
                continue
            return int(door.getsockname()[1])
    raise IndicialError("no port is free")


LSP = """\
The language server: an editor starts it and talks with it over standard input
and output. It shows mistakes as you type, what a name is and what an equation
costs, completes, renames and formats. docs/editor.md says how to set up
VS Code, Neovim, Emacs and Helix. It needs pygls:
pip install "indicial[editor]"
"""


def _add_lsp(commands: Commands[Any]) -> None:
    lsp = command(commands, "lsp", "check equations in an editor, as you type", LSP, _lsp)
    option(lsp, "--stdio", "accepted, since many editors say so")


def _lsp(options: argparse.Namespace) -> int:
    try:
        from indicial.editor.server import serve
    except ImportError as error:
        raise IndicialError(
            'the language server needs pygls: pip install "indicial[editor]"'
        ) from error
    stdout = raw(sys.stdout).buffer  # type: ignore[attr-defined]
    sys.stdout = sys.stderr  # nothing that is printed gets between the answers
    serve(sys.stdin.buffer, stdout)
    return 0
