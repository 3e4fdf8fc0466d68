"""Constants with other values than the text gives them.

    constant λ = 0.01      with {"λ": "0.5"} becomes      constant λ = 0.5

It is a rewriting of the declaration, so that what is set is checked, explained and printed like
anything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from indicial.notation.parse import canonical_name, parse_text
from indicial.notation.printers import unicode
from indicial.notation.syntax import Declaration, Statement
from indicial.program.messages import IndicialError


def declared_constants(statements: Iterable[Statement]) -> dict[str, Declaration]:
    """The constants that a text declares, by name."""
    return {
        canonical_name(unicode([item])): statement
        for statement in statements
        if isinstance(statement, Declaration) and statement.keyword == "constant"
        for item in statement.items
    }


def with_constants(
    statements: Iterable[Statement], values: Mapping[str, str | float]
) -> list[Statement]:
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
