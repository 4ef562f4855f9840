"""Samples of ops/statistics.py, and functions that compute the same by other means."""

from typing import Any

import torch

from .declare import Array, integers, sampled


def _torch_nan(name: str) -> Any:
    return lambda x, axis=None, *rest: getattr(torch, name)(x, axis)


_QUANTILES = [
    (Array((9,), -2, 2), 0.3),
    (Array((3, 5), -2, 2), 0.5, 1),
    (Array((2, 6)), [0.1, 0.8], 1, True, "midpoint"),
]


def _torch_quantile(x: Any, q: Any, axis: Any = None, keepdim: bool = False, how: str = "linear") -> Any:
    return torch.quantile(x, torch.tensor(q, dtype=x.dtype), axis, keepdim, interpolation=how)


sampled("nansum", reference=_torch_nan("nansum"), samples=[((3, 4),), ((2, 3, 4), [0, 2])])
sampled("nanmean", reference=_torch_nan("nanmean"), samples=[((3, 4),), ((2, 3, 4), [0, 2])])
sampled(
    "count_nonzero", reference=torch.count_nonzero, samples=[(integers((3, 4), 2),), (integers((3, 4), 2), 1)]
)
sampled("quantile", reference=_torch_quantile, samples=_QUANTILES)
sampled("nanquantile", reference=_torch_quantile, samples=_QUANTILES)
sampled(
    "middle",
    reference=lambda x, m, s: torch.quantile(x, 0.5, -1),
    samples=[((3, 4), "avg", False), ((5,), "avg", True)],
)
sampled("median", reference=lambda x, a=None: torch.quantile(x, 0.5, a), samples=[((3, 4),), ((3, 5), 1)])
sampled(
    "nanmedian", reference=lambda x, a=None: torch.nanquantile(x, 0.5, a), samples=[((3, 4),), ((3, 5), 1)]
)
sampled("bincount", reference=torch.bincount, samples=[(integers((6,), 4),)])
sampled("histogram", reference=lambda x, b: torch.histc(x, b).long(), samples=[((20,), 5)])
sampled(
    "histogram_bin_edges",
    reference=lambda x, b: torch.histogram(x, b).bin_edges.float(),
    samples=[((20,), 5)],
)
sampled(
    "cov",
    reference=lambda x, r=True: torch.cov(x if r else x.T),
    samples=[((3, 5),), ((5, 3), False), ((4,),)],
)
sampled("corrcoef", reference=torch.corrcoef, samples=[((3, 5),)])
sampled("diff", reference=torch.diff, samples=[((5,),), ((3, 4), 2, 0)])
sampled("neighbours", reference=lambda x, a: torch.diff(x, dim=a), samples=[((3, 4), 0), ((3, 4), 1)])
sampled("trapezoid", reference=torch.trapezoid, samples=[((3, 4),), ((3, 4), (4,))])
sampled("cumulative_trapezoid", reference=torch.cumulative_trapezoid, samples=[((3, 4),), ((3, 4), (4,))])
