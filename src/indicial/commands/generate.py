"""The command `generate`: text from a run."""

from __future__ import annotations

import argparse
import io
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.commands.answering import answer_from_pages, decoding, looks_up
from indicial.commands.arguments import (
    Commands,
    command,
    forcing,
    option,
    print_json,
    reads_run,
    refuse,
    weights,
)
from indicial.program.messages import IndicialError
from indicial.program.terminal import raw

if TYPE_CHECKING:
    from indicial.decode.settings import Decoding
    from indicial.decode.text import Session, Speaker, Text
    from indicial.training.run import Run

GENERATE = """\
Continues a prompt with the model of a run, or starts from nothing. The text
appears as it is made, and ends at <EOS> or after --max-new-tokens. Names and
meanings are those of Hugging Face.

  indicial generate runs/ugrnn-people-1                  from nothing
  indicial generate runs/ugrnn-people-1 --prompt "Anna"  from a prompt
  indicial generate runs/ugrnn-people-1 --temperature 0  the likeliest each time
  indicial generate runs/ugrnn-people-1 --top-p 0.9 --num-return-sequences 3
  indicial generate runs/ugrnn-people-1 --num-beams 4    beam search
  indicial generate runs/ugrnn-people-1 --interactive    write a text in turns

A model that was trained to fill in blanks (--task blank) is given a text with
blanks, and says which words fit, and how likely they are:

  indicial generate runs/blanks --text "the ___ of Lund is" --alternatives 3

A model that has learned questions answers them; ⁇ in a prompt stands for what
is left out of a text, and behind the text for "what was it?":

  indicial generate runs/answers --prompt "Where was Khatchig Mouradian born?"
  indicial generate runs/spans --prompt "Anna Lind was born in ⁇ .⁇"

A model that looks answers up (`answer` of the library) shows the page, and can
ask every page what there is to ask, for another model to learn:

  indicial generate runs/reader --prompt "Where was Anna born?" --show-source
  indicial generate runs/reader --ask --out questions.tsv

A model that reads other inputs as well is given them by name: texts, files with
a row in each line, tables, images. Its answers come in the order of the rows,
the likeliest unless you say --temperature:

  indicial generate runs/german --input x="ein hund läuft"
  indicial generate runs/german --input x=test.de --out test.en --num-beams 5
  cat test.de | indicial generate runs/german
  indicial generate runs/photos --input I=dog.jpg
  indicial generate runs/reviews --input reviews.csv --json
  indicial generate runs/parser --input x=sentences.txt --format conllu

Each token is drawn from the model's distribution, unless --temperature is 0
or there are beams. The order is: repetition penalty, repeated n-grams,
temperature, top-k, top-p, min-p. The same --seed gives the same text, whatever
else is asked for beside it. A model with learned positions that has used all
of them goes on from the later half of what it saw.

exit status: 0, 2 for wrong usage, 130 if it was interrupted.
"""

OTHER_NAMES = {
    "max-length": "max-new-tokens", "max-tokens": "max-new-tokens", "length": "max-new-tokens",
    "n": "num-return-sequences", "num-samples": "num-return-sequences", "temp": "temperature",
    "t": "temperature", "k": "top-k", "p": "top-p", "beams": "num-beams", "start": "prompt",
    "do-sample": "temperature", "source": "input",
}  # fmt: skip
"""What others call it; only used to say how it is called here."""


def add(commands: Commands[Any]) -> None:
    """Adds `generate` to the parser of `indicial`."""
    parser = command(commands, "generate", "let a trained model write", GENERATE, _generate)
    parser.other_names = OTHER_NAMES
    parser.stray = "a prompt is given by --prompt TEXT"
    reads_run(parser)
    _add_prompts(parser)
    _add_choices(parser)
    _add_search(parser)
    _add_ends(parser)


def _add_prompts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to go on from")
    option(group, "--prompt TEXT …", "may be repeated: one text for each")
    option(group, "--prompt-file FILE …", "a file is a prompt, without the newline at its end; - "
           "is standard input")  # fmt: skip
    option(group, "--input NAME=TEXT|FILE …", "an input of the equations: a text, or a file with "
           "a row in each line; - is standard input; a table whose columns are the inputs needs no NAME")  # fmt: skip
    option(group, "--column NAME=COLUMN …", "the column of a table that an input reads")
    option(group, "--text TEXT …", "a text with blanks (___) for a model that fills them; may be "
           "repeated", dest="texts")  # fmt: skip
    option(group, "--alternatives N", "words to show for each blank (5)", int, default=5)
    option(group, "--pages PATH", "pages to look answers up in (those of the training)", nargs="+")
    option(group, "--ask", "of a model that reads pages: a question and its answer for every "
           "page, as a table")  # fmt: skip
    option(group, "--interactive", "write a text in turns: Ctrl-C ends an answer, Ctrl-D everything")  # fmt: skip
    weights(group)


def _add_choices(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how a token is chosen")
    for name, kind, value, text in [
        ("temperature", float, "T", "above 1 bolder, below 1 safer, 0 the likeliest (1)"),
        ("top-k", int, "K", "only from the likeliest K tokens; 0 is off (0)"),
        ("top-p", float, "P", "only from the likeliest that have probability P together (1)"),
        ("min-p", float, "P", "only from tokens at least P times as likely as the likeliest (0)"),
        ("repetition-penalty", float, "X", "above 1, tokens that came before are less likely (1)"),
        ("no-repeat-ngram-size", int, "N", "no run of N tokens comes twice; 0 is off (0)"),
        ("seed", int, "N", "seed of the random numbers; without it, another one each time"),
    ]:
        option(group, f"--{name} {value}", text, kind)


def _add_search(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("several texts, and beam search")
    option(group, "--num-return-sequences N", "texts for each prompt (1)", int)
    option(group, "--num-beams N", "search for a likely text, N at a time; 1 is no search (1)", int)
    option(group, "--length-penalty X", "a found text counts log-probability / length^X (1)", float)
    option(group, "--early-stopping", "end the search when N texts are found; never: only when "
           "no longer one could be better (false: in between)", choices=["true", "false", "never"])  # fmt: skip


def _add_ends(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("when to stop, what to print")
    option(group, "--max-new-tokens N", "at most this many (200)", int)
    option(group, "--stop-at-repeat", "end a text that has fallen into a loop")
    option(group, "--no-slide", "refuse what is longer than the model has positions for")
    option(group, "--out FILE", "with --input or pages: write the answers there")
    option(group, "--show-source", "the page that each answer was read off")
    option(group, "--format", "with --input: an answer in each line; what is said of each word "
           "as CoNLL-U; trees as arcs above the words (lines)",
           choices=["lines", "conllu", "arcs"], default="lines")  # fmt: skip
    forcing(group)
    option(group, "--json", "texts, tokens, log-probabilities and loops as JSON, at the end")


# ---------------------------------------------------------------------- running


def _generate(options: argparse.Namespace) -> int:
    prompts = prompts_of(options)
    settings = _settings(options)
    from indicial.decode.text import Speaker
    from indicial.training.run import Run

    run = Run.open(options.run_folder)
    if looks_up(run):
        return answer_from_pages(options, run)
    pages = f"is for a model that looks answers up in pages; {options.run_folder} does not"
    refuse(options, ("ask", "show_source", "pages"), pages)
    if run.description.task == "columns":
        from indicial.commands.answering import answer

        return answer(options, run)
    refuse(
        options,
        ["input", "column", "out", *(["format"] if options.format != "lines" else [])],
        "is for a model that reads other inputs than its own words; this one goes on from a --prompt",
    )
    if options.texts:
        return _fill(options, run)
    speaker = Speaker.of(run, checkpoint=options.checkpoint)
    # An answer is the likeliest one, unless somebody says otherwise.
    asked = speaker.asks and bool(options.prompt)
    if asked and options.temperature is None and settings.num_beams == 1:
        settings = replace(settings, temperature=0.0)
    for damaged in run.checkpoints.damaged:
        print(f"note: {damaged}", file=sys.stderr)
    if options.interactive:
        return _interact(speaker, settings, prompts[0])
    if options.json:
        texts = speaker.generate(prompts, settings)
        print_json(_report(options, settings, texts))
    else:
        texts = _streamed(speaker, settings, prompts)
    for number, text in enumerate(texts, 1):
        _remark(text, f"text {number}" if len(texts) > 1 else "the text")
    return 0


def _fill(options: argparse.Namespace, run: Run) -> int:
    """Texts with blanks: each filled, and below it the words that fit."""
    from indicial.decode.lookup import fill

    if options.alternatives < 1:
        raise IndicialError(
            f"--alternatives takes a number of at least 1; got {options.alternatives}"
        )
    found = [
        fill(run, text, alternatives=options.alternatives, checkpoint=options.checkpoint)
        for text in options.texts
    ]
    if options.json:
        print_json([one.to_json() for one in found])
        return 0
    for number, one in enumerate(found):
        print("\n" * (number > 0) + one.result)
        for blank in one.blanks:
            words = ", ".join(f"{word.strip()} {chance:.3f}" for word, chance in blank.words)
            print(f"  ___ {words}")
    return 0


def prompts_of(options: argparse.Namespace) -> list[str]:
    """What was given, files behind texts; one empty prompt if nothing was."""
    if options.prompt_file.count("-") > 1 or ("-" in options.prompt_file and options.interactive):
        raise IndicialError("standard input can be read once: give the prompt by --prompt")
    prompts = [*options.prompt, *map(_read, options.prompt_file)] or [""]
    if options.interactive:
        if sys.stdin is None:
            raise IndicialError("standard input is closed, so nobody can go on typing")
        if len(prompts) > 1:
            raise IndicialError("an interactive text has one beginning: give one prompt")
        if options.json:
            raise IndicialError("--interactive is for people, so not with --json")
    return prompts


def _read(path: str) -> str:
    if path == "-" and sys.stdin is None:
        raise IndicialError("standard input is closed: pipe the prompt into it, or use --prompt")
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise IndicialError(f"cannot read the prompt {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        byte = f"byte {error.start} is 0x{error.object[error.start]:02X}"
        raise IndicialError(f"the prompt {path} is not UTF-8 text: {byte}") from error
    return text.removesuffix("\n")


def _settings(options: argparse.Namespace) -> Decoding:
    """What was said; the rest is as `Decoding` has it. A seed is taken now, so that it can be told."""
    from indicial.decode.settings import Decoding

    made = Decoding(**{n: value for n, value in decoding(options).items() if value is not None})
    for name, why in made.idle().items():
        print(f"note: --{name.replace('_', '-')} has no effect: {why}", file=sys.stderr)
    return replace(made, seed=made.seeded())


def _streamed(speaker: Speaker, settings: Decoding, prompts: Sequence[str]) -> list[Text]:
    """Writes the texts one after the other, the first as it is made."""
    from indicial.decode.text import InOrder

    # A terminal or file that knows fewer characters shows ? for the others.
    if sys.stdout is not None and isinstance(stream := raw(sys.stdout), io.TextIOWrapper):
        stream.reconfigure(errors="replace")
    copies = settings.num_return_sequences
    if settings.num_beams > 1:  # which text is best is known at the end only
        texts = speaker.generate(prompts, settings)
        for number, text in enumerate(texts):
            _write(f"{_heading(number, len(texts))}{text}\n")
        return texts

    def begin(number: int) -> None:
        shown = speaker.shown(prompts[number // copies])
        _write(_heading(number, len(prompts) * copies) + shown)

    order = InOrder(begin, _write)

    def heard(number: int, piece: str, last: bool) -> None:
        order.add(number, piece + "\n" * last, last)

    try:
        return speaker.generate(prompts, settings, heard)
    except KeyboardInterrupt:
        _write("\n")
        raise


def _heading(number: int, count: int) -> str:
    """A line before each of several texts."""
    if count == 1:
        return ""
    return "\n" * (number > 0) + f"--- {number + 1} of {count} ---\n"


def _write(piece: str) -> None:
    print(piece, end="", flush=True)


def _report(
    options: argparse.Namespace, settings: Decoding, texts: Sequence[Text]
) -> dict[str, Any]:
    return {
        "run": options.run_folder,
        "checkpoint": options.checkpoint,
        "settings": asdict(settings),
        "texts": [text.to_json() for text in texts],
    }


def _remark(text: Text, which: str) -> None:
    """What a reader should know about a text."""
    made = text.continuation
    if made.repeat is not None:
        print(f"note: {which} {made.repeat}", file=sys.stderr)
    if made.window is not None:
        print(f"note: {which} is longer than the model's positions; its end was made from at most "
              f"the last {made.window} tokens", file=sys.stderr)  # fmt: skip


# ---------------------------------------------------------------------- in turns


def _interact(speaker: Speaker, settings: Decoding, prompt: str) -> int:
    from indicial.decode.text import Session

    session = Session(speaker, settings)
    said = prompt or _asked()
    while said is not None:
        try:
            session.say(said)
            _answer(session)
        except IndicialError as error:
            print(f"indicial: {error}", file=sys.stderr)
        said = _asked()
    print()
    return 0


def _asked() -> str | None:
    """A line of the person's; None at the end."""
    if sys.stdin.isatty():
        import readline  # noqa: F401  (gives `input` its editing and its history)
    while True:
        try:
            return input("> ")
        except EOFError:
            return None
        except KeyboardInterrupt:
            print()


def _answer(session: Session) -> None:
    """Writes the answer; Ctrl-C ends it between two tokens, so that no step is broken off."""
    from indicial.training.watchers import Interrupts

    with Interrupts() as interrupts:
        for piece in session.answer():
            _write(piece)
            if interrupts.asked is not None:
                break
    _write("\n")
    if interrupts.asked not in (None, signal.SIGINT):
        raise SystemExit(128 + interrupts.asked)
    if session.repeat is not None:
        print(f"note: the answer {session.repeat}", file=sys.stderr)
