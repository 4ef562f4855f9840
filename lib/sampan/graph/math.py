"""Functions of segments under PGL's names (github.com/PaddlePaddle/PGL, pgl.math)."""

import math
from typing import Any

import numpy as np

from ..creation import to_tensor
from ..engine.tensor import Tensor
from ..ops import gather, scatter_nd
from .drawing import host
from .segments import segment_max as segment_max
from .segments import segment_mean as segment_mean
from .segments import segment_min as segment_min
from .segments import segment_softmax as segment_softmax
from .segments import segment_sum as segment_sum
from .segments import segments

_POOLS = {"sum": segment_sum, "mean": segment_mean, "max": segment_max, "min": segment_min}


def segment_pool(data: Tensor, segment_ids: Tensor, pool_type: str, name: str | None = None) -> Tensor:
    """The sum, mean, max or min of the rows of each segment: see `segment_sum`."""
    if not isinstance(pool_type, str) or pool_type.lower() not in _POOLS:
        raise ValueError(f"segment_pool: pool_type: expected one of {', '.join(_POOLS)}, got {pool_type!r}")
    return _POOLS[pool_type.lower()](data, segment_ids)


def segment_padding(data: Tensor, segment_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(padded, lengths, index): the rows of each segment [segments, longest, size] with zeros after them, how
    many there are, int32 [segments], and where each row went, int64 [rows, 2].

    data: [rows, size]; segment_ids as in `segment_sum`.
    """
    starts = segments("segment_padding", data, segment_ids).by_target.starts
    lengths, rows = np.diff(starts), host(segment_ids).astype(np.int64)
    index = to_tensor(np.stack([rows, np.arange(len(rows)) - starts[rows]], 1))
    shape = [len(lengths), int(lengths.max(initial=0)), *data.shape[1:]]
    return scatter_nd(index, data, shape), to_tensor(lengths), index


def segment_topk(
    x: Tensor,
    scores: Tensor,
    segment_ids: Tensor,
    ratio: float,
    min_score: float | None = None,
    return_index: bool = False,
) -> Any:
    """Of each segment the rows with the largest scores, best first; with return_index also their places.

    x: [rows, ...], scores: [rows]. ratio: a part of the rows, rounded up, or with an int at most that many.
    min_score: instead of a ratio, the rows whose scores are larger than it, in their order, and of each
    segment at least those with its largest score.
    Source: Gao and Ji, Graph U-Nets, 2019, and Knyazev et al., Understanding Attention and Generalization in
    Graph Neural Networks, 2019.
    """
    starts = segments("segment_topk", x, segment_ids).by_target.starts
    counts, value, rows = np.diff(starts), host(scores).reshape(-1), host(segment_ids).astype(np.int64)
    if len(value) != len(rows):
        raise ValueError(f"segment_topk: scores: expected {len(rows)} numbers, got {len(value)}")
    if min_score is not None:
        best = np.full(len(counts), -np.inf)
        np.maximum.at(best, rows, value)
        index = np.flatnonzero(value > np.minimum(best[rows] - 1e-7, min_score))
    else:
        if not ratio > 0 or (not isinstance(ratio, int) and not math.isfinite(ratio)):
            raise ValueError(f"segment_topk: ratio: expected a number above 0, got {ratio!r}")
        kept = np.full(len(counts), ratio) if isinstance(ratio, int) else np.ceil(ratio * counts)
        kept = np.minimum(kept, counts)
        order = np.lexsort((-value, rows))
        index = order[np.arange(len(rows)) - starts[rows] < kept[rows]]
    places = to_tensor(index.astype(np.int64))
    found = gather(x, places)
    return (found, places) if return_index else found
