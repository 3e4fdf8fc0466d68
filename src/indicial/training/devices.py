"""`--device` → the device that a training runs on.

>>> best_device(None)          # the best there is
'cpu'
"""

from __future__ import annotations

import torch

from indicial.program.messages import IndicialError


def best_device(said: str | None, processes: int = 1) -> str:
    """The device that was asked for, if it is there; else the best there is."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if said is None:
        if processes > 1:  # they cannot share the one GPU that mps is
            return "cuda" if there["cuda"] else "cpu"
        return next((name for name, is_there in there.items() if is_there), "cpu")
    kind, colon, number = said.partition(":")
    try:
        torch.device(said)
    except RuntimeError:
        kind = ""
    if kind not in ("cpu", *there):
        raise IndicialError(f"--device must be cpu, cuda, cuda:1 or mps, not {said}")
    if not there.get(kind, True):
        raise IndicialError(f"--device {said}: torch finds no such device here")
    count = torch.cuda.device_count() if kind == "cuda" else 1
    if colon and (kind == "cpu" or int(number) >= count):  # torch takes any number for the CPU
        counted = f"are {count}, from cuda:0 on" if count > 1 else f"is one {kind}"
        raise IndicialError(f"--device {said}: there {counted}; use --device {kind}")
    return said
