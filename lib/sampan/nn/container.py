"""Layers that hold layers or parameters."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .layer import Layer, layers_of, parameters_of

__all__ = [
    "LayerDict",
    "LayerList",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "Sequential",
]


class _Holder(Layer):
    """What all containers share. Entries are attributes; `_held` says where they are found."""

    _held = "_sub_layers"

    def _entries(self) -> dict[str, Any]:
        return layers_of(self) if self._held == "_sub_layers" else parameters_of(self)

    def _add(self, key: str, value: Any) -> None:
        (self.add_sublayer if self._held == "_sub_layers" else self.add_parameter)(key, value)

    def __len__(self) -> int:
        return len(self._entries())

    def pop(self, key: Any) -> Any:
        value: Any = self[key]  # type: ignore[index]  # lists and dictionaries of layers define it
        del self[key]  # type: ignore[attr-defined]
        return value


class _List(_Holder):
    """Entries with the names "0", "1", ..."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries().values())

    def _key(self, index: Any) -> str:
        if isinstance(index, str):
            return index
        if not -len(self) <= index < len(self):
            raise IndexError(
                f"{type(self).__name__}: index: expected {-len(self)} to {len(self) - 1}, got {index}"
            )
        return list(self._entries())[index]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._like(list(self)[index])
        return self._entries()[self._key(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._add(self._key(index), value)

    def __delitem__(self, index: Any) -> None:
        for key in list(self._entries())[index] if isinstance(index, slice) else [self._key(index)]:
            delattr(self, key)
        if all(key.isdecimal() for key in self._entries()):
            self._reset(list(self))

    def append(self, value: Any) -> Any:
        self._add(str(len(self)), value)
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        for value in values:
            self.append(value)
        return self

    def insert(self, index: int, value: Any) -> None:
        if not -len(self) <= index <= len(self):
            raise IndexError(f"insert: index: expected {-len(self)} to {len(self)}, got {index}")
        kept = list(self)
        kept.insert(index, value)
        self._reset(kept)

    def __iadd__(self, values: Iterable[Any]) -> Any:
        return self.extend(values)

    def __add__(self, values: Iterable[Any]) -> Any:
        return self._like([*self, *values])

    def _like(self, values: Any) -> Any:
        kind: Any = type(self)
        return kind(values)

    def _reset(self, values: list[Any]) -> None:
        for name in self._entries():
            delattr(self, name)
        self.extend(values)


class Sequential(_List):
    """Layers applied one after the other: `Sequential(a, b)`, `Sequential([a, b])` or `Sequential(("first",
    a), ...)`.

    >>> network = paddle.nn.Sequential(paddle.nn.Linear(3, 8), paddle.nn.ReLU(), paddle.nn.Linear(8, 2))
    >>> network(paddle.ones([4, 3])).shape, len(network.parameters())
    (paddle.Size([4, 2]), 4)
    """

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], list | dict):
            layers = tuple(layers[0].items() if isinstance(layers[0], dict) else layers[0])
        for index, layer in enumerate(layers):
            name, value = (
                (str(layer[0]), layer[1]) if isinstance(layer, tuple | list) else (str(index), layer)
            )
            self.add_sublayer(name, value)

    def forward(self, x: Any) -> Any:
        """Apply the layers in order."""
        for layer in self.__dict__.values():
            if isinstance(layer, Layer):
                x = layer(x)
        return x


class LayerList(_List):
    """A list of layers whose parameters are found; it has no forward of its own."""

    def __init__(self, sublayers: Iterable[Layer] | None = None) -> None:
        super().__init__()
        self.extend(sublayers or [])


class ParameterList(_List):
    """A list of parameters."""

    _held = "_parameters"

    def __init__(self, parameters: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(parameters or [])


class _Dict(_Holder):
    """Entries by name."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def __contains__(self, key: str) -> bool:
        return key in self._entries()

    def __getitem__(self, key: str) -> Any:
        return self._entries()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._add(key, value)

    def __delitem__(self, key: str) -> None:
        del self._entries()[key]  # KeyError for an unknown name
        delattr(self, key)

    def keys(self) -> Iterable[str]:
        return self._entries().keys()

    def values(self) -> Iterable[Any]:
        return self._entries().values()

    def items(self) -> Iterable[tuple[str, Any]]:
        return self._entries().items()

    def clear(self) -> None:
        for key in self._entries():
            delattr(self, key)

    def update(self, entries: Any) -> None:
        """Take over a dictionary, another of this kind, or pairs."""
        for key, value in entries.items() if isinstance(entries, Mapping | _Dict) else entries:
            self._add(key, value)


class LayerDict(_Dict):
    """A dictionary of layers whose parameters are found."""

    def __init__(self, sublayers: Any = None) -> None:
        super().__init__()
        self.update(sublayers or {})


class ParameterDict(_Dict):
    """A dictionary of parameters."""

    _held = "_parameters"

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self.update(parameters or {})


ModuleList, ModuleDict = LayerList, LayerDict
