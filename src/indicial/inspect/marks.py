"""The marks of a drawing: texts with raised and lowered scripts, labels, arrow heads, rounded ways.

>>> spans("W^{h,R}", 14)
'W<tspan dy="-5.0" font-size="10.1">h,R</tspan>'
"""

from __future__ import annotations

import re
import unicodedata
from xml.sax.saxutils import escape

INK, LINE, BACK, RESIDUAL = "#1f2937", "#94a3b8", "#d9480f", "#1d4ed8"

_SCRIPT = re.compile(r"([\^_])(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|.)")


def text_width(text: str, size: float = 14.0) -> float:
    """Roughly; scripts are smaller, accents take nothing."""
    total, depth, script = 0.0, 0, False
    for character in text:
        if character in "^_":
            script = True
            continue
        if character == "{" and script:
            depth += 1
            continue
        if character == "}" and depth:
            depth -= 1
            script = depth > 0
            continue
        if unicodedata.combining(character):
            continue
        narrow = character in "[](),.|iltfj' "
        wide = character in "WMmw"
        unit = 0.36 if narrow else 0.86 if wide else 0.62
        total += unit * size * (0.7 if script else 1.0)
        if script and not depth:
            script = False
    return total


def box_size(label: str, hint: str, parameters: list[str]) -> tuple[float, float]:
    """The room that a box needs: its name, what it does, and the parameters that it alone reads."""
    width = max(text_width(label), text_width(hint, 10.5)) + 24
    height = 30.0 + (13.0 if hint else 0.0)
    if parameters:
        width = max(width, sum(text_width(p, 11) + 14 for p in parameters) + 8)
        height += 24.0
    return max(width, 44.0), height


def _marker(name: str, colour: str, size: float) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="{size:g}"'
        f' markerHeight="{size:g}" orient="auto" markerUnits="userSpaceOnUse">'
        f'<path d="M0,1 L9,5 L0,9 z" fill="{colour}"/></marker>'
    )


MARKERS = [
    "<defs>",
    _marker("arrow", LINE, 8),
    _marker("back", BACK, 8),
    _marker("wide", BACK, 12),
    _marker("residual", RESIDUAL, 12),
    "</defs>",
]


def rounded(points: list[tuple[float, float]], radius: float = 7.0) -> str:
    """A path along right angles, its corners rounded."""
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        ends = []
        for other in (before, after):
            dx, dy = other[0] - corner[0], other[1] - corner[1]
            length = max(abs(dx), abs(dy)) or 1.0
            step = min(radius, length / 2)
            ends.append((corner[0] + dx / length * step, corner[1] + dy / length * step))
        (ax, ay), (bx, by) = ends
        path += f"L{ax:.1f},{ay:.1f}Q{corner[0]:.1f},{corner[1]:.1f} {bx:.1f},{by:.1f}"
    return path + f"L{points[-1][0]:.1f},{points[-1][1]:.1f}"


def tag(x: float, y: float, text: str, colour: str) -> str:
    """A label on a line."""
    width = text_width(text, 11) + 8
    return (
        f'<rect x="{x - width / 2:.1f}" y="{y - 11:.1f}" width="{width:.1f}" height="15" rx="4"'
        f' fill="#ffffff" fill-opacity="0.92"/>' + centred(x, y, text, 11, colour)
    )


def centred(x: float, y: float, text: str, size: float, colour: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}"'
        f' text-anchor="middle" xml:space="preserve">{spans(text, size)}</text>'
    )


def plain(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="11" fill="#475569">{escape(text)}</text>'


def spans(text: str, size: float) -> str:
    """A name with its scripts raised and lowered: `W^{h,R}`."""
    result, at, shift = "", 0, 0.0
    for match in _SCRIPT.finditer(text):
        result += _back_to_line(text[at : match.start()], shift)
        shift = 0.0 if text[at : match.start()] else shift
        inner = match.group(2)
        if inner.startswith("{"):
            inner = inner[1:-1]
        want = (-0.36 if match.group(1) == "^" else 0.24) * size
        inner = re.sub(r"[\^{}]", "", inner)
        result += (
            f'<tspan dy="{want - shift:.1f}" font-size="{size * 0.72:.1f}">{escape(inner)}</tspan>'
        )
        shift, at = want, match.end()
    return result + _back_to_line(text[at:], shift)


def _back_to_line(text: str, shift: float) -> str:
    if not text:
        return ""
    return f'<tspan dy="{-shift:.1f}">{escape(text)}</tspan>' if shift else escape(text)
