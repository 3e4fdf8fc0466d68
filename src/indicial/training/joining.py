"""Processes that were started together find each other, and end together.

    torchrun --nproc-per-node 2 -m indicial train …

>>> with joined_processes(settings) as processes:
...     train(…)

torchrun tells each process by the environment which it is (RANK of WORLD_SIZE) and where to meet
(MASTER_ADDR, MASTER_PORT). Whatever goes wrong is said once: by the process that notices it first,
while the others end in silence.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as distributed
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from indicial.program.messages import IndicialError
from indicial.training.processes import ALONE, Processes

MEETING = timedelta(minutes=10)
"""For the last to come."""
WAITING = timedelta(hours=12)
"""For the first to prepare the data. Whoever dies is noticed at once, whatever this is."""
NEEDED = ("RANK", "MASTER_ADDR", "MASTER_PORT")

_meetings = itertools.count()


class Silent(Exception):
    """An error that another process has told already."""


@contextmanager
def joined_processes(said: Mapping[str, Any], sharded: bool = False) -> Iterator[Processes]:
    """The processes that were started with this one; `said` is what each was started with."""
    of = _number("WORLD_SIZE", 1)
    if of == 1:
        if sharded:
            raise IndicialError(
                "--fsdp divides a model over several processes, and there is one: start it with "
                "`torchrun --nproc-per-node 2 -m indicial train …`, or leave it out"
            )
        yield ALONE
        return
    processes, store = _join(of, sharded)
    try:
        _check_alike(processes, said)
        yield processes
    except IndicialError as error:
        told = not _first_to_tell(store)
        distributed.destroy_process_group()  # whoever waits for this process need not any more
        raise (Silent() if told else error) from None
    except RuntimeError as error:
        if not _is_lost(error):
            raise  # leaving the others alone: they may be waiting in a GPU
        told = not _first_to_tell(store)
        distributed.destroy_process_group()
        raise (Silent() if told else IndicialError(LOST)) from None
    distributed.destroy_process_group()


LOST = (
    "another process of this training has ended, and without it the others cannot go on. The last "
    "checkpoint is as it was; start all of them again with --resume RUN"
)


def _join(of: int, sharded: bool) -> tuple[Processes, Store]:
    missing = [name for name in NEEDED if not os.environ.get(name)]
    if missing:
        raise IndicialError(
            f"WORLD_SIZE is {of}, which says that there are {of} processes, but "
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set. Start them "
            f"with `torchrun --nproc-per-node {of} -m indicial train …`; for one process, unset "
            "WORLD_SIZE"
        )
    rank = _number("RANK", 0)
    place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    try:
        store, _, _ = next(rendezvous("env://", timeout=MEETING))
        # A process may train twice: what it left at the first meeting is not for the second.
        store = PrefixStore(f"indicial/{next(_meetings)}", store)
        distributed.init_process_group(
            "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo",
            store=store,
            rank=rank,
            world_size=of,
            timeout=WAITING,
        )
    except (RuntimeError, ValueError) as error:
        raise IndicialError(
            f"the {of} processes of this training did not all come to {place}: "
            f"{str(error).splitlines()[0]}"
        ) from None
    local = _number("LOCAL_RANK", 0)
    return Processes(rank, of, local, sharded, connected=True), store


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name) or str(otherwise)
    if not text.isdecimal() or (name == "WORLD_SIZE" and int(text) < 1):
        raise IndicialError(
            f"the environment says {name}={text}, which is not a number of processes"
        )
    return int(text)


def _check_alike(processes: Processes, said: Mapping[str, Any]) -> None:
    """All do the same only if all were asked for the same."""
    first = processes.share(dict(said))
    differs = [name for name in {**first, **said} if first.get(name) != said.get(name)]
    odd = processes.first(bool(differs))
    text = None
    if differs and processes.rank == odd:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in differs)
        text = (
            f"process {odd} was started with other settings than the first: {flags}. Start all "
            "with the same command"
        )
    text = processes.share(text, odd)
    if text is not None:
        raise IndicialError(text)


def _first_to_tell(store: Store) -> bool:
    try:
        return bool(store.add("told", 1) == 1)
    except RuntimeError:  # whoever kept the store is gone
        return True


def _is_lost(error: RuntimeError) -> bool:
    """Whether it says that another process cannot be reached."""
    known = isinstance(error, distributed.DistError)
    return known or any(sign in str(error) for sign in ("gloo", "Gloo", "NCCL", "Connection"))
