"""The names of `paddle.nn.quant`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from ..nn.layer import Layer
from .base import BaseQuanter
from .layers import (
    ConvertibleQuantedLayer,
    LinearDequanter,
    LinearQuanter,
    LinearQuanterDequanter,
    QuantedConv2D,
    QuantedLinear,
    QuanterStub,
    Stub,
)
from .quanters import FakeQuanterWithAbsMaxObserverLayer
from .weight_only import (
    apply_per_channel_scale,
    llm_int8_linear,
    weight_dequantize,
    weight_only_linear,
    weight_quantize,
)

__all__ = [
    "ConvertibleQuantedLayer",
    "FloatFunctionalLayer",
    "LinearDequanter",
    "LinearQuanter",
    "LinearQuanterDequanter",
    "QuantStub",
    "QuantedConv2D",
    "QuantedLinear",
    "QuanterStub",
    "Stub",
    "add",
    "apply_per_channel_scale",
    "concat",
    "divide",
    "flatten",
    "llm_int8_linear",
    "matmul",
    "multiply",
    "reshape",
    "subtract",
    "transpose",
    "weight_dequantize",
    "weight_only_linear",
    "weight_quantize",
]


class QuantStub(Layer):
    """Returns its input and keeps the moving average of its largest magnitudes: `_quanter.scales()`.

    reduce_type: "max" is Paddle's for several processes; here it changes nothing.
    """

    def __init__(
        self,
        name: str | None = None,
        moving_rate: float = 0.9,
        dtype: Any = "float32",
        reduce_type: str | None = None,
    ) -> None:
        super().__init__()
        quanter: Any = FakeQuanterWithAbsMaxObserverLayer(None, moving_rate, 8, dtype, name)
        quanter._count.data.zero_()  # unlike that of QAT, this average starts with the first sample
        quanter._accum.data.zero_()
        self._quanter: BaseQuanter = quanter

    def forward(self, input: Any) -> Any:
        self._quanter(input)
        return input


class FloatFunctionalLayer(Layer):
    """A function as a layer, so that it can be quantised and observed by name."""

    _function: Callable[..., Any]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("name", None)
        return self._function(*args, **kwargs)


def _layer_of(function: Callable[..., Any]) -> type[FloatFunctionalLayer]:
    name = function.__name__
    entries = {"_function": staticmethod(function), "__doc__": f"`paddle.{name}` as a layer."}
    return type(name, (FloatFunctionalLayer,), {**entries, "__module__": __name__})


add, subtract, multiply, divide = map(_layer_of, (ops.add, ops.subtract, ops.multiply, ops.divide))
reshape, transpose, concat, flatten = map(_layer_of, (ops.reshape, ops.transpose, ops.concat, ops.flatten))
matmul = _layer_of(ops.matmul)
