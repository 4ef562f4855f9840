"""Samples of ops/indexing.py, and functions that compute the same by other means."""

import math
from typing import Any

import numpy as np
import torch

from .declare import Array, integers, sampled


def _places(index: Any, shape: Any) -> torch.Tensor:
    """The flat positions that NumPy's indexing picks."""
    return torch.from_numpy(np.ascontiguousarray(np.arange(math.prod(shape)).reshape(shape)[index]))


def _spread_twin(x: Any, index: Any, shape: Any) -> Any:
    zeros = torch.zeros(math.prod(shape), dtype=x.dtype)
    return zeros.index_add(0, _places(index, shape).flatten(), x.flatten()).reshape(shape)


def _setitem_twin(x: Any, value: Any, index: Any) -> Any:
    places = _places(index, x.shape)
    return x.flatten().index_copy(0, places.flatten(), value.expand(places.shape).flatten()).reshape(x.shape)


sampled(
    "getitem",
    reference=lambda x, i: x[i],
    samples=[
        ((3, 4), 1),
        ((3, 4), (slice(None), 2)),
        ((4, 3), slice(1, 4, 2)),
        ((2, 3, 4), (Ellipsis, None, 0)),
        ((5,), [0, 0, 3]),
    ],
)
sampled(
    "spread",
    reference=_spread_twin,
    samples=[
        ((2, 3), slice(0, 4, 2), (5, 3)),
        ((3,), [1, 1, 0], (4,)),
        ((3, 2), (slice(None, None, -1), [0, 2]), (3, 4)),
    ],
)
sampled(
    "setitem",
    reference=_setitem_twin,
    samples=[
        ((3, 4), (4,), 1),
        ((3, 4), (3, 1), (slice(None), slice(0, 4, 2))),
        ((5,), (), [0, 3]),
        ((4, 2), (2,), slice(None, None, -2)),
    ],
)
sampled("select", reference=torch.where, samples=[(Array((3, 4), 0, 2, "bool"), (3, 4), (4,))])
sampled("nonzero", reference=torch.nonzero, samples=[(integers((3, 4), 2),)])
sampled(
    "masked_fill",
    reference=lambda x, m, v: x.masked_fill(m, v),
    samples=[((3, 4), Array((4,), 0, 2, "bool"), 0.5)],
)
sampled("diagonal", reference=torch.diagonal, samples=[((3, 4),), ((2, 3, 4), 1, 1, 2)])
sampled(
    "diagonal_spread",
    reference=lambda x, s, o, a, b: torch.diagonal_scatter(torch.zeros(s, dtype=x.dtype), x, o, a, b),
    samples=[((3,), (3, 4), 0, 0, 1)],
)
sampled("diag", reference=torch.diag, samples=[((3,),), ((3, 4),), ((3,), 1)])
sampled(
    "one_hot",
    reference=lambda x, n: torch.nn.functional.one_hot(x, n).float(),
    samples=[(integers((3, 2), 4), 4)],
)
