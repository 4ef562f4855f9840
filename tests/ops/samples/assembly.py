"""Samples of ops/assembly.py, and functions that compute the same by other means."""

import torch

from .declare import sampled

sampled(
    "diagonals",
    reference=torch.diag_embed,
    samples=[((2, 3), 0, -2, -1), ((2, 3), 1, 0, 2), ((3,), -2, 0, 1)],
)
sampled("diag_embed", reference=torch.diag_embed, samples=[((2, 3),), ((2, 3), 1, 0, 2)])
sampled("diagflat", reference=torch.diagflat, samples=[((2, 3),), ((), -1), ((3,), 1)])
sampled("blocks", reference=lambda *xs: torch.block_diag(*xs), samples=[((2, 3), (4,), ()), ((0, 2), (1, 2))])
sampled("combinations", reference=torch.combinations, samples=[((4,),), ((3,), 3, True), ((2,), 3)])
sampled(
    "vander",
    reference=lambda x, n=None, up=False: (
        torch.linalg.vander(x, N=n) if up else torch.linalg.vander(x, N=n).flip(-1)
    ),
    samples=[((3,),), ((3,), 2, True), ((2,), 5)],
)
