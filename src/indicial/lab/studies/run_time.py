"""The study `run_time`: the time of an RNN and a causal CNN against the length of a text.

model        T  operations  forward  backward  backward/forward  threads
rnn        256      19.0 M     1.66      1.71              1.03    1.02×

CPU time of one thread is what other processes disturb least. Two threads are compared with one by the clock, in turns;
on a busy machine that would say nothing, and is left out.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.native.shared import busy
from indicial.lab.studies.study import Findings, Place, Say, Study, axes_of, curves, exponent
from indicial.library.loading import load
from indicial.program.meaning.arrays import tied_sizes
from indicial.program.program import Program

MODELS = {"rnn": ("rnn", "language_model"), "causal_cnn": ("causal_cnn",)}
MILLI, MILLION = 1e3, 1e6
BUSY = "busy"
MOST = 0.15
"""The share of the machine that others may use while threads are compared."""


@dataclass(frozen=True)
class Plan:
    """Exponents are those of the longer half of the lengths: a call takes a millisecond by itself."""

    lengths: tuple[int, ...] = (256, 1024, 4096, 16384)
    width: int = 128
    layers: int = 2
    vocabulary: int = 32
    threads: tuple[int, ...] = (1, 2)
    rounds: int = 5
    window: float = 0.15
    """Seconds for each in a round."""


QUICK = Plan(lengths=(16, 32, 64), width=8, vocabulary=8, rounds=2, window=0.01)


@dataclass(frozen=True)
class Timing:
    """One model at one length."""

    operations: int
    """Of the forward pass, as the equations count them."""
    forward: float
    """Seconds of CPU, one thread; the median over rounds."""
    backward: float
    speedup: float | None
    """How many times as fast the largest number of threads is by the clock, both passes together."""


@dataclass(frozen=True)
class RunTime(Study):
    plan: Plan

    name = "run_time"

    def find(self, place: Place, say: Say) -> Findings:
        plan = self.plan
        if BUSY not in place.kept:
            place.keep(**{BUSY: busy()})
        threads = plan.threads if place.kept[BUSY] <= MOST else (1,)
        found: dict[str, list[Timing]] = {}
        for name, texts in MODELS.items():
            program = load(*texts)
            module: ProgramModule | None = None
            found[name] = []
            for length in plan.lengths:
                key = f"{name}, T = {length}"
                if key not in place.kept:
                    say(key)
                    module = module or compiled(program, plan)
                    operations = work(program, plan, length)
                    one = timing(module, plan, threads, length, operations)
                    place.keep(**{key: asdict(one)})
                found[name].append(Timing(**place.kept[key]))
        title = (
            f"Run time: one text at a time, width {plan.width}, {plan.vocabulary} words; the CNN "
            f"has {plan.layers} layers"
        )
        return Findings(
            title,
            [row(n, t, one) for n in MODELS for t, one in zip(plan.lengths, found[n], strict=True)],
            [
                NOTE,
                *(told(name, plan, found[name]) for name in MODELS),
                told_busy(place.kept[BUSY]),
            ],
            {name: exponents(plan, several) for name, several in found.items()},
            lambda: figure(plan, found, title),
        )


NOTE = (
    "operations: of the forward pass, counted from the equations. forward, backward: CPU time of one "
    "thread in milliseconds, the median over rounds. threads: how many times as fast two threads are "
    "by the clock, forward and backward together. Single measurements, on one machine: only ratios "
    "and exponents mean much."
)


# ---------------------------------------------------------------------- measuring


def sizes(program: Program, plan: Plan) -> dict[str, int]:
    said = {"V": plan.vocabulary, "J": plan.width, "I": plan.width, "L": plan.layers}
    return {name: value for name, value in said.items() if name in program.code.sizes}


def compiled(program: Program, plan: Plan) -> ProgramModule:
    torch.manual_seed(0)
    return program.compile(sizes=sizes(program, plan))


def work(program: Program, plan: Plan, length: int) -> int:
    """Operations of the forward pass on a text of this length."""
    known = tied_sizes(program.code, {**sizes(program, plan), "T": length})
    return int(program.cost.work.value(known))


def timing(
    module: ProgramModule, plan: Plan, threads: tuple[int, ...], length: int, operations: int
) -> Timing:
    """All numbers of threads take turns, so that what slows the machine down slows each of them."""
    words = torch.randint(plan.vocabulary, (1, length), generator=torch.Generator().manual_seed(0))
    before = torch.get_num_threads()
    cpu: list[tuple[float, float]] = []
    clock: dict[int, list[float]] = {number: [] for number in threads}
    gc.disable()
    try:
        for turn in range(plan.rounds):
            first = turn % len(threads)
            for number in [*threads[first:], *threads[:first]] if len(threads) > 1 else []:
                torch.set_num_threads(number)
                clock[number].append(sum(burst(module, words, plan.window, time.perf_counter)))
            torch.set_num_threads(1)
            cpu.append(burst(module, words, plan.window, time.thread_time))
    finally:
        gc.enable()
        torch.set_num_threads(before)
    pairs = zip(clock[threads[0]], clock[threads[-1]], strict=True)
    return Timing(
        operations,
        median(forward for forward, _ in cpu),
        median(backward for _, backward in cpu),
        median(slow / fast for slow, fast in pairs) if len(threads) > 1 else None,
    )


def burst(
    module: ProgramModule, words: torch.Tensor, window: float, clock: Callable[[], float]
) -> tuple[float, float]:
    """Seconds forward and backward: the medians of what fits into the window, after one for the caches."""
    forward: list[float] = []
    backward: list[float] = []
    end = time.perf_counter() + window
    while len(forward) < 3 or time.perf_counter() < end:
        begun = clock()
        loss = module(w=words).loss
        between = clock()
        loss.backward()
        ended = clock()
        forward.append(between - begun)
        backward.append(ended - between)
    return median(forward[1:]), median(backward[1:])


# ---------------------------------------------------------------------- in words and colours


def exponents(plan: Plan, several: Sequence[Timing]) -> dict[str, float]:
    """How operations and times grow with the length, over the longer half of the lengths."""
    first = (len(plan.lengths) - 1) // 2
    lengths = plan.lengths[first:]
    values: dict[str, list[float]] = {
        "operations": [one.operations for one in several[first:]],
        "forward": [one.forward for one in several[first:]],
        "backward": [one.backward for one in several[first:]],
    }
    return {name: exponent(lengths, series) for name, series in values.items()}


def row(name: str, length: int, one: Timing) -> dict[str, str]:
    threads = {"threads": f"{one.speedup:.2f}×"} if one.speedup is not None else {}
    return {
        "model": name,
        "T": str(length),
        "operations": f"{one.operations / MILLION:.1f} M",
        "forward": f"{one.forward * MILLI:.2f}",
        "backward": f"{one.backward * MILLI:.2f}",
        "backward/forward": f"{one.backward / one.forward:.2f}",
        **threads,
    }


def told(name: str, plan: Plan, several: Sequence[Timing]) -> str:
    found = exponents(plan, several)
    first, last = plan.lengths[(len(plan.lengths) - 1) // 2], plan.lengths[-1]
    ratio, speedup = several[-1].backward / several[-1].forward, several[-1].speedup
    threads = ""
    if speedup is not None:
        threads = f", and {plan.threads[-1]} threads are {speedup:.2f} times as fast as one"
    return (
        f"{name}: from T = {first} to {last} operations grow like T^{found['operations']:.2f}, the "
        f"forward time like T^{found['forward']:.2f}, the backward time like "
        f"T^{found['backward']:.2f}. At T = {last} backward takes {ratio:.1f} times as long as "
        f"forward{threads}."
    )


def told_busy(share: float) -> str:
    said = f"When it began, other processes used {share:.0%} of the machine"
    return f"{said}, so threads were not compared." if share > MOST else f"{said}."


def figure(plan: Plan, found: dict[str, list[Timing]], title: str) -> Any:
    """Milliseconds over the length, both scales logarithmic; a straight line is a power of T."""
    compared = all(one.speedup is not None for several in found.values() for one in several)
    drawn, panels = axes_of(2 if compared else 1, title)
    lines = {
        f"{name} {series}": (plan.lengths, [MILLI * getattr(one, series) for one in several])
        for series in ("forward", "backward")
        for name, several in found.items()
    }
    slowest = 2 * MILLI * max(several[-1].backward for several in found.values())
    lines["like T"] = plan.lengths, [slowest * n / plan.lengths[-1] for n in plan.lengths]
    curves(panels[0], lines, xlabel="T", yscale="log", ylabel="CPU time, one thread (ms)")
    if compared:
        speedups = {n: (plan.lengths, [one.speedup for one in s]) for n, s in found.items()}
        fast = f"speed of {plan.threads[-1]} threads, of one is 1"
        curves(panels[1], speedups, {"": 1}, xlabel="T", ylabel=fast)
        panels[1].set_ylim(bottom=0)
    for panel in panels:
        panel.set_xscale("log", base=2)
        panel.set_xticks(plan.lengths, [str(length) for length in plan.lengths], fontsize=8)
    return drawn
