"""The tensors of a kernel → where each of them lies.

x, W, h^{start}     arguments          t0, t1, t2
h                   kept               t3
R                   read in its step   s0, one slot: memory of the part
R^{(1)}             a product          columns of its result, when that is written (`matrix.py`)
"""

from __future__ import annotations

from indicial.compile.native.linear_maps import Matmul
from indicial.compile.native.writing import storage
from indicial.compile.native.writing.kernel_plan import KernelPlan, Within
from indicial.compile.native.writing.storage import Store, times


def place_tensors(plan: KernelPlan) -> tuple[dict[str, Store], list[tuple[str, str]]]:
    """Where the tensors are, and the memory that each part needs: names, and how many numbers."""
    stores = _given(plan)
    scratch: list[tuple[str, str]] = []
    multiplied = {
        output.statement.target
        for stage in plan.stages
        if isinstance(stage, Matmul)
        for output in stage.outputs
    }
    for statement in plan.body.statements:
        name = statement.target
        if name in stores:
            continue
        slots = plan.reach(name) + 1
        if name not in multiplied or slots > 1:
            pointer, tensor = f"s{len(scratch)}", plan.body.code.tensors[name]
            store = storage.ring(pointer, tensor, plan.sizes, plan.body.axes[name], slots)
            scratch.append((pointer, times("members", str(slots), store.member_stride)))
            stores[name] = store
    return stores, scratch


def _given(plan: KernelPlan) -> dict[str, Store]:
    """The tensors in memory that the kernel is given."""
    stores: dict[str, Store] = {}
    for number, name in enumerate((*plan.arguments, *plan.kept)):
        batched = name not in plan.body.unbatched
        tensor = plan.body.code.tensors[name]
        row = f"q{number}" if batched and len(tensor.axes) > 1 else ""
        stores[name] = storage.argument(f"t{number}", tensor, plan.sizes, batched, row)
    for name, place in plan.within.items():
        stores[place.argument], stores[name] = _growing(plan, place)
    return stores


def _growing(plan: KernelPlan, place: Within) -> tuple[Store, Store]:
    """An argument that has room for more than is used along an axis, and a tensor in it.

    What there is room for comes in place of a row's length.
    """
    number = list(plan.arguments).index(place.argument)
    layers = 0 if place.layer is None else 1
    extents = [plan.sizes.c(a.extent) for a in plan.body.code.tensors[place.argument].axes]
    extents[place.axis - 1 + layers] = f"q{number}"
    strides, member = storage.row_major(extents), times(*extents)
    pointer = own = f"t{number}"
    if place.layer is not None:
        own = f"({pointer} + {times(str(place.layer), strides[0])})"
    return (
        Store(pointer, "b", member, tuple(strides)),
        Store(own, "b", member, (None, *strides[layers:])),
    )
