"""Losses."""

from typing import Any

import torch

from ..dtype import as_dtype
from ..engine.operator import operator
from ..engine.tensor import Tensor
from .activation import log_softmax_backward, softmax
from .elementwise import Buffer, aten

nll_loss_forward = aten.nll_loss_forward.default._op
nll_loss_backward = aten.nll_loss_backward.default._op


def _mean_cross_entropy_by_x(g: Any, x: Any, label: Any, ignore_index: int, saved: Any) -> Any:
    if g.__class__ is not Buffer:
        return _softmax_minus_one_hot(g, x, label.data, ignore_index)
    logs, total = saved
    slope = nll_loss_backward(g, logs, label, None, 1, ignore_index, total)
    return log_softmax_backward(slope, logs, 1, logs.dtype)


@operator(_mean_cross_entropy_by_x, amp="float32")
def mean_cross_entropy(x, label, ignore_index=-100):
    """The mean of -log_softmax(x)[label] over the rows of x [n, classes]: one node on the tape.

    label: [n] int64. Rows with the label ignore_index add nothing; as in Paddle they are left out of the
    count when ignore_index is 0 or more, and counted when it is negative. When no row adds anything the loss
    is 0.
    """
    logs = torch.log_softmax(x, 1)
    value, total = nll_loss_forward(logs, label, None, 1, ignore_index)
    counted = total.item()
    if not counted:
        value = torch.zeros_like(value)
    elif ignore_index < 0 and counted < len(label):
        value, total = value * (counted / len(label)), torch.full_like(total, len(label))
    return value, (logs, total)


def _softmax_minus_one_hot(g: Any, x: Any, label: Any, ignore_index: int) -> Any:
    """g (softmax(x) - one_hot(label)) / n over the n rows, by operators."""
    counted = (label != ignore_index).to(as_dtype(x.dtype))
    hot = torch.zeros(x.shape, dtype=as_dtype(x.dtype), device=label.device)
    hot[torch.arange(len(label), device=label.device), label.clamp(min=0)] = 1
    share = counted / (counted.sum().clamp(min=1) if ignore_index >= 0 else len(label))
    return (softmax(x, 1) - Tensor(hot)) * Tensor(share.unsqueeze(1)) * g
