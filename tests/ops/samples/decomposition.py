"""Samples of ops/decomposition.py, and functions that compute the same by other means."""

import torch

from .declare import Array, sampled

_SQUARE = [((3, 3),), ((2, 3, 3),)]

sampled(
    "solve_triangle",
    reference=lambda a, b, *s: torch.linalg.solve_triangular(a, b, upper=s[0], left=s[1]),
    samples=[(Array((3, 3), 1, 2), (3, 2), True, True), (Array((3, 3), 1, 2), (2, 2, 3), False, False)],
)
sampled("solve_matrix", reference=torch.linalg.solve, samples=[((3, 3), (3, 2)), ((2, 1, 3, 3), (2, 3, 2))])
sampled("solve", reference=torch.linalg.solve, samples=[((3, 3), (3,)), ((2, 3, 3), (2, 3, 4))])
sampled("inverse", reference=torch.inverse, samples=_SQUARE)
sampled("det", reference=torch.linalg.det, samples=_SQUARE)
sampled("slogdet", reference=lambda x: torch.stack(torch.linalg.slogdet(x)), samples=_SQUARE)
sampled(
    "lstsq",
    samples=[((4, 2), (4, 3))],
    reference=lambda x, y: (*torch.linalg.lstsq(x, y, driver="gelsy")[:3], torch.empty(0)),
)
sampled(
    "qr",
    reference=lambda x, m="reduced": torch.linalg.qr(x, m),
    samples=[((4, 3),), ((2, 3, 3),), ((2, 4), "complete")],
)
sampled("eigh", reference=lambda x, m="L": torch.linalg.eigh(x, m))
sampled("svdvals", reference=torch.linalg.svdvals, samples=[((3, 4),), ((2, 3, 2),)])
