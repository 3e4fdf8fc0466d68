"""What is likeliest of all that a program predicts: labels, places, trees, each in the order that others need it.

    P(head_t = s | x)            the likeliest place of each; if they were trees in training, the likeliest tree
    P(relation_t | x, head)      the likeliest label, given the heads that were found

>>> found = likeliest(form, codings, compute, lengths)       # compute(known, names): tensors by name
>>> found["head"].values, found["relation"].values           # (B, T) each
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from indicial.data.columns.codings import Coding, Places
from indicial.data.columns.trees import likeliest_tree
from indicial.tasks.forms import Form

Tensors = Mapping[str, torch.Tensor]
Compute = Callable[[Tensors, list[str]], Tensors]
"""The tensors of some names, given what was found of the inputs that are predicted."""


@dataclass(frozen=True)
class Chosen:
    values: torch.Tensor
    """The likeliest in each place of each row."""
    distribution: torch.Tensor


def likeliest(
    form: Form, codings: Mapping[str, Coding], compute: Compute, lengths: Tensors
) -> dict[str, Chosen]:
    """By the names of the inputs that are predicted."""
    found: dict[str, Chosen] = {}
    for stage in form.stages:
        names = [part.prediction.distribution.name for part in stage]
        tensors = compute({name: chosen.values for name, chosen in found.items()}, names)
        for part, name in zip(stage, names, strict=True):
            coding, length = codings[part.slot.name], part.slot.length
            values = tensors[name].argmax(-1)
            if isinstance(coding, Places) and coding.trees and length is not None:
                values = _trees(tensors[name], lengths[length])
            found[part.slot.name] = Chosen(values, tensors[name])
    return found


def _trees(distribution: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The likeliest tree of each row, (B, T); behind its end, 0."""
    found = torch.zeros(distribution.shape[:2], dtype=torch.int64)
    with np.errstate(divide="ignore"):
        scores = np.log(distribution.double().cpu().numpy())
    for row, (own, length) in enumerate(zip(scores, lengths.tolist(), strict=True)):
        found[row, :length] = torch.tensor(likeliest_tree(own[:length, :length]))
    return found.to(distribution.device)
