"""Tables whose gradients are rows."""

import numpy as np

import sampan


def table(count=50, width=8, dtype="float64", seed=0):
    values = np.random.default_rng(seed).standard_normal((count, width)).astype(dtype)
    return sampan.to_tensor(values, stop_gradient=False)


def ids(shape=(4, 6), count=50, seed=1):
    return sampan.to_tensor(np.random.default_rng(seed).integers(0, count, shape))
