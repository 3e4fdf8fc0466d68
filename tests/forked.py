"""Commands without the two seconds in which a process imports PyTorch.

    >>> with Forked() as forked:                       a process that has imported everything
    ...     subprocess.run([*forked.python, "indicial", "check", "notes.md"])

A process of its own does the command, with its own folder, environment, input and outputs, as
`python -m indicial …` would: it is a copy (a fork) of one that has imported what commands need and
has computed nothing. In between stands a small process that hands over its files, passes signals on
and ends as the command ends. What a process does when it starts, and what it does when it is killed,
is tested with real ones.

    python tests/forked.py serve SOCKET              the process that is copied
    python -S tests/forked.py run SOCKET indicial check notes.md
    python -S tests/forked.py run SOCKET -c "print(1)"
"""

import json
import os
import signal
import socket
import sys

PRELOADED = (
    "torch", "numpy", "matplotlib.figure", "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg", "rich.console", "safetensors.torch", "tokenizers", "yaml",
    "indicial.lab.pool", "indicial.claims.trying", "indicial.export.torch_file",
    "indicial.compile.module.module", "indicial.designs.comparison", "indicial.lab.pool",
    "indicial.training.curves",
)  # fmt: skip
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve(place: str) -> None:
    """Copy this process for whoever comes, until standard input is closed."""
    import gc
    import importlib
    import pkgutil

    import indicial.commands

    for found in pkgutil.iter_modules(indicial.commands.__path__, "indicial.commands."):
        importlib.import_module(found.name)
    for name in PRELOADED:
        importlib.import_module(name)
    # The children of `compare` are copies too.
    sys.modules["indicial.lab.pool"].PYTHON = python(place)
    # Pictures of curves take half the time of a small training, and are drawn elsewhere.
    sys.modules["indicial.training.curves"].Curves.ended = lambda *_: None
    gc.collect()
    gc.freeze()  # copies look for garbage among their own, and leave these pages shared
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the copies here
    door = socket.socket(socket.AF_UNIX)
    door.bind(place)
    door.listen()
    os.write(1, b"ready\n")
    import select

    while True:
        ready, _, _ = select.select([door, 0], [], [])
        if 0 in ready:
            return
        guest, _ = door.accept()
        if os.fork() == 0:
            door.close()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            attend(guest)
        guest.close()


def python(place: str) -> tuple[str, ...]:
    """What stands in the place of `python -m`."""
    return (sys.executable, "-S", "-E", os.path.abspath(__file__), "run", place)


def attend(guest: socket.socket) -> None:
    """Run what the guest asks for in another copy, and tell how it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    files: list[int] = []
    message = b""
    while not message.endswith(b"\n"):
        piece, found, _, _ = socket.recv_fds(guest, 1 << 20, 3)
        if not piece:
            os._exit(0)
        message += piece
        files += found
    asked = json.loads(message)
    child = os.fork()
    if child == 0:
        guest.close()
        work(asked, files)
    for file in files:
        os.close(file)
    guest.sendall(f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    guest.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def work(asked: dict, files: list[int]) -> None:
    """Become the process that was asked for."""
    import io
    import runpy

    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.setsid()
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    if count := os.environ.get("OMP_NUM_THREADS"):
        sys.modules["torch"].set_num_threads(int(count))
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = io.TextIOWrapper(io.FileIO(0, "r", closefd=False), encoding=encoding)
    for name, number in (("stdout", 1), ("stderr", 2)):
        raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        at_once = number == 2 or os.isatty(number) or "PYTHONUNBUFFERED" in os.environ
        made = io.TextIOWrapper(
            raw,
            encoding=encoding,
            errors="backslashreplace" if number == 2 else None,
            line_buffering=at_once,
            write_through="PYTHONUNBUFFERED" in os.environ,
        )
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)
    for one in PASSED_ON:
        signal.signal(one, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    status = 0
    try:
        module, *sys.argv[1:] = asked["arguments"]
        if module == "-c":
            exec(sys.argv.pop(1), {"__name__": "__main__"})
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 1
    finish(status)


def finish(status: int) -> None:
    """What Python does at its end, without taking down what the copy shares with its original."""
    import atexit
    import contextlib

    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BaseException):
            stream.flush()
    os._exit(status & 0xFF)


def run(place: str, arguments: list[str]) -> None:
    """Hand over what this process was given, and end as the other does."""
    server = socket.socket(socket.AF_UNIX)
    server.connect(place)
    asked = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
    socket.send_fds(server, [b" "], [0, 1, 2])
    server.sendall(json.dumps(asked).encode() + b"\n")
    with server.makefile() as told:
        child = int(told.readline())
        for one in PASSED_ON:
            signal.signal(one, lambda number, _: os.kill(child, number))
        line = told.readline()
    status = int(line) if line else 1
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


class Forked:
    """The process that is copied; it ends with this one, or at the end of the block."""

    def __init__(self) -> None:
        import shlex
        import subprocess
        import tempfile

        # Not in a folder of pytest's: the path of a socket may have a hundred letters.
        self.folder = tempfile.TemporaryDirectory(prefix="forked-")
        place = os.path.join(self.folder.name, "door")
        self.python = python(place)
        """In the place of `python -m`."""
        self.commands = os.path.join(self.folder.name, "bin")
        """A folder with a command `indicial`, for PATH."""
        os.mkdir(self.commands)
        command = os.path.join(self.commands, "indicial")
        with open(command, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {shlex.join(self.python)} indicial "$@"\n')
        os.chmod(command, 0o700)
        self.server = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "serve", place],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> "Forked":
        assert self.server.stdout is not None
        assert self.server.stdout.readline() == b"ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        assert self.server.stdin is not None and self.server.stdout is not None
        self.server.stdin.close()
        self.server.wait()
        self.server.stdout.close()
        self.folder.cleanup()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        run(sys.argv[2], sys.argv[3:])
