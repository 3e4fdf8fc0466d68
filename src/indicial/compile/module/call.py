"""What a call is given → what the emitted source takes.

    module(x=x, lengths=[3, 7])         x: (2, 7, K)

    x        {"x": (2, 7, K)}           every input with a batch axis in front
    sizes    {"T": 7, "K": 128, …}      told by the inputs, checked against the parameters
    lengths  {"T": tensor([3, 7])}
    draws    {"dropout_1": (2, 7, J)}   while training

Under `torch.compile` and `torch.export` nothing is checked, so that sizes can stay unknown; under
`torch.func.vmap` tokens and lengths are not, since their values cannot be looked at.

Values that are drawn anew in every call: dropout masks and noise.

    dropout(x[t,j], p)     while training, dropout_1[t,j] is 0 or 1/(1-p), drawn for each example
    ε[t,j] ~ N(0, 1)       drawn in every call

`module(x=x, draws={"dropout_1": mask})` sets them. The generator is that of PyTorch, so
`torch.manual_seed` makes a call repeatable.

What a module returns: tensors by name, in any spelling.

>>> result = module(x=x, want=["alpha"])
>>> result["α"] is result["alpha"] is result[r"lpha"]
True
>>> result.loss.backward()

What PyTorch lays around a call: autocast, and full backward hooks.

Under `torch.autocast` matrix products are rounded; sums, functions and recurrences are not.

    with torch.autocast("cuda", dtype=torch.bfloat16):
        module(w=w).loss            products in bfloat16, their results and all else in float32

Plain autocast would go on in the lower precision until some operation asks for more. A program that
walks along its input step by step runs in float32 throughout: errors would grow with every step.

Full backward hooks of a module that is called by name and returns tensors by name.

module.register_full_backward_hook(lambda module, grad_input, grad_output: …)

`grad_input` are the gradients of the inputs in the order in which they were given, `grad_output` those
of the outputs in the order of the result. PyTorch itself looks at positional inputs and at tuples only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils.hooks import BackwardHook, RemovableHandle

from indicial.compile.emit.running import followed
from indicial.compile.ground.torch_inside import register_container
from indicial.compile.module import checks
from indicial.compile.module.sizes import Sizes, resolve
from indicial.notation.parse import canonical_name
from indicial.program.ir import Code, Draw
from indicial.program.meaning.arrays import InterpretError, stored_extents, writes_batch
from indicial.program.meaning.interpret import evaluate
from indicial.program.messages import IndicialError
from indicial.program.sizes import Size

Lengths = Mapping[str, Any] | Sequence[int] | torch.Tensor


@dataclass(frozen=True)
class Arguments:
    """The arguments of one run."""

    x: dict[str, torch.Tensor]
    sizes: dict[str, int]
    lengths: dict[str, torch.Tensor]
    draws: dict[str, torch.Tensor]
    lifted: frozenset[str]
    """The inputs and draws that were given with a batch axis."""


class Reader:
    """Reads calls of one program at some sizes."""

    def __init__(self, code: Code, sizes: Sizes) -> None:
        self.code = code
        self.sizes = sizes
        self.inputs = [t.name for t in code.tensors.values() if t.role == "input"]
        # A text that writes its batch index has it in its tensors, and gets no other.
        self.adds_batch = bool(self.inputs) and not writes_batch(code)
        self.drawn = drawn_tensors(code, sizes.known)
        self.solved: dict[tuple[Any, ...], dict[str, int]] = {}

    def read(
        self,
        given: Mapping[str, object],
        lengths: Lengths | None,
        draws: Mapping[str, object] | None,
        like: torch.Tensor,
        training: bool,
    ) -> Arguments:
        """`like` has the type and the device of the parameters."""
        cast = like.device.type != "meta" and torch.is_autocast_enabled(like.device.type)
        tensors = self.code.tensors
        values = {n: checks.as_tensor(tensors[n], v, like, cast) for n, v in given.items()}
        x, lifted, batch = self.lift(values)
        sizes = self.sizes_at(x)
        ragged = self.lengths(lengths, sizes, batch if lifted else None, like.device)
        for name, tokens in {} if torch.compiler.is_compiling() else x.items():
            tensor = tensors[name]
            if tensor.values is not None and not followed(tokens):
                tokens = tokens if self.adds_batch else tokens.unsqueeze(0)
                inside = checks.before_end(tensor, tokens, ragged)
                count = tensor.values.value(sizes)
                checks.check_tokens(tensor, tokens, count, inside, name in lifted)
        drawn, own = self.draw(draws or {}, sizes, batch, like, training)
        if lifted:
            lifted = lifted | (drawn.keys() - own)
        return Arguments(x, sizes, ragged, drawn, lifted)

    def lift(
        self, values: Mapping[str, torch.Tensor]
    ) -> tuple[dict[str, torch.Tensor], frozenset[str], int]:
        """All inputs with a batch axis, which of them had one, and how many examples there are."""
        lifted = [name for name, value in values.items() if self.has_batch(name, value)]
        if not self.adds_batch:
            return dict(values), frozenset(), 0
        counts = [values[name].shape[0] for name in lifted]
        if not torch.compiler.is_compiling() and len(set(counts)) > 1:
            listed = ", ".join(f"{n}: {count}" for n, count in zip(lifted, counts, strict=True))
            raise checks.refusal("input-shape", f"the number of examples differs ({listed})")
        batch = counts[0] if counts else 1
        x = {
            name: value if name in lifted else value.unsqueeze(0).expand(batch, *value.shape)
            for name, value in values.items()
        }
        return x, frozenset(lifted), batch

    def has_batch(self, name: str, value: torch.Tensor) -> bool:
        tensor = self.code.tensors[name]
        extra = value.dim() - len(tensor.axes)
        if extra == 1 and self.adds_batch:
            return True
        if extra:
            raise checks.wrong_axes(tensor, value)
        return False

    def sizes_at(self, x: Mapping[str, torch.Tensor]) -> dict[str, int]:
        if torch.compiler.is_compiling():
            return self.sizes.symbolic(x, int(self.adds_batch))
        shapes = tuple((name, value.shape[int(self.adds_batch) :]) for name, value in x.items())
        known = self.solved.get(shapes)
        if known is None:
            try:
                known = self.sizes.at_call(x, frozenset(x) if self.adds_batch else frozenset())
            except InterpretError as error:
                raise checks.misfit(self.code, error, dict(shapes)) from error
            if len(self.solved) > 1000:
                self.solved.clear()
            self.solved[shapes] = known
        return dict(known)

    def lengths(
        self,
        given: Lengths | None,
        sizes: Mapping[str, int],
        batch: int | None,
        device: torch.device,
    ) -> dict[str, torch.Tensor]:
        if given is None:
            return {}
        if batch is None:
            why = "no input has a batch axis" if self.adds_batch else "the text writes its batch"
            raise checks.refusal("lengths", f"lengths were given, but {why}")
        return {
            name: checks.length_tensor(name, values, sizes[name], batch, device)
            for name, values in checks.named_lengths(self.sizes, given).items()
        }

    def draw(
        self,
        given: Mapping[str, object],
        sizes: Mapping[str, int],
        batch: int,
        like: torch.Tensor,
        training: bool,
    ) -> tuple[dict[str, torch.Tensor], set[str]]:
        """Everything that is drawn, and those that were given without a batch axis."""
        found: dict[str, torch.Tensor] = {}
        shared: set[str] = set()
        front = (batch,) if self.adds_batch else ()
        named = {resolve(self.code, name, ("draw",)): value for name, value in given.items()}
        for drawn in self.drawn:
            if drawn.name in named:
                tensor = self.code.tensors[drawn.name]
                value = checks.as_tensor(tensor, named[drawn.name], like, cast=True)
                if self.adds_batch and not self.has_batch(drawn.name, value):
                    shared.add(drawn.name)
                    value = value.unsqueeze(0).expand(batch, *value.shape)
                checks.check_draw(tensor, value, drawn.shape(sizes, front))
                found[drawn.name] = value
            elif drawn.distribution != "dropout" or (training and not drawn.idle):
                found[drawn.name] = drawn.values(sizes, front, like)
        return found, shared


@dataclass(frozen=True)
class Drawn:
    """One tensor that is drawn: how large it is, and from what."""

    name: str
    distribution: str
    arguments: tuple[float, ...]
    extents: tuple[Size, ...]

    @property
    def idle(self) -> bool:
        """A dropout that drops nothing."""
        return self.distribution == "dropout" and self.arguments == (0.0,)

    def shape(self, sizes: Mapping[str, int], batch: tuple[int, ...]) -> tuple[int, ...]:
        return (*batch, *(extent.value(sizes) for extent in self.extents))

    def values(
        self, sizes: Mapping[str, int], batch: tuple[int, ...], like: torch.Tensor
    ) -> torch.Tensor:
        """New values, other ones for each example."""
        empty = like.new_empty(self.shape(sizes, batch))
        match self.distribution, self.arguments:
            case "dropout", (rate,):
                return empty.bernoulli_(1 - rate).mul_(1 / (1 - rate) if rate < 1 else 0.0)
            case "N", (mean, variance):
                return empty.normal_(mean, variance**0.5)
            case "N", ():
                return empty.normal_()
            case "uniform", (low, high):
                return empty.uniform_(low, high)
            case "uniform", ():
                return empty.uniform_()
            case "bernoulli", (probability,):
                return empty.bernoulli_(probability)
        raise IndicialError(
            f"{self.name} is drawn from {self.distribution}, which is not drawn here; "
            f'give it: draws={{"{self.name}": …}}'
        )


def drawn_tensors(code: Code, sizes: Mapping[str, int]) -> list[Drawn]:
    """All that a program draws, apart from parameters, whose draw is where they start."""
    return [
        Drawn(
            draw.tensor,
            draw.distribution,
            _arguments(code, draw, sizes),
            tuple(stored_extents(code.tensors[draw.tensor])),
        )
        for draw in code.draws
        if code.tensors[draw.tensor].role == "draw"
    ]


def _arguments(code: Code, draw: Draw, sizes: Mapping[str, int]) -> tuple[float, ...]:
    try:
        return tuple(evaluate(code, a, {}, {}, {}, sizes=sizes) for a in draw.arguments)
    except (InterpretError, KeyError) as error:
        raise IndicialError(
            f"what {draw.tensor} is drawn from has to be known beforehand: {error}"
        ) from error


class Result(dict[str, torch.Tensor]):
    """A dictionary by the names of the equations; other spellings are looked up as well."""

    loss_name: str | None = None

    @property
    def loss(self) -> torch.Tensor:
        """What the program minimises: one number, the mean over the batch."""
        if self.loss_name is None:
            raise IndicialError("the program has no loss")
        return self[self.loss_name]

    def __missing__(self, spelling: str) -> torch.Tensor:
        name = canonical_name(spelling)
        if name in self.keys():
            return self[name]
        held = ", ".join(self) or "nothing"
        raise KeyError(f'{spelling} was not asked for (want=["{spelling}"]); this holds {held}')

    def __contains__(self, spelling: object) -> bool:
        return dict.__contains__(self, spelling) or (
            isinstance(spelling, str) and canonical_name(spelling) in self.keys()
        )

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {tuple(value.shape)}" for name, value in self.items())
        return f"Result({shapes})"


def result(values: dict[str, torch.Tensor], loss: str | None) -> Result:
    found = Result(values)
    found.loss_name = loss
    return found


def _flatten(found: Result) -> tuple[list[Any], Any]:
    return list(found.values()), (tuple(found), found.loss_name)


def _unflatten(values: Any, context: Any) -> Result:
    names, loss = context
    return result(dict(zip(names, values, strict=True)), loss)


# So that torch.export and torch.func look into it.
register_container(Result, _flatten, _unflatten, "indicial.compile.module.call.Result")


PRODUCTS = {
    F.linear, F.conv1d, F.conv2d, F.conv3d, F.scaled_dot_product_attention, torch.einsum,
    torch.matmul, torch.mm, torch.bmm, torch.mv, torch.addmm, torch.baddbmm,
    torch.Tensor.matmul, torch.Tensor.__matmul__, torch.Tensor.mm, torch.Tensor.bmm,
}  # fmt: skip


@contextmanager
def own_precision(walks: bool, like: torch.Tensor) -> Iterator[None]:
    """What a run happens in; nothing special outside autocast, full precision where it `walks`."""
    kind = like.device.type
    if kind == "meta" or not torch.is_autocast_enabled(kind):
        yield
        return
    lower = torch.get_autocast_dtype(kind)
    with torch.autocast(kind, enabled=False):
        if walks or like.dtype != torch.float32:
            yield
            return
        with Rounded(lower):
            yield


class Rounded(TorchFunctionMode):
    """Matrix products of float32 tensors in a lower precision, with results in float32."""

    def __init__(self, lower: torch.dtype) -> None:
        super().__init__()
        self.lower = lower

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func not in PRODUCTS:
            return func(*args, **kwargs)
        rounded = [self.rounded(a) for a in args]
        named = {name: self.rounded(a) for name, a in kwargs.items()}
        return func(*rounded, **named).float()

    def rounded(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype == torch.float32:
            return value.to(self.lower)
        return value


Hook = Callable[..., Any]


class BackwardHooks:
    """The hooks of one module; `after` are called with both gradients, `before` with the outputs'."""

    def __init__(self) -> None:
        self.after: OrderedDict[int, Hook] = OrderedDict()
        self.before: OrderedDict[int, Hook] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self.after or self.before)

    def call(
        self,
        module: torch.nn.Module,
        compute: Callable[[Mapping[str, Any]], dict[str, torch.Tensor]],
        given: Mapping[str, Any],
    ) -> dict[str, torch.Tensor]:
        """What is computed of what is given, with the hooks on both ends."""
        around = BackwardHook(module, self.after.values(), self.before.values())
        inputs = around.setup_input_hook(tuple(given.values()))  # type: ignore[no-untyped-call]
        found = compute(dict(zip(given, inputs, strict=True)))
        outputs = around.setup_output_hook(tuple(found.values()))  # type: ignore[no-untyped-call]
        return dict(zip(found, outputs, strict=True))


def added(hooks: OrderedDict[int, Hook], hook: Hook, first: bool) -> RemovableHandle:
    """A hook among others; the handle takes it away again."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)
    return handle
