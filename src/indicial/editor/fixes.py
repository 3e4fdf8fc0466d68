"""Hints that say what to write → changes of the text, each tried before it is offered.

    unknown name hh: did you mean h?        hh[t-1,j]  →  h[t-1,j]
    is this a state? write h[t-1,j]         h[t,j]     →  h[t-1,j]

Most checks say in words what to write, and the place is that of the message. Whether that was understood
shows when the text is read again: the message must be gone, and no error in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from difflib import SequenceMatcher

from indicial.notation.source import Span
from indicial.program.messages import Message
from indicial.program.program import Program

_MEANT = re.compile(r"did you mean (?:\S+ at the same )?`?([^\s`?]+)`?(?: there| here)?\?")
_WRITE = re.compile(
    r"(?:^|; )write `?(?P<new>[^`:]+?)`?"
    r"(?: instead of (?P<old>\w+))?(?:[,:] .*| (?:if|instead|here|unless|or|on|in)\b.*)?$"
)
_NAME = re.compile(r"\\?[^\W\d_][^\W_]*(?:[\^_](?:\{[^}]*\}|[^\W_]))*")
_BRACKETS = re.compile(r"\[[^\[\]]*\]")

Fix = tuple[Span, str]


def with_fix(message: Message, program: Program, tried: bool = True) -> Message:
    """A message with the change that its hint asks for, if there is one that helps."""
    if message.fix is not None or not message.hint or not tried or message.severity == "note":
        return message
    for fix in _candidates(message):
        if program.mended(message, *fix):
            return replace(message, fix=fix)
    return message


def _candidates(message: Message) -> Iterator[Fix]:
    """What a hint may mean, the likeliest first."""
    meant, write = _MEANT.search(message.hint), _WRITE.search(message.hint)
    new = meant[1] if meant else write["new"] if write else ""
    if not new or "…" in new:
        return
    text = message.span.text

    def put(found: re.Match[str] | None, what: str = new) -> Iterator[Fix]:
        if found is not None and found[0] != what:
            start = message.span.start
            yield Span(message.span.source, start + found.start(), start + found.end()), what

    old = write["old"] if write else None
    if old or len(new) == 1:  # an index: `t` in the place of `t-1`, or of `T-1`
        letter = rf"\b{re.escape(old or new)}\b"
        yield from put(re.search(rf"{letter}\s*[+-]\s*\d+|{letter}", text))
    if _BRACKETS.fullmatch(new):
        yield from put(_BRACKETS.search(text))
    elif _NAME.fullmatch(new):
        names = list(_NAME.finditer(text))
        names.sort(key=lambda n: SequenceMatcher(None, n[0].casefold(), new.casefold()).ratio())
        yield from (fix for name in names[:-3:-1] for fix in put(name))
    elif text[:1] == new[:1]:
        yield from put(re.compile(".*", re.DOTALL).match(text))
