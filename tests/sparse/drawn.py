"""Sparse tensors drawn by hypothesis, and their dense twins in torch."""

import numpy as np
import torch
from hypothesis import settings
from hypothesis import strategies as st

import sampan
from sampan import sparse

examples = settings(max_examples=60)  # a first example may wait for a loop to compile


@st.composite
def coordinates(draw, axes=(1, 4), dense=(0, 1), longest=5, repeats=True):
    """(indices [axes, nnz], values [nnz, dense ...], shape): also no entries, lengths of 0, places that repeat."""
    lead = draw(st.lists(st.integers(0, longest), min_size=axes[0], max_size=axes[1]))
    trail = draw(st.lists(st.integers(1, 3), min_size=dense[0], max_size=dense[1]))
    count = draw(st.integers(0, 12)) if min(lead) else 0
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    indices = np.stack([rng.integers(0, max(n, 1), count) for n in lead])
    if not repeats:
        indices = np.unique(indices, axis=1)
    return indices, rng.standard_normal((indices.shape[1], *trail)), [*lead, *trail]


@st.composite
def matrices(draw, rows=None, columns=None):
    """A float64 array with many zeros."""
    shape = [draw(st.integers(1, 7)) if n is None else n for n in (rows, columns)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.standard_normal(shape) * (rng.random(shape) < draw(st.sampled_from([0.0, 0.2, 0.6, 1.0])))


def dense_of(indices, values, shape):
    """What the coordinates mean, by NumPy."""
    out = np.zeros(shape)
    np.add.at(out, tuple(indices), values)
    return out


def pair(array, layout="coo"):
    """A sparse tensor with the array's non-zero entries, and a torch tensor; both want gradients."""
    made = sampan.to_tensor(array)
    made = sparse.dense_to_csr(made) if layout == "csr" else sparse.dense_to_coo(made)
    made.stop_gradient = False
    return made, torch.tensor(array, requires_grad=True)


def there(array):
    return torch.tensor(array) != 0
