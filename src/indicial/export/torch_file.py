"""A trained module → `model.py` and `model.safetensors`: PyTorch that needs nothing but torch.

>>> export_torch(module, Path("model.py"))
>>> model = Model("model.safetensors")        # in model.py
>>> model(tokens)                             # (B, T) → P: (B, T, V)
>>> state, P = model.begin(batch=8)
>>> state, P = model.step(state, token)       # token: (B,) → P: (B, V), of the next token

The functions in it are what the compiler emits, equation by equation; recurrences are loops.

How the state of a decoder is told to those who have no Indicial: slots with a name and a shape.

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
from pathlib import Path

from indicial.compile.emit.printing import quoted
from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import attribute_names
from indicial.compile.pipeline import emitted_without_kernels
from indicial.compile.schedule.schedule import needed, schedule
from indicial.compile.stepping.codes import Stepping
from indicial.compile.stepping.decoder import Decoder
from indicial.program.ir import Code
from indicial.program.meaning.arrays import stored_shape
from indicial.program.messages import IndicialError
from indicial.program.outputs import MADE, write_text, written
from indicial.program.rewrite import tensors_read
from indicial.program.sizes import Atom, Size

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
    beginning = emitted_without_kernels(stepping.beginning, found).text if found else ""
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


MEMBERS = '''\
def _members(value, batch):
    """One value for all examples of a batch."""
    return value.unsqueeze(0).expand(batch, *value.shape)
'''


@dataclass(frozen=True)
class TorchFile:
    """The text of `model.py`, and what it can do."""

    text: str
    inputs: tuple[str, ...]
    """As the equations call them, in the order of the arguments of `forward`."""
    outputs: tuple[str, ...]
    steps: Steps | str
    """The decoder, or why there is none."""


def wanted(module: ProgramModule) -> tuple[str, ...]:
    """What is exported: the distributions, or else what the module gives but for the loss."""
    code = module.code
    if any(d.distribution != "dropout" for d in module._reader.drawn):
        raise IndicialError("the equations draw random numbers, which no exported file can do")
    distributions = [n for n, t in code.tensors.items() if t.probability and code.of(n)]
    return tuple(distributions or [n for n in module.wanted if n != code.loss] or module.wanted)


def arguments_of(inputs: Sequence[str]) -> list[str]:
    """What a method calls its inputs."""
    return list(attribute_names(inputs, taken={"self", "state", "p", "x", "n", "found"}).values())


def torch_file(module: ProgramModule, weights: str = "model.safetensors") -> TorchFile:
    """The text; `weights` is the file that lies beside it."""
    return _Writer(module, weights).file()


def export_torch(module: ProgramModule, path: Path) -> TorchFile:
    """Writes the text and the weights."""
    from safetensors.torch import save

    weights = path.with_suffix(".safetensors")
    made = torch_file(module, weights.name)
    tensors = {k: v.detach().cpu().contiguous() for k, v in module.state_dict().items()}
    with written(weights) as beside:  # the text, which speaks of them, comes last
        beside.write_bytes(save(tensors, {"from": MADE}))
    write_text(path, made.text)
    return made


class _Writer:
    def __init__(self, module: ProgramModule, weights: str) -> None:
        self.module = module
        self.weights = weights
        self.code = module.code
        self.want = wanted(module)
        self.steps = steps_of(module, self.want)
        self.keys = module.state_keys

    def file(self) -> TorchFile:
        inputs = self.inputs(self.want)
        texts = {"_forward": emitted_without_kernels(self.code, self.want).text}
        methods = [self.call("forward", "_forward", self.want)]
        loss = self.code.loss
        if loss is not None and loss not in self.want:
            texts["_loss"] = emitted_without_kernels(self.code, [loss]).text
            methods.append(self.call("loss", "_loss", (loss,)))
        if isinstance(self.steps, Steps):
            if self.steps.beginning:
                texts["_begin"] = self.steps.beginning
            texts["_step"] = self.steps.step
            methods += [self.begin(self.steps), self.step(self.steps)]
        imports, functions = joined(texts)
        text = "\n".join([*self.head(), *self.imports(imports), *self.constants()])
        parts = [text, functions, MEMBERS.rstrip(), self.model(methods)]
        return TorchFile("\n\n\n".join(parts) + "\n", inputs, self.want, self.steps)

    # ---- the top of the file ----

    def head(self) -> list[str]:
        arguments = ", ".join(arguments_of(self.inputs(self.want)))
        lines = [
            f'"""{_plain(self.module.title) or "A model"}, made by Indicial.',
            "",
            f"    model = Model({quoted(self.weights)})",
            f"    {', '.join(map(_identifier, self.want))} = model({arguments})",
        ]
        if isinstance(self.steps, Steps):
            lines.append("    state, out = model.begin(batch=1)")
            token = ", ".join(arguments_of(self.steps.inputs))
            lines.append(f"    state, out = model.step(state, {token})")
        lines += [
            "",
            "Every input has a batch axis in front. It needs torch and safetensors.",
            '"""',
        ]
        return lines

    def imports(self, found: Sequence[str]) -> list[str]:
        """Those that the functions need, and those of the class, as isort has them."""
        first = ["import math"] if "import math" in found else []
        functional = "import torch.nn.functional as F"
        names = "Tensor, nn" if "from torch import Tensor" in found else "nn"
        return [
            "",
            *first,
            "from pathlib import Path",
            "",
            "import torch",
            *([functional] if functional in found else []),
            "from safetensors.torch import load_file",
            f"from torch import {names}",
        ]

    def constants(self) -> list[str]:
        sizes = ", ".join(f"{quoted(n)}: {v}" for n, v in self.module.sizes.known.items())
        lines = ["", f"SIZES = {{{sizes}}}", "PARAMETERS = {"]
        for name, key in self.keys.items():
            shape = tuple(self.module.get_parameter(key).shape)
            lines.append(f"    {quoted(name)}: ({quoted(key)}, {shape}),")
        return [*lines, "}"]

    # ---- the class ----

    def model(self, methods: Sequence[str]) -> str:
        return "\n\n".join([_CLASS.rstrip(), *methods])

    def inputs(self, want: Sequence[str]) -> tuple[str, ...]:
        read = tensors_read(needed(self.code, want))
        tensors = self.code.tensors
        return tuple(n for n, t in tensors.items() if t.role == "input" and n in read)

    def call(self, method: str, function: str, want: Sequence[str]) -> str:
        """A method that computes all steps at once; a loss is the mean over the examples."""
        inputs = self.inputs(want)
        arguments = arguments_of(inputs)
        lines = [f"    def {method}(self, {', '.join(arguments)}):", "        p = self._values()"]
        given = [f"{quoted(n)}: {a}" for n, a in zip(inputs, arguments, strict=True)]
        lines.append(f"        x = {{{', '.join(given)}}}")
        lines += self.told(dict(zip(inputs, arguments, strict=True)))
        lines.append(f"        found = {function}(p, x, n, {{}}, {{}})")
        mean = {self.code.loss: ".mean()"}
        results = ", ".join(f"found[{quoted(name)}]{mean.get(name, '')}" for name in want)
        return "\n".join([*lines, f"        return {results}"])

    def told(self, arguments: dict[str, str]) -> list[str]:
        """The sizes that inputs tell, and parameters as long as they are."""
        sizes = self.module.sizes
        told = {
            name: f"{arguments[tensor]}.shape[{axis + 1}]"
            for name, (tensor, axis) in sizes.tellers.items()
            if tensor in arguments and name not in sizes.fixed
        }
        pairs = "".join(f", {quoted(name)}: {value}" for name, value in told.items())
        lines = [f"        n = {{**SIZES{pairs}}}"]
        for name, most in sizes.longest.items():
            if name in told:
                lines.append(f"        if n[{quoted(name)}] > {most}:")
                text = f"{name} is {most} at most, as the parameters have room for no more"
                lines.append(f"            raise ValueError({quoted(text)})")
        for name, room in self.module._rooms.items():
            for axis, start, extent in room.axes:
                ends = f"{axis}, {_formula(start)}, {_formula(extent)}"
                lines.append(f"        p[{quoted(name)}] = p[{quoted(name)}].narrow({ends})")
        return lines

    # ---- step by step ----

    def begin(self, steps: Steps) -> str:
        lines = ["    def begin(self, batch=1):"]
        lines.append(f'        """The state before the first step, and {self.known(steps)}."""')
        if steps.beginning:
            lines.append("        found = _begin(self._values(), {}, SIZES, {}, {})")
        lines.append("        state = {")
        lines += [f"            {quoted(slot.key)}: {slot.first}," for slot in steps.slots]
        if steps.has_counter:
            lines.append(f"            {quoted(STEPS)}: torch.tensor(0),")
        lines.append("        }")
        early = [f"_members(found[{quoted(name)}], batch)" for name in steps.early]
        out = ", ".join(early) if len(early) == len(steps.outputs) else "None"
        out = f"({out})" if len(early) > 1 else out
        return "\n".join([*lines, f"        return state, {out}"])

    def known(self, steps: Steps) -> str:
        names = ", ".join(steps.outputs)
        return f"{names} there" if len(steps.early) == len(steps.outputs) else "nothing else"

    def step(self, steps: Steps) -> str:
        arguments = arguments_of(steps.inputs)
        given = [f"{quoted(n)}: {a}" for n, a in zip(steps.inputs, arguments, strict=True)]
        given += [f"{quoted(s.name)}: state[{quoted(s.key)}]" for s in steps.slots]
        lines = [
            f"    def step(self, state, {', '.join(arguments)}):",
            f'        """The state one step on, and {", ".join(steps.outputs)} after it."""',
            "        x = {",
            *[f"            {pair}," for pair in given],
            "        }",
        ]
        sizes = "SIZES"
        if steps.counted:
            sizes = "n"
            count = steps.count or f"int(state[{quoted(STEPS)}]) + 1"
            lines.append(f"        n = {{**SIZES, {quoted(steps.counted)}: {count}}}")
        lines.append(f"        found = _step(self._values(), x, {sizes}, {{}}, {{}})")
        lines.append("        after = {")
        lines += [f"            {quoted(slot.key)}: {slot.after}," for slot in steps.slots]
        if steps.has_counter:
            lines.append(f"            {quoted(STEPS)}: state[{quoted(STEPS)}] + 1,")
        lines.append("        }")
        results = ", ".join(f"found[{quoted(name)}]" for name in steps.outputs)
        results = f"({results})" if len(steps.outputs) > 1 else results
        return "\n".join([*lines, f"        return after, {results}"])


_CLASS = '''
class Model(nn.Module):
    """The parameters are named and shaped as in the equations."""

    def __init__(self, weights=None):
        super().__init__()
        for key, shape in PARAMETERS.values():
            self.register_parameter(key, nn.Parameter(torch.zeros(shape)))
        if weights is not None:
            self.load_state_dict(load_file(Path(weights)))

    def _values(self):
        return {name: getattr(self, key) for name, (key, _) in PARAMETERS.items()}

    def _like(self):
        return next(self.parameters())
'''.lstrip()


def _plain(title: str) -> str:
    """A title as it may stand in a string of Python."""
    return " ".join(title.replace("\\", "").replace('"', "'").split())


def _identifier(name: str) -> str:
    return next(iter(attribute_names([name], taken=()).values()))


def _formula(size: Size) -> str:
    """A size as Python: `n["T"] + 1`."""
    terms = []
    for monomial, coefficient in size.terms:
        factors = [_factor(atom) for atom, power in monomial for _ in range(power)]
        if coefficient != 1 or not factors:
            factors.insert(0, str(coefficient))
        terms.append(" * ".join(factors))
    return " + ".join(terms) or "0"


def _factor(atom: Atom) -> str:
    """`n["T"]`; `-(-n["X"] // 2**2)` for what two strides leave."""
    if isinstance(atom, str):
        return f"n[{quoted(atom)}]"
    depth = f"(n[{quoted(atom.index)}] + {atom.offset})" if atom.index else str(atom.offset)
    return f"(-(-n[{quoted(atom.base)}] // {atom.stride}**{depth}))"
