"""A process that has imported everything, and copies itself for every worker.

    python -m indicial.page.zygote FD '["/home/me/runs"]'

The second word is where runs are looked for. Over the socket FD comes one message for each worker
that is wanted, with the socket that the worker is to answer on; back goes the worker's process
number. Once the first workers are there, PyTorch is imported too, so that a page does not wait for
it; workers that were there before are then replaced. It ends, and so do its workers, when the server is gone.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import socket
import sys
from typing import Any

LIGHT = ("indicial.page.wire",)
HEAVY = (
    "torch", "indicial.compile.explain.gradient", "indicial.compile.explain.schedule_page",
    "indicial.compile.module.module", "indicial.claims.trying", "indicial.inspect.graph",
    "indicial.inspect.svg", "indicial.inspect.layers", "indicial.decode.text",
    "indicial.training.run", "indicial.inspect.attention", "indicial.inspect.columns",
    "indicial.designs.comparison", "indicial.designs.hand", "indicial.designs.checking",
)  # fmt: skip
MEMORY = 2 << 30
"""Bytes that a worker may take on top of what it begins with."""


def main(door: socket.socket) -> None:
    """Copies itself for whoever asks, until the server hangs up."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the copies here
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends on Ctrl-C, and this with it
    for name in LIGHT:
        importlib.import_module(name)
    warm = False
    while True:
        message, files, _, _ = socket.recv_fds(door, 1, 1)
        if not message:
            return
        if message == b"w":
            if not warm:
                for name in HEAVY:
                    importlib.import_module(name)
                warm = True
            door.sendall(bytes(4))
            continue
        gc.collect()
        gc.freeze()  # what is here now is never garbage, and stays shared between the copies
        child = os.fork()
        if child == 0:
            door.close()
            work(socket.socket(fileno=files[0]))
            os._exit(0)
        os.close(files[0])
        door.sendall(child.to_bytes(4, "little"))


def work(line: socket.socket) -> None:
    """Answers questions, one line of JSON each, until nobody asks any more."""
    from indicial.page.wire import answer

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with open(os.devnull, "r+b") as nowhere:  # what a computation prints is not an answer
        os.dup2(nowhere.fileno(), 1)
    limit_memory()
    gc.set_threshold(100_000, 50, 50)
    reader, writer = line.makefile("r", encoding="utf-8"), line.makefile("w", encoding="utf-8")
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for asked in reader:
            question = json.loads(asked)
            told: dict[str, Any] = answer(question["name"], question["question"])
            writer.write(json.dumps(told, ensure_ascii=False, allow_nan=False) + "\n")
            writer.flush()


def limit_memory() -> None:
    """What is taken on top of what is there; a computation that needs more gets a MemoryError.

    Only where the system tells how much is there: Linux.
    """
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            data = next(int(row.split()[1]) << 10 for row in status if row.startswith("VmData"))
    except (OSError, StopIteration):
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = data + MEMORY
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


if __name__ == "__main__":
    from indicial.page import runs

    runs.folders_from(sys.argv[2])
    main(socket.socket(fileno=int(sys.argv[1])))
