"""Samples of ops/complex_numbers.py, and functions that compute the same by other means."""

import torch

from .declare import Array, sampled

_PAIRS = [((3, 4), (3, 4)), ((2, 1), (3,)), ((), (0, 2))]

sampled("real", reference=torch.real, samples=[((3, 4),)])
sampled("conj", reference=torch.conj, samples=[((3, 4),)])
sampled("angle", reference=torch.angle, samples=[(Array((3, 4), 0.2, 2),), ((0, 2),)])
sampled("sgn", reference=torch.sgn, samples=[(Array((3, 4), 0.2, 2),), ((0, 2),)])
sampled("complex", reference=torch.complex, samples=_PAIRS)
sampled(
    "polar", reference=torch.polar, samples=[(Array((3, 4), 0.2, 2), (3, 4)), (Array((2, 1), 0.2, 2), (3,))]
)
sampled(
    "as_complex", reference=lambda x: torch.view_as_complex(x.contiguous()), samples=[((3, 2),), ((2, 1, 2),)]
)
