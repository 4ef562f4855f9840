"""What the tests of this folder share: a program is run on the CPU and on the GPU, and gives the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import sampan

GPU = os.environ.get("SAMPAN_TEST_GPU", "gpu")  # "cpu" checks the tests themselves on a machine without a GPU
needs_gpu = [
    pytest.mark.cuda,
    pytest.mark.skipif(GPU == "gpu" and not torch.cuda.is_available(), reason="needs a GPU"),
]


def on(place: str, program: Callable[..., Any], *args: Any) -> Any:
    """What a program returns that begins with `paddle.set_device(place)`."""
    before, short = sampan.get_device(), torch.backends.cudnn.allow_tf32
    sampan.set_device(place)
    torch.backends.cudnn.allow_tf32 = False  # convolutions in float32, not with 10 bits
    try:
        sampan.seed(5)
        return program(*args)
    finally:
        sampan.set_device(before)
        torch.backends.cudnn.allow_tf32 = short


def values(found: Any) -> list[np.ndarray]:
    """All arrays and numbers of a nested answer, as float64 or integers, in order."""
    if isinstance(found, sampan.Tensor):
        found = found.detach().astype("float32").numpy() if found.element_size() < 4 else found.numpy()
    if isinstance(found, dict):
        found = [found[name] for name in sorted(found, key=str)]
    if isinstance(found, list | tuple):
        return [array for part in found for array in values(part)]
    return [np.asarray(found)]


def same(program: Callable[..., Any], *args: Any, tolerance: float = 2e-5) -> Any:
    """Run a program on both places and compare what it returns, relative to the largest number of each array
    (or to 0.01: gradients that are 0 but for rounding).

    Returns the GPU's answer.
    """
    expected, got = on("cpu", program, *args), on(GPU, program, *args)
    pairs = list(zip(values(expected), values(got), strict=True))
    assert pairs
    for place, (a, b) in enumerate(pairs):
        assert a.shape == b.shape and a.dtype == b.dtype, place
        if a.dtype.kind in "fc":
            span = np.abs(a[np.isfinite(a)]).max(initial=1e-2)
            np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance * span, err_msg=f"answer {place}")
        else:
            np.testing.assert_array_equal(b, a, err_msg=f"answer {place}")
    return got


def filled(layer: Any, seed: int = 0, scale: float = 0.3) -> Any:
    """The layer with weights that are the same on every place: normal with standard deviation `scale`."""
    random = np.random.default_rng(seed)
    for tensor in layer.parameters():
        tensor.set_value((random.standard_normal(tuple(tensor.shape)) * scale).astype("float32"))
    return layer


def here(tensor: Any) -> None:
    """AssertionError where a tensor is not on the device under test."""
    assert tensor.place.is_gpu_place() is (GPU == "gpu"), tensor.place
