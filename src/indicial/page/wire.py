"""From a question that came over the wire to its answer: nothing here raises. The types of `protocol.py` in TypeScript.

answer("read", {"text": "y[j] = W[j,I] x[I]"})    →   {"answer": {"messages": [], …}}
answer("read", {"txet": ""})                      →   {"error": "the question has a field txet …"}

python -m indicial.page.wire > web/src/protocol.ts
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from indicial.page import equations, protocol, runs
from indicial.page.protocol import QUESTIONS
from indicial.program.messages import IndicialError

ANSWERS: dict[str, Callable[[Any], Any]] = {
    "read": equations.reading,
    "facts": equations.facts,
    "view": equations.view,
    "try": equations.trial,
    "claims": equations.claims,
    "model": equations.model,
    "runs": runs.runs,
    "inputs": runs.inputs,
    "curves": runs.curves,
    "generate": runs.generate,
    "attend": runs.attend,
    "answer": runs.said,
    "design": equations.begin,
    "judge": equations.judge,
    "learn": equations.learn,
    "beside": equations.beside,
}


def answer(name: str, question: dict[str, Any]) -> dict[str, Any]:
    """The answer, or what is wrong in words for the user."""
    try:
        asked, _ = QUESTIONS[name]
        return {"answer": ANSWERS[name](checked(asked, question))}
    except IndicialError as error:
        return {"error": str(error)}
    except RecursionError:
        return {"error": "that is nested too deep; give inner parts names of their own"}
    except MemoryError:
        return {"error": "there is not enough memory for that"}
    except Exception as error:
        return {"error": f"this failed, which is a mistake of Indicial: {type(error).__name__}"}


def checked(kind: Any, value: Any, where: str = "the question") -> Any:
    """The value, if it is of that type; whoever wrote the page made a mistake if it is not."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        for part in parts:
            try:
                return checked(part, value, where)
            except IndicialError:
                continue
    elif origin is Literal:
        if value in parts:
            return value
    elif origin is list:
        if isinstance(value, list):
            return [checked(parts[0], one, f"{where}[{n}]") for n, one in enumerate(value)]
    elif origin is dict:
        if isinstance(value, dict):
            return {whole(k): checked(parts[1], v, f"{where}.{whole(k)}") for k, v in value.items()}
    elif origin is NotRequired:
        return checked(parts[0], value, where)
    elif isinstance(kind, type) and issubclass(kind, dict):
        if isinstance(value, dict):
            return _fields(kind, value, where)
    elif isinstance(kind, type) and type(value) is kind:
        return whole(value) if isinstance(value, str) else value
    raise IndicialError(f"{where} is not {_shown(kind)}")


def whole(text: str) -> str:
    """The text with a sign of its own for each half of a character, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _fields(kind: type, value: dict[str, Any], where: str) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    for name in value:
        if name not in hints:
            raise IndicialError(f"{where} has a field {whole(name)} that means nothing here")
    found = {}
    for name, hint in hints.items():
        if name in value:
            found[name] = checked(hint, value[name], f"{where}.{name}")
        elif get_origin(hint) is not NotRequired:
            raise IndicialError(f"{where} has no {name}")
    return found


# ---------------------------------------------------------------------- the page's types

_NAMES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def typescript() -> str:
    """All of it as TypeScript."""
    every = [
        kind
        for kind in vars(protocol).values()
        if isinstance(kind, type)
        and issubclass(kind, dict)
        and kind.__module__ == protocol.__name__
    ]
    lines = ["// Made of src/indicial/page/protocol.py by `make page`; change that instead.", ""]
    for kind in every:
        lines.append(f"export interface {kind.__name__} {{")
        for name, hint in get_type_hints(kind, include_extras=True).items():
            open_ = get_origin(hint) is NotRequired
            inner = get_args(hint)[0] if open_ else hint
            lines.append(f"  {name}{'?' if open_ else ''}: {_shown(inner)};")
        lines += ["}", ""]
    lines += ["export interface Questions {"]
    for name, (asked, told) in protocol.QUESTIONS.items():
        lines.append(f"  {name}: [{asked.__name__}, {told.__name__}];")
    return "\n".join([*lines, "}", ""])


def _shown(kind: Any) -> str:
    """A type as TypeScript writes it."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in _NAMES:
        return _NAMES[kind]
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_shown, parts)))
    if origin is Literal:
        return " | ".join(f'"{part}"' for part in parts)
    if origin is list:
        inner = _shown(parts[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if origin is dict:
        return f"Record<string, {_shown(parts[1])}>"
    return str(getattr(kind, "__name__", kind))


if __name__ == "__main__":
    print(typescript(), end="")
