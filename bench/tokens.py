"""One generated token at batch 1: our derived `step` against Hugging Face's `generate`.

    state = module.begin()
    state, out = module.step(state, w=token)

Each model has a little under a million parameters; each writes the likeliest token and reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from bench.language import sizes
from bench.options import Options
from bench.ours import NotThere, explain, module
from bench.peers.huggingface import writer
from bench.peers.shape import Shape
from bench.table import NOT_THERE, Line, Section, Verdict
from bench.timing import Contender, run_race

TOKENS = 100
SMALL = Shape(layers=4, width=128, heads=4, inner=512, words=1000, steps=128)  # 0.93 M
MODELS: dict[str, dict[str, int]] = {
    "rnn_lm": {"J": 368, "V": 1000},  # 0.91 M
    "transformer": sizes(SMALL),
}
PEER = "HF generate"


def tokens(options: Options) -> Section:
    section = Section("A generated token, batch 1")
    peer = Contender(PEER, writer(SMALL, TOKENS))
    for name, its_sizes in MODELS.items():
        contenders, why = [peer], ""
        try:
            contenders.append(Contender(name, our_writer(name, its_sizes)))
        except NotThere as reason:
            why = str(reason)
        race = run_race(contenders, options.pace)
        ratio = None if why else race.ratio(PEER, name)
        ours = None if why else race.median(name) * 1e3 / TOKENS
        theirs = race.median(PEER) * 1e3 / TOKENS
        section.lines.append(Line(name, "1", PEER, ours, theirs, ratio, note=why))
        value = None if ratio is None else ratio.median
        section.verdicts.append(Verdict(f"{name}, a token", PEER, value, 10.0, note=why))
    section.remarks.append(
        f"{TOKENS} tokens, each the likeliest, by GPT-2 with a cache; all models have a little "
        "under a million parameters. Nobody has a recurrent model of this kind with a "
        "`generate`, so both of ours are measured beside the same one."
    )
    return section


def our_writer(name: str, its_sizes: dict[str, int]) -> Callable[[], None]:
    """A function that writes TOKENS tokens; tried once."""
    compiled = module(name, **its_sizes).eval()
    if not (hasattr(compiled, "begin") and hasattr(compiled, "step")):
        raise NotThere(NOT_THERE)

    def run() -> None:
        with torch.inference_mode():
            state: Any = compiled.begin()
            token = torch.zeros((), dtype=torch.long)
            for _ in range(TOKENS):
                state, out = compiled.step(state, w=token)
                token = out["P"].argmax(-1)

    try:
        run()
    except Exception as error:
        raise NotThere(explain(error)) from error
    return run
