"""Samples of ops/reduction.py, and functions that compute the same by other means."""

from typing import Any

import torch

from .declare import Array, sampled

_REDUCTIONS = [((3, 4),), ((2, 3, 4), 1), ((2, 3, 4), [0, -1]), ((),), ((2, 3), -1, None, True)]


def _torch_sum(x: Any, axis: Any = None, dtype: Any = None, keepdim: bool = False) -> Any:
    return torch.sum(x) if axis is None else torch.sum(x, axis, keepdim)


def _torch_mean(x: Any, axis: Any = None, keepdim: bool = False) -> Any:
    return torch.mean(x) if axis is None else torch.mean(x, axis, keepdim)


def _variance(x: Any, axis: Any = None, unbiased: bool = True, keepdim: bool = False) -> Any:
    return torch.var(x, axis, correction=int(unbiased), keepdim=keepdim)


def _deviation(x: Any, axis: Any = None, unbiased: bool = True, keepdim: bool = False) -> Any:
    return torch.std(x, axis, correction=int(unbiased), keepdim=keepdim)


_SPREADS = [((3, 4),), ((2, 3, 4), 1), ((2, 3, 4), [0, 2], False, True)]


def _logsumexp(x: Any, axis: Any = None, keepdim: bool = False) -> Any:
    return torch.logsumexp(x, list(range(x.ndim)) if axis is None else axis, keepdim)


sampled("sum", reference=_torch_sum, samples=[*_REDUCTIONS, ((0, 3),)])
sampled(
    "mean",
    reference=_torch_mean,
    samples=[((3, 4),), ((2, 3, 4), 1), ((2, 3, 4), [0, -1]), ((),), ((2, 3), -1, True)],
)
sampled("prod_along", reference=lambda x, axis: torch.prod(x, axis, True), samples=[((2, 3), 1), ((3, 4), 0)])
sampled(
    "prod",
    reference=lambda x, a=None, k=False: torch.prod(x) if a is None else torch.prod(x, a, k),
    samples=[((3, 4),), ((2, 3), 1), ((2, 3), 1, True)],
)
sampled("var", reference=_variance, samples=_SPREADS)
sampled("std", reference=_deviation, samples=_SPREADS)
sampled("logsumexp", reference=_logsumexp, samples=[((3, 4),), ((2, 3, 4), 1), ((2, 3, 4), [0, 2], True)])
sampled(
    "cumsum",
    reference=lambda x, a=None: x.flatten().cumsum(0) if a is None else x.cumsum(a),
    samples=[((3, 4), 1), ((4,),), ((2, 3),)],
)
sampled(
    "cumprod",
    reference=lambda x, a=None: x.flatten().cumprod(0) if a is None else x.cumprod(a),
    samples=[((3, 4), 1), ((4,),)],
)
sampled(
    "logcumsumexp",
    reference=lambda x, a=None: x.flatten().logcumsumexp(0) if a is None else x.logcumsumexp(a),
    samples=[((3, 4), 1), ((4,),)],
)
sampled(
    "all",
    reference=lambda x, a=None, k=False: torch.all(x) if a is None else torch.all(x, a, k),
    samples=[(Array((3, 4), 0, 2, "bool"),), (Array((3, 4), 0, 2, "bool"), 1, True)],
)
sampled(
    "any",
    reference=lambda x, a=None, k=False: torch.any(x) if a is None else torch.any(x, a, k),
    samples=[(Array((3, 4), 0, 2, "bool"),), (Array((3, 4), 0, 2, "bool"), 1, True)],
)


def _extreme(by):
    return lambda x, axis=None, keepdim=False: by(
        x, dim=list(range(x.ndim)) if axis is None else axis, keepdim=keepdim
    )


for name, by in {"max": torch.amax, "min": torch.amin, "amax": torch.amax, "amin": torch.amin}.items():
    sampled(name, [((3, 4),), ((2, 3, 4), 1), ((2, 3, 4), [0, 2], True)], _extreme(by))
for name in ("argmax", "argmin"):
    sampled(name, [((3, 4),), ((3, 4), 1)], getattr(torch, name))
