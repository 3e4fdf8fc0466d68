r"""LaTeX → MathML, which browsers typeset by themselves: no script, no font, no net.

>>> mathml(r"\begin{aligned} y &= \alpha x \\ z &= 2 \end{aligned}")
'<math …><mtable …>…</mtable></math>'

One formula is converted by latex2mathml; the rows of an `aligned` are put together here.
"""

from __future__ import annotations

import re

from indicial.program.messages import IndicialError

_ALIGNED = re.compile(r"\\begin\{aligned\}(.*)\\end\{aligned\}", re.DOTALL)
_MADE = {"cev": "overleftarrow"}
"""Commands that not every typesetter has."""
_OPEN, _CLOSE = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">',
    "</math>",
)


def mathml(text: str, inline: bool = False) -> str:
    """A formula as an element of a page."""
    for made, known in _MADE.items():
        text = re.sub(rf"\\{made}(?![A-Za-z])", rf"\\{known}", text)
    aligned = _ALIGNED.fullmatch(text.strip())
    if aligned is None:
        display = "inline" if inline else "block"
        return f"{_OPEN.replace('block', display)}{_inner(text, display)}{_CLOSE}"
    rows = []
    for row in re.split(r"\\\\(?:\s*\n|\s*$)", aligned[1].strip()):
        left, _, right = row.partition("&")
        cells = [_inner(part.replace("&", " ")) for part in (left, right)]
        rows.append(
            f'<mtr><mtd style="text-align:left">{cells[0]}</mtd>'
            f'<mtd style="text-align:left">{cells[1]}</mtd></mtr>'
        )
    table = f'<mtable displaystyle="true" columnalign="left left">{"".join(rows)}</mtable>'
    return f"{_OPEN}{table}{_CLOSE}"


def _inner(text: str, display: str = "block") -> str:
    """What stands inside the element."""
    try:
        from latex2mathml.converter import convert
    except ImportError as error:
        raise IndicialError(
            'typeset equations need latex2mathml: pip install "indicial[report]"'
        ) from error
    if not text.strip():
        return "<mrow></mrow>"
    made: str = convert(text.strip(), display=display)
    inner = made[made.index(">") + 1 : made.rindex("</math>")]
    return inner.replace("<mo>&#x0007E;</mo>", "<mo>&#x0223C;</mo>")  # \sim, not an accent
