"""One training step of a recurrent layer, beside loops, JAX, PyTorch's own, and bare products.

ugrnn   32×128×256   hoisted loop   ours 35.5 ms   theirs 91 ms   2.6×
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bench import cells, same
from bench.cells import Cell, Problem
from bench.options import Options
from bench.ours import Compiled, NotThere
from bench.peers.layer import Layer
from bench.peers.loops import CompiledLoop, HoistedLoop, NaiveLoop
from bench.peers.modules import Module
from bench.peers.products import OneProduct, Products
from bench.peers.scan import Scan
from bench.table import Line, Section, Verdict, verdict_of_mean
from bench.timing import Contender, Race, run_race

OURS, PRODUCTS, BEST = "ours", "its products", "one product"

# Whom to measure beside: a name for the table, how it is made, and what is wanted.
Peer = tuple[str, Callable[[Problem], Layer], float | None]
LOOPS: tuple[Peer, ...] = (
    ("naive loop", NaiveLoop, None),
    ("hoisted loop", HoistedLoop, 7.0),
    ("jax.lax.scan", Scan, 2.0),
)
COMPILED: Peer = ("torch.compile", CompiledLoop, None)


def novel(options: Options) -> Section:
    """The cells that no library has: against everything one could write instead."""
    peers = (*LOOPS, COMPILED) if options.compiled else LOOPS
    section = Section("Recurrent cells that are in no library")
    for cell in cells.NOVEL:
        _rows(section, cell, peers, options)
    return section


def library(options: Options) -> Section:
    """The cells that PyTorch has: against its own."""
    section = Section("Recurrent cells that PyTorch has")
    section.remarks.append(
        "The library's gru has its reset gate inside the product, which takes two products a step "
        "that wait for each other; nn.GRU has it outside, as gru_outside has. rnn_tanh is the "
        "library's rnn with the tanh of nn.RNN in the place of σ."
    )
    wanted: tuple[tuple[Cell, Peer], ...] = (
        (cells.LSTM, ("nn.LSTM", Module, 1.2)),
        (cells.GRU, ("nn.GRU", Module, 4.0)),
        (cells.GRU_OUTSIDE, ("nn.GRU", Module, 4.0)),
        (cells.RNN, ("nn.RNN", Module, None)),
    )
    for cell, peer in wanted:
        _rows(section, cell, (peer,), options)
    return section


def rate(options: Options) -> Section:
    """The largest UGRNN, the input's gradient included, against the machine's own limit."""
    section = Section("How much of the machine the UGRNN uses")
    problem = Problem.of(cells.UGRNN, cells.SIZES[0], input_gradient=True)
    section.lines += _lines(problem, (), options, best=OneProduct())
    ratio = section.lines[0].ratio
    value = None if ratio is None else ratio.median
    section.verdicts.append(Verdict("ugrnn", f"{PRODUCTS}, {problem.size}", value, 0.95))
    section.remarks.append(
        "The products: (B T, K) × (K, 2J) once and (B, J) × (J, 2J) T times forward; (B, 2J) × "
        "(2J, J) T times, (2J, B T) × (B T, K), (2J, B T) × (B T, J) and (B T, 2J) × (2J, K) once "
        "backward, through torch.mm into memory that is there already. "
        "One product is 2048 × 2048 × 2048."
    )
    return section


def _rows(section: Section, cell: Cell, peers: tuple[Peer, ...], options: Options) -> None:
    for size in options.sizes:
        problem = Problem.of(cell, size, options.input_gradient)
        section.lines += _lines(problem, peers, options)
    for name, _, target in peers:
        section.verdicts.append(verdict_of_mean(section.lines, cell.name, name, target))
    section.verdicts.append(verdict_of_mean(section.lines, cell.name, PRODUCTS))


def _lines(
    problem: Problem, peers: tuple[Peer, ...], options: Options, best: OneProduct | None = None
) -> list[Line]:
    """All contenders at one size: checked to compute the same, then measured together."""
    layers = {name: make(problem) for name, make, _ in peers}
    why = ""
    try:
        ours = Compiled(problem)
        _check_same(problem, ours, layers)
        layers = {OURS: ours, **layers}
    except (NotThere, same.Different) as reason:
        why = str(reason)
    work: dict[str, Products | OneProduct] = {PRODUCTS: Products(problem)}
    if best is not None:
        work[BEST] = best
    contenders = [Contender(name, who.run) for name, who in (layers | work).items()]
    race = run_race(contenders, options.pace)
    found = [_line(race, problem, name, why) for name, _, _ in peers]
    done = {OURS: work[PRODUCTS].operations}
    for name, products in work.items():
        done[name] = products.operations
        rates = tuple(done[n] / race.median(n) / 1e9 for n in (OURS, name) if n in race.seconds)
        found.append(replace(_line(race, problem, name, why), rates=rates))
    return found


def _line(race: Race, problem: Problem, peer: str, note: str) -> Line:
    subject, size = problem.cell.name, str(problem.size)
    theirs = race.median(peer) * 1e3
    if OURS not in race.seconds:
        return Line(subject, size, peer, None, theirs, note=note)
    # One large product is other work: only its rate can be compared.
    ratio = None if peer == BEST else race.ratio(peer, OURS)
    return Line(subject, size, peer, race.median(OURS) * 1e3, theirs, ratio)


def _check_same(problem: Problem, ours: Layer, layers: dict[str, Layer]) -> None:
    """Those with the same mathematics give the same numbers."""
    if not layers or problem.cell is cells.GRU:  # nn.GRU computes something else
        return
    required = {"h", *problem.weights} | ({"x"} if problem.input_gradient else set())
    values = ours.result()
    for name, layer in layers.items():
        same.check(values, layer.result(), f"{problem.cell.name} and {name}", required)
