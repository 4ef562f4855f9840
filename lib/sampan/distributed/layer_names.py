"""What programs of several processes call on a Layer, as Paddle's own layers do. Added when
`paddle.distributed` is imported."""

from __future__ import annotations

from typing import Any

from ..dtype import get_default_dtype
from ..engine.tensor import Tensor
from ..nn.layer import Layer


class LayerObjectHelper:
    """Paddle's `layer._helper`, of which layers that are written by hand take the default dtype."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer

    @property
    def name(self) -> str:
        """The layer's full name."""
        return self._layer.full_name()

    def get_default_dtype(self) -> str:
        """That of new parameters, by name."""
        return get_default_dtype()


def _obtain_parameters_buffers(
    self: Layer,
    destination: dict[str, Tensor] | None = None,
    include_sublayers: bool = True,
    structured_name_prefix: str = "",
) -> dict[str, Tensor]:
    """Name -> parameter or buffer that `state_dict` has, without its hooks; the Tensors themselves."""
    return self._state(destination, include_sublayers, structured_name_prefix, use_hook=False, keep_vars=True)


def install() -> None:
    """Give Layer these names."""
    extended: Any = Layer
    extended._helper = property(LayerObjectHelper)
    extended._obtain_parameters_buffers = _obtain_parameters_buffers
