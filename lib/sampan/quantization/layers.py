"""The layers of a network that is being quantised, and of one that is: `paddle.nn.quant`'s."""

from __future__ import annotations

import abc
from typing import Any

import torch

from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..nn import functional as F
from ..nn.functional.convolution import ints, paddings
from ..nn.layer import Layer
from ..nn.parameter import Parameter
from .base import BaseQuanter, floats, largest
from .int8 import int8_conv2d, int8_linear

__all__ = ["ObserveWrapper", "QuantedConv2D", "QuantedLinear", "QuanterStub", "Stub"]


class Stub(Layer):
    """A place for an observer in front of a function: it returns its input, and QAT and PTQ replace it.

    observer: a factory; None: that of the configuration.
    """

    def __init__(self, observer: Any = None) -> None:
        super().__init__()
        self._observer = observer

    def forward(self, input: Any) -> Any:
        return input


class QuanterStub(Layer):
    """What a Stub becomes: its observer."""

    def __init__(self, layer: Stub, q_config: Any) -> None:
        super().__init__()
        factory = layer._observer if layer._observer is not None else q_config.activation
        self._observer = None if factory is None else factory._instance(layer)

    def forward(self, input: Any) -> Any:
        return input if self._observer is None else self._observer(input)


class ObserveWrapper(Layer):
    """A layer with an observer of its input, or of its output where observe_input is False."""

    def __init__(self, observer: Layer, observed: Layer, observe_input: bool = True) -> None:
        super().__init__()
        self._observer, self._observed, self._observe_input = observer, observed, observe_input

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self._observe_input:
            return self._observed(self._observer(*inputs, **kwargs), **kwargs)
        return self._observer(self._observed(*inputs, **kwargs), **kwargs)


class _Linear(Layer):
    """Holds the scales of a quanter in the shape that they have, as buffers."""

    def __init__(
        self,
        scales: Any,
        zero_point: Any = None,
        quant_axis: Any = None,
        bit_length: int = 8,
        group_size: int = 128,
    ) -> None:
        super().__init__()
        held = floats(scales)
        if not bool(held.data.isfinite().all()):
            raise InvalidArgument(f"scales: expected finite numbers, got {held.data}")
        self.register_buffer("_scales", held)
        zeros = torch.zeros_like(held.data) if zero_point is None else floats(zero_point).data
        if bool(zeros.any()):
            raise InvalidArgument("zero_points: expected 0: only symmetric quantisation is computed")
        self.register_buffer("_zero_point", Tensor(zeros))
        self._quant_axis = -1 if quant_axis is None else quant_axis
        self._bit_length, self._group_size = bit_length, group_size

    _scales: Any

    def _scale_of(self, input: Any) -> Tensor:
        """The scales, broadcast to the input."""
        scales = self._scales
        if scales.ndim == 2:
            return scales.repeat_interleave(input.shape[0] // scales.shape[0], 0)
        if self._quant_axis >= 0 and scales.ndim == 1:
            return scales.reshape([-1 if a == self._quant_axis else 1 for a in range(input.ndim)])
        return scales

    @classmethod
    def from_quanter(cls, quanter: BaseQuanter) -> Any:
        """With the scales that a quanter has found. InvalidArgument where it has none."""
        axis, bits = quanter.quant_axis(), quanter.bit_length()
        scales = quanter.scales()
        if scales is None:
            raise InvalidArgument(f"{type(quanter).__name__}: it has no scales: run the layer before convert")
        return cls(scales, quanter.zero_points(), axis, bits)  # type: ignore[arg-type]  # one axis, one width


class LinearQuanter(_Linear):
    """round(x / scale * 127), limited to -128..127, halves to even; floats that are whole numbers."""

    def forward(self, input: Any) -> Tensor:
        scale, most = self._scale_of(input), largest(self._bit_length)
        safe = scale + (scale == 0).astype(scale.dtype) * 1e-30
        return (input / safe * most).round().clip(-most - 1, most)


class LinearDequanter(_Linear):
    """q / 127 * scale."""

    def forward(self, input: Any) -> Tensor:
        return input.astype("float32") * (self._scale_of(input) / largest(self._bit_length))


class LinearQuanterDequanter(Layer):
    """Quantise and dequantise; either part may be None."""

    def __init__(self, quanter: Any, dequanter: Any) -> None:
        super().__init__()
        self._quanter, self._dequanter = quanter, dequanter

    def forward(self, input: Any) -> Any:
        out = input if self._quanter is None else self._quanter(input)
        return out if self._dequanter is None else self._dequanter(out)

    @staticmethod
    def from_quanter(quanter: BaseQuanter) -> LinearQuanterDequanter:
        """Both parts, with the scales that a quanter has found."""
        return LinearQuanterDequanter(
            LinearQuanter.from_quanter(quanter), LinearDequanter.from_quanter(quanter)
        )


class ConvertibleQuantedLayer(Layer, metaclass=abc.ABCMeta):
    """A layer with quanters for its weights and inputs, which `convert` turns into integers and scales."""

    def __init__(self) -> None:
        super().__init__()
        self.converted = False

    @abc.abstractmethod
    def weights_to_quanters(self) -> list[tuple[str, str]]:
        """Names of a weight and of its quanter."""

    @abc.abstractmethod
    def activation_quanters(self) -> list[str]:
        """Names of the quanters of inputs."""

    def _convert_quanter_to_qdq(self, quanter_name: str) -> LinearQuanterDequanter | None:
        quanter = getattr(self, quanter_name, None)
        if quanter is None:
            return None
        made = LinearQuanterDequanter.from_quanter(quanter)
        setattr(self, quanter_name, made)
        return made

    def _to_integers(self, remain_weight: bool = False) -> None:
        """Weights become int8 (remain_weight: they stay floats), quanters pairs of scales."""
        if self.converted:
            raise InvalidArgument("the layer is converted already")
        for weight_name, quanter_name in self.weights_to_quanters():
            pair = self._convert_quanter_to_qdq(quanter_name)
            if pair is not None and not remain_weight:
                whole = pair._quanter(getattr(self, weight_name).detach()).data
                kind = torch.int8 if pair._quanter._bit_length <= 8 else torch.int16
                name = getattr(self, weight_name).name
                setattr(self, weight_name, Parameter(whole.to(kind), requires_grad=False, name=name))
                pair._quanter = None
        for quanter_name in self.activation_quanters():
            self._convert_quanter_to_qdq(quanter_name)
        self.converted = True


class _Quanted(ConvertibleQuantedLayer):
    """A layer with one weight and one input."""

    def __init__(self, layer: Any, q_config: Any) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        weight, activation = q_config.weight, q_config.activation
        self.weight_quanter: Any = None if weight is None else weight._instance(layer)
        self.activation_quanter: Any = None if activation is None else activation._instance(layer)

    def weights_to_quanters(self) -> list[tuple[str, str]]:
        return [("weight", "weight_quanter")]

    def activation_quanters(self) -> list[str]:
        return ["activation_quanter"]

    def forward(self, input: Any) -> Any:
        if self.converted and self._whole():
            return self._int8_forward(input, self.activation_quanter._quanter._scales)
        x = input if self.activation_quanter is None else self.activation_quanter(input)
        weight = self.weight if self.weight_quanter is None else self.weight_quanter(self.weight)
        return self._float_forward(x, weight)

    def _whole(self) -> bool:
        """Whether weight and input are int8, with scales that the operators take."""
        pair, weight = self.activation_quanter, self.weight_quanter
        if pair is None or weight is None or self.weight.data.dtype is not torch.int8:
            return False
        q, d = pair._quanter, weight._dequanter
        return (
            q._bit_length == 8 and q._scales.data.numel() == 1 and d._scales.ndim < 2 and d._bit_length == 8
        )

    @abc.abstractmethod
    def _float_forward(self, x: Any, weight: Any) -> Any: ...

    @abc.abstractmethod
    def _int8_forward(self, x: Any, scale: Tensor) -> Any: ...


class QuantedLinear(_Quanted):
    """A Linear in quantisation. Converted, it computes in int8 (see `int8.py`)."""

    def __init__(self, layer: Any, q_config: Any) -> None:
        super().__init__(layer, q_config)
        self.name = layer.name

    def _float_forward(self, x: Any, weight: Any) -> Any:
        return F.linear(x, weight, self.bias)

    def _int8_forward(self, x: Any, scale: Tensor) -> Any:
        return int8_linear(x, self.weight, self.bias, scale, self.weight_quanter._dequanter._scales)


class QuantedConv2D(_Quanted):
    """A Conv2D in quantisation. Converted, it computes in int8 (see `int8.py`)."""

    def __init__(self, layer: Any, q_config: Any) -> None:
        super().__init__(layer, q_config)
        self._stride, self._padding, self._dilation = layer.stride, layer.padding, layer.dilation
        self._groups, self._kernel_size = layer.groups, layer.kernel_size
        self._padding_mode, self._data_format = layer.padding_mode, layer.data_format

    def _padded(self, x: Any) -> tuple[Any, Any]:
        """x after padding with anything but zeros, and the padding with zeros that is left."""
        if self._padding_mode == "zeros":
            return x, self._padding
        return F.pad(x, self._padding, self._padding_mode, data_format=self._data_format), 0

    def _float_forward(self, x: Any, weight: Any) -> Any:
        x, padding = self._padded(x)
        settings = (self._stride, padding, self._dilation, self._groups, self._data_format)
        return F.conv2d(x, weight, self.bias, *settings)

    def _int8_forward(self, x: Any, scale: Tensor) -> Any:
        x, padding = self._padded(x)
        last = self._data_format == "NHWC"
        x = x.transpose([0, 3, 1, 2]) if last else x
        same = isinstance(padding, str) and padding.upper() == "SAME"
        dilation = (1, 1) if same else ints(self._dilation, 2, "dilation")
        step = ints(self._stride, 2, "stride")
        (top, bottom), (left, right) = paddings(padding, x.shape[2:], self._kernel_size, step, last)
        sides = (top, bottom, left, right)
        scales = self.weight_quanter._dequanter._scales
        out = int8_conv2d(x, self.weight, self.bias, scale, scales, step, sides, dilation, self._groups)
        return out.transpose([0, 2, 3, 1]) if last else out
