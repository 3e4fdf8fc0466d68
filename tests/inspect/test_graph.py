"""Drawings: that they say what the equations say, and that nothing lies on anything."""

import itertools
import re
import xml.etree.ElementTree as ET

import pytest

from indicial import library, load
from indicial.inspect.graph import Graph, Line, draw, graph_of
from indicial.inspect.layers import lay_out


def ends(graph: Graph, **wanted: bool) -> set[tuple[str, str]]:
    return {
        (x.source, x.target)
        for x in graph.lines
        if all(getattr(x, name) == value for name, value in wanted.items())
    }


def test_a_recurrence_goes_back() -> None:
    graph = graph_of(load("ugrnn"))
    assert ends(graph, back=True) == {("h", "R"), ("h", "G"), ("h", "h")}
    assert {x.label for x in graph.lines if x.back} == {"t-1"}
    assert ends(graph, back=False) == {("x", "R"), ("x", "G"), ("R", "h"), ("G", "h")}
    assert graph.frames == {0: "for each t"}


def test_parameters_of_one_reader_are_in_its_box_and_shared_ones_are_not() -> None:
    graph = graph_of(load("ugrnn"))
    assert graph.nodes["R"].parameters == ["W^{h,R}", "W^{x,R}", "B^R"]
    assert "B^R" not in graph.nodes
    assert graph_of(load("rnn_lm")).nodes["e"].kind == "parameter"


def test_residual_pathways_and_layers_of_a_transformer() -> None:
    graph = graph_of(load("transformer"))
    assert ends(graph, residual=True) == {("L 0", "A"), ("L", "A"), ("A", "L")}
    assert ends(graph, back=True) == {("L", "N"), ("L", "A")}
    (top,) = [x for x in graph.lines if (x.source, x.target) == ("L", "y")]
    assert top == Line("L", "y", "ℓ = L")


def test_residuals_through_a_layer_norm() -> None:
    graph = graph_of(load("encoder_decoder"))
    assert {("E 0", "A^E"), ("A^E", "E"), ("Z 0", "A^Z"), ("A^X", "Z")} <= ends(
        graph, residual=True
    )
    assert not any("layernorm" in key or "dropout" in key for key in graph.nodes)


def test_a_start_feeds_what_reads_the_step_before() -> None:
    graph = graph_of(
        load("input x[t]\nh[-1] = a\nh[t] = h[t-1] + x[t]\ny[t] = h[t]\nz[t] = h[t-1]")
    )
    assert ("h -1", "h") in ends(graph)
    assert ("h -1", "z") in ends(graph)
    assert ("h -1", "y") not in ends(graph)


@pytest.mark.parametrize("name", library.names())
def test_every_model_can_be_drawn(name: str) -> None:
    """Well-formed; arrows down go down; no two boxes overlap; no arrow passes through a box."""
    program = load(name)
    text = draw(program)
    root = ET.fromstring(text)
    assert root.tag.endswith("svg")
    assert "nan" not in text
    graph = graph_of(program)
    layout = lay_out(graph)
    boxes = [layout.boxes[key] for key in graph.nodes]
    for a, b in itertools.combinations(boxes, 2):
        apart_x = abs(a.x - b.x) >= (a.width + b.width) / 2 - 1e-6
        apart_y = a.y + a.height <= b.y + 1e-6 or b.y + b.height <= a.y + 1e-6
        assert apart_x or apart_y, (a.key, b.key)
    for line, points in layout.paths.items():
        assert layout.boxes[line.source].rank < layout.boxes[line.target].rank
        for x, y in points:
            for box in boxes:
                inside_x = abs(x - box.x) < box.width / 2
                assert not (inside_x and box.y < y < box.y + box.height), (line, box.key)


def test_frames_do_not_overlap() -> None:
    graph = graph_of(load("bahdanau"))
    layout = lay_out(graph)
    spans = []
    for number in graph.frames:
        ranks = [layout.boxes[n.key].rank for n in graph.nodes.values() if n.group == number]
        spans.append((min(ranks), max(ranks)))
    assert len(spans) == 3
    for (_, end), (start, _) in itertools.pairwise(sorted(spans)):
        assert end < start


def test_names_cannot_break_the_picture() -> None:
    text = draw(load("input x[t]\ny[t] = x[t] for t < 3"))
    assert "&lt; 3" in text
    assert not re.search(r"<script", text)
