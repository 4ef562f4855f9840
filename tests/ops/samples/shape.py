"""Samples of ops/shape.py, and functions that compute the same by other means."""

import torch

from .declare import sampled

sampled(
    "reshape",
    reference=torch.reshape,
    samples=[((3, 4), (2, 6)), ((3, 4), (-1,)), ((2, 1, 3), (3, 2)), ((0, 2), (2, 0)), ((1,), ())],
)
sampled("permute", reference=torch.permute, samples=[((2, 3, 4), (2, 0, 1)), ((2, 3), (1, 0)), ((), ())])
sampled("transpose", reference=torch.permute, samples=[((2, 3, 4), (2, 0, 1))])
sampled("swapaxes", reference=torch.swapaxes, samples=[((2, 3, 4), 0, -1)])
sampled("t", reference=torch.t, samples=[((2, 3),), ((3,),)])
sampled("moveaxis", reference=torch.moveaxis, samples=[((2, 3, 4), 0, 2), ((2, 3, 4), [0, 1], [2, 0])])
sampled(
    "flatten", reference=lambda x, a=0, b=-1: torch.flatten(x, a, b), samples=[((2, 3, 4),), ((2, 3, 4), 1)]
)
sampled("ravel", reference=torch.ravel, samples=[((2, 3),), ((),)])
sampled(
    "squeeze",
    reference=lambda x, axis=None: x.squeeze() if axis is None else x.squeeze(axis),
    samples=[((2, 1, 3, 1),), ((2, 1, 3, 1), 1)],
)
sampled("unsqueeze", reference=torch.unsqueeze, samples=[((2, 3), 1), ((2, 3), -1)])
sampled(
    "expand",
    reference=lambda x, s: x.expand(s),
    samples=[((3, 1), (2, 3, 4)), ((1,), (3,)), ((3, 4), (-1, 4))],
)
sampled(
    "expand_view",
    reference=lambda x, s: x.expand(s),
    samples=[((3, 1), (2, 3, 4)), ((1,), (3,)), ((3, 4), (-1, 4))],
)
sampled("broadcast_to", reference=lambda x, s: x.expand(s), samples=[((3, 1), (2, 3, 4))])
sampled("expand_as", reference=lambda x, y: x.expand_as(y), samples=[((3, 1), (2, 3, 4))])
sampled("tile", reference=torch.tile, samples=[((2, 3), (2, 2)), ((3,), (2, 1))])
sampled("flip", reference=torch.flip, samples=[((3, 4), (0,)), ((3, 4), (0, 1))])
sampled(
    "roll",
    reference=lambda x, s, a=None: torch.roll(x, s, a),
    samples=[((3, 4), 1, 0), ((3, 4), (1, 2), (0, 1)), ((5,), 2)],
)
sampled(
    "pad_constant",
    reference=lambda x, w, v: torch.nn.functional.pad(x, w, value=v),
    samples=[((2, 3), [1, 2], 0.5), ((2, 3), [-1, 0, 1, 1], 0.0)],
)
sampled("tril", reference=torch.tril, samples=[((3, 4),), ((2, 3, 3), 1)])
sampled("triu", reference=torch.triu, samples=[((3, 4),), ((2, 3, 3), 1)])
sampled("cast", samples=[((3, 4), torch.float32)], reference=lambda x, d: x.to(d))
sampled("assign", samples=[((3, 4),)], reference=torch.clone)
sampled("full_like_of", reference=torch.full_like, samples=[((3, 4), 2.0)])
