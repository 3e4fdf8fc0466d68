"""What a program predicts: which tensor is the distribution, of which tokens, from what.

    prediction(load("transformer").code)      →  P[t,w] of w[t]
    prediction(load("encoder", "masked").code)  →  P[t,u] of u[t], which is blanked in w, where m says

`Measure` gives -ln P token by token, from the same equations and the same weights, so that tokens
can be counted one by one whatever the loss of the program is.

How a program uses a text, found by running it on a tiny one.

>>> probe(load("transformer"))
Probe(looks_ahead=False, first_is_known=True, first_is_possible=True)
>>> probe(load("gpt2")).first_is_known      # the first word has no probability that can be learned
False
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.program.ir import Affine, Apply, Code, Gather, Index, Read, Statement, Tensor
from indicial.program.meaning.sample import sample, small_sizes
from indicial.program.program import Program

SURPRISE = "surprise"


@dataclass(frozen=True)
class Prediction:
    """`P[t,w]`, the distribution of `w[t]`; `P[y]`, that of a label `y`."""

    distribution: Tensor
    token: Tensor
    """The tokens that are predicted, an input."""
    blanked: Tensor | None = None
    """The same tokens with blanks in them, where that is an input of its own."""
    mask: Tensor | None = None
    """1 where a token is blanked, where that is an input."""

    @property
    def vocabulary(self) -> str | None:
        """The name of the size that tokens range over: V."""
        return self.token.values.name if self.token.values is not None else None

    @property
    def length(self) -> str | None:
        """The name of the size that a text is long: T."""
        return self.token.axes[0].extent.name if self.token.axes else None

    def inputs(
        self, tokens: torch.Tensor, where: torch.Tensor, blank: int
    ) -> dict[str, torch.Tensor]:
        """What the program reads of texts that are blanked in some places: `blank` is the token for that."""
        found = {self.token.name: tokens}
        if self.blanked is not None:
            found[self.blanked.name] = tokens.masked_fill(where, blank)
        if self.mask is not None:
            found[self.mask.name] = where.float()
        return found


def prediction(code: Code) -> Prediction | None:
    """What a program predicts; None if it says no probabilities of the tokens of an input."""
    return next(iter(predictions(code)), None)


def predictions(code: Code) -> list[Prediction]:
    """All that a program predicts: the first of its distributions, and those of other tokens that something
    reads at the actual ones, as a loss of several terms does."""
    found: list[Prediction] = []
    for distribution in code.tensors.values():
        if not (distribution.probability and distribution.role == "defined"):
            continue
        extents = tuple(a.extent for a in distribution.axes)
        fitting = [
            t for t in token_inputs(code) if (*(a.extent for a in t.axes), t.values) == extents
        ]
        read = _tokens_read(code, distribution.name)
        token = next(
            (t for t in fitting if t.name in read), None if found or not fitting else fitting[0]
        )
        if token is not None and all(token is not one.token for one in found):
            found.append(Prediction(distribution, token, *_blanks(code, token, fitting)))
    return found


def token_inputs(code: Code) -> list[Tensor]:
    return [t for t in code.tensors.values() if t.role == "input" and t.values is not None]


def text_lengths(code: Code) -> tuple[str, ...]:
    """The names of sizes that are as long as a text: T."""
    names = dict.fromkeys(t.axes[0].extent.name for t in token_inputs(code) if t.axes)
    return tuple(name for name in names if name is not None)


def _tokens_read(code: Code, distribution: str) -> set[str]:
    """The tokens that a distribution is read at: the w of -ln P(w_t | …)."""
    return {
        place.read.tensor
        for statement in code.statements
        for node in statement.body.walk()
        if isinstance(node, Read) and node.tensor == distribution
        for place in node.places
        if isinstance(place, Gather)
    }


def _blanks(
    code: Code, token: Tensor, fitting: list[Tensor]
) -> tuple[Tensor | None, Tensor | None]:
    if not token.axes:
        return None, None
    blanked = next((t for t in fitting if t is not token), None)
    masks = [
        t
        for t in code.tensors.values()
        if t.role == "input" and t.values is None and t.axes and len(t.axes) == 1
        and t.axes[0].extent == token.axes[0].extent
    ]  # fmt: skip
    return blanked, masks[0] if masks else None


# ---------------------------------------------------------------------- one number for each token


def with_surprise(code: Code, found: Prediction, name: str = SURPRISE) -> Code:
    """The program with one more equation: `surprise[t] = -ln P(w_t | …)`."""
    axes = found.token.axes
    indices = tuple(Index(f"t{n or ''}", axis.lower, axis.extent) for n, axis in enumerate(axes))
    here = tuple(map(Affine.of, indices))
    read = Read(found.distribution.name, (*here, Gather(Read(found.token.name, here))))
    body = Apply("neg", (Apply("ln", (read,)),))
    tensor = Tensor(name, axes, "defined")
    return replace(
        code,
        tensors={**code.tensors, name: tensor},
        statements=(*code.statements, Statement(name, here, indices, body)),
    )


def surprise_of(token: str) -> str:
    """What `Measure` calls -ln P of one of several inputs that are predicted."""
    return f"{SURPRISE}.{token}"


def sharing(module: ProgramModule, code: Code) -> ProgramModule:
    """A module of other equations about the same parameters, which it shares."""
    sizes = {n: v for n, v in module.sizes.known.items() if n in code.sizes}
    part = ProgramModule(code, sizes, title=module.title, device="meta")
    share(module, part)
    return part


def share(module: ProgramModule, part: ProgramModule) -> None:
    """Gives a part the parameters that its module has now: moving it to another device may have given it others."""
    part.train(module.training)
    for name, key in part.state_keys.items():
        part.register_parameter(key, module.get_parameter(module.state_keys[name]))
    part.register_buffer("_like", module._like, persistent=False)


class Measure:
    """-ln P of every token, with the weights of a module.

    >>> Measure(module, prediction(module.code))({"w": tokens}).shape      # tokens: (B, T)
    torch.Size([B, T])

    `more` are predicted beside it: `tensors` gives -ln P of each by the name `surprise_of`. `code` is a part of
    the program that is enough for it.
    """

    def __init__(
        self,
        module: ProgramModule,
        found: Prediction,
        more: Sequence[Prediction] = (),
        code: Code | None = None,
    ) -> None:
        self.module = module
        code = with_surprise(code or module.code, found)
        for other in more:
            code = with_surprise(code, other, surprise_of(other.token.name))
        self.twin = sharing(module, code)

    def __call__(
        self, inputs: Mapping[str, torch.Tensor], lengths: Mapping[str, torch.Tensor] | None = None
    ) -> torch.Tensor:
        """As if the equation stood in the module itself, without dropout and gradients."""
        return self.tensors(inputs, lengths, [SURPRISE])[SURPRISE]

    def tensors(
        self,
        inputs: Mapping[str, torch.Tensor],
        lengths: Mapping[str, torch.Tensor] | None,
        want: Sequence[str],
    ) -> Mapping[str, torch.Tensor]:
        """Several tensors of the same pass, `SURPRISE` among them if it is asked for."""
        share(self.module, self.twin)
        self.twin.eval()
        with torch.no_grad():
            found: Mapping[str, torch.Tensor] = self.twin(
                **inputs, lengths=lengths or None, want=list(want)
            )
        return found

    def learning(
        self, inputs: Mapping[str, torch.Tensor], want: Sequence[str]
    ) -> Mapping[str, torch.Tensor]:
        """The same with dropout and gradients, which go to the parameters of the module."""
        share(self.module, self.twin)
        found: Mapping[str, torch.Tensor] = self.twin(**inputs, want=list(want))
        return found


LENGTH, WORDS = 3, 3


@dataclass(frozen=True)
class Probe:
    looks_ahead: bool
    """Whether a word is predicted from later ones."""
    first_is_known: bool
    """Whether the first word has probabilities of its own; if not, all words are equally likely."""
    first_is_possible: bool = True
    """Whether it has any: `P(w_t | …) = … for t ≥ 1` gives it none."""
    predicts: int = LENGTH
    """How many of LENGTH words have probabilities, from the last one that has: a CNN that halves its
    text in each layer says nothing of the later words."""


@lru_cache(maxsize=16)
def probe(program: Program) -> Probe:
    """Runs the equations as the interpreter reads them, at the smallest sizes that tell."""
    code = program.code
    found = prediction(code)
    if found is None:
        return Probe(looks_ahead=False, first_is_known=True)
    sizes = small_sizes(code, 2) | {found.length or "T": LENGTH, found.vocabulary or "V": WORDS}
    # With less than three units, layer norm leaves only signs.
    sizes |= {name: 3 for name in sizes if name == "J"}
    fixed = {name: value for name, value in code.sizes.items() if value is not None}
    drawn = sample(code, sizes | fixed, seed=1)
    name = found.distribution.name
    tables = []
    for last in (0, 1):
        drawn.inputs[found.token.name] = np.array([0, 1, last])
        result = program.interpret(
            drawn.inputs, drawn.parameters, draws=drawn.draws, sizes=drawn.sizes, want=[name]
        )
        tables.append(result[name])
    told = np.flatnonzero(tables[0].any(-1))
    predicts = int(told[-1]) + 1 if len(told) else 0
    if found.blanked is not None:
        return Probe(looks_ahead=True, first_is_known=True, predicts=predicts)
    first = tables[0][0]
    return Probe(
        looks_ahead=not np.allclose(tables[0][:-1], tables[1][:-1], atol=1e-9),
        first_is_known=bool(np.ptp(first) > 1e-9),
        first_is_possible=bool(first.any()),
        predicts=predicts,
    )
