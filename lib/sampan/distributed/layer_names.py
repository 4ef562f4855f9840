"""What programs of several processes call on a Layer, as Paddle's own layers do. Added when
`paddle.distributed` is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..dtype import get_default_dtype
from ..engine.tensor import Tensor
from ..nn.layer import Layer, layers_of

if TYPE_CHECKING:
    from .auto_parallel.sharded_weight import ShardedWeight


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


def _sharded_state_dict(self: Layer, structured_name_prefix: str = "") -> dict[str, ShardedWeight]:
    """The state with the place of each Tensor in the whole, for `save_state_dict` and `load_state_dict`.

    A parameter that a layer of `fleet.meta_parallel` cuts is a part of a larger one, the others are whole.
    A layer that cuts its own has a method of this name, which its network calls.
    """
    from .auto_parallel.sharded_weight import build_sharded_state_dict

    state = self.state_dict(structured_name_prefix="", include_sublayers=False)
    axes = {name: tensor.split_axis for name, tensor in state.items() if hasattr(tensor, "split_axis")}
    found = build_sharded_state_dict(state, axes, structured_name_prefix)
    for name, layer in layers_of(self).items():
        found |= cast(Any, layer).sharded_state_dict(f"{structured_name_prefix}{name}.")
    return found


def install() -> None:
    """Give Layer these names."""
    extended: Any = Layer
    extended.sharded_state_dict = _sharded_state_dict
    extended._helper = property(LayerObjectHelper)
    extended._obtain_parameters_buffers = _obtain_parameters_buffers
