"""Several processes that train one model, on one machine or on several.

    torchrun --nproc-per-node 2 -m indicial train ugrnn --data people

>>> processes = join()                    # alone if nobody started others
>>> processes.rank, processes.of
(1, 2)
>>> processes.sum([loss, tokens])         # of all
>>> processes.share(folder)               # what the first says
>>> processes.any(interrupted)

Each process takes its rows of every batch and its blocks of the validation part; gradients are
averaged, so all make the same step. What one decides alone, such as the name of the run, it shares.
All processes must ask for the same things in the same order.

`DistributedDataParallel` keeps a whole model in each process. With `--fsdp` (`fully_shard`) each
keeps some rows of each parameter, of its gradient and of the optimizer's state; for the time of a
forward and a backward pass all rows are fetched, since a program is one function.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as distributed
from torch import Tensor

from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError
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
                _broadcast(parameter.detach())
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


def _broadcast(tensor: Tensor) -> None:
    distributed.broadcast(tensor, 0)
