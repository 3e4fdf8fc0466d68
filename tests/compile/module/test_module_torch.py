"""A module among PyTorch's: state dicts, copies, pickles, types, compile, export, several processes."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path

import pytest
import torch
import torch.multiprocessing
from ddp_worker import SIZES, SOURCE, batch, train
from modules import close, compiled, inputs, oracle, program, random

from indicial import IndicialError, load


def test_keys_are_readable_and_unique() -> None:
    module = compiled("stacked")
    assert list(module.state_dict()) == [
        "W_x", "CELL_W_hR", "CELL_W_xR", "CELL_B_R", "CELL_W_hG", "CELL_W_xG", "CELL_B_G",
    ]  # fmt: skip
    clash = load(
        "input x[i]\ny[i] = W_Q[i] + W^Q[i] + type[i] + code[i] + training[i] x[i]"
    ).compile(I=2)
    keys = list(clash.state_dict())
    assert len(keys) == len(set(keys)) == 5
    assert clash(torch.ones(2))["y"].tolist() == [1, 1]
    assert clash.training is True


def test_state_dicts_go_in_and_out() -> None:
    one, two = compiled("transformer"), random(compiled("transformer"), seed=1)
    given = inputs(one, 2)
    assert one(given).loss != two(given).loss
    two.load_state_dict(one.state_dict())
    assert one(given).loss == two(given).loss


def test_copies_and_pickles_hold_no_source() -> None:
    module = compiled("gpt2").eval()
    given = inputs(module, 2)
    expected = module(given).loss
    stored = io.BytesIO()
    torch.save(module, stored)
    assert b"def run" not in stored.getvalue()
    stored.seek(0)
    for other in (
        copy.deepcopy(module),
        pickle.loads(pickle.dumps(module)),
        torch.load(stored, weights_only=False),
    ):
        assert other(given).loss == expected
        with torch.no_grad():
            other.parameter("e").zero_()
        assert module(given).loss == expected
    started = program("ugrnn").compile(J=3, K=2, start={"B^R": lambda values: values + 1})
    assert copy.deepcopy(started).start.keys() == {"B^R"}
    assert pickle.loads(pickle.dumps(started)).start == {}
    with pytest.raises(IndicialError, match=r"gpt2\.eq:3:7"):
        pickle.loads(pickle.dumps(module))(torch.zeros(2, 3))


def test_types_move_together() -> None:
    module = program("ugrnn").compile(J=3, K=2)
    x = torch.randn(2, 4, 2)
    single = module(x)["h"]
    assert single.dtype == torch.float32
    double = module.double()(x.double())["h"]
    assert double.dtype == torch.float64
    torch.testing.assert_close(single.double(), double, atol=1e-6, rtol=1e-5)
    assert module.half()(x.half())["h"].dtype == torch.float16
    meta = program("ugrnn").compile(J=3, K=2, device="meta")
    assert meta.parameter("W^{h,R}").device.type == "meta"
    assert meta(torch.randn(2, 4, 2, device="meta"))["h"].shape == (2, 4, 3)


def test_what_it_shows() -> None:
    text = repr(program("ugrnn").compile(J=3, K=2))
    assert "ugrnn: J = 3, K = 2" in text
    assert "(W_hR): W^{h,R}[j,i] (3, 3)" in text


@pytest.mark.parametrize("name", ["ugrnn", "transformer", "captioning_features"])
def test_gradients_are_finite_differences(name: str) -> None:
    module = compiled(name).eval()
    given = inputs(module, 2)
    want = module.wanted[-1]
    direction = torch.randn_like(module(given)[want])

    def value() -> torch.Tensor:
        return (module(given)[want] * direction).sum()

    value().backward()
    generator = torch.Generator().manual_seed(0)
    for key in module.state_keys:
        parameter = module.parameter(key)
        step = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
        slope = (parameter.grad * step).sum()
        with torch.no_grad():
            parameter += 1e-5 * step
            ahead = value()
            parameter -= 2e-5 * step
            behind = value()
            parameter += 1e-5 * step
        torch.testing.assert_close((ahead - behind) / 2e-5, slope, atol=1e-7, rtol=1e-5)


def test_autocast_rounds_products_and_nothing_else() -> None:
    torch.manual_seed(0)
    module = program("transformer").compile(**TRANSFORMER)
    w = torch.randint(20, (2, 12))
    exact = module(w).loss
    with torch.autocast("cpu", dtype=torch.float16):
        found = module(w, want=["N", "Query", "α", "P", "loss"])
    assert {value.dtype for value in found.values()} == {torch.float32}
    assert found.loss != exact
    torch.testing.assert_close(found.loss, exact, atol=2e-3, rtol=0)
    torch.testing.assert_close(found["P"].sum(-1), torch.ones(2, 12))
    found.loss.backward()
    assert module.parameter("W^Q").grad.dtype == torch.float32


def test_autocast_leaves_recurrences_alone() -> None:
    module = program("ugrnn").compile(J=16, K=8)
    x = torch.randn(2, 6, 8)
    with torch.autocast("cpu", dtype=torch.float16):
        rough = module(x)["h"]
        assert module(x.half())["h"].dtype == torch.float32  # as a layer before would give it
    assert torch.equal(rough, module(x)["h"])


TRANSFORMER = {"J": 16, "K": 2, "I": 8, "D": 16, "V": 20, "L": 2, "T": 12}


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("ugrnn", "eager"),
        pytest.param("transformer", "eager", marks=pytest.mark.long),
        ("self_attention", "aot_eager"),
    ],
)
def test_under_torch_compile(name: str, backend: str) -> None:
    module = compiled(name).eval()
    faster = torch.compile(module, backend=backend, fullgraph=True)
    for batch_size, T in ((2, 3), (3, 4)):
        given = inputs(module, batch_size, T=T)
        found = faster(**given)
        close(found[module.wanted[-1]], module(given)[module.wanted[-1]].detach().numpy())


def test_exported_with_lengths_left_open() -> None:
    module = compiled("transformer").eval()
    w = inputs(module, 2, T=4)["w"]
    sizes = {0: torch.export.Dim("B", max=64), 1: torch.export.Dim("T", max=5)}
    exported = torch.export.export(module, (w,), dynamic_shapes={"positional": (sizes,)}).module()
    for batch_size, T in ((1, 5), (3, 2)):
        w = inputs(module, batch_size, T=T)["w"]
        close(exported(w)["loss"], oracle(module, {"w": w}).loss)


def test_functional_call_and_per_example_gradients() -> None:
    module = compiled("ugrnn")
    x = inputs(module, 3)["x"]
    held = dict(module.named_parameters())

    def total(parameters: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(module, parameters, (x,))["h"].sum()

    each = torch.func.vmap(torch.func.grad(total), in_dims=(None, 0))(held, x)
    together = torch.func.grad(total)(held, x)
    for name in held:
        torch.testing.assert_close(each[name].sum(0), together[name])


@pytest.mark.long
def test_two_processes_train_as_one(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(train, args=(2, str(tmp_path)), nprocs=2)
    torch.manual_seed(0)
    module = load(SOURCE).compile(**SIZES)
    module(batch()).loss.backward()
    for rank in range(2):
        found = torch.load(tmp_path / f"{rank}.pt")
        for key, parameter in module.named_parameters():
            torch.testing.assert_close(found[key], parameter.grad, atol=1e-6, rtol=1e-4)
