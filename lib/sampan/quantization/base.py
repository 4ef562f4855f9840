"""What observers and quanters are, and the factories that a configuration holds until it knows the layer."""

from __future__ import annotations

import abc
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch

from ..engine.errors import InvalidType
from ..engine.tensor import Tensor
from ..nn.layer import Layer

__all__ = ["BaseObserver", "BaseQuanter", "ObserverFactory", "QuanterFactory", "quanter"]


class BaseQuanter(Layer, metaclass=abc.ABCMeta):
    """A layer that returns its input as it is after quantisation, or unchanged while it observes.

    A number x becomes round(x / scale * (2^(bits - 1) - 1)): the scale is the magnitude of the largest
    number, which is Paddle's sense of the word.
    """

    @abc.abstractmethod
    def forward(self, input: Any) -> Any:
        """The input, quantised and dequantised, or the input itself."""

    @abc.abstractmethod
    def scales(self) -> Any:
        """The magnitude of the largest number: [] or [1], or one for each channel; None if it has none."""

    @abc.abstractmethod
    def zero_points(self) -> Any:
        """What stands for 0, in the shape of the scales; None is 0."""

    @abc.abstractmethod
    def quant_axis(self) -> int | Iterable[int]:
        """The axis of the channels that have scales of their own; -1: one scale for all."""

    @abc.abstractmethod
    def bit_length(self) -> int | Iterable[int]:
        """Bits of a quantised number."""


class BaseObserver(BaseQuanter):
    """A quanter that watches data during calibration and finds the scales afterwards."""

    @abc.abstractmethod
    def cal_thresholds(self) -> None:
        """Find the scales from what was observed."""


class QuanterFactory:
    """A class of quanters with its arguments: `_instance(layer)` makes one for a layer."""

    _target: type[BaseQuanter] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._args, self._kwargs = args, kwargs

    @property
    def args(self) -> tuple[Any, ...]:
        """Arguments by position."""
        return self._args

    @property
    def kwargs(self) -> dict[str, Any]:
        """Arguments by name."""
        return self._kwargs

    def _get_class(self) -> type[BaseQuanter]:
        if self._target is None:
            raise NotImplementedError(f"{type(self).__name__}._get_class: write it in the subclass")
        return self._target

    def _instance(self, layer: Layer | None) -> BaseQuanter:
        made: Any = self._get_class()
        found: BaseQuanter = made(layer, *self._args, **self._kwargs)
        return found

    def __repr__(self) -> str:
        given = [*map(str, self._args), *(f"{name}={value}" for name, value in self._kwargs.items())]
        return f"{type(self).__name__}({','.join(given)})"


ObserverFactory = QuanterFactory
Made = TypeVar("Made", bound=type[BaseQuanter])


def quanter(class_name: str) -> Callable[[Made], Made]:
    """Declare the factory of a class of quanters under a name, in the module of the class.

    >>> @paddle.quantization.quanter("MyQuanter")
    ... class MyQuanterLayer(paddle.quantization.BaseQuanter): ...
    >>> config = paddle.quantization.QuantConfig(activation=MyQuanter(), weight=None)
    """

    def declare(target: Made) -> Made:
        if not (isinstance(target, type) and issubclass(target, BaseQuanter)):
            raise InvalidType(f"quanter: expected a subclass of BaseQuanter, got {target!r}")
        module = sys.modules[target.__module__]
        entries = {"_target": target, "__module__": target.__module__, "__doc__": target.__doc__}
        setattr(module, class_name, type(class_name, (QuanterFactory,), entries))
        listed = getattr(module, "__all__", None)
        if isinstance(listed, list):
            listed.append(class_name)
        return target

    return declare


def number_of_bits(bits: Any, name: str) -> int:
    """Bits of a quantised number, 2 to 16. InvalidType for anything else."""
    if isinstance(bits, bool) or not isinstance(bits, int) or not 2 <= bits <= 16:
        raise InvalidType(f"{name}: expected a whole number from 2 to 16, got {bits!r}")
    return bits


def largest(bits: int) -> int:
    """The largest quantised number of some bits: 127 for 8."""
    return (1 << (bits - 1)) - 1


def rounded(x: torch.Tensor) -> torch.Tensor:
    """Whole numbers, halves away from 0."""
    return torch.copysign((x.abs() + 0.5).floor(), x)


def channel_axis(layer: Layer | None) -> int:
    """The axis of the output channels of a layer's weight: 1 for a linear layer, else 0."""
    return int("Linear" in type(layer).__name__)


def floats(value: Any) -> Tensor:
    """A copy of scales, as a float32 Tensor without gradient."""
    data = value.data if isinstance(value, Tensor) else Tensor(value).data
    return Tensor(data.detach().float().clone())
