"""Samples of ops/special.py, and functions that compute the same by other means."""

import torch

from .declare import Array, pointwise, sampled

sampled("polygammas", reference=torch.polygamma, samples=[(1, Array((3, 4), 0.5, 3)), (2, Array((0, 2)))])
sampled(
    "polygamma",
    reference=lambda x, n: torch.polygamma(n, x),
    samples=[(Array((3,), 0.5, 3), 0), (Array((3,), 0.5, 3), 2)],
)
sampled(
    "multigammaln",
    reference=torch.special.multigammaln,
    samples=[(Array((3,), 2, 4), 2), (Array((2, 2), 2, 4), 3)],
)
sampled(
    "logit",
    reference=lambda x, eps=None: torch.logit(x, eps),
    samples=[(Array((3, 4), 0.1, 0.9),), (Array((3, 4), 0, 1), 0.2), (Array((0, 2)),)],
)

# Drawn between low and high, inside the domain and away from kinks.
RANGES = {
    "erfinv": (-0.8, 0.8),
    "lgamma": (0.3, 2.0),
    "digamma": (0.3, 2.0),
    "i0e": (0.2, 2.0),
    "i1": (0.2, 2.0),
    "i1e": (0.2, 2.0),
    "sinc": (0.2, 2.0),
}
REFERENCES = {}
for name in (
    "erf",
    "erfinv",
    "lgamma",
    "digamma",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "sinc",
):
    pointwise(name, RANGES.get(name, (-2.0, 2.0)), REFERENCES.get(name))
