"""What the formulas of the five documents mean, written by hand in numpy, and whether that is what is computed.

    ("002", 28)    G[b,t,j] = σ(W h_{t-1} + W x_t - B)      by a sum over the places that the text means

A formula is tried on random values: the program that it stands in is run, and each tensor that the formula
defines is computed again here, from the values of the others. It is right if the numbers agree, for names with
as many indices as the text means: a vector that is read as a number is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from unicodedata import normalize

import numpy as np

from indicial.program.meaning.sample import sample, small_sizes
from indicial.program.messages import IndicialError
from indicial.program.program import Program

Array = np.ndarray[Any, Any]
Values = Mapping[str, Array]
RIGHT = "right"
UNTRIED = "not tried"


def softmax(x: Array, axes: int | tuple[int, ...] = -1) -> Array:
    weights = np.exp(x - x.max(axis=axes, keepdims=True))
    result: Array = weights / weights.sum(axis=axes, keepdims=True)
    return result


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def before(h: Array, axis: int) -> Array:
    """h one step earlier along an axis, 0 before its first step."""
    moved = np.roll(h, 1, axis)
    moved[(slice(None),) * axis + (0,)] = 0
    return moved


def later(h: Array, axis: int) -> Array:
    return np.flip(before(np.flip(h, axis), axis), axis)


def gate(kind: str, at: str = "bti", first: str = "bt") -> Callable[[Values], Array]:
    """One line of a gated cell: W^h h + W^x x - B, `at` says how h and x are indexed."""
    step = at.index("t")

    def line(v: Values) -> Array:
        h = np.einsum(f"ji,{at}->{first}j", v[f"W^{{h,{kind}}}"], before(v["h"], step))
        x = np.einsum(f"jk,{at[:-1]}k->{first}j", v[f"W^{{x,{kind}}}"], v["x"])
        bias = f"B^{{{kind}}}" if len(kind) > 1 else f"B^{kind}"
        result: Array = h + x - v[bias]
        return result

    return line


def update(v: Values, step: int) -> Array:
    return v["G"] * before(v["h"], step) + (1 - v["G"]) * v["R"]


def window(v: Values, weight: str, bias: str) -> Array:
    """A window of an image around each place, summed with weights, layer by layer."""
    below, w = v["L"][:-1], v[weight]
    result = np.zeros((*below.shape[:-1], w.shape[-1]))
    wide, high = w.shape[1] // 2, w.shape[2] // 2
    for layer, b, x, y in np.ndindex(*below.shape[:-1]):
        for dx in range(-wide, wide + 1):
            for dy in range(-high, high + 1):
                if 0 <= x + dx < below.shape[2] and 0 <= y + dy < below.shape[3]:
                    seen = below[layer, b, x + dx, y + dy]
                    result[layer, b, x, y] += seen @ w[layer, dx + wide, dy + high]
    return result - v[bias][:, None, None, None]


def dot(spec: str, *arrays: Array) -> Array:
    result: Array = np.einsum(spec, *arrays)
    return result


def distances(v: Values) -> Array:
    t = np.arange(v["α"].shape[-1])
    result: Array = (t[:, None] - t[None, :]) ** 2
    return result


def words(v: Values) -> Array:
    result: Array = v["w"].astype(int)
    return result


MEANT: dict[tuple[str, int], dict[str, Callable[[Values], Any]]] = {
    ("000", 19): {"ℒ_{total}": lambda v: v["ℒ_{LM}"] + v["λ"] * v["ℒ_{focus}"]},
    ("000", 29): {"ℒ_{total}": lambda v: v["ℒ_{LM}"] + v["λ"] * v["ℒ_{near}"]},
    ("000", 31): {
        "ℒ_{near}": lambda v: np.minimum(
            v["L_{max}"], dot("lkts,ts->lkt", v["α"], distances(v))
        ).mean()
    },
    ("000", 41): {"α": lambda v: softmax(dot("lti,wi->ltw", v["h"], v["e"]))},
    ("000", 45): {"α": lambda v: softmax(v["β"] * dot("lti,wi->ltw", v["h"], v["e"]))},
    ("000", 55): {
        "α": lambda v: softmax(
            dot("lkti,lksi->lkts", v["Query"], v["Key"]) / np.sqrt(v["Key"].shape[-1])
        )
    },
    ("000", 61): {"P": lambda v: softmax(dot("d,yd->y", v["h"], v["e"]))},
    ("000", 65): {"P": lambda v: softmax(dot("d,df,yf->y", v["h"], v["W"], v["e"]))},
    ("000", 80): {"w^{QK}": lambda v: dot("lkia,lkib->lkab", v["W^Q"], v["W^K"])},
    ("000", 92): {
        "Query": lambda v: dot("lkij,ltj->lkti", v["W^Q"], v["L"]),
        "Key": lambda v: dot("lkij,ltj->lkti", v["W^K"], v["L"]),
        "α": lambda v: softmax(
            dot("lkti,lksi->lkts", v["Query"], v["Key"]) / np.sqrt(v["Key"].shape[-1])
        ),
    },
    ("001", 135): {
        "c_1": lambda v: dot("d->d", v["v_a"]),
        "c_2": lambda v: dot("d->d", v["v_b"]),
    },
    ("001", 156): {"c_2": lambda v: sum(v["α"][1, i] * dot("d->d", v[f"v_{i + 1}"]) for i in range(3))},
    ("001", 160): {
        "c_2": lambda v: np.exp(v["x_2"] @ v["x_2"])
        * dot("d->d", v["x_2"])
        / sum(np.exp(v[f"x_{i}"] @ v["x_2"]) for i in (1, 2, 3))
    },
    ("001", 223): {
        "Q": lambda v: (np.outer(v["u_d"], v["u_a"]) + np.outer(v["u_c"], v["u_d"])) / v["β"] ** 2
    },
    ("001", 246): {
        "V": lambda v: (np.outer(v["u_b"], v["u_b"]) - np.outer(v["u_c"], v["u_c"])) / v["β"] ** 2
    },
    ("002", 28): {"G": lambda v: sigmoid(gate("G")(v))},
    ("002", 30): {"R": lambda v: np.tanh(gate("R")(v))},
    ("002", 32): {"h": lambda v: update(v, 1)},
    ("002", 42): {"G_1": lambda v: sigmoid(gate("G_1")(v))},
    ("002", 44): {"h'": lambda v: v["G_1"] * v["x"]},
    ("002", 46): {"G_2": lambda v: sigmoid(gate("G_2")(v))},
    ("002", 54): {"loss": lambda v: -np.mean([np.log(p[w]) for p, w in zip(v["P"], words(v), strict=True)])},
    ("002", 60): {
        "P": lambda v: softmax(
            dot("wi,ij,tj->tw", v["e"], v["W⃗"], before(v["h⃗"], 0))
            + dot("wi,ij,tj->tw", v["e"], v["W̃"], later(v["h̃"], 0))
        )
    },
    ("002", 68): {
        "P": lambda v: softmax(dot("wi,ij,tj->tw", v["e"], v["W^{auto}"], before(v["h"], 0))),
        "α": lambda v: softmax(dot("tj,jk,sk->ts", before(v["h"], 0), v["W^{key}"], v["M"])),
        "V": lambda v: dot("ts,sj->tj", v["α"], v["M"]),
    },
    ("002", 78): {
        "α": lambda v: softmax(dot("tj,jk,xyk->txy", before(v["h"], 0), v["W^{key}"], v["M"]), (1, 2))
    },
    ("002", 80): {"V": lambda v: dot("txy,xyk->tk", v["α"], v["M"])},
    ("002", 88): {"R̃": lambda v: gate("R", "tbi", "tb")(v)},
    ("002", 90): {"R": lambda v: np.tanh(v["R̃"])},
    ("002", 92): {"G̃": lambda v: gate("G", "tbi", "tb")(v)},
    ("002", 94): {"G": lambda v: sigmoid(v["G̃"])},
    ("002", 96): {"h": lambda v: update(v, 0)},
    ("002", 104): {"R": lambda v: np.tanh(window(v, "W^{L,R}", "B^R"))},
    ("002", 106): {"G": lambda v: sigmoid(window(v, "W^{L,G}", "B^G"))},
    ("002", 108): {"L": lambda v: np.concatenate([v["L"][:1], v["G"] * v["L"][:-1] + (1 - v["G"]) * v["R"]])},
    ("003", 18): {"k": lambda v: np.array([[1, 2, 0], [0, 3, 4], [5, 0, 0], [0, 0, 1]])},
    ("003", 20): {"v": lambda v: np.array([[2, 0, 1], [1, 4, 3], [0, -1, 4], [1, 0, -1]])},
    ("003", 25): {"q": lambda v: np.array([1.0, 1.0, 2.0])},
    ("004", 91): {"P": lambda v: softmax(dot("wi,ti->tw", v["e"], before(v["h"], 0)))},
    ("004", 101): {
        "h": lambda v: sigmoid(
            dot("ji,ti->tj", v["W^{h,h}"], before(v["h"], 0)) + dot("jk,tk->tj", v["W^{x,h}"], v["x"]) - v["B"]
        )
    },
    ("004", 116): {
        "W.grad'": lambda v: v["W.grad"]
        * min(1.0, float(v["n_{max}"]) / float(np.sqrt(dot("d,d->", v["W.grad"], v["W.grad"]))))
    },
    ("004", 160): {"R": lambda v: np.tanh(gate("R", "ti", "t")(v))},
    ("004", 162): {"G": lambda v: sigmoid(gate("G", "ti", "t")(v))},
    ("004", 164): {"h": lambda v: update(v, 0)},
    ("004", 173): {"h": lambda v: update(v, 0)},
    ("004", 178): {"h": lambda v: update(v, 0)},
    ("004", 256): {"α": lambda v: softmax(dot("tn,sn->ts", v["e"][words(v)], v["h_{in}"]))},
    ("004", 258): {"h̃_{out}": lambda v: dot("ts,sn->tn", v["α"], v["h_{in}"])},
    ("004", 328): {"Query": lambda v: dot("lkij,ltj->lkti", v["W^{query}"], v["L"])},
    ("004", 330): {"Key": lambda v: dot("lkij,ltj->lkti", v["W^{key}"], v["L"])},
    ("004", 332): {
        "α": lambda v: softmax(
            dot("lkti,lksi->lkts", v["Query"], v["Key"]) / np.sqrt(v["Key"].shape[-1])
        )
    },
    ("004", 336): {"Value": lambda v: dot("lkij,ltj->lkti", v["W^V"], v["L"])},
    ("004", 341): {
        "ĥ": lambda v: v["h̃"].transpose(0, 2, 1, 3).reshape(v["h̃"].shape[0], v["h̃"].shape[2], -1)
    },
    ("004", 343): {"L^{SA}": lambda v: dot("ljc,ltc->ltj", v["W^0"], v["ĥ"])},
    ("004", 358): {
        "h": lambda v: np.maximum(0, dot("lij,ltj->lti", v["W^{FF1}"], v["L"][:-1]) - v["B^{FF1}"][:, None])
    },
    ("004", 360): {
        "L": lambda v: np.concatenate(
            [v["L_0"][None], dot("lji,lti->ltj", v["W^{FF2}"], v["h"]) - v["B^{FF2}"][:, None]]
        )
    },
}  # fmt: skip
"""By document and line: each tensor that is defined there, from the values of the others."""


@cache
def verdict(program: Program, place: tuple[str, int]) -> str:
    """RIGHT, UNTRIED with its reason, or in what the values differ."""
    meant = MEANT.get(place)
    if meant is None:
        return f"{UNTRIED}: nobody wrote its values"
    if program.errors:  # then the line by itself, if that is enough
        alone = Program([s for s in program.written if s.span.line == place[1]], document=True)
        found = verdict(alone, place) if not alone.errors else ""
        return found if found == RIGHT else f"{UNTRIED}: its program has a mistake"
    try:
        values = _values(program)
        for name, value in ((normalize("NFC", n), value) for n, value in meant.items()):
            expected = np.asarray(value(values))
            if values[name].shape != expected.shape or not np.allclose(values[name], expected):
                return f"**not as meant**: the values of {name} differ"
    except (ValueError, KeyError, IndexError, IndicialError) as error:
        name = next(iter(meant))
        known = (
            "a vector is read as a number" if isinstance(error, ValueError) else "a name is missing"
        )
        return f"**not as meant**: {known} around {name}"
    return RIGHT


@cache
def _values(program: Program) -> Values:
    sizes = small_sizes(program.code, 3)
    sizes = {name: size + n % 2 for n, (name, size) in enumerate(sizes.items())}
    drawn = sample(program.code, sizes, seed=7)
    inputs = {name: np.abs(value) for name, value in drawn.inputs.items()}  # some are logarithms
    given = {**program.code.constants, **inputs}
    found = program.interpret(given, drawn.parameters, sizes=sizes, draws=drawn.draws)
    every = {**given, **drawn.parameters, **drawn.draws, **{name: found[name] for name in found}}
    return {normalize("NFC", name): np.asarray(value, dtype=float) for name, value in every.items()}
