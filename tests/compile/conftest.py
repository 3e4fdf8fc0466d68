"""Tests of the compiler look at what each pass makes, and at kernels as users have them."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _verified() -> Iterator[None]:
    os.environ["INDICIAL_VERIFY"] = "1"
    yield
    del os.environ["INDICIAL_VERIFY"]


EXAMINED = (
    "test_attention_kernel.py", "test_generated_cells.py", "test_kernels.py", "test_lanes.py",
    "test_outer.py", "test_products.py", "test_threads.py",
    "test_toolchain.py", "test_vector_math.py",
)  # fmt: skip
"""Where `make test` has kernels optimised; all others may be made in a hurry too."""


@pytest.fixture(autouse=True)
def _optimised(request: pytest.FixtureRequest) -> Iterator[None]:
    """Kernels as users have them, here at least in what asks for all kinds of loops."""
    compiler = os.environ.get("CC", "")
    wanted = request.path.name in EXAMINED or "HASTY" not in os.environ
    if hasty := compiler.endswith("hasty_cc") and wanted:
        del os.environ["CC"]
    yield
    if hasty:
        os.environ["CC"] = compiler
