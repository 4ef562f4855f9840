"""Samples of ops/search.py, and functions that compute the same by other means."""

import torch

from .declare import Array, integers, sampled

sampled(
    "argsort",
    reference=lambda x, a=-1, d=False: torch.argsort(x, dim=a, descending=d),
    samples=[((3, 4),), ((3, 4), 0, True)],
)
sampled(
    "sort",
    reference=lambda x, a=-1, d=False: torch.sort(x, dim=a, descending=d)[0],
    samples=[((3, 4),), ((3, 4), 0, True)],
)
sampled("msort", reference=torch.msort, samples=[((3, 4),)])
sampled(
    "topk",
    reference=lambda x, k, a=-1, largest=True: torch.topk(x, k, a, largest),
    samples=[((3, 4), 2), ((3, 4), 1, 0, False)],
)
sampled(
    "kthvalue",
    reference=lambda x, k, a=-1, keep=False: torch.kthvalue(x, k, a, keep),
    samples=[((3, 4), 2), ((3, 4), 1, 0, True)],
)
sampled(
    "mode",
    reference=lambda x, a=-1, keep=False: torch.mode(x, a, keep),
    samples=[((3, 4),), ((3, 4), 0, True)],
)
sampled("argwhere", reference=lambda x: torch.argwhere(x), samples=[(integers((3, 4), 2),)])
sampled("searchsorted", reference=torch.searchsorted, samples=[(Array((1,), 0, 1), (2, 3))])
sampled("bucketize", reference=torch.bucketize, samples=[((2, 3), Array((1,), 0, 1))])

for name in ("cummax", "cummin"):
    sampled(name, [((3, 4), 1), ((5,), 0)], getattr(torch, name))
