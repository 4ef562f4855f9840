"""Layers that hold layers or parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .layer import Layer
from .parameter import Parameter

# fmt: off
__all__ = [
    "LayerDict", "LayerList", "ParameterList", "Sequential",
]
# fmt: on


class Sequential(Layer):
    """Layers applied one after the other: `Sequential(a, b)` or `Sequential(("first", a), ("second", b))`."""

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], (list, dict)):
            layers = tuple(layers[0].items() if isinstance(layers[0], dict) else layers[0])
        for index, layer in enumerate(layers):
            if isinstance(layer, tuple):
                self.add_sublayer(str(layer[0]), layer[1])
            else:
                self.add_sublayer(str(index), layer)

    def forward(self, x: Any) -> Any:
        for layer in self.__dict__.values():
            if isinstance(layer, Layer):
                x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._sub_layers.values())

    def __getitem__(self, key: int | str | slice) -> Any:
        layers = self._sub_layers
        if isinstance(key, slice):
            return Sequential(*list(layers.items())[key])
        return layers[key] if isinstance(key, str) else list(layers.values())[key]

    def __setitem__(self, key: int | str, layer: Layer) -> None:
        self.add_sublayer(key if isinstance(key, str) else list(self._sub_layers)[key], layer)

    def append(self, layer: Layer) -> Sequential:
        self.add_sublayer(str(len(self)), layer)
        return self


class LayerList(Layer):
    """A list of layers whose parameters are found; it has no forward of its own."""

    def __init__(self, sublayers: Iterable[Layer] | None = None) -> None:
        super().__init__()
        self.extend(sublayers or [])

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._sub_layers.values())

    def __getitem__(self, index: int | slice) -> Any:
        layers = list(self)
        return LayerList(layers[index]) if isinstance(index, slice) else layers[index]

    def __setitem__(self, index: int, layer: Layer) -> None:
        self.add_sublayer(list(self._sub_layers)[index], layer)

    def __delitem__(self, index: int | slice) -> None:
        layers = list(self)
        del layers[index]
        self._reset(layers)

    def append(self, sublayer: Layer) -> LayerList:
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def extend(self, sublayers: Iterable[Layer]) -> LayerList:
        for layer in sublayers:
            self.append(layer)
        return self

    def insert(self, index: int, sublayer: Layer) -> None:
        layers = list(self)
        layers.insert(index, sublayer)
        self._reset(layers)

    def _reset(self, layers: list[Layer]) -> None:
        for name in self._sub_layers:
            delattr(self, name)
        self.extend(layers)


class LayerDict(Layer):
    """A dictionary of layers whose parameters are found."""

    def __init__(self, sublayers: Mapping[str, Layer] | Iterable[tuple[str, Layer]] | None = None) -> None:
        super().__init__()
        self.update(sublayers or {})

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sub_layers)

    def __contains__(self, key: str) -> bool:
        return key in self._sub_layers

    def __getitem__(self, key: str) -> Layer:
        return self._sub_layers[key]

    def __setitem__(self, key: str, layer: Layer) -> None:
        self.add_sublayer(key, layer)

    def __delitem__(self, key: str) -> None:
        del self._sub_layers[key]
        delattr(self, key)

    def keys(self) -> Iterable[str]:
        return self._sub_layers.keys()

    def values(self) -> Iterable[Layer]:
        return self._sub_layers.values()

    def items(self) -> Iterable[tuple[str, Layer]]:
        return self._sub_layers.items()

    def clear(self) -> None:
        for key in self._sub_layers:
            delattr(self, key)

    def pop(self, key: str) -> Layer:
        layer = self[key]
        del self[key]
        return layer

    def update(self, sublayers: Mapping[str, Layer] | Iterable[tuple[str, Layer]]) -> None:
        for key, layer in sublayers.items() if isinstance(sublayers, Mapping) else sublayers:
            self.add_sublayer(key, layer)


class ParameterList(Layer):
    """A list of parameters."""

    def __init__(self, parameters: Iterable[Parameter] | None = None) -> None:
        super().__init__()
        for parameter in parameters or []:
            self.append(parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())

    def __getitem__(self, index: int) -> Parameter:
        return list(self)[index]

    def __setitem__(self, index: int, parameter: Parameter) -> None:
        self.add_parameter(list(self._parameters)[index], parameter)

    def append(self, parameter: Parameter) -> ParameterList:
        self.add_parameter(str(len(self)), parameter)
        return self
