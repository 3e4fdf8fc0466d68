"""The command `compare`.

$ indicial compare ugrnn transformer --data people --minutes 2 --samples
$ indicial compare rnn ugrnn gru lstm --parameters 100k,300k,1M --data people
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import Commands, command, setting
from indicial.commands.designs import compare_designs, two_designs
from indicial.commands.train import STOPPED

if TYPE_CHECKING:
    from indicial.data.corpus import Data
    from indicial.lab.compare import Comparison
    from indicial.lab.results import Result
    from indicial.lab.trials import Trial
    from indicial.lab.views import View
    from indicial.training.settings import Settings

TEXT = """\
Train several models on equal terms, side by side, and compare what comes of
them.

Equal terms: nearly the same number of parameters (all of them, word vectors
too: the width is chosen for it), the same data, the same batches, as many
tokens, and the learning rate by the same rule, from the width. Each training is
a process with one thread. Ctrl-C saves and prints what there is; the same call
with --out FOLDER goes on, and what is finished is not repeated.

examples:
  indicial compare ugrnn transformer --data people --minutes 2 --samples
  indicial compare rnn ugrnn gru lstm --parameters 100k,300k,1M --data people
  indicial compare gru cell.eq --data book.txt     your own beside a known one
  indicial compare transformer:L=2 transformer:L=6 --data people
  indicial compare transformer transformer+focus:λ=0.1 --data people

The folder gets a table (table.md), pictures, every number (compare.json), and a
run for each training, which `generate` and `evaluate` take.

Designs, and runs of the same equations, are compared as they are; nothing is
trained. It is told what is the same in their attention and what is not
(docs/design.md):

  indicial compare position learned.json --figure both.svg
  indicial compare mine.json runs/first-1 --text "ABC="
"""

SEEDS = 2
PARAMETERS = "300k"
UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}


def add(commands: Commands[Any]) -> None:
    from indicial.training.options import DATA, LEARNING, MACHINE, OPTIONS, OTHER_NAMES

    parser = command(commands, "compare", "models on equal terms, or two designs", TEXT, _compare)
    parser.other_names = OTHER_NAMES
    parser.add_argument("models", nargs="*", metavar="MODEL",
                        help="as in the examples: NAME, FILE.eq, NAME+NAME, NAME:SIZE=VALUE,…; "
                        "or two designs: a name, FILE.json, the folder of a run")  # fmt: skip
    group = parser.add_argument_group("comparison")
    group.add_argument("--parameters", default=PARAMETERS, metavar="N,…",
                       help=f"how many each model has: 100k,300k,1M ({PARAMETERS})")  # fmt: skip
    group.add_argument("--seeds", type=int, metavar="N",
                       help=f"trainings of each, with other first weights and batches ({SEEDS}; "
                       "with --minutes 1)")  # fmt: skip
    group.add_argument("--tokens-budget", metavar="N",
                       help="tokens that each training sees (1.6M)")  # fmt: skip
    group.add_argument("--minutes", metavar="M",
                       help="instead: so long for each training, however many tokens")  # fmt: skip
    group.add_argument("--samples", action="store_true",
                       help="let each model say something, at three temperatures")  # fmt: skip
    group.add_argument("--out", metavar="FOLDER", help="(runs/compare-DATA-1)")
    group.add_argument("--workers", type=int, metavar="N",
                       help="trainings at a time (as many as there are cores)")  # fmt: skip
    group = parser.add_argument_group("two designs or runs; nothing else is for them")
    group.add_argument("--figure", metavar="FILE",
                       help="draw both in one picture: .svg, .png or .pdf")  # fmt: skip
    group.add_argument("--text", metavar="TEXT", help="the example on which weights are shown")
    group.add_argument("--json", action="store_true", help="all numbers as JSON")
    more = {"data": DATA, "learning": [OPTIONS["batch_size"], *LEARNING], "machine": MACHINE}
    for title, options in more.items():
        own = parser.add_argument_group(title)
        for option in options:
            if option.name not in ("seed", "fsdp"):
                setting(own, option)


def _compare(options: argparse.Namespace) -> int:
    designs = two_designs(options.models)
    if designs is not None:
        _only(options, ("text", "figure", "json"), "nothing is trained when designs are compared")
        return compare_designs(designs, options.text, options.figure, options.json)
    others = [name for name in vars(options) if name not in ("text", "figure", "json")]
    _only(options, others, "models are compared in a folder, with pictures (--out)")
    from indicial.lab.pool import finished, run_trials
    from indicial.lab.views import make_view

    workers = _workers(options)
    comparison = _comparison(options)
    before = {trial.label: finished(trial) for trial in comparison.trials}
    left = [trial for trial in comparison.trials if before[trial.label] is None]
    view = make_view(left)
    _tell_plan(comparison, view, len(left))
    comparison.keep([result for result in before.values() if result is not None])
    outcomes = run_trials(left, workers, view) if left else {}
    found = {**before, **{label: outcome.result for label, outcome in outcomes.items()}}
    results = [result for trial in comparison.trials if (result := found[trial.label])]
    _tell_results(comparison, results, view, options.samples)
    if any(outcome.mistake for outcome in outcomes.values()):
        return 1
    if len(results) == len(found) and all(result.finished for result in results):
        return 0
    end = f"stopped; to go on: the same call with --out {comparison.folder}"
    if view.lost is None:
        view.say(end)
    else:
        _tell_unread(end, view.lost)
    return STOPPED


# ---------------------------------------------------------------------- the call


def _only(options: argparse.Namespace, known: Collection[str], why: str) -> None:
    """Complain about a setting that would be passed over."""
    from indicial.program.messages import IndicialError

    for name, value in vars(options).items():
        said = value not in (None, False, PARAMETERS) and name not in ("run", "command", "models")
        if said and name not in known:
            raise IndicialError(f"--{name.replace('_', '-')} is not for this: {why}")


def _comparison(options: argparse.Namespace) -> Comparison:
    from indicial.lab.compare import Comparison
    from indicial.lab.contenders import contenders
    from indicial.lab.trials import TOKENS
    from indicial.program.messages import IndicialError
    from indicial.training.shared_data import read_data

    if not options.models:
        raise IndicialError("say what to compare: indicial compare ugrnn transformer --data people")
    terms = _terms(options)
    if not terms.data:
        raise IndicialError("say what to train on: --data PATH, or --data people, a built-in world")
    if options.minutes is not None and options.tokens_budget is not None:
        raise IndicialError("--minutes or --tokens-budget: one of them says how long a training is")
    models = contenders(options.models)
    parameters = _numbers("--parameters", options.parameters)
    seeds = options.seeds if options.seeds is not None else 1 if options.minutes else SEEDS
    if seeds < 1:
        raise IndicialError(f"--seeds takes a number from 1 on; it was given {seeds}")
    tokens = None
    if options.minutes is None:
        tokens = _number("--tokens-budget", options.tokens_budget or str(TOKENS))
    for model in models:
        model.trainable()  # a wrong name is told before the data are read
    data = read_data(terms, print)
    folder = Path(options.out) if options.out else _free_folder(data)
    return Comparison.make(models, parameters, seeds, terms, data, folder, tokens)


def _terms(options: argparse.Namespace) -> Settings:
    from indicial.training.options import OPTIONS
    from indicial.training.settings import Settings

    names = [name for name in OPTIONS if hasattr(options, name) and name not in ("out", "model")]
    return Settings.read({name: getattr(options, name) for name in names})


def _numbers(flag: str, text: str) -> list[int]:
    """`"100k,300k,1M"` → `[100000, 300000, 1000000]`."""
    from indicial.program.messages import IndicialError
    from indicial.training.chart import short

    found = sorted({_number(flag, one) for one in text.split(",")})
    if len({short(one) for one in found}) < len(found):
        raise IndicialError(f"{flag} {text}: some of these are too near to each other")
    return found


def _number(flag: str, text: str) -> int:
    from indicial.program.messages import IndicialError

    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)\s*", text, re.IGNORECASE)
    number = round(float(match[1]) * UNITS[match[2].lower()]) if match else 0
    if number < 1:
        raise IndicialError(
            f"{flag} takes numbers such as 300k, 2.5M or 40000; it was given {text}"
        )
    return number


def _free_folder(data: Data) -> Path:
    name = re.sub(r"[^\w.+-]+", "-", Path(data.name).stem).strip("-")[:60]
    number = 1
    while (Path("runs") / f"compare-{name}-{number}").exists():
        number += 1
    return Path("runs") / f"compare-{name}-{number}"


def _workers(options: argparse.Namespace) -> int:
    from indicial.program.messages import IndicialError

    if options.workers is None:
        return os.cpu_count() or 1
    if options.workers < 1:
        raise IndicialError(f"--workers takes a number from 1 on; it was given {options.workers}")
    return int(options.workers)


# ---------------------------------------------------------------------- what is told


def _tell_plan(comparison: Comparison, view: View, left: int) -> None:
    trials = comparison.trials
    first = trials[0].settings
    view.say(
        f"{comparison.title}: batches of {first.batch_size} x {first.context} tokens, "
        f"V = {comparison.data.tokenizer.size} ({comparison.data.tokenizer.kind})"
    )
    for trial in trials:
        if trial.seed == 0:
            own = ", ".join(f"{n} = {v}" for n, v in trial.settings.set.items())
            view.say(f"  {trial.model}, {trial.parameters:,} parameters: {own}")
    done = len(trials) - left
    view.say(f"{len(trials)} trainings{f', {done} of them done already' if done else ''}")


def _tell_results(comparison: Comparison, results: list[Result], view: View, samples: bool) -> None:
    from indicial.lab import tables
    from indicial.lab.results import groups

    if not results:
        view.say("nothing was trained")
        return
    there = {(result.model, result.asked, result.seed) for result in results}
    runs = [t for t in comparison.trials if (t.model, t.asked, t.seed) in there]
    paths = comparison.write(results)
    if samples and view.lost is None:
        _tell_samples([t for t in runs if t.seed == 0 and t.asked == runs[-1].asked], view)
    found = groups(results)
    view.say(f"\n{tables.plain(tables.rows(found))}\n")
    for note in tables.notes(found):
        view.console.print(note, highlight=False, markup=False)
    for path in paths:
        view.say(str(path))
    view.say(f"to hear more: indicial generate {runs[0].folder}")


def _tell_unread(end: str, lost: OSError) -> None:
    """How it ended, where the output can tell it no more: `indicial compare … | head`."""
    import contextlib
    import sys

    from indicial.training.output import discard_stdout

    discard_stdout()
    with contextlib.suppress(OSError):  # it may be closed as well
        print(f"the output cannot be written any more ({lost.strerror or lost})", file=sys.stderr)
        print(end, file=sys.stderr)


def _tell_samples(trials: list[Trial], view: View) -> None:
    from indicial.lab.samples import explained, samples
    from indicial.program.messages import IndicialError

    for trial in trials:
        view.say(f"\n{trial.model}")
        try:
            view.say(samples(trial.folder, min(100, view.console.width)))
        except IndicialError as error:  # one that fills in blanks writes nothing
            view.say(f"  {error}")
    if trials and (mark := explained(trials[0].folder)):
        view.say(f"\n{mark}")
