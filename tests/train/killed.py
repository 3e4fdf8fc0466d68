"""Trains, is killed at random moments, goes on: run by `test_killed.py` in a process of its own.

    python killed.py FOLDER SEED   →   FOLDER/calm and FOLDER/killed, and how often it was killed

Children are forked, so that nothing has to be imported again.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

import indicial
from indicial.train.checkpoints import Checkpoint, Checkpoints
from indicial.train.clipping import clip_by_norm
from indicial.train.metrics import Metrics
from indicial.train.optimizers import Optimizer
from indicial.train.run import load_weights
from indicial.train.schedule import Schedule
from indicial.train.watchers import Plan, Report, Summary

TEXT = """
input w[t] in V
x[t,k] = e[w[t-1],k]
h[t,j] = tanh(W[j,K] x[t,K] - B[j])
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} U[w_t,J] h[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
"""
STEPS = 60
MODULE = indicial.load(TEXT).compile(V=7, J=6, K=5)


def train(folder: Path) -> None:
    """A loop over the pieces that `train/loop.py` has: small, and random in its own way."""
    torch.manual_seed(0)
    module = MODULE  # made once: what it runs is there in every fork
    module.reset_parameters()
    optimizer = Optimizer(module, "muon")
    schedule = Schedule(0.02, STEPS, 5)
    kept = Checkpoints(folder / "checkpoints")
    found = kept.latest()
    first = 0
    if found is not None:
        first = found.step
        load_weights(module, found)
        optimizer.load(found.part("optimizer"))
        torch.set_rng_state(found.tensors["random/torch"])
    metrics = Metrics(folder / "metrics.jsonl")
    metrics.started(plan(folder, first))
    for step in range(first, STEPS):
        words = torch.randint(7, (4, 9), generator=torch.Generator().manual_seed(step))
        noise = 1 + 0.1 * torch.randn(())  # as dropout would, it moves torch's own random state
        loss = module(w=words).loss * noise
        optimizer.zero_grad()
        loss.backward()
        norm, _ = clip_by_norm(module.parameters(), 1.0)
        optimizer.step(schedule.at(step))
        metrics.stepped(report(step + 1, loss.item(), norm))
        if (step + 1) % 3 == 0:
            kept.save(state(step + 1, module, optimizer))
    metrics.ended(Summary("finished", STEPS, STEPS, 0.0, 0, folder))


def state(step: int, module: torch.nn.Module, optimizer: Optimizer) -> Checkpoint:
    tensors = {f"model/{name}": value for name, value in module.state_dict().items()}
    tensors |= {f"optimizer/{name}": value for name, value in optimizer.tensors().items()}
    return Checkpoint(step, {**tensors, "random/torch": torch.get_rng_state()})


def plan(folder: Path, first: int) -> Plan:
    return Plan(
        "", "", folder, 0, {}, "", "", 1, 1, 1, 1, 1, first, STEPS, None, "muon", 0.02, "cpu", ""
    )


def report(step: int, loss: float, norm: float) -> Report:
    return Report(step, STEPS, step, loss, loss, {}, norm, 0, 0.0, 0.0, 0.0, 0.0)


def child(work: Callable[[], None]) -> int:
    """Do it in a fork of this process; its number."""
    number = os.fork()
    if number == 0:
        work()
        os._exit(0)
    return number


def main(folder: Path, seed: int) -> None:
    torch.set_num_threads(1)
    train(folder / "calm")
    began = time.monotonic()
    train(folder / "again")
    long = time.monotonic() - began
    draw = random.Random(seed)
    kills = 0
    while True:
        number = child(lambda: train(folder / "killed"))
        if kills < 15:
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
