"""Losses with Paddle's arguments."""

import math
from typing import Any

import torch

from ...engine.operator import operator
from ...engine.tensor import InvalidArgument, InvalidType, Tensor
from ...ops.activation import log_softmax
from ...ops.criteria import NUMBERS
from ...ops.loss import mean_cross_entropy

__all__ = ["cross_entropy", "nll_loss"]


def number_of(reduction: str) -> int:
    """torch's number for a reduction. ValueError for an unknown one."""
    if reduction not in NUMBERS:
        raise InvalidArgument(f"reduction: expected one of {', '.join(NUMBERS)}, got {reduction!r}")
    return NUMBERS[reduction]


def reduced(loss: Any, reduction: str) -> Any:
    """The mean, the sum, or the loss as it is."""
    number_of(reduction)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def cross_entropy(
    input,
    label,
    weight=None,
    ignore_index=-100,
    reduction="mean",
    soft_label=False,
    axis=-1,
    use_softmax=True,
    label_smoothing=0.0,
    name=None,
) -> Tensor:
    """-log p(label), with p = softmax(input) along `axis` (or input itself as p when use_softmax is False).

    input: [..., classes, ...] scores. label: integers [...] or with length 1 at `axis`; with soft_label,
    probabilities of input's shape. weight: [classes], a factor for each class, by which the mean is weighted
    too.
    ignore_index: rows with this label add nothing; the mean leaves them out too, but as in Paddle not those
    of a negative ignore_index, unless there are weights. label_smoothing: this share of the label spread over
    all classes. Returns a 0-d tensor, or with reduction "none" the shape of the label. Raises ValueError for
    labels out of range and shapes that do not fit.

    >>> scores, labels = paddle.to_tensor([[2.0, 2.0], [0.0, 9.0]]), paddle.to_tensor([0, 1])
    >>> losses = paddle.nn.functional.cross_entropy(scores, labels, reduction="none")
    >>> [round(loss, 3) for loss in losses.tolist()]
    [0.693, 0.0]
    """
    scores, places = input.data, label.data
    if (
        reduction == "mean"
        and use_softmax
        and weight is None
        and not soft_label
        and not label_smoothing
        and scores.ndim == 2
        and axis in (-1, 1)
        and places.dtype is torch.int64
        and places.ndim in (1, 2)
        and len(places) == places.numel() == len(scores) > 0
    ):
        # The CPU's loop refuses labels out of range by itself; a GPU's kernel would stop the process.
        if places.is_cuda:
            check_labels(places, scores.shape[1], ignore_index)
        try:
            return mean_cross_entropy(input, label.reshape([-1]) if places.ndim == 2 else label, ignore_index)
        except IndexError:
            check_labels(places, scores.shape[1], ignore_index)
            raise
    number_of(reduction)
    if input.ndim == 0 or not -input.ndim <= axis < input.ndim:
        raise InvalidArgument(f"cross_entropy: axis {axis} is outside input of shape {list(input.shape)}")
    axis %= input.ndim
    classes = input.shape[axis]
    if weight is not None and weight.shape != [classes]:
        raise InvalidArgument(
            f"cross_entropy: expected weight of shape [{classes}], got {list(weight.shape)}"
        )
    soft = soft_label or (label.shape == input.shape and label.dtype.is_floating_point)
    if soft:
        return _soft(input, label, weight, reduction, axis, use_softmax, label_smoothing)
    _check_hard(input, label, axis, classes, ignore_index)
    logs = log_softmax(input, axis) if use_softmax else input.log()
    keep, count_all = label.ndim == input.ndim, ignore_index < 0 and weight is None
    return _picked(logs, label, weight, ignore_index, reduction, axis, label_smoothing, keep, count_all)


@operator(returns=tuple[Tensor, ...])
def picks(label, weight, classes, ignore_index, axis, one, dtype, smoothing):
    """Of labels, which have length 1 along `axis` if `one`: their places, int64; the factor of each loss; the
    sum of these, or infinity for 0."""
    if label.is_floating_point() and bool((label != label.trunc()).any()):  # PaddlePaddle cuts them off
        raise InvalidType("label: expected integers, or soft_label=True; got fractions")
    hard = (label.squeeze(axis) if one else label).long()
    check_labels(hard, classes, ignore_index)
    ignored = hard == ignore_index
    places = hard.masked_fill(ignored, 0)
    factor = torch.ones_like(places, dtype=dtype) if weight is None else weight[places]
    factor = factor.masked_fill(ignored, 0)
    if smoothing > 0 and weight is not None:
        factor = factor * (1 - smoothing) + weight.mean() * smoothing * (~ignored)
    total = factor.sum()
    return places.unsqueeze(axis), factor, total.masked_fill(total == 0, math.inf)


def _picked(
    logs: Any,
    label: Any,
    weight: Any,
    ignore_index: int,
    reduction: str,
    axis: int,
    smoothing: float,
    keep: bool,
    count_all: bool,
) -> Any:
    """The weighted, smoothed, reduced loss of integer labels from log probabilities."""
    one = label.ndim == logs.ndim
    settings = (ignore_index, axis, one, logs.data.dtype, smoothing)
    places, factor, total = picks(label, weight, logs.shape[axis], *settings)
    loss = -logs.take_along_axis(places, axis, False).squeeze(axis)
    if smoothing > 0:  # as the soft label that gives this share to all classes
        loss = loss * (1 - smoothing) - logs.mean(axis=axis) * smoothing
    loss = loss * factor
    if reduction == "none":
        return loss.unsqueeze(axis) if keep else loss
    if reduction == "sum":
        return loss.sum()
    return loss.sum() / ((factor.size or math.nan) if count_all else total)


def _soft(
    input: Any, label: Any, weight: Any, reduction: str, axis: int, use_softmax: bool, smoothing: float
) -> Any:
    classes = input.shape[axis]
    if label.shape != input.shape:
        raise InvalidArgument(
            f"cross_entropy: soft label {[*label.shape]} does not fit input {[*input.shape]}"
        )
    label = label if label.stop_gradient else label.detach()  # a constant, as in Paddle
    if smoothing > 0:
        label = label * (1 - smoothing) + smoothing / classes
    logs = log_softmax(input, axis) if use_softmax else input.log()
    loss = -(logs * label).sum(axis=axis, keepdim=True)
    if weight is None:
        return reduced(loss, reduction)
    factor = (label * weight.reshape([-1] + [1] * (input.ndim - 1 - axis))).sum(axis=axis, keepdim=True)
    loss = loss * factor
    return loss.sum() / factor.sum() if reduction == "mean" else reduced(loss, reduction)


def _check_hard(input: Any, label: Any, axis: int, classes: int, ignore_index: int) -> None:
    """Raises InvalidArgument or InvalidType unless the labels are whole and fit, without the class axis or
    with length 1 there."""
    hard = label.data
    if hard.ndim == input.ndim and hard.shape[axis] == 1:
        hard = hard.squeeze(axis)
    expected = [n for i, n in enumerate(input.shape) if i != axis]
    if list(hard.shape) != expected:
        raise InvalidArgument(
            f"label: expected shape {expected} for input {list(input.shape)}, got {list(label.shape)}"
        )


def check_labels(labels: torch.Tensor, classes: int, ignore_index: int) -> None:
    """Raises ValueError for a label outside 0 to classes - 1 that is not ignore_index."""
    if labels.numel():
        low, high = torch.stack(torch.aminmax(labels)).tolist()  # one wait for a GPU
        outside = low < 0 or high >= classes
        if outside and (((labels < 0) | (labels >= classes)) & (labels != ignore_index)).any():
            raise InvalidArgument(f"label: expected 0 to {classes - 1}, got {low} to {high}")


def nll_loss(input, label, weight=None, ignore_index=-100, reduction="mean", name=None) -> Tensor:
    """-input[label]: input [n, classes, ...] holds log probabilities, label [n, ...] integers."""
    number_of(reduction)
    if input.ndim < 2:
        raise InvalidArgument(f"nll_loss: expected input [n, classes, ...], got shape {[*input.shape]}")
    if weight is not None and weight.shape != [input.shape[1]]:
        raise InvalidArgument(
            f"nll_loss: expected weight of shape [{input.shape[1]}], got {list(weight.shape)}"
        )
    _check_hard(input, label, 1, input.shape[1], ignore_index)
    return _picked(input, label, weight, ignore_index, reduction, 1, 0.0, False, False)
