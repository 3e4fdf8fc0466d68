"""Equations → the text of functions in plain PyTorch, which needs nothing but torch.

    plain(code, ["P"])                  "import torch … def run(p, x, n, lengths, draws): …"
    joined({"_forward": …, "_step": …}) one text with both functions, each helper once

Recurrences are loops in Python here: kernels stay with Indicial.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from indicial.compile.emit.lift import simplified
from indicial.compile.emit.source import emit
from indicial.compile.passes.hoist import hoist
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Code

RUN = "run"
"""What the emitted function is called before it gets a name of its own."""


def plain(code: Code, want: Sequence[str]) -> str:
    """The text that computes the wanted tensors, without kernels and without dropout."""
    simple = simplified(code)
    lighter = hoist(simple, schedule(simple, want))
    return emit(lighter, schedule(lighter, want), want).text


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
