"""Samples of ops/gathering.py, and functions that compute the same by other means."""

import torch

from .declare import Array, integers, sampled

sampled(
    "index_select",
    reference=lambda x, i, a=0: torch.index_select(x, a, i),
    samples=[((4, 3), integers((5,), 4)), ((3, 4), integers((2,), 4), 1)],
)
sampled(
    "index_added",
    reference=lambda x, i, s, a: torch.zeros(s, dtype=x.dtype).index_add(a, i, x),
    samples=[((5, 3), integers((5,), 4), (4, 3), 0)],
)
sampled("gather", reference=lambda x, i: x[i], samples=[((4, 3), integers((5,), 4))])
sampled(
    "gather_nd",
    reference=lambda x, i: x[tuple(i.unbind(-1))],
    samples=[((4, 3), Array((2, 5, 1), 0, 3, "int64")), ((4, 3), Array((5, 2), 0, 3, "int64"))],
)
sampled(
    "picked_along",
    reference=lambda x, i, a: torch.take_along_dim(x, i, a),
    samples=[((3, 4), integers((3, 2), 4), 1)],
)
sampled(
    "added_along",
    reference=lambda x, i, s, a: torch.zeros(s, dtype=x.dtype).scatter_add(a, i, x),
    samples=[((3, 2), integers((3, 2), 4), (3, 4), 1)],
)
sampled(
    "take_along_axis",
    reference=lambda x, i, a: torch.take_along_dim(x, i, a),
    samples=[((3, 4), integers((3, 2), 4), 1)],
)
sampled(
    "put_along",
    reference=lambda x, i, s, a, r, k: (
        x.scatter_reduce(a, i, s, r, include_self=k) if r else x.scatter(a, i, s)
    ),
    samples=[
        ((3, 4), Array((3, 1), 0, 4, "int64"), (3, 1), 1, "prod", True),
        ((3, 4), integers((3, 2), 4), (3, 2), 1, "mean", False),
        ((3, 4), integers((3, 3), 4), (3, 3), 1, "amax", True),
        ((3, 4), Array((3, 1), 0, 4, "int64"), (3, 1), 1, "", True),
    ],
)
sampled("scatter_add", reference=torch.scatter_add, samples=[((3, 4), 1, integers((3, 2), 4), (3, 2))])
sampled(
    "scatter_reduce",
    reference=torch.scatter_reduce,
    samples=[((3, 4), 1, integers((3, 2), 4), (3, 2), "sum")],
)
sampled(
    "index_add",
    reference=lambda x, i, a, v, alpha=1: x.index_add(a, i, v, alpha=alpha),
    samples=[((4, 3), integers((5,), 4), 0, (5, 3)), ((3, 4), integers((2,), 4), 1, (3, 2), 2)],
)
sampled(
    "index_fill",
    reference=lambda x, i, a, v: x.index_fill(a, i, v),
    samples=[((3, 4), integers((2,), 4), 1, 2.0), ((3, 4), integers((2,), 3), 0, ())],
)
sampled("index_sample", reference=lambda x, i: torch.gather(x, 1, i), samples=[((3, 4), integers((3, 2), 4))])
sampled("take", reference=torch.take, samples=[((3, 4), integers((2, 2), 12))])
