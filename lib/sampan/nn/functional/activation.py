"""Activations with Paddle's arguments: those that are more than one operator, and the in-place twins."""

from typing import Any

import torch

from ...engine.operator import operator
from ...engine.tensor import InvalidArgument, Tensor
from ...ops import activation as ops
from ...ops import inplace
from ...ops.inplace import (  # type: ignore[attr-defined]  # defined by a loop there
    hardtanh_,
    leaky_relu_,
    relu_,
    silu_,
    softmax_,
    tanh_,
    thresholded_relu_,
)
from ...ops.regularization import masked
from .convolution import channels_back
from .normalization import channels_first

# fmt: off
__all__ = [
    "elu_", "gumbel_softmax", "hardtanh_", "leaky_relu_", "logsigmoid", "prelu", "relu_", "rrelu", "silu",
    "softmax_", "tanh_", "thresholded_relu_",
]
# fmt: on

logsigmoid = ops.log_sigmoid


def elu_(x, alpha=1.0, name=None) -> Tensor:
    """`elu` in place, for an alpha of 0 or more: of a negative one the result does not tell the input."""
    if alpha < 0:
        raise InvalidArgument(f"elu_: expected an alpha of 0 or more, got {alpha}; use elu instead")
    return inplace.elu_(x, alpha)  # type: ignore[attr-defined]  # defined by a loop there


def silu(x, inplace=False, name=None) -> Tensor:
    """x sigmoid(x) (Elfwing et al., 2018); inplace puts it into x."""
    return silu_(x) if inplace else ops.silu(x)


def prelu(x, weight, data_format="NCHW", name=None) -> Tensor:
    """x where positive, weight x elsewhere (He et al., 2015): one weight, or one for each channel of x.

    Raises ValueError when there are neither one nor as many weights as channels.
    """
    if weight.size == 1 and weight.ndim <= 1:
        return ops.parametric_relu(x, weight.reshape([1] * x.ndim))
    x, last = channels_first(x, data_format)
    if weight.ndim != 1 or x.ndim < 2 or weight.shape[0] != x.shape[1]:
        raise InvalidArgument(f"prelu: weight {list(weight.shape)} fits no channels of x {list(x.shape)}")
    value = ops.parametric_relu(x, weight.reshape([-1] + [1] * (x.ndim - 2)))
    return channels_back(value, last)


def rrelu(x, lower=1.0 / 8.0, upper=1.0 / 3.0, training=True, name=None) -> Tensor:
    """x where positive; elsewhere x times a number drawn between lower and upper, or their mean outside
    training.

    Raises TypeError or ValueError unless 0 <= lower <= upper <= 1 (Xu et al., 2015).
    """
    if not isinstance(lower, float) or not isinstance(upper, float):
        raise TypeError(f"rrelu: expected lower and upper to be floats, got {lower!r} and {upper!r}")
    if not 0 <= lower <= upper <= 1:
        raise InvalidArgument(f"rrelu: expected 0 <= lower <= upper <= 1, got {lower} and {upper}")
    if not training:
        return ops.leaky_relu(x, (lower + upper) / 2)
    return masked(x, drawn_slopes(x, lower, upper))


@operator(amp="as_is")
def drawn_slopes(x, lower, upper):
    """1 where x is 0 or more, else a number drawn between lower and upper."""
    return torch.empty_like(x).uniform_(lower, upper).masked_fill_(x >= 0, 1.0)


@operator(amp="as_is")
def exponential_logs(x):
    """Logarithms of numbers drawn from the exponential distribution, in the shape of x."""
    return torch.empty_like(x).exponential_().log()


@operator(amp="as_is")
def to_one_hot(x, axis):
    """What makes x the one-hot vector of its largest entry when it is added."""
    return torch.zeros_like(x).scatter_(axis, x.argmax(axis, keepdim=True), 1.0) - x


def gumbel_softmax(
    x: Any, temperature: float = 1.0, hard: bool = False, axis: int = -1, name: Any = None
) -> Any:
    """softmax((x + noise) / temperature) with Gumbel noise: a sample that gradients pass (Jang et al., 2017).

    hard: the one-hot vector of the largest; its gradient is taken from the soft sample.
    Raises ValueError for a temperature of 0 or less.
    """
    if temperature <= 0:
        raise InvalidArgument(f"gumbel_softmax: expected a temperature above 0, got {temperature}")
    soft = ops.softmax((x - exponential_logs(x)) / temperature, axis)
    return to_one_hot(soft, axis) + soft if hard else soft
