"""Losses of pairs of arrays, entry by entry, reduced in the same pass; and CTC.

reduction: torch's numbers, 0 for each entry's own loss, 1 for their mean, 2 for their sum.
"""

import math
from typing import Any

import torch

from ..engine.operator import operator
from ..kernels import speech_ctc
from .elementwise import Buffer, aten

NUMBERS = {"none": 0, "mean": 1, "sum": 2}
mse_backward = aten.mse_loss_backward.default._op
huber_backward = aten.huber_loss_backward.default._op
bce_backward = aten.binary_cross_entropy_backward.default._op


def _spread(g: Any, slope: Any, reduction: int) -> Any:
    """g times each entry's slope, and its share where the loss is the mean."""
    return g * slope * (1.0 / max(math.prod(slope.shape), 1)) if reduction == 1 else g * slope


def _alike(g: Any, x: Any, y: Any) -> bool:
    """Whether torch's fused backward can be used: on buffers, of one shape."""
    return g.__class__ is Buffer and x.shape == y.shape


def _squared_loss_by_x(g: Any, x: Any, y: Any, reduction: int) -> Any:
    return mse_backward(g, x, y, reduction) if _alike(g, x, y) else _spread(g, 2.0 * (x - y), reduction)


@operator(
    _squared_loss_by_x, lambda g, x, y, reduction: _squared_loss_by_x(g, y, x, reduction), broadcasts=True
)
def squared_loss(x, y, reduction):
    """(x - y)^2."""
    return aten.mse_loss(x, y, reduction)


@operator(
    lambda g, x, y, reduction: _spread(g, (x - y).sign(), reduction),
    lambda g, x, y, reduction: _spread(g, (y - x).sign(), reduction),
    broadcasts=True,
)
def absolute_loss(x, y, reduction):
    """|x - y|."""
    away = (x - y).abs_()
    return away.mean() if reduction == 1 else away.sum() if reduction == 2 else away


def _huber_loss_by_x(g: Any, x: Any, y: Any, reduction: int, delta: float) -> Any:
    if _alike(g, x, y):
        return huber_backward(g, x, y, reduction, delta)
    return _spread(g, (x - y).clip(-delta, delta), reduction)


@operator(
    _huber_loss_by_x,
    lambda g, x, y, reduction, delta: _huber_loss_by_x(g, y, x, reduction, delta),
    broadcasts=True,
    amp="float32",
)
def huber_loss(x, y, reduction, delta):
    """(x - y)^2 / 2 up to a distance of delta, delta (|x - y| - delta / 2) beyond it (Huber, 1964)."""
    return aten.huber_loss(x, y, reduction, delta)


def _bernoulli_loss_by_x(g: Any, x: Any, y: Any, reduction: int) -> Any:
    if g.__class__ is Buffer:
        return bce_backward(g, x, y, None, reduction)
    return _spread(g, (x - y) / (x * (1 - x)), reduction)


def _bernoulli_loss_by_y(g: Any, x: Any, reduction: int) -> Any:
    return _spread(g, (1 - x).log().clip(min=-100) - x.log().clip(min=-100), reduction)


@operator(_bernoulli_loss_by_x, _bernoulli_loss_by_y, broadcasts=True)
def bernoulli_loss(x, y, reduction):
    """-y log(x) - (1 - y) log(1 - x), either logarithm at least -100."""
    return aten.binary_cross_entropy(x, y, None, reduction)


@operator(
    lambda g, x, y, reduction: _spread(g, x.sigmoid() - y, reduction),
    lambda g, x, reduction: _spread(g, -x, reduction),
    broadcasts=True,
    amp="float32",
)
def logistic_loss(x, y, reduction):
    """bernoulli_loss of sigmoid(x), without overflow: max(x, 0) - x y + log(1 + e^-|x|)."""
    return torch.binary_cross_entropy_with_logits(x, y, None, None, reduction)


def _ctc_by_x(g: Any, x: Any, blank: int, by_times: bool, saved: Any) -> Any:
    if g.__class__ is not Buffer:
        raise NotImplementedError("ctc_loss has no second derivative")
    return speech_ctc.slopes(g, x, blank, by_times, saved)


@operator(_ctc_by_x, amp="float32")
def ctc(x, labels, lengths, counts, blank, by_times):
    """-log of the probability [batch] that softmax(x), x of [time, batch, classes], spells the labels
    [batch, n].

    Connectionist temporal classification (Graves et al., 2006). lengths, counts: the frames and the labels of
    each sequence. by_times: the gradient of a sequence is divided by its number of frames. The arguments have
    been checked; labels is a copy of the caller's.
    """
    return speech_ctc.losses(x, labels, lengths, counts, blank)
