"""Trains, is killed at random moments, goes on: run by `test_killed.py` in a process of its own.

    python killed.py FOLDER SEED   →   FOLDER/calm and FOLDER/killed, and how often it was killed

Children are forked, so that nothing has to be imported or compiled again.
"""

import dataclasses
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from reports import plan
from small import CHOICES, small_module, small_run, small_task

from indicial.training.curves import Metrics
from indicial.training.folders import FILE
from indicial.training.loop import train
from indicial.training.run import Run

STEPS = 36
MOST_KILLS = 12
SETTINGS = dataclasses.replace(
    CHOICES, max_steps=STEPS, eval_every=9, save_every=2, eval_tokens=100, warmup=5
)
TASK = small_task("trigram")
MODULE = small_module(TASK)
FIRST = {name: value.clone() for name, value in MODULE.state_dict().items()}


def work(folder: Path) -> None:
    """From the beginning, or from the last checkpoint."""
    MODULE.load_state_dict(FIRST)
    there = (folder / FILE).exists()
    run = Run.open(folder) if there else small_run(folder, TASK, MODULE, SETTINGS)
    found = run.checkpoints.latest()
    told = plan(folder, first=found.step if found is not None else 0, steps=STEPS)
    train(TASK, MODULE, SETTINGS, run, [Metrics(run.metrics)], told)


def child(work: Callable[[], None]) -> int:
    """Do it in a fork of this process; its number."""
    number = os.fork()
    if number == 0:
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return number


def main(folder: Path, seed: int) -> None:
    work(folder / "calm")
    began = time.monotonic()
    work(folder / "again")
    long = time.monotonic() - began
    draw = random.Random(seed)
    kills = 0
    while True:
        number = child(lambda: work(folder / "killed"))
        if kills < MOST_KILLS:
            time.sleep(draw.uniform(0, 0.2 * long))
            os.kill(number, signal.SIGKILL)
        _, status = os.waitpid(number, 0)
        if os.WIFSIGNALED(status):
            kills += 1
            continue
        print(f"killed {kills} times", flush=True)
        os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
