"""A layered layout: boxes in rows, arrows that go down, few that cross, none through a box.

ranks       each box as far down as what it needs asks for (longest path); a group keeps its
            rows to itself, so that a frame fits around it
order       in each row, by the mean place of the neighbours, back and forth (Sugiyama 1981)
places      as close to the neighbours as the order allows (least squares, pooled)
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from itertools import pairwise

from indicial.inspect.graph import Graph, Line
from indicial.program.rewrite import reached

ROW_GAP = 46.0
BOX_GAP = 26.0
FRAME_GAP = 20.0
LANE = 16.0
"""Between two arrows that go back up beside a frame."""


@dataclass
class Box:
    key: str
    width: float
    height: float
    rank: int = 0
    x: float = 0.0
    """The middle."""
    y: float = 0.0
    """The top."""
    real: bool = True


@dataclass
class Layout:
    boxes: dict[str, Box] = field(default_factory=dict)
    paths: dict[Line, list[tuple[float, float]]] = field(default_factory=dict)
    """For arrows that go down: the points on the way that keep them off the boxes."""
    rows: list[tuple[float, float]] = field(default_factory=list)
    """The top and bottom of each row."""
    width: float = 0.0
    height: float = 0.0


def lay_out(graph: Graph) -> Layout:
    """Places for all boxes of a graph, and ways for the arrows that go down."""
    layout = Layout()
    for node in graph.nodes.values():
        width, height = box_size(node.label, node.hint, node.parameters)
        layout.boxes[node.key] = Box(node.key, width, height)
    down = _forward(graph)
    _ranks(graph, layout, down)
    chains = _dummies(layout, down)
    rows = _rows(layout)
    links = _links(chains, layout)
    rows = _order(rows, links)
    _places(rows, links, list(chains.values()))
    _heights(rows, layout, _frame_ends(graph, layout))
    for line, chain in chains.items():
        ends = [(box.x, y) for box in chain for y in (box.y, box.y + box.height)]
        layout.paths[line] = ends
    left = min(b.x - b.width / 2 for row in rows for b in row)
    for row in rows:
        for box in row:
            box.x -= left
    layout.paths = {
        line: [(x - left, y) for x, y in points] for line, points in layout.paths.items()
    }
    layout.width = max(b.x + b.width / 2 for row in rows for b in row)
    return layout


# ---------------------------------------------------------------------- ranks


def _forward(graph: Graph) -> list[Line]:
    """The arrows that go down; one that would close a circle is left out."""
    kept: list[Line] = []
    below: dict[str, set[str]] = {}

    for line in graph.lines:
        if line.back or line.source in reached([line.target], lambda name: below.get(name, ())):
            continue
        kept.append(line)
        below.setdefault(line.source, set()).add(line.target)
    return kept


def _ranks(graph: Graph, layout: Layout, down: list[Line]) -> None:
    """Longest path from above; groups take whole rows one after the other; the rest moves down to
    what needs it."""
    boxes = layout.boxes
    unit = {k: (f"group {n.group}" if n.group >= 0 else k) for k, n in graph.nodes.items()}
    inner: dict[str, int] = dict.fromkeys(boxes, 0)
    for _ in boxes:
        for line in down:
            if unit[line.source] == unit[line.target]:
                inner[line.target] = max(inner[line.target], inner[line.source] + 1)
    tall = {u: 1 + max(inner[k] for k in boxes if unit[k] == u) for u in set(unit.values())}
    lines = [*down, *(line for line in graph.lines if line.back)]
    # No set: a picture comes out the same every time.
    needs = list(dict.fromkeys((unit[x.source], unit[x.target]) for x in lines))
    needs = [(a, b) for a, b in needs if a != b]
    top = dict.fromkeys(tall, 0)
    units = list(dict.fromkeys(unit.values()))

    def lower() -> None:
        for a, b in needs:
            top[b] = max(top[b], top[a] + tall[a])

    for _ in units:  # which frame comes first shows only when all of them have been lowered
        lower()
    for _ in units:
        lower()
        _apart(units, top, tall)
    for _ in units:  # what is not in a frame moves down to what needs it
        for u in units:
            after = [top[b] for a, b in needs if a == u]
            if after and not u.startswith("group "):
                top[u] = max(top[u], min(after) - 1)
    used = sorted({top[unit[k]] + inner[k] for k in boxes})
    for key, box in boxes.items():
        box.rank = used.index(top[unit[key]] + inner[key])


def _apart(units: list[str], top: dict[str, int], tall: dict[str, int]) -> None:
    """No two frames in the same rows."""
    frames = sorted(
        (u for u in units if u.startswith("group ")), key=lambda u: (top[u], units.index(u))
    )
    for above, below in pairwise(frames):
        top[below] = max(top[below], top[above] + tall[above])


# ---------------------------------------------------------------------- order


def _dummies(layout: Layout, down: list[Line]) -> dict[Line, list[Box]]:
    """A long arrow gets a narrow box in every row that it passes."""
    chains: dict[Line, list[Box]] = {}
    for number, line in enumerate(down):
        first, last = layout.boxes[line.source].rank, layout.boxes[line.target].rank
        chain = []
        for rank in range(first + 1, last):
            box = Box(f"way {number} {rank}", 12.0, 0.0, rank, real=False)
            layout.boxes[box.key] = box
            chain.append(box)
        chains[line] = chain
    return chains


def _rows(layout: Layout) -> list[list[Box]]:
    count = 1 + max((b.rank for b in layout.boxes.values()), default=0)
    rows: list[list[Box]] = [[] for _ in range(count)]
    for box in layout.boxes.values():
        rows[box.rank].append(box)
    return rows


Links = dict[str, list[tuple[Box, float]]]


def _links(chains: dict[Line, list[Box]], layout: Layout) -> Links:
    """The neighbours of each box, with a weight: long arrows should be straight."""
    links: Links = {key: [] for key in layout.boxes}
    for line, chain in chains.items():
        stops = [layout.boxes[line.source], *chain, layout.boxes[line.target]]
        for a, b in pairwise(stops):
            weight = 1.0 if a.real and b.real else 2.0 if a.real or b.real else 8.0
            weight *= 2.0 if line.residual else 1.0
            links[a.key].append((b, weight))
            links[b.key].append((a, weight))
    return links


def _order(rows: list[list[Box]], links: Links) -> list[list[Box]]:
    best, least = [list(row) for row in rows], _crossings(rows, links)
    current = [list(row) for row in rows]
    for sweep in range(24):
        down = sweep % 2 == 0
        span = range(1, len(rows)) if down else range(len(rows) - 2, -1, -1)
        for rank in span:
            fixed = rank - 1 if down else rank + 1
            place = {box.key: n for n, box in enumerate(current[fixed])}
            middle = {}
            for n, box in enumerate(current[rank]):
                seen = [place[o.key] for o, _ in links[box.key] if o.key in place]
                middle[box.key] = sum(seen) / len(seen) if seen else float(n)
            current[rank].sort(key=lambda box, m=middle: m[box.key])  # type: ignore[misc]
        crossings = _crossings(current, links)
        if crossings < least:
            best, least = [list(row) for row in current], crossings
    return best


def _crossings(rows: list[list[Box]], links: Links) -> int:
    total = 0
    for above, below in pairwise(rows):
        place = {box.key: n for n, box in enumerate(below)}
        ends = [
            (n, place[o.key]) for n, box in enumerate(above) for o, _ in links[box.key]
            if o.key in place
        ]  # fmt: skip
        total += sum(1 for i, (a, b) in enumerate(ends) for c, d in ends[i + 1 :]
                     if (a - c) * (b - d) < 0)  # fmt: skip
    return total


# ---------------------------------------------------------------------- places


def _places(rows: list[list[Box]], links: Links, chains: list[list[Box]]) -> None:
    """Boxes go to the middle of their neighbours, long arrows straight down."""
    chain_of = {box.key: chain for chain in chains for box in chain}
    for row in rows:
        at = 0.0
        for box in row:
            box.x = at + box.width / 2
            at += box.width + BOX_GAP
        for box in row:
            box.x -= at / 2
    for sweep in range(200):
        order = rows if sweep % 2 == 0 else rows[::-1]
        for row in order:
            wanted = []
            for box in row:
                near = links[box.key]
                if not box.real:
                    chain = chain_of[box.key]
                    ends = [o for b in (chain[0], chain[-1]) for o, _ in links[b.key] if o.real]
                    near = [*((b, 1.0) for b in chain), *((o, 0.4) for o in ends)]
                total = sum(w for _, w in near)
                mean = sum(o.x * w for o, w in near) / total if near else box.x
                wanted.append((mean, (8.0 if not box.real else max(total, 0.5))))
            _settle(row, wanted)


def _settle(row: list[Box], wanted: list[tuple[float, float]]) -> None:
    """The places closest to the wanted ones that keep the order and the gaps (pool violators)."""
    offsets = [0.0]
    for a, b in pairwise(row):
        offsets.append(offsets[-1] + (a.width + b.width) / 2 + BOX_GAP)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for (place, weight), offset in zip(wanted, offsets, strict=True):
        block = (place - offset, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            mean, total, count = blocks.pop()
            joint = total + block[1]
            block = ((mean * total + block[0] * block[1]) / joint, joint, count + block[2])
        blocks.append(block)
    number = 0
    for mean, _, count in blocks:
        for _ in range(count):
            row[number].x = mean + offsets[number]
            number += 1


def _frame_ends(graph: Graph, layout: Layout) -> set[int]:
    """The rows above which a frame begins or has ended."""
    ends: set[int] = set()
    for number in graph.frames:
        ranks = [layout.boxes[n.key].rank for n in graph.nodes.values() if n.group == number]
        ends |= {min(ranks), max(ranks) + 1}
    return ends


def _heights(rows: list[list[Box]], layout: Layout, ends: set[int]) -> None:
    y = 0.0
    for number, row in enumerate(rows):
        y += FRAME_GAP if number in ends else 0.0
        height = max((box.height for box in row), default=0.0)
        for box in row:
            box.y = y + (height - box.height) / 2 if box.real else y
            if not box.real:
                box.height = height
        layout.rows.append((y, y + height))
        y += height + ROW_GAP
    layout.height = y - ROW_GAP


# ---------------------------------------------------------------------- how large boxes are


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
