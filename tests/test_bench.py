"""The benchmark's statistics, its tables, and that its peers compute what the equations say.

No time is measured here, and its environment is not needed: only PyTorch's peers are tried.
"""

import math
import random
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import indicial
from bench import cells, document, experts, machine, matrices, same, translation
from bench.__main__ import arguments
from bench.cells import Problem, Size
from bench.peers.experts import SortedDispatch
from bench.peers.layer import TorchLayer
from bench.peers.loops import HoistedLoop, NaiveLoop
from bench.peers.matrix_states import Chunked
from bench.peers.matrix_states import HoistedLoop as MatrixLoop
from bench.peers.modules import Module
from bench.peers.nanogpt import NanoGPT
from bench.peers.products import Products
from bench.peers.shape import Shape
from bench.table import Line, Section, Verdict, markdown, number, plain, verdict_of_mean
from bench.timing import Contender, Pace, Race, Spread, geometric_mean, run_race

ROOT = Path(__file__).resolve().parents[1]
TINY = Size(2, 5, 4)


def test_a_ratio_is_taken_inside_each_round() -> None:
    """In the third round the machine is ten times as slow, for both."""
    race = Race({"ours": [1.0, 1.0, 10.0], "theirs": [2.0, 3.0, 40.0]})
    assert race.ratio("theirs", "ours") == Spread(3.0, 2.0, 4.0)
    assert race.median("theirs") == 3.0


def test_ratios_that_cancel_have_the_mean_one() -> None:
    assert math.isclose(geometric_mean([2.0, 0.5]), 1.0)
    assert math.isclose(geometric_mean([2.0, 4.0, 8.0]), 4.0)


def test_everybody_runs_in_every_round_and_the_order_turns() -> None:
    begun: list[str] = []

    def contender(name: str) -> Contender:
        def run() -> None:
            if begun[-1:] != [name]:
                begun.append(name)

        return Contender(name, run)

    race = run_race([contender(name) for name in "abc"], Pace(rounds=3, window=0, pause=0))
    assert "".join(begun) == "abcbcacab"
    assert {name: len(rounds) for name, rounds in race.seconds.items()} == dict.fromkeys("abc", 3)


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Verdict("a", "b", 7.2, 7.0), "reached"),
        (Verdict("a", "b", 6.9, 7.0), "not reached"),
        (Verdict("a", "b", 1.9, 2.0, at_least=False), "reached"),
        (Verdict("a", "b", 2.1, 2.0, at_least=False), "not reached"),
        (Verdict("a", "b", None, 7.0), "not measured"),
        (Verdict("a", "b", 3.0), ""),
    ],
)
def test_verdicts(verdict: Verdict, said: str) -> None:
    assert verdict.cells()[4] == said


def test_a_mean_needs_all_its_sizes() -> None:
    lines = [
        Line("cell", "8", "loop", 1, 4, Spread(4, 3, 5)),
        Line("cell", "9", "loop", 1, 16, Spread(16, 9, 20)),
        Line("cell", "9", "other", 1, 2, Spread(2, 2, 2)),
    ]
    mean = verdict_of_mean(lines, "cell", "loop", 7.0)
    assert mean.value is not None and math.isclose(mean.value, 8.0)
    missing = [*lines, Line("cell", "10", "loop", note="not there yet")]
    assert verdict_of_mean(missing, "cell", "loop", 7.0).value is None


def test_numbers_have_three_digits() -> None:
    shown = [number(value) for value in (0, 0.04731, 1.236, 7, 38.24, 295.4, 12345)]
    assert shown == ["0", "0.0473", "1.24", "7.00", "38.2", "295", "12345"]


def test_tables_leave_out_what_is_empty_and_align() -> None:
    heads, rows = ["what", "size", "note"], [["h̃", "1", ""], ["lstm", "22", ""]]
    assert plain(heads, rows) == "what  size\nh̃     1\nlstm  22"
    assert markdown(heads, rows).splitlines() == [
        "| what | size |",
        "| --- | --- |",
        "| h̃ | 1 |",
        "| lstm | 22 |",
    ]


def test_a_line_fits_a_terminal() -> None:
    line = Line("peephole_mgu", "32×128×256", "its products", 35.5, 91.2, Spread(2.57, 2.41, 2.7))
    section = Section("A title", lines=[line, Line("a", "b", "c", 1, 2, rates=(140.2, 151.4))])
    text = document.terminal(section)
    assert max(map(len, text.splitlines())) <= 80
    assert "2.57×  2.41–2.70" in text and "140/151" in text


def test_the_document_holds_every_section_and_verdict(tmp_path: Path) -> None:
    section = Section("A title", lines=[Line("a", "b", "c", 1, 2, Spread(2, 1, 3))])
    section.verdicts.append(Verdict("cell", "loop", 8.0, 7.0))
    section.remarks.append("A remark.")
    (path,) = document.write([section], "16 November 2026, a machine", tmp_path)
    text = path.read_text(encoding="utf-8")
    for part in ("## A title (ms)", "A remark.", "- 16 November 2026, a machine"):
        assert part in text
    assert "| cell | loop | 8.00× | ≥ 7× | reached |" in text


def test_a_part_is_not_written_as_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments(["--write", "--quick"])
    assert "--write without" in capsys.readouterr().err
    assert arguments(["--write"]).write == ROOT / "docs"


def test_a_busy_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel counts five busy seconds of all cores, none of them ours."""
    counts = iter([100.0, 105.0, 200.0, 200.0])
    monkeypatch.setattr(machine, "_busy_seconds", lambda: next(counts))
    monkeypatch.setattr(machine, "_own_seconds", lambda: 7.0)
    assert "of the machine" in (machine.complaint(0.01) or "")
    assert machine.complaint(0.01) is None


def test_differences_are_found() -> None:
    one, two = torch.tensor([0.0, 2.0]), torch.tensor([0.0, 2.5])
    assert same.difference({"h": one, "x": one}, {"h": one, "x": two}) == ("x", pytest.approx(0.2))
    same.check({"h": one}, {"h": one + 1e-6}, "both", {"h"})
    with pytest.raises(same.Different, match="h differs"):
        same.check({"h": one}, {"h": one * math.nan}, "both", {"h"})
    with pytest.raises(same.Different, match="compare x with"):
        same.check({"h": one}, {"h": one}, "both", {"h", "x"})


@pytest.mark.parametrize("path", sorted(cells.EQUATIONS.glob("*.eq")), ids=lambda p: p.stem)
def test_the_cells_have_no_mistakes(path: Path) -> None:
    assert indicial.load(path).mistakes == []


@pytest.mark.parametrize("name", sorted(set(cells.CELLS) - {"gru"}))
def test_peers_compute_what_the_equations_say(name: str) -> None:
    """nn.GRU is not the library's gru, and nobody claims it."""
    cell = cells.CELLS[name]
    problem = Problem.of(cell, TINY, input_gradient=True)
    kinds: list[type[TorchLayer]] = [NaiveLoop, HoistedLoop] if cell.update else []
    if name not in {novel.name for novel in cells.NOVEL}:
        kinds.append(Module)
    arrays = {name: value.numpy() for name, value in problem.weights.items()}
    wanted = indicial.load(cell.source).interpret({"x": problem.x.numpy()}, arrays)["h"]
    results = [kind(problem).result() for kind in kinds]
    for result in results:
        np.testing.assert_allclose(result["h"], wanted, rtol=1e-4, atol=1e-6)
        same.check(result, results[0], name, {"h", "x", *problem.weights})


def test_nanogpt_computes_what_the_transformer_says() -> None:
    shape = Shape(layers=2, width=6, heads=2, inner=5, words=7, steps=4)
    torch.manual_seed(0)
    model, tokens = NanoGPT(shape), torch.tensor([[3, 1, 4, 1], [5, 2, 6, 5]])
    arrays = {name: value.numpy() for name, value in model.by_equation().items()}
    wanted = indicial.load("transformer").interpret({"w": tokens.numpy()}, arrays).loss
    assert math.isclose(model(tokens).item(), float(wanted), rel_tol=1e-5)


def test_products_are_counted() -> None:
    """Five products of B T × J × 2J, and a sixth for the gradient of the input."""
    one = 2 * (2 * 5) * 4 * (2 * 4)
    assert Products(Problem.of(cells.UGRNN, TINY)).operations == 5 * one
    assert Products(Problem.of(cells.UGRNN, TINY, input_gradient=True)).operations == 6 * one
    gated = Problem.of(cells.CELLS["peephole_mgu"], TINY)
    assert Products(gated).operations == 5 * one


def test_the_peers_are_pinned_once_and_bring_no_gpu() -> None:
    pins = [
        (ROOT / folder / "constraints.txt").read_text().splitlines() for folder in (".", "bench")
    ]
    names = [[line.split("==")[0] for line in lines if not line.startswith("#")] for lines in pins]
    assert not set(names[0]) & set(names[1])
    assert [
        line for line in pins[1][1:] if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line)
    ] == []
    assert [name for name in names[1] if re.match("nvidia|cuda|triton", name)] == []
    wanted = (ROOT / "bench/requirements.txt").read_text().splitlines()[1:]
    assert set(wanted) <= set(names[1])


def test_a_search_draws_settings_around_those_that_were_chosen(tmp_path: Path) -> None:
    from bench import search

    file = tmp_path / "a.txt"
    file.write_text("a small text", encoding="utf-8")

    chosen = {
        "sizes": {"J": 64, "L": 2, "K": 2},
        "settings": {"context": 128, "batch_size": 16, "learning_rate": 0.01},
        "tokens": ["bpe", 1024],
    }
    drawn = [search.draw(random.Random(seed), chosen, file) for seed in range(50)]
    assert {d["--set"][0] for d in drawn} == {"J=32", "J=48", "J=64", "J=96", "J=128"}
    assert {d["--optimizer"] for d in drawn} == {"muon", "adamw"}
    assert all(0.001 <= float(d["--learning-rate"]) <= 0.04 for d in drawn)
    sizes = {int(d["--batch-size"]) * int(d["--context"]) for d in drawn}
    assert sizes == {512, 1024, 2048, 4096, 8192}
    cut = {d.get("--vocabulary", d.get("--tokens")) for d in drawn}
    assert cut == {"300", "600", "1200", "2400", "characters"}
    chosen["tokens"] = ["characters", 60]
    drawn = [search.draw(random.Random(seed), chosen, file) for seed in range(50)]
    assert {d["--vocabulary"] for d in drawn if "--vocabulary" in d} == {"300", "600"}


@pytest.mark.parametrize(
    "line",
    ["line {}", "a line of running text, {} of many that go on with one another for a while"],
)
def test_a_search_holds_out_whole_lines(tmp_path: Path, line: str) -> None:
    """Of a list every so many, of a text those at its end."""
    from bench import search

    lines = [line.format(number) for number in range(100)]
    text = "\n".join(lines) + "\n"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    learned, held = (
        p.read_text(encoding="utf-8").splitlines()
        for p in search.divide(tmp_path / "a.txt", tmp_path)
    )
    assert sorted(learned + held) == sorted(lines)
    assert 8 <= len(held) <= 12


def test_the_defaults_stand_beside_the_best_of_a_search() -> None:
    from bench.search import Trial, told

    said = {"--set": ["J=64", "L=2"]}
    trials = [
        Trial("f", 0, 0, {}, 2.1, 2.121, 4.0, 30, {}),
        Trial("f", 1, 0, {"--context": "64"}, None, None, 4.0, 30, {}),
        Trial("f", 2, 0, said, 1.9, 1.9, 4.0, 30, {}),
        Trial("f", 2, 1, said, 2.0, 2.0, 4.0, 30, {}),
        Trial("f", 2, 2, said, 2.04, 2.04, 4.0, 30, {}),
    ]
    assert told(trials) == "| f | 2.121 | 1.900 | 2.020 | +5.0% | 1.0% | `--set J=64 --set L=2` |"


def test_the_table_of_tiny_shakespeare_has_medians_and_every_seed() -> None:
    from bench.shakespeare import Outcome, table

    lines = table(
        {
            "plain": [Outcome(70, 1.8), Outcome(60, 1.9)],
            "ours": [Outcome(20, 1.5, (4, 9)), Outcome(22, 1.7, (5, None))],
        }
    ).splitlines()
    assert lines[2] == "| plain | 1.850 (1.800, 1.900) | 65 (70, 60) |  |  |"
    assert lines[3] == "| ours | 1.600 (1.500, 1.700) | 21 (20, 22) | 4.5 (4.0, 5.0) |  |"


@pytest.mark.parametrize("name", matrices.MODELS)
def test_layers_whose_state_is_a_matrix_compute_the_same(name: str) -> None:
    given = matrices.problem(name, Size(2, 70, 5))  # more steps than a chunk has
    ours = matrices.compiled(name, *given)
    matrices.check(name, ours, MatrixLoop(name, *given))
    if name in matrices.IN_CHUNKS:
        matrices.check(name, ours, Chunked(name, *given))


@pytest.mark.parametrize("name", experts.MODELS)
def test_experts_compute_the_same(name: str) -> None:
    given = experts.problem(Size(2, 7, 4))
    theirs = SortedDispatch(*given, experts.MODELS[name]).result()
    same.check(experts.compiled(name, *given).result(), theirs, name, set(theirs))


@pytest.mark.parametrize(
    "name", [pytest.param("bahdanau", marks=pytest.mark.long), "encoder_decoder_prenorm"]
)
def test_peers_in_translation_compute_what_the_equations_say(name: str) -> None:
    torch.manual_seed(0)
    rows = translation.Rows.drawn(words=11, rows=3, least=2, most=4)
    theirs = translation.peer(name, 11, 32, 4)
    translation.checked(name, theirs, rows, translation.sizes(name, 11, 32, 4))
