"""The sizes of a transformer language model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    heads: int
    inner: int
    words: int
    steps: int
