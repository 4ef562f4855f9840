"""Leaves of the tape, and arrays to make them of."""

import numpy as np

import sampan as paddle
from sampan.engine.tensor import Tensor


def leaf(values, dtype: str = "float64") -> Tensor:
    return paddle.to_tensor(values, dtype=dtype, stop_gradient=False)


def array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)
