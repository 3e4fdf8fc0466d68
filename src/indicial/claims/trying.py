"""The front door: all claims of some programs → verdicts.

>>> [verdict.line() for verdict in try_claims(load_document("notes.md"))]
['notes.md:9: claim holds: …', …]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from indicial import library
from indicial.claims.costs import is_about_costs, is_about_sizes, try_costs
from indicial.claims.verdict import UNTRIED, Verdict, claimed
from indicial.library.loading import load
from indicial.program.explain.facts import tied_sizes
from indicial.program.ir import Code, Test
from indicial.program.messages import IndicialError
from indicial.program.program import Program

WORK_OF_ONE, WORK_OF_MANY = 300_000, 3_000
"""Numbers that a draw may compute at the larger sizes: at some draws, or at thousands of them."""
CLAIMS = ("claim", "false")
"""The kinds of tests that are tried here; steps are tried when a program is read, and plots are drawn."""
DRAWS = 200
"""Draws for a claim about values, over all its sizes."""


def has_claims(program: Program) -> bool:
    return any(test.kind in CLAIMS for test in program.analysis.code.tests)


def try_claims(
    programs: Iterable[Program],
    *,
    sizes: Mapping[str, int] | None = None,
    seed: int = 0,
    draws: int | None = None,
    which: Callable[[Test], bool] = lambda test: True,
    beside: Iterable[Program] = (),
) -> list[Verdict]:
    """Tries every claim of every program without errors, in the order of the text.

    `which` chooses among the claims; `beside` are programs that a claim may speak of by their titles.
    """
    programs = list(programs)
    known_titles = [*programs, *beside]
    found: list[Verdict] = []
    for program in programs:
        if not has_claims(program):
            continue
        try:
            code = program.code
        except IndicialError:
            continue  # its mistakes come first
        known = {name: value for name, value in (sizes or {}).items() if name in code.sizes}
        for test in code.tests:
            if test.kind not in CLAIMS or not which(test):
                continue
            verdict = _tried(code, test, known_titles, known, seed, draws)
            if verdict.as_stated or not program.silenced(verdict.message()):
                found.append(verdict)
    return found


def try_one(
    code: Code,
    test: Test,
    *,
    seed: int = 0,
    draws: int | None = None,
    beside: Sequence[Program] = (),
) -> Verdict:
    """Tries a claim about some code, which need not be one of its own."""
    return _tried(code, test, beside, {}, seed, draws)


def _tried(
    code: Code,
    test: Test,
    programs: Sequence[Program],
    sizes: Mapping[str, int],
    seed: int,
    draws: int | None,
) -> Verdict:
    try:
        if is_about_costs(test) or is_about_sizes(test):
            fixed = {name: value for name, value in code.sizes.items() if value is not None}
            given = tied_sizes(code, {**fixed, **sizes})
            return try_costs(code, test, lambda n: _other(n, programs), given)
        return _on_draws(code, test, sizes, seed, draws)
    except IndicialError as error:
        return Verdict(test, UNTRIED, str(error))


def _on_draws(
    code: Code, test: Test, sizes: Mapping[str, int], seed: int, draws: int | None
) -> Verdict:
    from indicial.claims.experiment import Experiment
    from indicial.claims.statistics import try_statistics
    from indicial.claims.values import corners, try_values

    code = replace(code, sizes={n: sizes.get(n, value) for n, value in code.sizes.items()})
    about = claimed(code, test)
    experiment = Experiment(about, test)
    if experiment.summaries:
        tried = corners(about, WORK_OF_MANY, few=True)
        return try_statistics(experiment, tried, seed, draws)
    tried = corners(about, WORK_OF_ONE)
    return try_values(experiment, tried, seed, DRAWS if draws is None else draws)


def _other(name: str, programs: Sequence[Program]) -> Code | None:
    """Another section of the document by its heading, or a model of the library."""
    plain = name.replace("{", "").replace("}", "")
    for program in programs:
        if program.title.casefold().replace(" ", "_") == plain.casefold():
            return program.code
    return load(plain).code if plain in library.names() else None
