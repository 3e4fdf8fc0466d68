"""Several processes that train one model, on one machine or on several.

    torchrun --nproc-per-node 2 -m indicial train ugrnn --data people

>>> with joined_processes(settings) as processes:     # alone if nobody started others
...     processes.rank, processes.of                  # (1, 2)
...     processes.sum([loss, tokens])                 # of all
...     processes.share(folder)                       # what the first says
...     processes.any(interrupted)

torchrun tells each process by the environment which it is (RANK of WORLD_SIZE) and where to meet
(MASTER_ADDR, MASTER_PORT). Each takes its rows of every batch and its blocks of the validation part; gradients are
averaged, so all make the same step. What one decides alone, such as the name of the run, it shares, and the first
writes. All processes must ask for the same things in the same order. Whatever goes wrong is said once: by the
process that notices it first, while the others end in silence.

`DistributedDataParallel` keeps a whole model in each process. With `--fsdp` (`fully_shard`) each
keeps some rows of each parameter, of its gradient and of the optimizer's state; for the time of a
forward and a backward pass all rows are fetched, since a program is one function.

>>> parameter.shape, local(parameter).shape          # of two processes
(torch.Size([11, 8]), torch.Size([6, 8]))
>>> whole(parameter).shape                            # every process asks, every process has it
torch.Size([11, 8])
>>> divided(weights, parameter)                       # the rows of `weights` that are here

A tensor that is not divided is its own rows and its own whole.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as distributed
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.training.checkpoints import Checkpoint


@dataclass(frozen=True)
class Processes:
    """This process among the others."""

    rank: int = 0
    of: int = 1
    local: int = 0
    """Its number on this machine: which GPU is its own."""
    sharded: bool = False
    """Whether parameters are divided (`--fsdp`)."""
    connected: bool = False
    """Whether there is anybody to talk to."""

    def apart(self) -> Processes:
        """The same rows of each batch, but not a word to the others: for measuring."""
        return replace(self, sharded=False, connected=False)

    def rows(self, batch_size: int, said: bool) -> int:
        """A batch size that can be divided; one that was not said is made a little larger."""
        if batch_size % self.of and said:
            raise IndicialError(
                f"--batch-size {batch_size} is the batch of all processes together, and cannot be "
                f"divided over {self.of}: make it a multiple of {self.of}"
            )
        return -(-batch_size // self.of) * self.of

    def device(self, said: str) -> str:
        """The device of this process: each has a GPU of its own."""
        if self.of == 1 or said == "cpu":
            return said
        if said != "cuda":
            raise IndicialError(
                f"--device {said} is for one process; several take --device cpu, or --device cuda "
                "and each a GPU of its own"
            )
        if self.local >= torch.cuda.device_count():
            raise IndicialError(
                f"there are {torch.cuda.device_count()} GPUs on this machine, and more processes "
                f"were started: make --nproc-per-node {torch.cuda.device_count()}"
            )
        torch.cuda.set_device(self.local)
        return f"cuda:{self.local}"

    # ------------------------------------------------------------------ agreeing

    def sum(self, values: Sequence[float]) -> list[float]:
        """Each number added up over all processes."""
        if not self.connected:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64)
        distributed.all_reduce(tensor)
        found: list[float] = tensor.tolist()
        return found

    def any(self, flag: bool) -> bool:
        """Whether it is so in any process."""
        return self.sum([float(flag)])[0] > 0

    def first(self, flag: bool) -> int:
        """The first process in which it is so; 0 if it is so in none."""
        if not self.connected:
            return 0
        tensor = torch.tensor(self.rank if flag else self.of)
        distributed.all_reduce(tensor, distributed.ReduceOp.MIN)
        return int(tensor) % self.of

    def share(self, value: Any, source: int = 0) -> Any:
        """What JSON can hold, as the process `source` has it."""
        if not self.connected:
            return value
        text = json.dumps(value).encode() if self.rank == source else b""
        size = torch.tensor(len(text))
        distributed.broadcast(size, source)
        content = torch.empty(int(size), dtype=torch.uint8)
        if self.rank == source:
            content = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        distributed.broadcast(content, source)
        return json.loads(bytes(content.tolist()))

    def share_checkpoint(self, found: Checkpoint | None) -> Checkpoint | None:
        """The checkpoint that the first has read: other machines need not see its folder."""
        from indicial.training.checkpoints import Checkpoint  # which asks here who writes

        if not self.connected:
            return found
        about = self.share(None if found is None else _outline(found))
        if about is None:
            return None
        tensors: dict[str, Tensor] = {}
        for name, shape, kind in about["tensors"]:
            if found is not None and self.rank == 0:
                tensors[name] = found.tensors[name].contiguous()
            else:
                tensors[name] = torch.empty(shape, dtype=getattr(torch, kind))
            distributed.broadcast(tensors[name], 0)
        return Checkpoint(about["step"], tensors, about["facts"])

    def wait(self) -> None:
        """Until all are here."""
        self.any(False)

    # ------------------------------------------------------------------ the model

    def wrap(self, module: ProgramModule, unused: bool, compiled: bool) -> Any:
        """What is called in place of the module; its gradients are those of all processes.

        `unused` says that there are parameters which the loss does not depend on.
        """
        if self.connected and self.sharded:
            from torch.distributed.fsdp import fully_shard

            for parameter in module.parameters():
                distributed.broadcast(parameter.detach(), 0)
            fully_shard(module)
        called = torch.compile(module) if compiled else module
        if not self.connected or self.sharded:
            return called
        return torch.nn.parallel.DistributedDataParallel(
            called,
            forward_sync_buffers=False,
            find_unused_parameters=unused,
            gradient_as_bucket_view=True,
        )

    def exchanging(self, replica: Any, now: bool) -> AbstractContextManager[None]:
        """Gradients go to the others `now`, or stay here and are added to the next ones."""
        if isinstance(replica, torch.nn.parallel.DistributedDataParallel) and not now:
            return replica.no_sync()
        return nullcontext()

    @contextmanager
    def whole(self, module: Any) -> Iterator[None]:
        """While this lasts, the parameters of a module are all here."""
        if not (self.connected and self.sharded):
            yield
            return
        module.unshard()
        try:
            yield
        finally:
            module.reshard()


ALONE = Processes()


def _outline(found: Checkpoint) -> dict[str, Any]:
    tensors = [
        (name, list(value.shape), str(value.dtype).removeprefix("torch."))
        for name, value in found.tensors.items()
    ]
    return {"step": found.step, "facts": found.facts, "tensors": tensors}


def writes() -> bool:
    """Whether this process writes files and shows progress: always, unless it has a rank above 0."""
    if not (distributed.is_available() and distributed.is_initialized()):
        return True
    return distributed.get_rank() == 0


def is_divided(tensor: Tensor) -> bool:
    """Whether other processes have the rest of it."""
    # A DTensor; its class takes long to import, and is there only where it is used.
    return hasattr(tensor, "full_tensor")


def local(tensor: Any) -> Tensor:
    """The rows that are here, not a copy."""
    found: Tensor = tensor.to_local() if is_divided(tensor) else tensor
    return found


def whole(tensor: Any) -> Tensor:
    """All rows. All processes must ask for the same tensors in the same order."""
    found: Tensor = tensor.full_tensor() if is_divided(tensor) else tensor
    return found


def divided(value: Tensor, like: Any) -> Tensor:
    """A whole tensor, divided as another one is; each process gives all of it."""
    value = value.to(like.device)
    if not is_divided(like):
        return value
    from torch.distributed.tensor import DTensor, Replicate

    everywhere = DTensor.from_local(value, like.device_mesh, [Replicate()], run_check=False)
    return everywhere.redistribute(placements=like.placements)


def joined(rows: Tensor, like: Any) -> Tensor:
    """All rows of a tensor of which `rows` are here, divided as another one is."""
    if not is_divided(like):
        return rows
    from torch.distributed.tensor import DTensor

    return DTensor.from_local(
        rows, like.device_mesh, like.placements, shape=like.shape, stride=like.stride()
    ).full_tensor()


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
