"""Claims of a text, tried: what the tests of this folder share."""

from __future__ import annotations

from typing import Any

import indicial
from indicial.claims.experiment import Verdict
from indicial.claims.trying import try_claims


def verdicts(text: str, **options: Any) -> list[Verdict]:
    program = indicial.load(text)
    assert [m.render() for m in program.errors] == []
    return try_claims([program], **options)


def verdict(text: str, **options: Any) -> Verdict:
    (found,) = verdicts(text, **options)
    return found
