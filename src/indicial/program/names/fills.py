"""Holes that a line fills with a model of the library, or with equations of one's own.

    CELL = ugrnn
    h[t,J] = CELL_Φ(h[t-1,J], x[t,K])       →   the equations of ugrnn in the place of the call

    CELL = mgu                              →   those of mgu.eq, which stands beside the text

    h = mlp
    … h_Φ(a[t,I], b[t,I])[J] …              →   h(x[I])[j] = W^2[j,N] tanh(…), called with a and b joined

    constant λ = 0.01                       →   constant λ = 0.5, where the caller says so

It is a rewriting of equations (`cells.py`), so that what is filled in or set is checked, explained and
printed like anything else.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TypeGuard

from indicial.notation import syntax as s
from indicial.notation.parse import canonical_name, parse_name, parse_text
from indicial.notation.printers import name_key, unicode
from indicial.notation.vocabulary import CALLED
from indicial.program.messages import IndicialError, Messages
from indicial.program.names.cells import Cell, Filling, Resolver, find_cell
from indicial.program.names.letters import is_hole
from indicial.program.names.naming import APPLIED
from indicial.program.names.outline import Outline
from indicial.program.names.sorting import outline
from indicial.program.names.uses import BUILT_IN


def fill(
    statements: list[s.Statement], messages: Messages, document: bool, resolve: Resolver
) -> list[s.Statement]:
    """The statements with every hole filled that a line like `CELL = lstm` names a cell for."""
    statements = _with_functions(with_words(statements))
    if not any(_may_fill(statement) for statement in statements):
        return statements
    sketch = outline(statements, Messages(), document)
    if not sketch.fills:
        return statements
    cells: dict[str, Cell] = {}
    for key, (value, span) in sketch.fills.items():
        cell = find_cell(value, span, resolve, messages)
        if cell is not None:
            cells[key] = cell
    sites = [_site(statement, cells) for statement in statements]
    result: list[s.Statement] = []
    for statement, site in zip(statements, sites, strict=True):
        if site is not None:
            same = [other.host for other in sites if other is not None and other.key == site.key]
            name = site.key if len(same) == 1 else f"{site.key}{same.index(site.host) + 1}"
            filling = Filling(cells[site.key], name, site.host, site.call, messages)
            result.extend(filling.statements())
        elif not _fills(statement, sketch.fills):
            result.append(statement)
    _check_called(statements, sketch, messages)
    return result


def with_words(statements: Iterable[s.Statement]) -> list[s.Statement]:
    """`CELL = my_cell`: the whole word names a model, though scripts are written like this too."""
    result = list(statements)
    called = _called(result)
    for n, statement in enumerate(result):
        if isinstance(statement, s.Equation) and len(statement.sides) == 2:
            left, right = statement.sides
            word = _word(right) if isinstance(left, s.Name) and left.base in called else None
            if word is not None:
                result[n] = replace(statement, sides=(left, word))
    return result


def _word(node: s.Expression) -> s.Name | None:
    """`my_cell` as one name; None for what has other scripts, or none."""
    if not isinstance(node, s.Name) or not replace(node, sub=()).bare:
        return None
    parts = [part.base for part in node.sub if isinstance(part, s.Name) and part.bare]
    if not parts or len(parts) < len(node.sub) or any(len(part) < 2 for part in parts):
        return None
    return s.Name("_".join((node.base, *parts)), span=node.span)


Own = tuple[str, list[s.Statement]]
"""Equations that fill a hole, and what they are called."""


def named(fills: Mapping[str, str | Own], resolve: Resolver) -> tuple[dict[str, str], Resolver]:
    """What fills each hole by a name that an equation can hold, and who knows these names.

    `{"CELL": "cells/mgu.eq"}` → `{"CELL": "mgu"}`, and a resolver to which mgu is that file.
    """
    names: dict[str, str] = {}
    own: dict[str, list[s.Statement]] = {}
    for key, value in fills.items():
        path, found = (value, None) if isinstance(value, str) else value
        if found is None and not is_word(path):
            found = resolve(path)
        if found is None:
            names[key] = path
            continue
        stem = re.sub(r"\W", "_", PurePath(path).stem) or "cell"
        names[key] = stem if stem not in own else f"{stem}{len(own) + 1}"
        own[names[key]] = found
    return names, lambda name: own.get(name) or resolve(name)


def is_word(name: str) -> bool:
    """Whether it is a name, as `ugrnn` is, and no path."""
    return re.fullmatch(r"\w+", name) is not None


@dataclass(frozen=True)
class Networks:
    """The functions that lines like `h = mlp` fill, by name: the model's own definition of it."""

    heads: Mapping[str, s.Equation]

    @staticmethod
    def split(
        statements: Sequence[s.Statement], resolve: Resolver
    ) -> tuple[list[s.Statement], Networks]:
        """The statements without such lines, and what they say."""
        statements = with_words(statements)
        called = _called(statements)
        heads: dict[str, s.Equation] = {}
        rest: list[s.Statement] = []
        for statement in statements:
            line = _names(statement)
            head = _network(line[1].base, resolve) if line and line[0].base in called else None
            if line and head is not None:
                heads[line[0].base] = head
            else:
                rest.append(statement)
        return rest, Networks(heads)

    def put_in(self, statements: list[s.Statement]) -> list[s.Statement]:
        """The statements with a definition of each function, called with one joined argument."""
        if not self.heads:
            return statements

        def change(node: s.Expression) -> s.Expression:
            new = node.rebuild(change)
            if _is_call(new, self.heads) and len(new.arguments) > 1:
                joined = s.Join(new.arguments, span=new.span)
                return replace(new, arguments=(s.Group(joined, span=new.span),))
            return new

        made = (_renamed(key, head) for key, head in self.heads.items())
        return [*made, *s.with_sides(statements, change)]


def _network(model: str, resolve: Resolver) -> s.Equation | None:
    """The line of a model that defines a function of the model's name: `mlp(x[I])[j] = …`."""
    for statement in resolve(model) or ():
        left = statement.left
        call = left.base if isinstance(left, s.Index) else left
        if isinstance(statement, s.Equation) and call is not None and _is_call(call, (model,)):
            return statement
    return None


def _renamed(key: str, head: s.Equation) -> s.Equation:
    left = head.sides[0]
    assert isinstance(left, s.Index) and isinstance(left.base, s.Call)
    return replace(
        head, sides=(replace(left, base=replace(left.base, function=s.Name(key))), *head.sides[1:])
    )


def _is_call(node: s.Expression, names: Collection[str]) -> TypeGuard[s.Call]:
    return isinstance(node, s.Call) and node.word in names


def _sides(statement: s.Statement) -> tuple[s.Expression, ...]:
    """Both sides of an equation that has no more; else nothing on either."""
    sides = statement.sides if isinstance(statement, s.Equation) else ()
    return sides if len(sides) == 2 else (s.Dots(), s.Dots())


def _names(statement: s.Statement) -> tuple[s.Name, s.Name] | None:
    """Both sides of `φ = tanh`, `CELL = lstm`: two names without scripts."""
    left, right = _sides(statement)
    if isinstance(left, s.Name) and isinstance(right, s.Name) and left.bare and right.bare:
        return left, right
    return None


def _with_functions(statements: list[s.Statement]) -> list[s.Statement]:
    """`φ = tanh`, `σ_h = tanh`, "where φ is the hyperbolic tangent": every φ(…) and σ_h(…) is tanh(…)."""
    called = {call.function for call in s.every(statements, s.Call)}
    known: dict[s.Expression, s.Name] = {
        item: st.domain
        for st in statements
        if isinstance(st, s.Declaration) and st.keyword == CALLED and isinstance(st.domain, s.Name)
        for item in st.items
    }
    for statement in statements:
        left, right = _sides(statement)
        if isinstance(right, s.Name) and right.bare and right.base in BUILT_IN and left in called:
            known[left] = right
    if not known:
        return statements

    def change(node: s.Expression) -> s.Expression:
        new = node.rebuild(change)
        if isinstance(new, s.Call) and new.function in known:
            function = known[new.function]
            if function.base == "softmax" and len(new.arguments) == 1:
                body = s.Group(new.arguments[0], span=new.span)
                return s.Reduction("softmax", (), None, body, span=new.span)
            font = APPLIED if function.sub else function.font  # whatever it is applied to
            return replace(new, function=replace(function, span=new.function.span, font=font))
        return new

    kept = [
        st for st in statements
        if not (isinstance(st, s.Equation) and len(st.sides) == 2 and known.get(st.sides[0]) is st.sides[1])
    ]  # fmt: skip
    return s.with_sides(kept, change)


def overridden(
    statements: Iterable[s.Statement], fills: Mapping[str, str]
) -> tuple[s.Statement, ...]:
    """The statements with the caller's choice of cells: `{"CELL": "lstm"}` is `CELL = lstm`."""
    result = list(statements)
    for spelling, value in fills.items():
        function = _activation(spelling, result)
        if function is not None:  # of several, each is one of its own: σ_g beside σ_h
            if value not in BUILT_IN:
                raise IndicialError(
                    f"{spelling} is a function of each element, and {value} is none; "
                    "fill it with tanh, σ, ReLU or the like"
                )
            result = [st for st in result if _sides(st)[0] != function or _calls(st)]
            result.append(s.Equation((function, s.Name(value)), ("=",)))
            continue
        key = hole(spelling, result)
        if not key:
            raise no_hole(spelling)
        line = s.Equation((s.Name(key), s.Name(value)), ("=",))
        places = [n for n, statement in enumerate(result) if _fills(statement, (key,))]
        if places:
            result[places[0]] = line
        else:
            result.append(line)
    return tuple(result)


def _activation(spelling: str, statements: Iterable[s.Statement]) -> s.Name | None:
    """The σ_h of `σ_h(W x_t)`, as it is called; None for a name without a label, and for other functions."""
    name = parse_name(spelling)
    called = {name_key(call.function): call.function for call in s.every(statements, s.Call)}
    function = called.get(name_key(name)) if name is not None else None
    labelled = function is not None and bool(function.sub) and function.base in "φψσρfg"
    return function if labelled else None


def _calls(statement: s.Statement) -> bool:
    """Whether it is more than a line such as `σ_h = tanh`."""
    return not isinstance(_sides(statement)[1], s.Name)


def hole(spelling: str, statements: Iterable[s.Statement]) -> str:
    """The function that a spelling means (`h_Φ` is called h), or nothing if none is called so."""
    called, name = _called(statements), parse_name(spelling)
    key = name.base if name is not None and spelling not in called else spelling
    return key if key in called else ""


def filling(name: str) -> str:
    """What a hole may be filled with, for example: CELL with gru, σ_h with tanh."""
    parsed = parse_name(name)
    return "gru" if parsed is not None and is_hole(parsed) else "tanh"


def no_hole(name: str) -> IndicialError:
    return IndicialError(f"there is no hole {name} to fill: nothing calls {name}(…)")


@dataclass(frozen=True)
class _Site:
    """An equation whose right side is the call of a hole."""

    key: str
    host: s.Equation
    call: s.Call


def _site(statement: s.Statement, cells: Mapping[str, Cell]) -> _Site | None:
    if not isinstance(statement, s.Equation):
        return None
    right = statement.sides[-1]
    if not isinstance(right, s.Call):
        return None
    key = right.function.base
    return _Site(key, statement, right) if key in cells else None


def _may_fill(statement: s.Statement) -> bool:
    """`CELL = lstm`: a word in capitals, and a word."""
    if not isinstance(statement, s.Equation) or len(statement.sides) != 2:
        return False
    left, right = statement.sides
    return is_hole(left) and isinstance(right, s.Name)


def _fills(statement: s.Statement, holes: Collection[str]) -> bool:
    """Whether a statement is the line that fills one of these holes."""
    if not isinstance(statement, s.Equation):
        return False
    left, right = statement.sides[0], statement.sides[-1]
    return isinstance(left, s.Name) and left.base in holes and isinstance(right, s.Name)


def _called(statements: Iterable[s.Statement]) -> set[str]:
    return {call.word for call in s.every(statements, s.Call)} - {""}


def _check_called(statements: Sequence[s.Statement], sketch: Outline, messages: Messages) -> None:
    """`CEL = ugrnn` beside `CELL(…)`: what is filled is not what is called."""
    called = _called(statements)
    open_calls = [
        (call.word, call.function.span)
        for call in s.every(statements, s.Call)
        if call.word not in sketch.fills and is_hole(call.function)
    ]
    for name, at in open_calls:
        near = difflib.get_close_matches(name, [k for k in sketch.fills if k in called], 1, 0.6)
        if near:
            messages.warning(
                "unknown-cell", f"{name} is called but not filled; {near[0]} is filled",
                (at, "not filled"), hint=f"did you mean {near[0]}?",
            )  # fmt: skip
    for key, (_, span) in sketch.fills.items():
        if key in called:
            continue
        lefts = [
            e.sides[0].span
            for e in statements
            if isinstance(e, s.Equation) and e.sides[-1].span == span
        ]
        messages.warning(
            "unused-fill", f"{key} is filled but never called", (lefts[0] if lefts else span, "filled here"),
            *((at, f"{name} is called here, but not filled") for name, at in open_calls),
            hint=f"did you mean {open_calls[0][0]}?" if open_calls else "remove the line, or call it",
        )  # fmt: skip


def declared_constants(statements: Iterable[s.Statement]) -> dict[str, s.Declaration]:
    """The constants that a text declares, by name."""
    return {
        canonical_name(unicode([item])): statement
        for statement in statements
        if isinstance(statement, s.Declaration) and statement.keyword == "constant"
        for item in statement.items
    }


def with_constants(
    statements: Iterable[s.Statement], values: Mapping[str, str | float]
) -> list[s.Statement]:
    """The statements with the caller's values of constants, by any spelling of their names."""
    result = list(statements)
    for spelling, value in values.items():
        declared = declared_constants(result)
        name = canonical_name(spelling)
        if name not in declared:
            known = f"its constants are {', '.join(declared)}" if declared else "it has none"
            raise IndicialError(f"the program has no constant {spelling}; {known}")
        line = f"constant {name} = {value}"
        parsed = parse_text(line, "constants")
        if parsed.faults or len(parsed.statements) != 1 or "\n" in line:
            raise IndicialError(f"the constant {name} must be a number, not {value!r}")
        result[result.index(declared[name])] = parsed.statements[0]
    return result
