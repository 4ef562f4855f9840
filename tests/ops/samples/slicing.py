"""Samples of ops/slicing.py, and functions that compute the same by other means."""

import torch

from .declare import Array, sampled

sampled("slice", reference=lambda x, a, s, e: x[:, s[0] : e[0]], samples=[((3, 4), [1], [1], [-1])])
sampled("strided_slice", reference=lambda x, a, s, e, t: x[:, 1:4:2], samples=[((3, 4), [1], [1], [4], [2])])
sampled(
    "slice_scatter",
    reference=lambda x, v, *s: torch.slice_scatter(x, v, 1, 1, 4, 2),
    samples=[((3, 4), (3, 2), [1], [1], [4], [2])],
)
sampled("select_scatter", reference=torch.select_scatter, samples=[((3, 4), (3,), 1, 2)])
sampled("narrow", reference=torch.narrow, samples=[((3, 4), 1, 1, 2)])
sampled(
    "diagonal_scatter",
    reference=torch.diagonal_scatter,
    samples=[((3, 4), (3,)), ((2, 3, 4), (2, 3), 1, 1, 2)],
)
sampled(
    "fill_diagonal_tensor",
    reference=torch.diagonal_scatter,
    samples=[((3, 4), (2,), 2), ((2, 3, 4), (2, 3), 1, 1, 2)],
)
sampled(
    "fill_diagonal",
    reference=lambda x, v, o, w: x.clone().fill_diagonal_(v, w),
    samples=[((5, 2), 3.0, 0, True), ((3, 4), 3.0, 0, False)],
)
sampled(
    "unfold", reference=lambda x, a, n, s: x.unfold(a, n, s), samples=[((2, 7), 1, 3, 2), ((5,), 0, 2, 1)]
)
sampled(
    "unfolded_back",
    reference=lambda g, shape, a, n, s: torch.ops.aten.unfold_backward(g, shape, a, n, s),
    samples=[((2, 3, 3), [2, 7], 1, 3, 2)],
)
sampled(
    "as_strided",
    reference=lambda x, n, s, o: torch.as_strided(x, n, s, o // 8),
    samples=[((4, 3), [2, 3], [1, 2], 8)],
)
sampled("strided", reference=torch.as_strided, samples=[((4, 3), [2, 3], [1, 2], 1)])
sampled("reinterpreted", reference=lambda x, d: x.view(d), samples=[((3, 4), torch.int64)])
sampled("view", reference=lambda x, s: x.view(s), samples=[((3, 4), [2, 6])])
sampled("view_as", reference=lambda x, y: x.view_as(y), samples=[((3, 4), (2, 6))])
sampled("unflatten", reference=torch.unflatten, samples=[((6, 2), 0, [2, 3]), ((2, 6), -1, [3, -1])])
sampled("rot90", reference=torch.rot90, samples=[((2, 3),), ((2, 3, 4), -1, [1, 2]), ((2, 3), 2)])
sampled("reduce_as", reference=lambda x, t: x.sum_to_size(t.shape), samples=[((2, 3, 4), Array((3, 1)))])
