"""`python -m indicial` again and again in the processes of one torchrun, which take long to start.

    torchrun --nproc-per-node 2 typed.py FOLDER < FOLDER/text.txt

FOLDER/commands.json is a list of `{"arguments": […], "signal": [rank, step, number]}`: as typed, and
which process gets a signal after which step. Who ended how goes to FOLDER/status-RANK.json, and what
was said to standard error during a command to FOLDER/said-RANK-NUMBER.txt: processes are not equally
fast, and what they say in one stream cannot be told apart.
"""

import json
import os
import runpy
import signal
import sys
from pathlib import Path

from indicial.training.training import Step, Training


def main(folder: Path) -> None:
    rank = os.environ["RANK"]
    os.chdir(folder)
    found = []
    for number, command in enumerate(json.loads(Path("commands.json").read_text())):
        said = os.open(f"said-{rank}-{number}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 2)
        os.close(said)
        sys.argv = ["indicial", "train", *command["arguments"], *command.get(f"of {rank}", [])]
        listens = signal.getsignal(signal.SIGTERM)
        step = Training.step
        Training.step = signalled(*command.get("signal", (-1, 0, 0)))  # type: ignore[method-assign]
        try:
            runpy.run_module("indicial", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            found.append(end.code)
        Training.step = step  # type: ignore[method-assign]
        assert signal.getsignal(signal.SIGTERM) == listens
        Path(f"status-{rank}.json").write_text(json.dumps(found))


def signalled(rank: int, step: int, number: int):  # type: ignore[no-untyped-def]
    before = Training.step

    def stepped(training: Training) -> Step:
        found = before(training)
        here = training.processes.rank == rank and training.processes.connected
        if here and training.progress.step == step:
            os.kill(os.getpid(), number)
        return found

    return stepped


main(Path(sys.argv[1]))
