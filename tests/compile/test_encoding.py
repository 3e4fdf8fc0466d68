"""What is stored is read again as it was, and can do nothing else."""

import inspect
import json
from fractions import Fraction
from pathlib import Path

import pytest
import torch

import indicial
from indicial.compile.ground import stored as store
from indicial.compile.ground.stored import CLASSES, decoded, encoded
from indicial.compile.module.runnable import Expected, Key, runnable, wanted
from indicial.program import ir
from indicial.program.sizes import Size


@pytest.mark.parametrize(
    "value",
    [
        0, -7, 10**30, 0.1, -0.0, float("inf"), True, None, "", "h̄\n\0\ud800", (), [], {},
        (1, True, 1.0, "1"), {"a": [1, (2,)], ("b", 1): None}, {1, 2}, frozenset("ab"),
        Fraction(1, 3), Size.of("J") * 2 + 1, ir.Affine.of("t", -1),
        ir.Gather(ir.Read("w", (ir.Affine.of("t", 0),))), ir.Flat(()),
    ],
)  # fmt: skip
def test_values_are_read_as_they_were(value: object) -> None:
    again = decoded(encoded(value))
    assert again == value
    assert repr(again) == repr(value) or isinstance(value, set | frozenset)


def test_one_object_is_one_again_and_depth_costs_nothing() -> None:
    shared = ir.Constant(2.0)
    one, two = decoded(encoded((shared, shared)))
    assert one is two
    deep: tuple[object, ...] = ()
    for _ in range(50_000):
        deep = (deep,)
    found = decoded(encoded(deep))
    while found:
        (found,) = found


@pytest.mark.parametrize(
    "records",
    [
        [["builtins.eval", 0]],
        ["os", ["os.system", 0]],
        ["x", ["subprocess.Popen", 0]],
        [["compile.native.toolchain.load", 0]],
        ["x", ["program.ir.__class__", 0]],
        ["x", "__class__", ["method", 0, 1]],
        ["x", "run", ["method", 0, 1]],
        ["x", ["tuple", -1]],
        ["x", ["tuple", 5]],
        [["program.ir.Constant"]],
        [],
        "x",
    ],
)
def test_a_text_that_names_anything_else_is_refused(records: object) -> None:
    with pytest.raises((TypeError, ValueError, LookupError, AttributeError)):
        decoded(json.dumps(records))


def test_every_expression_has_its_place() -> None:
    kinds = {name for name, kind in vars(ir).items() if inspect.isclass(kind)
             and issubclass(kind, ir.Expression) and kind is not ir.Expression}  # fmt: skip
    assert kinds <= set(CLASSES["program.ir"].split())


@pytest.mark.parametrize("name", ["lstm", "transformer", "bidirectional"])
def test_what_runs_a_model_is_stored(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path))
    monkeypatch.setattr(store, "_edited", lambda: False)
    code = indicial.load(name).code
    first = runnable(code, Key(wanted(code)), Expected(torch.float32, {}, frozenset()))
    again = decoded(encoded(first))
    assert again.source.text == first.source.text
    assert again.source.functions.keys() == first.source.functions.keys()
    assert len(again.kernels) == len(first.kernels)
    assert (again.reads, again.apart, again.walks) == (first.reads, first.apart, first.walks)
    assert list((tmp_path / "plans").iterdir())
