"""How the state of a decoder is told to those who have no Indicial: slots with a name and a shape.

    lstm            h_ago (B, J), c_ago (B, J)
    transformer     Key_past (B, L, K, N, I): it grows by one with each step
    trigram         w_ago (B), w_ago_2 (B)

`Steps` has the texts of the beginning and of a step, and for each slot an expression in Python for
its first value and for its value after a step.

Equations → the text of functions in plain PyTorch, which needs nothing but torch.

    plain(code, ["P"]).text             "import torch … def run(p, x, n, lengths, draws): …"
    joined({"_forward": …, "_step": …}) one text with both functions, each helper once

Recurrences are loops in Python here: kernels stay with Indicial.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from indicial.compile.emit.printing import quoted
from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import attribute_names
from indicial.compile.pipeline import plain
from indicial.compile.schedule.schedule import schedule
from indicial.compile.stepping.codes import Stepping
from indicial.compile.stepping.decoder import Decoder
from indicial.program.ir import Code
from indicial.program.meaning.arrays import stored_shape
from indicial.program.messages import IndicialError

RUN = "run"
"""What the emitted function is called before it gets a name of its own."""


def walks(code: Code, want: Sequence[str]) -> bool:
    """Whether these are computed step by step along an input."""
    return any(loop.kind == "scanned" for loop in schedule(code, want).loops())


def joined(texts: Mapping[str, str]) -> tuple[list[str], str]:
    """The imports of all texts, and their functions: helpers first, then each `run` by its name."""
    imports: dict[str, None] = {}
    helpers: dict[str, None] = {}
    runs: list[str] = []
    for name, text in texts.items():
        for node in ast.parse(text).body:
            lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
            part = "\n".join(lines)
            if not isinstance(node, ast.FunctionDef):
                imports[part] = None
            elif node.name != RUN:
                helpers[part] = None
            else:
                runs.append(part.replace(f"def {RUN}(", f"def {name}(", 1))
    return list(imports), "\n\n\n".join([*helpers, *runs])


STEPS = "steps"


@dataclass(frozen=True)
class Slot:
    """One tensor of the state."""

    name: str
    """As the equations of a step call it: `h^{ago}`."""
    key: str
    """As the file calls it: `h_ago`."""
    first: str
    after: str
    grows: int | None = None
    """The axis, the batch counted, that is longer after each step."""


@dataclass(frozen=True)
class Steps:
    """The decoder of a module as texts."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    early: tuple[str, ...]
    """The outputs that are known before the first step."""
    beginning: str
    step: str
    slots: tuple[Slot, ...]
    counted: str
    """The size that counts the steps where the text of a step asks for it, else nothing."""
    count: str
    """The number of the step in Python: from a slot that grows, else from a slot of its own."""
    most: int | None
    """How many steps there is room for."""

    @property
    def has_counter(self) -> bool:
        """Whether the state has to count the steps by itself."""
        return bool(self.counted) and not self.count


def steps_of(module: ProgramModule, want: tuple[str, ...]) -> Steps | str:
    """The decoder, or why there is none."""
    try:
        decoder = Decoder(module, want)
        stepping = decoder.stepping
        inputs = [n for n, t in module.code.tensors.items() if t.role == "input"]
        others = [n for n in inputs if n not in decoder.walk.inputs]
        if others or stepping.kept:
            held = ", ".join([*others, *stepping.kept])
            return f"a step reads {held}, which is not handed over step by step"
        return _steps(module, decoder, stepping)
    except IndicialError as error:
        return in_short(str(error))


def in_short(message: str) -> str:
    """What a message says in one line, without the equations that it shows: `11 | h[t,j] = …`."""
    lines = takewhile(lambda line: " | " not in line, message.splitlines())
    return " ".join(line.strip() for line in lines)


def _steps(module: ProgramModule, decoder: Decoder, stepping: Stepping) -> Steps:
    found = decoder.beginning.want
    beginning = plain(stepping.beginning, found).text if found else ""
    step = decoder.pure.source.text
    asked = f"n[{quoted(stepping.count)}]" in step
    slots = _Slots(module, decoder, frozenset(decoder.pure.want)).all()
    return Steps(
        inputs=stepping.inputs,
        outputs=stepping.outputs,
        early=stepping.early,
        beginning=beginning,
        step=step,
        slots=tuple(slots),
        counted=stepping.count if asked else "",
        count=_count(decoder, slots),
        most=decoder.most,
    )


def _count(decoder: Decoder, slots: list[Slot]) -> str:
    for slot in slots:
        if slot.grows is not None:
            held = f"state[{quoted(slot.key)}].shape[{slot.grows}]"
            more = 1 - decoder.slots.bases[slot.name]
            return f"{held} + {more}" if more > 0 else f"{held} - {-more}" if more else held
    return ""


class _Slots:
    def __init__(self, module: ProgramModule, decoder: Decoder, computed: frozenset[str]) -> None:
        self.module = module
        self.decoder = decoder
        self.stepping = decoder.stepping
        self.computed = computed
        names = [ago.name for ago in self.stepping.ago]
        names += [many.past for many in self.stepping.many]
        self.keys = attribute_names(names, taken={STEPS})
        self.by_steps = {(ago.tensor, ago.steps): ago.name for ago in self.stepping.ago}

    def all(self) -> list[Slot]:
        slots = []
        for ago in self.stepping.ago:
            if ago.steps > 1:
                after = f"state[{quoted(self.keys[self.by_steps[ago.tensor, ago.steps - 1]])}]"
            else:
                after = self.now(ago.tensor)
            begun = self.stepping.begun.get(ago.name, "")
            slots.append(Slot(ago.name, self.keys[ago.name], self.first(ago.name, begun), after))
        for many in self.stepping.many:
            key, axis = self.keys[many.past], many.axis + 1
            begun = self.stepping.begun.get(many.seen, "")
            if many.reach is not None:
                cut = f".narrow({many.axis}, 1, {many.reach})"
                first = self.first(many.past, begun, cut)
                after = f"found[{quoted(many.seen)}].narrow({axis}, 1, {many.reach})"
                slots.append(Slot(many.past, key, first, after))
            else:
                now = self.now(many.tensor)
                after = f"torch.cat((state[{quoted(key)}], {now}.unsqueeze({axis})), {axis})"
                slots.append(Slot(many.past, key, self.first(many.past, begun), after, axis))
        return slots

    def now(self, tensor: str) -> str:
        """The present value of what is kept: computed, or handed over."""
        if tensor in self.computed:
            return f"found[{quoted(tensor)}]"
        return f"x[{quoted(tensor)}]"

    def first(self, name: str, begun: str, cut: str = "") -> str:
        if begun:
            return f"_members(found[{quoted(begun)}]{cut}, batch)"
        tensor = self.stepping.step.tensors[name]
        sizes = {**self.module.sizes.known, self.stepping.count: 1}
        shape = ", ".join(["batch", *map(str, stored_shape(tensor, sizes))])
        if tensor.values is not None:
            return f"torch.full(({shape},), -1, device=self._like().device)"
        return f"self._like().new_zeros({shape})"
