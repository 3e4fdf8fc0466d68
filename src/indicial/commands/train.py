"""The commands `train`, `compare` and `study`: a model, several, what a problem sheet says of them."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterable
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import (
    Commands,
    Parser,
    check_outputs,
    command,
    forcing,
    option,
    refuse,
    setting,
)
from indicial.commands.attend import compare_designs
from indicial.program.messages import IndicialError
from indicial.training.folders import check_run
from indicial.training.settings import (
    DATA,
    GROUPS,
    LEARNING,
    MACHINE,
    OPTIONS,
    OTHER_NAMES,
    Settings,
    read_config,
)

if TYPE_CHECKING:
    from indicial.lab.studies.study import Study


TEXT = """\
Train a model of the library, or equations of your own, on text, or on columns
of data that are the inputs of the equations.

What is not said is chosen by the model, the data and the time, and told before
the first step. Everything that the run needs later is kept in its folder:
equations, tokenizer, weights, numbers, curves. Ctrl-C saves and ends; --resume
goes on as if nothing had happened.

examples:
  five minutes on a built-in world, an hour on a text of your own:
    indicial train ugrnn --data people
    indicial train transformer --data book.txt --minutes 60
  a cell of your own, that gives h[t,j] from x[t,k]; a stack of another cell:
    indicial train cell.eq --data notes/ --set J=256
    indicial train stacked --set CELL=lstm --set L=3 --data people
  a loss with another term; a blank language model:
    indicial train transformer focus --set λ=0.1 --data people
    indicial train encoder --data people
  translation, of a world, from files side by side or from a table; captions:
    indicial train bahdanau --data phrasebook
    indicial train bahdanau --data x=train.de --data w=train.en
    indicial train bahdanau --data pairs.tsv --column x=german --column w=text
    indicial train captioning --data scenes
    indicial train captioning --data I=photos/ --data w=captions.tsv
  go on; fine-tune:
    indicial train --resume runs/ugrnn-people-1
    indicial train ugrnn --from runs/ugrnn-people-1 --data more.txt
  the same names in a file, `batch-size: 64`:
    indicial train --config run.yaml

In brackets: what happens if nothing is said.
"""

STOPPED = 130


def add(commands: Commands[Any]) -> None:
    parser = command(commands, "train", "train a model on text", TEXT, _train)
    parser.other_names = OTHER_NAMES
    parser.add_argument("model", nargs="*", metavar="MODEL", help=OPTIONS["model"].help)
    for title, options in GROUPS.items():
        group = parser.add_argument_group(title)
        for one in options:
            if one.name != "model":
                setting(group, one)
        if title == "model":
            option(group, "--resume RUN", "go on with a run, from its last "
                   "checkpoint", nargs="?", const=True)  # fmt: skip
            option(group, "--config FILE", "settings in YAML, by these names")
    _add_compare(commands)
    _add_study(commands)


def _train(options: argparse.Namespace) -> int:
    settings = _settings(options)
    resumed = _resumed(options, settings)
    if resumed is None:
        settings.check_complete()
    for folder in filter(None, (resumed, settings.from_)):
        check_run(folder)
    from indicial.compile.native.shared import wait_asleep

    wait_asleep()
    from indicial.training.display import summary_lines
    from indicial.training.processes import Silent
    from indicial.training.train import tell_stderr, train_with

    try:
        run = train_with(settings, resumed, tell_stderr)
    except Silent:
        return 2
    assert run.summary is not None
    if run.summary.lost is not None:
        _tell_unread(summary_lines(run.summary), run.summary.lost)
    return STOPPED if run.summary.reason == "stopped" else 0


def _resumed(options: argparse.Namespace, settings: Settings) -> str | None:
    """The run to go on with; `--resume` alone means that of `--out`."""
    if not options.resume:
        return None
    folder = settings.out if options.resume is True else options.resume
    if folder is None:
        raise IndicialError("name the run to continue: --resume RUN")
    return str(folder)


def _tell_unread(lines: Iterable[str], lost: object) -> None:
    """How it ended, where the output can tell it no more: `indicial train … | head`."""
    from indicial.training.display import discard_stdout
    from indicial.training.train import tell_stderr

    discard_stdout()
    with contextlib.suppress(OSError):  # it may be closed as well
        tell_stderr(f"the output cannot be written any more ({lost})")
        for line in lines:
            tell_stderr(line)


def _settings(options: argparse.Namespace) -> Settings:

    values = {name: getattr(options, name) for name in OPTIONS}
    said = Settings.read({**values, "model": options.model or None})
    return said.over(read_config(Path(options.config))) if options.config else said


COMPARE = """\
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
trained. You see what is the same in their attention and what is not
(docs/design.md):

  indicial compare position learned.json --figure both.svg
  indicial compare mine.json runs/first-1 --text "ABC="
"""

DESIGN_OPTIONS = ("text", "task", "figure", "json", "force")
"""What is for designs alone."""


def _add_compare(commands: Commands[Any]) -> None:
    parser = command(
        commands, "compare", "models on equal terms, or two designs", COMPARE, _compare
    )
    parser.other_names = OTHER_NAMES
    parser.add_argument("models", nargs="*", metavar="MODEL",
                        help="as in the examples: NAME, FILE.eq, NAME+NAME, NAME:SIZE=VALUE,…; "
                        "or two designs: a name, FILE.json, the folder of a run")  # fmt: skip
    group = parser.add_argument_group("comparison")
    option(group, "--parameters N,…", "how many each model has: 100k,300k,1M (300k)")
    option(group, "--seeds N", "trainings of each, with other first weights and batches (2; "
           "with --minutes 1)", int)  # fmt: skip
    option(group, "--tokens-budget N", "tokens that each training sees (1.6M)")
    option(group, "--minutes M", "instead: so long for each training, however many tokens")
    option(group, "--samples", "let each model say something, at three temperatures")
    option(group, "--out FOLDER", "(runs/compare-DATA-1)")
    option(group, "--workers N", "trainings at a time (as many as there are cores)", int)
    group = parser.add_argument_group("two designs or runs; nothing else is for them")
    option(group, "--figure FILE", "draw both in one picture: .svg, .png or .pdf")
    forcing(group)
    option(group, "--text COMPARE", "the example on which weights are shown")
    option(group, "--task NAME", "why they differ, on every case of content, position or unique")
    option(group, "--json", "all numbers as JSON")
    more = {
        DATA: GROUPS[DATA], LEARNING: [OPTIONS["batch_size"], *GROUPS[LEARNING]], MACHINE: GROUPS[MACHINE],
    }  # fmt: skip
    for title, options in more.items():
        own = parser.add_argument_group(title)
        for one in options:
            if one.name not in ("seed", "fsdp"):
                setting(own, one)


def _compare(options: argparse.Namespace) -> int:
    from indicial.designs.hand import two_designs

    designs = two_designs(options.models)
    if designs is not None:
        others = vars(options).keys() - {*DESIGN_OPTIONS, "run", "command", "models"}
        refuse(
            options, sorted(others), "is not for this: nothing is trained when designs are compared"
        )
        check_outputs(options, "figure")
        return compare_designs(designs, options)
    refuse(
        options,
        DESIGN_OPTIONS,
        "is not for this: models are compared in a folder, with pictures (--out)",
    )
    from indicial.lab.compare import Wanted, compare_models

    wanted = Wanted(**{name: getattr(options, name) for name in Wanted.__dataclass_fields__})
    comparison = compare_models(options.models, _terms(options), wanted, options.samples)
    if comparison.mistakes:
        return 1
    if comparison.finished:
        return 0
    if comparison.lost is not None:
        _tell_unread([comparison.to_go_on], comparison.lost.strerror or comparison.lost)
    return STOPPED


def _terms(options: argparse.Namespace) -> Settings:
    names = [name for name in OPTIONS if hasattr(options, name) and name not in ("out", "model")]
    return Settings.read({name: getattr(options, name) for name in names})


STUDY = """\
Trains or measures what a problem sheet of docs/problems is about, and writes
the table and the figure that it shows.

  indicial study shaping               27 small transformers: 15 minutes of CPU
  indicial study heads                 what each head of one does: 2 minutes
  indicial study run_time              RNN and CNN against the length: 1 minute
  indicial study repetition            loops against temperature: 2 minutes
  indicial study loops                 loops of neural models: 5 minutes
  indicial study which_model           encoder, decoder or both: 10 minutes
  indicial study knowledge --data DIR  from memory or looked up: 25 minutes
  indicial study facts                 how often a fact must be read: 10 minutes
  indicial study parses --data FOLDER  heads as links of a parse: 20 minutes
  indicial study shaping --quick       tiny, to see what happens: seconds

The folder, runs/study-NAME or --out, gets table.md, study.json with every
number, figure.png, figure.svg, and a run for each training, which `generate`,
`attend` and `inspect` take. Ctrl-C keeps what is finished; the same call goes
on. The same versions of indicial and torch give the same numbers again, times
excepted.

exit status: 0, 130 if it was stopped, 2 for wrong usage.
"""

SHAPING = """\
What a term that shapes the attention does to a small transformer.

Trains `transformer` on the built-in world people, then `transformer focus` and
`transformer near` with four λ each, every one with three seeds:

  indicial train transformer focus --set λ=0.1 --set J=64 --set L=2 ...

and measures the loss of the validation part without the term, the entropy of
the heads, and how far they look. A seed has the same first weights and batches
for every λ, so losses are compared seed by seed. With --few the model sees two
thousand sentences about ten times over.
"""

HEADS = """\
What each head of a trained transformer does.

Trains a small transformer on the built-in world people and lets it read
sentences that it has not seen. The world knows their grammar, so it can be
measured which share of its weight a head gives to the word just read, to the
one before, to the beginning, to the same word earlier, and, where a verb
follows, to the subject of that verb; beside it what even weights would give.
Then each head is switched off by itself, to see what the loss says.

  indicial study heads
  indicial study heads --run runs/transformer-people-1     a run of your own
"""

RUN_TIME = """\
How long an RNN and a causal CNN take, forward and backward, against the length.

Compiles `rnn` with `language_model`, and `causal_cnn`, and times both for texts
of growing length, one text at a time, beside the operations that the equations
count. An exponent of 1 is a time that grows like the length. The exponents are
those of the CPU time of one thread; two threads are compared with one by the
clock, so let nothing else run beside it.
"""

REPETITION = """\
How often the texts of a trained trigram model run in circles.

Trains the library's `trigram` on the built-in world people, lets it go on from
many pairs of words at temperature 0, and looks where a pair of words comes
back; then the share of texts that contain a loop at higher temperatures.

A loop: at least three rounds of the same words in a row, of which 16 words at
least are as they were a round before.
"""

LOOPS = """\
How often the texts of neural language models run in circles.

Trains `ugrnn` and `transformer` on the built-in world people, small and larger,
for a short and a longer time, lets them go on from many pairs of words at
several temperatures, and counts texts that contain a loop; at temperature 0
also where it begins and how many words it has.
"""

WHICH_MODEL = """\
Encoder, decoder, or encoder and decoder: which model for which task?

Trains the three kinds of transformer, equally wide and deep, to classify, to
retrieve, to translate and to summarise sentences of the built-in world people,
and asks each about sentences that it has not seen: how many answers are right,
what they cost in nats, and what training and answering take.

The equations and the rows are files in the folder of the study, so each model
can be trained again and changed:

  indicial train runs/study-which_model/translate-decoder.eq ...
"""

KNOWLEDGE = """\
What a model knows of a text, from memory and by looking it up.

Reads a folder with wiki.txt, a line for each person, birth_places_train.tsv and
birth_dev.tsv, a question and its answer in each line, and trains one after
another: questions alone; spans of the text, then questions; the same with
attention weights that are parameters; text, spans and questions together; the
course assignment's own recipe; a model that finds the line of a question and
reads it; and one that learns from memory what that one asked every line. All
answer the questions of the last file. A pretraining takes a small part of the
assignment's 650 epochs, which the table states.
"""

FACTS = """\
How often a fact must be read to be known, and how much a parameter holds.

Makes people who were born in towns at random, so that how much there is to know
is exact: log2 of the number of towns for each. Trains small transformers on
questions that come 1, 2, 4, … times, and on more and more people, and counts
the bits that they have learned, by parameter.
"""


PARSES = """\
How much of a parse the heads of small models find.

Trains a transformer, an encoder that fills in blanks, and the transformer with
terms that shape its heads (focus, near) on the sentences of a treebank, and
compares the strongest links between words with the true ones: for every
relation the best head, beside the best fixed distance and chance, all chosen
on training sentences and counted on others; and the maximum spanning tree of
all heads together. Then a transformer one head of which is taught to look
along the true links. Arcs are drawn above some sentences (arcs-0.png, ...).

  indicial study parses --data ud_english_ewt
  indicial study parses --data ud_english_ewt --run runs/transformer-book-1

The folder holds *train*.conllu and *dev*.conllu.
"""


def _add_study(commands: Commands[Any]) -> None:
    """Each study is a command below it."""
    parser = command(commands, "study", "train or measure what a problem sheet says", STUDY, None)
    parser.set_defaults(run=lambda options: _help(parser))
    studies = parser.add_subparsers(metavar="NAME", title="studies")
    shaping = _add(studies, "shaping", "terms of the loss that shape the attention", SHAPING)
    option(shaping, "--few", "few sentences that are seen often: does a term help to generalise?")
    heads = _add(studies, "heads", "what each head of a transformer does", HEADS)
    option(heads, "--run RUN", "look at this run instead of training one", dest="subject")
    _add(studies, "run_time", "the time of an RNN and a CNN by length", RUN_TIME)
    _add(studies, "repetition", "loops of a trigram by temperature", REPETITION)
    _add(studies, "loops", "loops of neural models by temperature", LOOPS)
    _add(studies, "which_model", "encoder, decoder or both", WHICH_MODEL)
    knowledge = _add(studies, "knowledge", "what a model knows of a text", KNOWLEDGE)
    option(knowledge, "--data FOLDER", "with wiki.txt, birth_places_train.tsv and "
           "birth_dev.tsv", required=True)  # fmt: skip
    _add(studies, "facts", "how often a fact must be read to be known", FACTS)
    parses = _add(studies, "parses", "heads as links of a parse", PARSES)
    option(parses, "--data FOLDER", "a treebank: *train*.conllu and *dev*.conllu", required=True)
    option(parses, "--steps N", "of each training (600)", int)
    option(parses, "--run RUN", "look at this run instead of training some", dest="subject")


def _add(studies: Commands[Any], name: str, line: str, text: str) -> Parser:
    parser = command(studies, name, line, text, lambda options: _run(name, options))
    option(parser, "--out FOLDER", f"(runs/study-{name})")
    option(parser, "--quick", "tiny models and few steps; its figures mean nothing")
    option(parser, "--workers N", "trainings at a time (as many as there are cores)", int)
    return parser


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0


def _run(name: str, options: argparse.Namespace) -> int:
    from indicial.compile.native.shared import wait_asleep

    wait_asleep()
    from indicial.lab.compare import workers_of
    from indicial.lab.studies.study import run_study
    from indicial.training.display import Output

    workers = workers_of(options.workers)
    study = _study(name, options)
    quick = "-quick" if options.quick else ""
    few = "-few" if getattr(options, "few", False) else ""
    folder = Path(options.out or f"runs/study-{study.name}{few}{quick}")
    return 0 if run_study(study, folder, workers, Output()) else STOPPED


def _study(name: str, options: argparse.Namespace) -> Study:
    """A study with its plan; what the call says of the plan is put into it."""
    from indicial.lab.studies.study import Study

    module = import_module(f"indicial.lab.studies.{name}")
    plan = module.FEW if getattr(options, "few", False) else module.Plan()
    if options.quick:
        plan = module.QUICK
    said = {field.name: getattr(options, field.name, None) for field in fields(plan)}
    plan = replace(plan, **{name: value for name, value in said.items() if value is not None})
    subject = {"subject": options.subject} if hasattr(options, "subject") else {}
    made: Any = next(one for one in Study.__subclasses__() if one.name == name)
    study: Study = made(plan, **subject)
    return study
