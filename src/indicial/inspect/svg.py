r"""A graph that was laid out, as an SVG picture.

Inputs and parameters are light; an arrow to the next step or layer is dashed and runs up beside its
frame; a residual pathway is thick. The equation of a box shows when the mouse rests on it.

LaTeX → MathML, which browsers typeset by themselves: no script, no font, no net.

>>> mathml(r"\begin{aligned} y &= \alpha x \\ z &= 2 \end{aligned}")
'<math …><mtable …>…</mtable></math>'

One formula is converted by latex2mathml; the rows of an `aligned` are put together here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from xml.sax.saxutils import escape

from indicial.inspect.graph import Graph, Line, Node
from indicial.inspect.layers import LANE, Box, Layout, text_width
from indicial.program.messages import IndicialError
from indicial.program.outputs import MADE

INK, LINE, BACK, RESIDUAL = "#1f2937", "#94a3b8", "#d9480f", "#1d4ed8"

_SCRIPT = re.compile(r"([\^_])(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|.)")
FONT = "'DejaVu Sans', 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
MARGIN = 28.0
PAD = 16.0
"""Between a frame and its boxes."""

FILLS = {
    "input": ("#e7f5ff", "#74c0fc"),
    "parameter": ("#f1f3f5", "#ced4da"),
    "defined": ("#ffffff", "#475569"),
    "start": ("#fff8e6", "#e0b252"),
    "loss": ("#fff0f3", "#c2255c"),
}


@dataclass
class _Lanes:
    """The arrows that go back up, beside the frame of their group: one lane for each source."""

    sources: dict[str, float] = field(default_factory=dict)
    right: float = 0.0
    room: float = 0.0
    """For their labels."""


def picture(graph: Graph, layout: Layout, title: str = "") -> str:
    """The whole SVG document."""
    return _Picture(graph, layout, title).text()


class _Picture:
    def __init__(self, graph: Graph, layout: Layout, title: str) -> None:
        self.graph, self.layout, self.title = graph, layout, title
        self.back = [x for x in graph.lines if x not in layout.paths]
        self.lanes = self._lanes()
        self.ports = self._ports()
        self.tags: list[str] = []
        """Labels, drawn above all lines."""

    def text(self) -> str:
        frames = [self.frame(number) for number in self.graph.frames]
        lines = [self.forward(x) for x in self.graph.lines if x in self.layout.paths]
        lines += [self.backward(x) for x in self.back]
        boxes = [self.box(node) for node in self.graph.nodes.values()]
        right = max(
            [self.layout.width, *(lane.right + lane.room + PAD for lane in self.lanes.values())]
        )
        bottom = self.layout.height + (34 if self.back else 0)
        legend, wide = self.legend(bottom + 22)
        right = max(right, wide)
        width, height = right + 2 * MARGIN, bottom + 2 * MARGIN + 52
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
                f' viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT}" role="img">',
                f"<title>{escape(self.title)}</title>",
                f"<!-- {MADE} -->",
                *MARKERS,
                '<rect width="100%" height="100%" fill="#ffffff"/>',
                f'<g transform="translate({MARGIN:g},{MARGIN + 14:g})">',
                *frames,
                *lines,
                *self.tags,
                *boxes,
                *legend,
                "</g>",
                "</svg>",
                "",
            ]
        )

    # ------------------------------------------------------------------ frames

    def members(self, group: int) -> list[Box]:
        return [self.layout.boxes[n.key] for n in self.graph.nodes.values() if n.group == group]

    def _lanes(self) -> dict[int, _Lanes]:
        result: dict[int, _Lanes] = {}
        for number in self.graph.frames:
            boxes = self.members(number)
            ways = [
                x for line, points in self.layout.paths.items() for x, y in points
                if self.graph.nodes[line.target].group == number
            ]  # fmt: skip
            lanes = _Lanes(right=max([*(b.x + b.width / 2 for b in boxes), *ways]))
            for line in self.back:
                mine = self.graph.nodes[line.target].group == number
                if mine and line.source not in lanes.sources:
                    lanes.right += LANE
                    lanes.sources[line.source] = lanes.right
                    lanes.room = max(lanes.room, text_width(self._steps(line.source), 11))
            result[number] = lanes
        return result

    def _steps(self, source: str) -> str:
        """What the arrows that go back from a box say: `t-1`."""
        labels = [x for line in self.back if line.source == source for x in line.label.split(", ")]
        return ", ".join(dict.fromkeys(x for x in labels if x))

    def frame(self, number: int) -> str:
        boxes = self.members(number)
        left = min(b.x - b.width / 2 for b in boxes) - PAD
        right = self.lanes[number].right + PAD + self.lanes[number].room
        top = self.layout.rows[min(b.rank for b in boxes)][0] - 26
        bottom = self.layout.rows[max(b.rank for b in boxes)][1] + 22
        words = self.graph.frames[number]
        self.tags.append(tag(left + 10 + text_width(words, 11) / 2, bottom - 8, words, "#64748b"))
        return (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}"'
            f' height="{bottom - top:.1f}" rx="12" fill="#f8fafc" stroke="#cbd5e1"/>'
        )

    # ------------------------------------------------------------------ arrows

    def _ports(self) -> dict[tuple[Line, str], float]:
        """Where each arrow leaves and meets its boxes, in the order of where it comes from."""
        ports: dict[tuple[Line, str], float] = {}
        boxes = self.layout.boxes
        for key in self.graph.nodes:
            for end in ("source", "target"):
                mine = [x for x in self.graph.lines if getattr(x, end) == key]
                mine.sort(key=lambda x, e=end: self._aim(x, e))  # type: ignore[misc]
                # Arrows of one source that go back share a way.
                slots: dict[object, list[Line]] = {}
                for line in mine:
                    shared = line in self.back and end == "source"
                    slots.setdefault("back" if shared else line, []).append(line)
                box = boxes[key]
                room = min(box.width - 20, 34.0 * (len(slots) - 1))
                for number, group in enumerate(slots.values()):
                    part = number / (len(slots) - 1) - 0.5 if len(slots) > 1 else 0.0
                    for line in group:
                        ports[line, end] = box.x + part * room
        return ports

    def _aim(self, line: Line, end: str) -> float:
        if line in self.back:
            return float("inf")
        points = self.layout.paths[line]
        other = line.target if end == "source" else line.source
        if points:
            return points[0][0] if end == "source" else points[-1][0]
        return self.layout.boxes[other].x

    def forward(self, line: Line) -> str:
        source, target = self.layout.boxes[line.source], self.layout.boxes[line.target]
        points = [
            (self.ports[line, "source"], source.y + source.height),
            *self.layout.paths[line],
            (self.ports[line, "target"], target.y - 2),
        ]
        path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
        for (x0, y0), (x1, y1) in pairwise(points):
            if x0 == x1:
                path += f"L{x1:.1f},{y1:.1f}"
            else:
                bend = (y1 - y0) * 0.55
                path += f"C{x0:.1f},{y0 + bend:.1f} {x1:.1f},{y1 - bend:.1f} {x1:.1f},{y1:.1f}"
        colour, width, marker = (LINE, 1.4, "arrow")
        if line.residual:
            colour, width, marker = (RESIDUAL, 3.6, "residual")
        drawn = (
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}"'
            f' marker-end="url(#{marker})"/>'
        )
        if line.label:
            (x0, y0), (x1, y1) = points[-2], points[-1]
            self.tags.append(tag((x0 + 2 * x1) / 3, (y0 + y1) / 2 + 2, line.label, "#64748b"))
        return drawn

    def backward(self, line: Line) -> str:
        """Out below the source, up beside the frame, in above the target."""
        boxes = self.layout.boxes
        source, target = boxes[line.source], boxes[line.target]
        group = self.graph.nodes[line.target].group
        lanes = self.lanes.get(group)
        lane = lanes.sources[line.source] if lanes else source.x + source.width / 2 + 20
        number = list(lanes.sources).index(line.source) if lanes else 0
        x0, x1 = self.ports[line, "source"], self.ports[line, "target"]
        low = self.layout.rows[source.rank][1] + 10 + 4 * number
        high = self.layout.rows[target.rank][0] - 13 - 4 * number
        points = [
            (x0, source.y + source.height), (x0, low), (lane, low), (lane, high), (x1, high),
            (x1, target.y - 2),
        ]  # fmt: skip
        width, marker = (3.6, "wide") if line.residual else (1.7, "back")
        drawn = (
            f'<path d="{rounded(points)}" fill="none" stroke="{BACK}" stroke-width="{width}"'
            f' stroke-dasharray="{"9 5" if line.residual else "6 4"}" marker-end="url(#{marker})"/>'
        )
        first = next(x for x in self.back if x.source == line.source)
        if line is first:
            words = self._steps(line.source)
            right = lanes.right if lanes else lane
            middle = (source.y + source.height / 2) + 4 - 16 * number
            self.tags.append(tag(right + 6 + text_width(words, 11) / 2, middle, words, BACK))
        return drawn

    # ------------------------------------------------------------------ boxes

    def box(self, node: Node) -> str:
        box = self.layout.boxes[node.key]
        fill, stroke = FILLS[node.kind]
        left = box.x - box.width / 2
        radius = box.height / 2 if node.kind in ("input", "parameter") else 6
        parts = ["<g>", f"<title>{escape(node.tip or node.label)}</title>"]
        parts.append(
            f'<rect x="{left:.1f}" y="{box.y:.1f}" width="{box.width:.1f}"'
            f' height="{box.height:.1f}" rx="{radius:.1f}" fill="{fill}" stroke="{stroke}"'
            f' stroke-width="{1.2 if node.kind != "loss" else 2}"/>'
        )
        y = box.y + 20
        parts.append(centred(box.x, y, node.label, 14, INK))
        if node.hint:
            y += 14
            parts.append(centred(box.x, y, node.hint, 10.5, "#64748b"))
        if node.parameters:
            widths = [text_width(p, 11) + 10 for p in node.parameters]
            at = box.x - (sum(widths) + 4 * (len(widths) - 1)) / 2
            fill, stroke = FILLS["parameter"]
            for name, width in zip(node.parameters, widths, strict=True):
                parts.append(
                    f'<rect x="{at:.1f}" y="{y + 8:.1f}" width="{width:.1f}" height="19" rx="9"'
                    f' fill="{fill}" stroke="{stroke}"/>'
                )
                parts.append(centred(at + width / 2, y + 21.5, name, 11, "#475569"))
                at += width + 4
        return "\n".join([*parts, "</g>"])

    # ------------------------------------------------------------------ legend

    def legend(self, y: float) -> tuple[list[str], float]:
        """What the colours and lines mean, those that occur."""
        kinds = [k for k in FILLS if any(n.kind == k for n in self.graph.nodes.values())]
        if "parameter" not in kinds and any(n.parameters for n in self.graph.nodes.values()):
            kinds.insert(1, "parameter")
        parts, x = [], 0.0
        for kind in kinds:
            fill, stroke = FILLS[kind]
            parts.append(
                f'<rect x="{x:.0f}" y="{y - 9:.0f}" width="18" height="12" rx="4" fill="{fill}"'
                f' stroke="{stroke}"/>'
            )
            word = "start or first layer" if kind == "start" else kind
            parts.append(plain(x + 24, y + 1, word))
            x += 24 + text_width(word, 11) + 20
        samples = [
            (any(x.back for x in self.graph.lines), "next step or layer", BACK, 1.7, "6 4"),
            (any(x.residual for x in self.graph.lines), "residual", RESIDUAL, 3.6, ""),
        ]
        for there, word, colour, width, dashes in samples:
            if there:
                parts.append(
                    f'<line x1="{x:.0f}" y1="{y - 3:.0f}" x2="{x + 26:.0f}" y2="{y - 3:.0f}"'
                    f' stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes}"/>'
                )
                parts.append(plain(x + 32, y + 1, word))
                x += 32 + text_width(word, 11) + 20
        return parts, x


# ---------------------------------------------------------------------- marks


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
    """A name with its scripts raised and lowered.

    >>> spans("W^{h,R}", 14)
    'W<tspan dy="-5.0" font-size="10.1">h,R</tspan>'
    """
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


_ALIGNED = re.compile(r"\\begin\{aligned\}(.*)\\end\{aligned\}", re.DOTALL)
_MADE = {"cev": "overleftarrow"}
"""Commands that not every typesetter has."""
_OPEN, _CLOSE = ('<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">', "</math>")


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
