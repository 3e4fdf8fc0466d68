"""Which tensors have an adjoint: those between the outputs and what gradients are wanted for.

loss = Σ_t -ln P[t,w[t]],  P = softmax of S,  S[t,v] = Σ_J e[v,J] h[t,J]

barred: loss, S, e, h; P only if something reads it other than through its logarithm.

Statements without those that nobody needs, and without second names for one thing.

x̄ = Σ a[t],  a[t] = δ[t],  b[t] = 2 δ[t],  δ[t] = …     wanted: x̄     →     x̄ = Σ δ[t],  δ[t] = …
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial

from indicial.compile.passes.forms import Distribution, Form, Use, form, uses
from indicial.program.ir import Code, Read, Statement
from indicial.program.rewrite import reached, with_reads


class Reach:
    """The uses between the tensors of a code in normal form."""

    def __init__(
        self, code: Code, outputs: Collection[str], wanted: Collection[str] | None
    ) -> None:
        self.code = code
        self.outputs = outputs
        self.forms: dict[int, Form] = {}
        for statement in code.statements:
            found = form(statement)
            if found is None:
                raise ValueError(f"{statement.target} is not in normal form")
            self.forms[id(statement)] = found
        self.softmaxes = frozenset(
            s.target for s in code.statements if isinstance(self.form(s), Distribution)
        )
        leaves = [
            name
            for name, tensor in code.tensors.items()
            if tensor.role in ("parameter", "input") and tensor.values is None
        ]
        self.wanted = leaves if wanted is None else list(wanted)
        # For the adjoint of a defined tensor, what it is computed from does not matter.
        self.sources = {name for name in self.wanted if code.tensors[name].values is None}

    def form(self, statement: Statement) -> Form:
        return self.forms[id(statement)]

    @cached_property
    def uses(self) -> dict[str, list[Use]]:
        """What each defined tensor uses of tensors that depend on a source."""
        found: dict[str, list[Use]] = {}
        for statement in self.code.statements:
            here = found.setdefault(statement.target, [])
            here += uses(self.form(statement), self.softmaxes)
        users: dict[str, list[str]] = {}
        for name, of in found.items():
            for use in of:
                users.setdefault(use.tensor, []).append(name)
        moving = reached(self.sources, lambda name: users.get(name, ()))
        for name in found:
            if self.code.tensors[name].values is not None:
                found[name] = []
        return {
            name: list(dict.fromkeys(u for u in of if u.tensor in moving))
            for name, of in found.items()
        }

    @cached_property
    def order(self) -> list[str]:
        """The tensors that outputs depend on, circles apart each before those that it uses."""
        finished: list[str] = []
        seen: set[str] = set()
        for output in self.outputs:
            stack = [(output, False)]
            while stack:
                name, left = stack.pop()
                if left:
                    finished.append(name)
                elif name not in seen:
                    seen.add(name)
                    stack.append((name, True))
                    stack += [(use.tensor, False) for use in self.uses.get(name, ())]
        return finished[::-1]

    def readers(self, name: str) -> list[str]:
        """The tensors on the way to an output that use a tensor."""
        return [y for y in self.order if any(u.tensor == name for u in self.uses.get(y, ()))]

    def barred(self) -> list[str]:
        """The tensors with an adjoint: outputs, and what is used other than by its logarithm."""
        direct = {
            use.tensor for y in self.order for use in self.uses.get(y, ()) if not use.logarithm
        }
        moving = self.sources | {name for name, of in self.uses.items() if of}
        return [n for n in self.order if n in moving and (n in direct or n in self.outputs)]


def renamed(statements: Iterable[Statement], names: Mapping[str, str]) -> list[Statement]:
    """The statements with other tensors read; a new name may itself have a new name."""

    def change(read: Read) -> Read:
        return replace(read, tensor=final(read.tensor, names))

    return [s.rebuild(partial(with_reads, change=change)) for s in statements]


def final(name: str, names: Mapping[str, str]) -> str:
    """The name behind all renamings."""
    while name in names:
        name = names[name]
    return name
