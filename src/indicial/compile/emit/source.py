"""A plan → the text of a Python module with a function `run`, and the function.

    h[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])

    def run(p, x, n, lengths, draws):
        …
        for t in range(T):
            h[t] = torch.tanh(F.linear(h[t - 1], W) + F.linear(x[:, t], U))
        …
        return {"h": …}

Parameters come in the shapes of the equations, inputs and draws with a batch axis in front; what
depends on an input goes out with it. A dropout mask that is not drawn is 1.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from typing import Any

from indicial.compile.emit.calls import NAMES
from indicial.compile.emit.helpers import HELPERS
from indicial.compile.emit.maps import with_shared
from indicial.compile.emit.nodes import ALL, FLOAT, INDEXED, Listed, Node, Operand
from indicial.compile.emit.printing import WIDTH, Line, Printer, Return, quoted
from indicial.compile.emit.program import Emission, Writing
from indicial.compile.emit.running import Source
from indicial.compile.emit.values import Environment
from indicial.compile.passes.batch import MEMBER, lift, with_logs
from indicial.compile.schedule.schedule import Plan
from indicial.program.ir import Code, Index


def emit(
    code: Code,
    plan: Plan,
    want: Sequence[str],
    *,
    ragged: frozenset[str] = frozenset(),
    draws: frozenset[str] = frozenset(),
    summed: frozenset[str] = frozenset(),
    empty: frozenset[str] = frozenset(),
    patterns: Collection[str] = NAMES,
    zeros: Collection[str] | None = None,
) -> Source:
    """The text that computes the wanted tensors; those that are `summed`, over the batch.

    `patterns` are the library calls to look for, by name. Sizes are 1 or more but for those that
    are `empty`, which may be 0; then no library calls are looked for, as many want an element.
    `zeros` are inputs that are 0 beyond their lengths; the others are finite there then.
    """
    patterns = () if empty else patterns
    lifted, steps = lift(code, plan, want, ragged, draws, summed)
    lifted, steps = with_logs(lifted, steps, want)
    writing = Writing(lifted, steps, want, ragged, empty, zeros or ())
    return _Module(writing, patterns, zeros is not None).source()


class _Module:
    """The text: imports, helpers, and the function with what it unpacks."""

    def __init__(self, writing: Writing, patterns: Collection[str], finite: bool) -> None:
        self.writing = writing
        self.emission = Emission(writing, patterns)
        self.code = writing.code
        self.names, self.letters = writing.names, writing.letters
        self.patterns = patterns
        self.finite = finite

    def source(self) -> Source:
        emission, want = self.emission, self.writing.want
        block = emission.emit()
        results = [emission.result(name) for name in want]
        printer = Printer(self.names, self.letters)
        block.items += [Line(), Return(tuple(want), tuple(results))]
        emission.conditions.settle(block)
        given = emission.tensors.given
        weights = [given[n] for n in given if self.code.tensors[n].role == "parameter"]
        block, shared = with_shared(block, emission.torch, weights, self.patterns)
        self.letters.update({n: v.node.operation for n, v in emission.sizes.variables.items()})
        body = printer.print(block)
        unpacked = self.unpacked(printer.live)
        # A library call may have taken the place of what called one.
        called = {"batched", "settled", *(node.operation for node in printer.live)}
        lines: list[str] = []
        for name in emission.torch.helpers:
            if name in called:
                lines += ["", "", inspect.getsource(HELPERS[name]).rstrip()]
        lines += ["", "", "def run(p, x, n, lengths, draws):"]
        lines += [*unpacked, *body]
        text = "\n".join(_tidy(lines))
        text = "\n".join([*_imports(text), text]) + "\n"
        return Source.of(text, emission.functions, (*emission.findings, *shared))

    def unpacked(self, live: Collection[Node]) -> list[str]:
        """What the function takes from its arguments, and only that."""
        lines: list[str] = []
        given = self.emission.tensors.given
        roles = {"parameter": "p", "input": "x", "draw": "draws"}
        groups: dict[str, list[str]] = {"p": [], "x": [], "draws": []}
        for name in given:
            role = self.code.tensors[name].role
            if role in roles:
                groups[roles[role]].append(name)
        if groups["draws"]:
            self.emission.sizes.used[str(MEMBER.extent)] = None
            self.emission.torch.helpers["batched"] = None
        sizes = self.size_lines()
        like = self.reference(groups)
        layers = {name for name in _by_layer(live) if f"{name}." not in like}
        for source in ("p", "x"):
            lines += self.unpack(source, groups[source], layers)
        lines += [*sizes, *self.unpack("draws", groups["draws"]), *self.settled(groups["x"])]
        torch = self.emission.torch
        constants = any(self.code.tensors[n].role == "constant" for n in given)
        if constants or torch.dtype in live or torch.device in live:
            lines.append(like)
        for name, identifier in given.items():
            if self.code.tensors[name].role == "constant":
                values, like_others = _listed(self.code.constants[name]), torch.like(FLOAT)
                node = torch.graph.make("torch.tensor", values, options=like_others)
                text = Printer(self.names, self.letters).inline(node)
                lines.append(f"    {identifier} = {text}")
        return lines

    def unpack(self, source: str, names: list[str], layers: Collection[str] = ()) -> list[str]:
        given = self.emission.tensors.given
        if len(names) > 1 and any(given[n] == source for n in names):
            # One of them takes the place of what they are taken from, so it comes last.
            names = sorted(names, key=lambda n: given[n] == source)
            return _tuple([given[n] for n in names], [f"{source}[{quoted(n)}]" for n in names])
        printer = Printer(self.names, self.letters)
        lines = []
        for name in names:
            shape = tuple(extent for _, extent in self.emission.tensors.bounds(name))
            value = f"{source}[{quoted(name)}]"
            if source == "draws" and shape[:1] == (MEMBER.extent,):
                value = f"batched({value}, {self.letters[str(MEMBER.extent)]}, {len(shape)})"
            if source == "p" and given[name] in layers:
                value += ".unbind()"
            line = f"    {given[name]} = {value}"
            remark = f"  # {printer.shape(shape)}"
            lines.append(line + remark if len(line + remark) <= WIDTH else line)
        return lines

    def settled(self, names: list[str]) -> list[str]:
        """Lengths, and inputs with something harmless beyond them."""
        emission = self.emission
        lines = [
            f"    {identifier} = lengths[{quoted(name)}]  # ({self.letters[str(MEMBER.extent)]},)"
            for name, identifier in self.writing.lengths.items()
        ]
        for name in () if self.finite else names:
            tensor = self.code.tensors[name]
            letters = [axis.letter for axis in tensor.axes]
            if self.writing.ragged.member not in letters:
                continue
            member = letters.index(self.writing.ragged.member)
            env = Environment().bind(Index(a.letter, a.lower, a.extent) for a in tensor.axes)
            for number, axis in enumerate(tensor.axes):
                if axis.extent.names & self.writing.lengths.keys():
                    emission.torch.helpers["settled"] = None
                    own = self.writing.ragged.value(axis.extent, env).node
                    text = Printer(self.names, self.letters).inline(own)
                    identifier = emission.tensors.given[name]
                    member_text = f", {member}" if member else ""
                    lines.append(
                        f"    {identifier} = settled({identifier}, {number}, {text}{member_text})"
                    )
        return lines

    def size_lines(self) -> list[str]:
        """Sizes from the shapes of inputs where they tell, so that a tracer can follow them."""
        used = dict(self.emission.sizes.used)
        lines = []
        given = self.emission.tensors.given
        for name, identifier in given.items():
            if self.code.tensors[name].role != "input":
                continue
            extents = [extent.name for _, extent in self.emission.tensors.bounds(name)]
            new = [
                e if e in used and extents.index(e) == n else None for n, e in enumerate(extents)
            ]
            first = next((n for n, e in enumerate(new) if e is None), len(new))
            letters = [self.letters[str(e)] for e in new[:first]]
            if letters:
                part = "" if first == len(new) else f"[:{first}]" if first > 1 else "[0]"
                comma = "," if first == 1 and not part else ""
                lines.append(f"    {', '.join(letters)}{comma} = {identifier}.shape{part}")
            for axis, e in enumerate(new[first:], first):
                if e is not None:
                    lines.append(f"    {self.letters[e]} = {identifier}.shape[{axis}]")
            for e in new:
                used.pop(e, None) if e is not None else None
        told = self.members_told()
        if str(MEMBER.extent) in used and told:
            used.pop(str(MEMBER.extent))
            lines.append(f"    {self.letters[str(MEMBER.extent)]} = {told}.shape[0]")
        rest = [n for n in used if n in self.letters]
        if rest:
            lines += _tuple([self.letters[n] for n in rest], [f"n[{quoted(n)}]" for n in rest])
        return lines

    def members_told(self) -> str:
        """What tells the number of examples where no input is read: lengths, or what is drawn."""
        for name in self.writing.lengths:
            return f"lengths[{quoted(name)}]"
        for name in self.emission.tensors.given:
            tensor = self.code.tensors[name]
            if tensor.role == "draw" and [a.letter for a in tensor.axes[:1]] == [MEMBER.name]:
                return f"draws[{quoted(name)}]"
        return ""

    def reference(self, groups: dict[str, list[str]]) -> str:
        given = self.emission.tensors.given
        for source in ("p", "x"):
            for name in groups[source]:
                if self.code.tensors[name].values is None:
                    return f"    dtype, device = {given[name]}.dtype, {given[name]}.device"
        # Nothing that is read has the module's type: it hands over a tensor without a name.
        device = next((f"{given[name]}.device" for name in groups["x"]), '"cpu"')
        return (
            '    dtype = p[""].dtype if "" in p else torch.get_default_dtype()\n'
            f'    device = p[""].device if "" in p else {device}'
        )


def _listed(value: Any) -> Operand:
    """The values of a constant, as lists in lists."""
    return Listed(map(_listed, value)) if isinstance(value, tuple) else value


def _imports(text: str) -> list[str]:
    """The imports that a text needs."""
    lines = ["import math", ""] if "math." in text else []
    lines += ["import torch"] if "torch." in text else []
    lines += ["import torch.nn.functional as F"] if "F." in text else []
    return lines + (["from torch import Tensor"] if "Tensor" in text else [])


def _tuple(left: Sequence[str], right: Sequence[str]) -> list[str]:
    line = f"    {', '.join(left)} = {', '.join(right)}"
    if len(line) <= WIDTH:
        return [line]
    half = len(left) // 2
    return _tuple(left[:half], right[:half]) + _tuple(left[half:], right[half:])


def _by_layer(live: Collection[Node]) -> set[str]:
    """The names of which one element is taken at a time: then gradients are put together once.

    `W[l - 1]` is one, `M[tokens]` is many.
    """
    whole, single = set[str](), set[str]()
    for node in live:
        for place, argument in enumerate(node.arguments):
            at, *rest = node.operands[1:] or (None,)
            one = node.operation == INDEXED and place == 0 and isinstance(at, Node)
            one = one and node.light and all(item is ALL for item in rest)
            if not argument.operands:
                (single if one else whole).add(argument.operation)
    return single - whole


def _tidy(lines: Sequence[str]) -> list[str]:
    """No two empty lines inside the function, and none at its beginning."""
    result: list[str] = []
    inside = False
    for line in lines:
        inside = inside or line.startswith("def run(")
        if inside and not line and (not result[-1] or result[-1].endswith(":")):
            continue
        result.append(line)
    return result


__all__ = ["Source", "emit"]
