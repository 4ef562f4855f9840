"""Clouds of sparse entries, and weights of convolutions over them."""

import numpy as np
import torch

import sampan
from sampan import sparse

PLACES = np.array([[0, 0, 0], [0, 1, 2], [1, 1, 0], [2, 0, 1]])


def small():
    return sparse.sparse_coo_tensor(
        PLACES, np.arange(6.0).reshape(3, 2), [1, 3, 3, 3, 2], stop_gradient=False
    )


def cloud(sizes, channels, seed=0, density=0.2):
    """Random entries, and the equal dense array, channels first."""
    rng = np.random.default_rng(seed)
    array = rng.standard_normal((*sizes, channels)) * (rng.random(sizes) < density)[..., None]
    made = sparse.dense_to_coo(sampan.to_tensor(array), len(sizes))
    made.stop_gradient = False
    return made, torch.tensor(np.moveaxis(array, -1, 1), requires_grad=True)


def weights(shape, seed=1):
    """As this library has them, [kernel ..., in / groups, out], and as torch has them."""
    array = np.random.default_rng(seed).standard_normal(shape)
    axes = len(shape) - 2
    turned = torch.tensor(array.transpose(axes + 1, axes, *range(axes)))
    theirs = turned.clone(memory_format=torch.contiguous_format).requires_grad_()
    return sampan.to_tensor(array, stop_gradient=False), theirs
