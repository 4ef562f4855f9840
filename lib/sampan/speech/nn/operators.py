"""The Conformer's operators, each one call in place of several: a stream of small chunks spends its time in
calls."""

from typing import Any

import torch

from ...engine.operator import operator
from ...kernels import speech_depthwise as kernels
from ...ops.linalg import batched_matmul
from ...ops.shape import permute, reshape

__all__ = ["depthwise", "project", "residual", "scores_by_distance"]


# --- linear layers ------------------------------------------------------------------------------------------


def _rows(x: Any) -> Any:
    return reshape(x, [-1, x.shape[-1]])


@operator(
    lambda g, weight: batched_matmul(g, weight, False, True),
    lambda g, x: _rows(x).t().mm(_rows(g)),
    lambda g: _rows(g).sum(axis=0),
    product=True,
    amp="half",
)
def project(x, weight, bias):
    """x weight + bias: [..., out]. x: [..., in]; weight: [in, out]; bias: [out] or None."""
    rows = x.reshape(-1, x.shape[-1])
    found = torch.mm(rows, weight) if bias is None else torch.addmm(bias, rows, weight)
    return found.view(*x.shape[:-1], weight.shape[1])


@operator(lambda g: g, lambda g, share: g * share, product=True)
def residual(x, y, share):
    """x + share y, of equal shapes."""
    return torch.add(x, y, alpha=share)


# --- scores of relative attention ---------------------------------------------------------------------------


def _shifted(scores: torch.Tensor, queries: int) -> torch.Tensor:
    """A view of scores by distance [..., queries, keys + queries - 1] by key, [..., queries, keys].

    Row i of the result is row i of `scores`, which is contiguous, from column queries - 1 - i on: one frame
    later means one column less. So a step down is a row less one entry in memory, and no entry is moved.
    """
    size, stride = [*scores.shape[:-1], scores.shape[-1] - queries + 1], [*scores.stride()]
    stride[-2] -= 1
    return scores.as_strided(size, stride, scores.storage_offset() + queries - 1)


@operator(lambda g, queries: unshift(g, queries))
def shift(scores, queries):
    """Scores by distance [..., queries, keys + queries - 1] to scores by key, [..., queries, keys].

    Source: Dai et al. 2019, appendix B.
    """
    return _shifted(scores.contiguous(), queries).clone()


@operator(lambda g, queries: shift(g, queries))
def unshift(g, queries):
    """The transpose of `shift`: [..., queries, keys] to [..., queries, keys + queries - 1], 0 elsewhere."""
    made = g.new_zeros(*g.shape[:-1], g.shape[-1] + queries - 1)
    _shifted(made, queries).copy_(g)
    return made


def _by_query(g: Any, places: Any, scale: float) -> Any:
    slopes = unshift(g * scale, g.shape[2])
    return permute(batched_matmul(slopes, permute(places, [1, 0, 2])), [0, 2, 1, 3])


def _by_places(g: Any, query: Any, bias: Any, scale: float) -> Any:
    slopes = unshift(g * scale, g.shape[2])
    found = batched_matmul(
        slopes, permute(query + bias, [0, 2, 1, 3]), True
    )  # [batch, heads, distances, size]
    return permute(found.sum(axis=0), [1, 0, 2])


@operator(
    lambda g, places, scale: _by_query(g, places, scale),
    lambda g, places, scale: _by_query(g, places, scale).sum(axis=[0, 1]),
    _by_places,
    amp="half",
)
def scores_by_distance(query, bias, places, scale):
    """scale ((query_i + bias) . places_{i - j}) of query i and key j: [batch, heads, queries, keys].

    query: [batch, queries, heads, size]. bias: [heads, size]. places: [keys + queries - 1, heads, size], for
    the distances keys - 1 down to 1 - queries.
    """
    scores = (query + bias).permute(0, 2, 1, 3) @ places.permute(1, 2, 0)
    return _shifted(scores, query.shape[1]) * scale


# --- convolution over time ----------------------------------------------------------------------------------


@operator(
    lambda g, weight: _depthwise_back(g, weight),
    lambda g, x: _depthwise_weight(x, g),
    lambda g: g.sum(axis=[0, 1]),
    product=True,
)
def depthwise(x, weight, bias):
    """bias[c] + sum over k of x[b, t + k, c] weight[c, 0, k]: [batch, time, channels].

    x: [batch, time + kernel - 1, channels]. weight: [channels, 1, kernel]. bias: [channels].
    """
    return kernels.depthwise(x, weight, bias)


@operator(lambda h, weight: _depthwise_plain(h, weight), lambda h, g: _depthwise_weight(h, g), product=True)
def _depthwise_back(g, weight):
    """The transpose of `depthwise` in x: [batch, time, channels] to [batch, time + kernel - 1, channels]."""
    around = weight.shape[-1] - 1
    padded = torch.nn.functional.pad(g, (0, 0, around, around))
    return kernels.depthwise(padded, weight.flip(-1), weight.new_zeros(len(weight)))


@operator(lambda h, weight: _depthwise_back(h, weight), lambda h, x: _depthwise_weight(x, h), product=True)
def _depthwise_plain(x, weight):
    """`depthwise` without a bias."""
    return kernels.depthwise(x, weight, weight.new_zeros(len(weight)))


@operator(lambda h, g: _depthwise_back(g, h), lambda h, x: _depthwise_plain(x, h), product=True)
def _depthwise_weight(x, g):
    """The gradient of the weight: sum over b and t of x[b, t + k, c] g[b, t, c], [channels, 1, kernel]."""
    return kernels.depthwise_weight(x, g)
