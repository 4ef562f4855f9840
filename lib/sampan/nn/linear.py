"""Linear, Flatten and Identity."""

from collections.abc import Sequence
from operator import index
from typing import Any

from ..engine.tensor import InvalidType, Tensor
from . import functional as F
from .initializer import Initializer
from .layer import Layer

__all__ = ["Flatten", "Identity", "Linear"]


def _size(name: str, value: Any) -> int:
    """Of Python, of NumPy, or a Tensor of one; a float is refused, as in Paddle."""
    try:
        size = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        size = -1
    if size < 0:
        raise InvalidType(f"{name}: expected a whole number of at least 0, got {value!r}")
    return size


class WithBias(Layer):
    """A layer with a weight and a bias."""

    def _create(
        self,
        weight_shape: Sequence[int],
        bias_shape: Sequence[int],
        weight_attr: Any,
        bias_attr: Any,
        initializer: Initializer | None = None,
    ) -> None:
        """Make both parameters; an attr of False leaves one out. initializer: of the weight."""
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self.weight = self.create_parameter(weight_shape, weight_attr, default_initializer=initializer)
        self.bias = self.create_parameter(bias_shape, bias_attr, is_bias=True)


class Linear(WithBias):
    """y = x W + b, for x of [..., in_features]; weight [in_features, out_features] (Paddle's order), bias
    [out_features].

    The weight starts XavierUniform, the bias at 0; `bias_attr=False` leaves the bias out.

    >>> layer = paddle.nn.Linear(3, 2)
    >>> layer(paddle.ones([4, 3])).shape, layer.weight.shape, layer.bias.tolist()
    (paddle.Size([4, 2]), paddle.Size([3, 2]), [0.0, 0.0])
    """

    _shows = "in_features out_features dtype:_dtype_name name?"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        in_features, out_features = _size("in_features", in_features), _size("out_features", out_features)
        self.in_features, self.out_features, self.name = in_features, out_features, name
        self._create([in_features, out_features], [out_features], weight_attr, bias_attr)

    def forward(self, x: Any) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class Flatten(Layer):
    """[batch, ...] to [batch, n]: the axes from start_axis to stop_axis become one."""

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, x: Any) -> Tensor:
        return x.flatten(self.start_axis, self.stop_axis)


class Identity(Layer):
    """Returns its input; takes any arguments, so that it can replace any layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, x: Any) -> Tensor:
        return x
