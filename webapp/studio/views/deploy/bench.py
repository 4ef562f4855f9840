"""What the parts of the page "Deploy" share: the chosen network, the filters that were removed from it, the bits of its weights.

Independent of widgets.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .subject import Subject

FULL = 32  # bits of a weight that is not rounded
LEAST, MOST = 2, 8


class Bench:
    """`subject` is the chosen network, None before there is one; `pruned` its copy with fewer filters, or None; `bits` of the
    weights by the name of the layer, where they are not 32. `on_subject` and `on_small` are called after changes."""

    def __init__(self) -> None:
        self.subject: Subject | None = None
        self.pruned: Any = None
        self.bits: dict[str, int] = {}
        self.on_subject: list[Callable[[], None]] = []
        self.on_small: list[Callable[[], None]] = []
        self._lock = threading.RLock()
        self._small: Any = None

    def choose(self, subject: Subject | None) -> None:
        """Another network, as it is."""
        with self._lock:
            self.subject, self.pruned, self.bits, self._small = subject, None, {}, None
        for tell in self.on_subject:
            tell()

    def prune(self, network: Any) -> None:
        """The copy of the network with fewer filters; None for all of them."""
        with self._lock:
            self.pruned, self._small = network, None
        self._told()

    def set_bits(self, bits: dict[str, int]) -> None:
        """Bits by the name of a layer."""
        with self._lock:
            self.bits, self._small = {name: n for name, n in bits.items() if n != FULL}, None
        self._told()

    @property
    def base(self) -> Any:
        """The network before its weights are rounded: the one with fewer filters where there is one."""
        return self.pruned if self.pruned is not None else self.subject and self.subject.network

    @property
    def changed(self) -> bool:
        """Whether anything was removed or rounded."""
        return self.pruned is not None or bool(self.bits)

    @property
    def small(self) -> Any:
        """The network with fewer filters and rounded weights."""
        with self._lock:
            if self._small is None and self.base is not None:
                self._small = rounded(self.base, self.bits)
            return self._small

    def _told(self) -> None:
        for tell in self.on_small:
            tell()


# --- weights with few bits ------------------------------------------------------------------------------------


def weighted(network: Any) -> dict[str, Any]:
    """The convolutions, linear layers and embeddings, by name, in their order."""
    import sampan

    kinds = (sampan.nn.Conv2D, sampan.nn.Linear, sampan.nn.Embedding)
    return {name: layer for name, layer in network.named_sublayers() if isinstance(layer, kinds)}


def axis_of(layer: Any) -> int:
    """The axis of the weight that has a scale for each place: output channels, or the columns of an embedding."""
    import sampan
    from sampan.quantization.base import channel_axis

    return 1 if isinstance(layer, sampan.nn.Embedding) else channel_axis(layer)


def labelled(network: Any) -> dict[str, str]:
    """What a layer with weights is called on the page, by name: "3 · Conv2D 16 → 32"."""
    found = {}
    for name, layer in weighted(network).items():
        shape, axis = layer.weight.shape, axis_of(layer)
        found[name] = f"{name} · {type(layer).__name__} {shape[1 - axis]} → {shape[axis]}"
    return found


def scales(layer: Any) -> NDArray[np.float32]:
    """The magnitude of the largest weight of each output channel, in a shape that broadcasts to the weight's."""
    weight = np.abs(layer.weight.numpy())
    others = tuple(axis for axis in range(weight.ndim) if axis != axis_of(layer))
    most: NDArray[np.float32] = weight.max(axis=others, keepdims=True)
    return np.maximum(most, np.float32(1e-30))


def rounded(network: Any, bits: dict[str, int]) -> Any:
    """A copy whose weights are the nearest of 2^bits - 1 levels, the same distance apart, by output channel."""
    from sampan.quantization.base import largest

    small = copy.deepcopy(network)
    for name, layer in weighted(small).items():
        if name in bits:
            step = scales(layer) / largest(bits[name])
            layer.weight.set_value((np.rint(layer.weight.numpy() / step) * step).astype(np.float32))
    return small


def packed_bytes(network: Any, bits: dict[str, int]) -> int:
    """Bytes of a file that holds the weights in their bits, a scale in float32 for each channel, and all else as it is."""
    from sampan import slim

    total = slim.file_bytes(network)
    for name, layer in weighted(network).items():
        if name in bits:
            count = layer.weight.numpy().size
            total += -(-count * bits[name] // 8) + 4 * scales(layer).size - 4 * count
    return int(total)
