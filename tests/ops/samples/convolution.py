"""Samples of ops/convolution.py, and functions that compute the same by other means."""

import torch
from torch.nn import grad as torch_grad

from .declare import sampled

_ONE = ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)

sampled(
    "convolve",
    reference=lambda x, w, b, s: (
        torch.conv_transpose2d(x, w, b, s[0], s[1], s[4], s[5], s[2])
        if s[3]
        else torch.conv2d(x, w, b, s[0], s[1], s[2], s[5])
    ),
    samples=[
        ((2, 3, 5, 5), (4, 3, 3, 3), (4,), _ONE),
        ((1, 4, 6, 5), (4, 2, 3, 2), None, ((2, 1), (0, 1), (1, 2), False, (0, 0), 2)),
        ((1, 4, 3, 2), (4, 2, 3, 2), (4,), ((2, 1), (0, 1), (1, 2), True, (1, 0), 2)),
    ],
)
sampled(
    "convolve_weight",
    reference=lambda g, x, shape, s: torch_grad.conv2d_weight(x, shape, g, s[0], s[1], s[2], s[5]),
    samples=[((2, 4, 5, 5), (2, 3, 5, 5), (4, 3, 3, 3), _ONE)],
)
