"""QAT and PTQ: networks whose layers are quantised, in training or after it."""

from __future__ import annotations

import abc
import copy
from typing import Any

from ..engine.errors import InvalidArgument, InvalidType
from ..nn.layer import Layer
from .base import BaseQuanter
from .config import QuantConfig
from .layers import ConvertibleQuantedLayer, LinearQuanterDequanter

__all__ = ["PTQ", "QAT"]


class Quantization(metaclass=abc.ABCMeta):
    """Prepares a network by a configuration, and converts it when it has its scales."""

    def __init__(self, config: QuantConfig) -> None:
        if not isinstance(config, QuantConfig):
            raise InvalidType(f"config: expected a QuantConfig, got {type(config).__name__}")
        self._config = copy.deepcopy(config)

    @abc.abstractmethod
    def quantize(self, model: Layer, inplace: bool = False) -> Any:
        """The network with quanters in it."""

    def convert(self, model: Layer, inplace: bool = False, remain_weight: bool = False) -> Any:
        """A copy of the network (inplace: itself) with int8 weights and fixed scales, which computes in int8.

        Linear and Conv2D with 8 bits and one scale for their input multiply integers; other layers round
        their inputs and compute in float32. remain_weight: weights stay floats.
        Raises InvalidArgument for a quanter that has seen no sample, or NaN.
        """
        found = model if inplace else copy.deepcopy(model)
        _convert(found, "", remain_weight)
        return found

    def _prepared(self, model: Layer, inplace: bool) -> Layer:
        found = model if inplace else copy.deepcopy(model)
        self._config._specify(found)
        self._replace(found)
        self._observe(found)
        return found

    def _replace(self, model: Layer) -> None:
        """Put quantised layers in the place of those that have such a form."""
        for name, child in list(model.named_children()):
            if self._config._is_quantifiable(child) and type(child) in self._config.qat_layer_mappings:
                model.add_sublayer(name, self._config._quanted(child))
            elif type(child) not in self._config.customized_leaves:
                self._replace(child)

    def _observe(self, model: Layer) -> None:
        """Put observers around the other leaves."""
        for name, child in list(model.named_children()):
            if self._config._need_observe(child):
                model.add_sublayer(name, self._config._observed(child))
            elif type(child) not in self._config.qat_layer_mappings.values():
                self._observe(child)

    def __repr__(self) -> str:
        return self._config.details()


def _convert(model: Layer, path: str, remain_weight: bool) -> None:
    for name, child in list(model.named_children()):
        if not isinstance(child, (ConvertibleQuantedLayer, BaseQuanter)):
            _convert(child, f"{path}{name}.", remain_weight)
            continue
        try:
            if isinstance(child, BaseQuanter):
                model.add_sublayer(name, LinearQuanterDequanter.from_quanter(child))
            elif not child.converted and getattr(child, "weight_quanter", True) is not None:
                child._to_integers(remain_weight)
        except InvalidArgument as error:
            raise InvalidArgument(f"convert: {path}{name}: {error.reason}") from error


class PTQ(Quantization):
    """Quantisation after training: `quantize`, run the result on samples, `convert`.

    >>> config = paddle.quantization.QuantConfig(activation=AbsmaxObserver(), weight=AbsmaxObserver())
    >>> ptq = paddle.quantization.PTQ(config)
    >>> model = ptq.quantize(network)
    >>> for x in samples: model(x)
    >>> small = ptq.convert(model)
    """

    def quantize(self, model: Layer, inplace: bool = False) -> Any:
        """A copy of the network in evaluation mode, with observers. inplace: the network itself.

        Raises InvalidArgument for a network in training mode with inplace.
        """
        if inplace and model.training:
            raise InvalidArgument("model: expected evaluation mode, call model.eval() first")
        found = model if inplace else copy.deepcopy(model)
        found.eval()
        return self._prepared(found, True)


class QAT(Quantization):
    """Quantisation during training: `quantize`, train on, `convert`."""

    def quantize(self, model: Layer, inplace: bool = False) -> Any:
        """A copy of the network with quanters. inplace: the network itself.

        Raises InvalidArgument for a network in evaluation mode.
        """
        if not model.training:
            raise InvalidArgument("model: expected training mode, call model.train() first")
        return self._prepared(model, inplace)
