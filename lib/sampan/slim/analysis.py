"""What a network costs: products, parameters, bytes, and time on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from ..engine.backward import no_grad
from ..nn.layer import Layer
from .channels import Channels, inputs_of

__all__ = ["file_bytes", "flops", "latencies", "model_size"]


def flops(model: Layer, inputs: Any) -> int:
    """Multiplications of convolutions and matrix products with a weight, for inputs with their batch axis.

    inputs: a shape such as [1, 3, 32, 32], InputSpecs or Tensors.
    """
    return sum(Channels.of(model, inputs).products.values())


def model_size(model: Layer) -> int:
    """How many numbers the parameters have."""
    return sum(p.data.numel() for p in model.parameters())


def file_bytes(model: Layer) -> int:
    """Bytes of the parameters and buffers in a file."""
    return sum(t.data.numel() * t.data.element_size() for t in model.state_dict().values())


@no_grad()
def latencies(models: Sequence[Callable[..., Any]], inputs: Any, rounds: int = 21) -> list[float]:
    """Seconds of a call of each network, or other function of Tensors: medians over rounds in which each is
    called in turn, because the machine may be busier at one time than at another."""
    given = inputs_of(inputs)
    times: list[list[float]] = [[] for _ in models]
    for number in range(rounds + 2):
        for model, found in zip(models, times, strict=True):
            began = time.perf_counter()
            model(*given)
            if number > 1:  # the first calls compile and pack
                found.append(time.perf_counter() - began)
    return [median(found) for found in times]
