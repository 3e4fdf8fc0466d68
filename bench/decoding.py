"""Translations: our derived steps and searches beside Hugging Face's `generate` with Marian of the same size.

3 layers on either side, 256 wide, 8 heads, MLP of 1024, vocabulary of 4096. Each row reads 16 tokens and writes 20,
whatever they are; reading is part of the time. Greedy and with 5 beams, one row and 32.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from bench.options import Options
from bench.ours import NotThere, explain, module
from bench.peers.huggingface import translator
from bench.peers.shape import Shape
from bench.table import Line, Section, Verdict
from bench.timing import Contender, geometric_mean, run_race
from indicial.decode.settings import Decoding
from indicial.decode.tokens import generate_tokens

OURS, PEER, NAME = "ours", "HF generate, Marian", "encoder_decoder_prenorm"
SHAPE = Shape(layers=3, width=256, heads=8, inner=1024, words=4096, steps=16)
TOKENS = 20
CASES = ((1, 1), (1, 5), (32, 1), (32, 5))
"""Rows and beams."""


def decoding(options: Options) -> Section:
    section = Section("Translations")
    ratios, why = [], ""
    for rows, beams in CASES:
        source = torch.randint(1, SHAPE.words, (rows, SHAPE.steps))
        how = f"{rows}×{beams}"
        contenders = [Contender(PEER, translator(SHAPE, source, TOKENS, beams))]
        try:
            contenders.append(Contender(OURS, our_translator(source, beams)))
        except NotThere as reason:
            why = str(reason)
            section.lines.append(Line(NAME, how, PEER, note=why))
            continue
        race = run_race(contenders, options.pace)
        ratio = race.ratio(PEER, OURS)
        ratios.append(ratio.median)
        mine, theirs = race.median(OURS) * 1e3, race.median(PEER) * 1e3
        section.lines.append(Line(NAME, how, PEER, mine, theirs, ratio))
    value = geometric_mean(ratios) if ratios else None
    section.verdicts.append(Verdict("translations", PEER, value, 10.0, note=why))
    section.remarks.append(
        f"Rows × beams; {SHAPE.steps} tokens are read and {TOKENS} written in each row. Marian has "
        "biases in its projections and gains in its norms besides."
    )
    return section


def our_translator(source: torch.Tensor, beams: int) -> Callable[[], None]:
    """A function that translates rows of source tokens; tried once."""
    heads = SHAPE.heads
    compiled = module(
        NAME, L=SHAPE.layers, J=SHAPE.width, K=heads, I=SHAPE.width // heads, D=SHAPE.inner,
        U=SHAPE.words, V=SHAPE.words, S=SHAPE.steps, T=TOKENS,
    ).eval()  # fmt: skip
    settings = Decoding(max_new_tokens=TOKENS, temperature=0 if beams == 1 else 1, num_beams=beams)

    def run() -> None:
        with torch.inference_mode():
            begun = compiled.begin(x=source)
            generate_tokens(compiled, [[]] * len(source), None, settings, begun=begun)

    try:
        run()
    except Exception as error:
        raise NotThere(explain(error)) from error
    return run
