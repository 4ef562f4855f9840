"""QuantConfig: which layers are quantised, and by what."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import nn
from ..engine.errors import InvalidArgument, InvalidType
from ..nn.layer import Layer
from .base import QuanterFactory
from .layers import ObserveWrapper, QuantedConv2D, QuantedLinear, QuanterStub, Stub

__all__ = ["QuantConfig"]

MAPPING: dict[type[Layer], type[Layer]] = {
    Stub: QuanterStub,
    nn.Linear: QuantedLinear,
    nn.Conv2D: QuantedConv2D,
}


class SingleLayerConfig(NamedTuple):
    """The factories for one layer; None: not quantised."""

    activation: Any
    weight: Any

    def __str__(self) -> str:
        return f"activation: {self.activation}\nweight: {self.weight}"


class QuantConfig:
    """Factories of quanters by layer, by name, by type, and for all others.

    activation, weight: factories such as `AbsmaxObserver()` for every layer; None: those that are not named
    are left out. A layer's own setting comes before its type's, and that before its parent's.
    Raises InvalidType for what is no factory.
    """

    def __init__(self, activation: Any, weight: Any) -> None:
        found = _factories(activation, weight)
        self._global_config = found if activation is not None or weight is not None else None
        self._layer2config: dict[Layer, SingleLayerConfig] = {}
        self._prefix2config: dict[str, SingleLayerConfig] = {}
        self._type2config: dict[type[Layer], SingleLayerConfig] = {}
        self._model: Layer | None = None
        self._mapping = dict(MAPPING)
        self._leaves: list[type[Layer]] = []

    def add_layer_config(
        self, layer: Layer | Sequence[Layer], activation: Any = None, weight: Any = None
    ) -> None:
        """Set the factories of a layer, or of several, and of what is in them."""
        for one in layer if isinstance(layer, (list, tuple)) else [layer]:
            if not isinstance(one, Layer):
                raise InvalidType(f"layer: expected a Layer, got {type(one).__name__}")
            self.add_name_config(one.full_name(), activation, weight)

    def add_name_config(
        self, layer_name: str | Sequence[str], activation: Any = None, weight: Any = None
    ) -> None:
        """Set the factories of layers by `full_name()`, such as "linear_0"."""
        for one in [layer_name] if isinstance(layer_name, str) else layer_name:
            self._prefix2config[one] = _factories(activation, weight)

    def add_type_config(
        self, layer_type: type[Layer] | Sequence[type[Layer]], activation: Any = None, weight: Any = None
    ) -> None:
        """Set the factories of all layers of a class, or of several."""
        for one in layer_type if isinstance(layer_type, (list, tuple)) else [layer_type]:
            self._type2config[_layer_class(one, "layer_type")] = _factories(activation, weight)

    def add_qat_layer_mapping(self, source: type[Layer], target: type[Layer]) -> None:
        """Replace layers of a class by `target(layer, config)`."""
        self._mapping[_layer_class(source, "source")] = _layer_class(target, "target")

    def add_customized_leaf(self, layer_type: type[Layer]) -> None:
        """See a class of layers as a whole: nothing in it is quantised, its output is observed."""
        self._leaves.append(_layer_class(layer_type, "layer_type"))

    @property
    def customized_leaves(self) -> list[type[Layer]]:
        """The classes given to `add_customized_leaf`."""
        return self._leaves

    @property
    def qat_layer_mappings(self) -> dict[type[Layer], type[Layer]]:
        """Class of a layer: class of its quantised form."""
        return self._mapping

    @property
    def default_qat_layer_mapping(self) -> dict[type[Layer], type[Layer]]:
        """The mapping before any addition."""
        return MAPPING

    @property
    def global_config(self) -> SingleLayerConfig | None:
        """The factories for all layers."""
        return self._global_config

    # --- what QAT and PTQ ask ---

    def _specify(self, model: Layer) -> None:
        """Find the factories of each sublayer. InvalidArgument for a name that no layer has."""
        self._model = model
        names = [one.full_name() for one in model.sublayers(include_self=True)]
        for name in self._prefix2config:
            if name not in names:
                near = difflib.get_close_matches(name, names, 3, 0.0)
                raise InvalidArgument(f"no layer has the name {name!r}; near it: {', '.join(near)}")
        self._layer2config = {}
        self._walk(model)

    def _walk(self, model: Layer) -> None:
        around = self._layer2config.get(model, self._global_config)
        for child in model.children():
            found = self._type2config.get(type(child), around)
            found = self._prefix2config.get(child.full_name(), found)
            if found is not None:
                self._layer2config[child] = found
            self._walk(child)

    def _is_quantifiable(self, layer: Layer) -> bool:
        return layer in self._layer2config

    def _quanted(self, layer: Layer) -> Layer:
        """The quantised form of a layer whose class is in the mapping."""
        made: Any = self._mapping[type(layer)]
        found: Layer = made(layer, self._layer2config[layer])
        return found

    def _need_observe(self, layer: Layer) -> bool:
        found = self._layer2config.get(layer)
        leaf = type(layer) in (nn.ReLU, nn.AvgPool2D, *self._leaves) or not list(layer.children())
        return leaf and found is not None and found.activation is not None

    def _observed(self, layer: Layer) -> Layer:
        return ObserveWrapper(self._layer2config[layer].activation._instance(layer), layer)

    def details(self) -> str:
        """The layers that are quantised, as a tree, with their factories."""
        return str(self) if self._model is None else self._tree(self._model)

    def _tree(self, layer: Layer) -> str:
        lines = []
        for name, child in layer.named_children():
            if child in self._layer2config:
                text = self._tree(child).replace("\n", "\n  ")
                lines.append(f"({name}): {text}, {self._layer2config[child]}")
        inner = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{type(layer).__name__}({inner})"

    def __str__(self) -> str:
        text = f"Global config:\n{self._global_config}\n"
        text += f"Layer type config:\n{self._type2config}\n" if self._type2config else ""
        return text + (f"Layer prefix config: \n{self._prefix2config}\n" if self._prefix2config else "")


def _factories(activation: Any, weight: Any) -> SingleLayerConfig:
    for name, value in (("activation", activation), ("weight", weight)):
        if value is not None and not isinstance(value, QuanterFactory):
            raise InvalidType(f"{name}: expected a factory such as AbsmaxObserver(), got {value!r}")
    return SingleLayerConfig(activation, weight)


def _layer_class(value: Any, name: str) -> type[Layer]:
    if not (isinstance(value, type) and issubclass(value, Layer)):
        raise InvalidType(f"{name}: expected a subclass of Layer, got {value!r}")
    return value
