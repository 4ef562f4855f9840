"""The Program of a function as a layer, without a file between."""

from typing import Any

from sampan.jit import TranslatedLayer
from sampan.jit.record import Outside
from sampan.jit.whole import evaluating, recorded


def layer_of(function: Any, *specs: Any) -> TranslatedLayer:
    """What `load` would give of a file of the function."""
    outside = Outside(by_content=True)
    with evaluating(function):
        made = recorded(function, list(specs), outside)
    named = [(f"t{i}", tensor) for i, tensor in enumerate(outside.tensors)]
    return TranslatedLayer(named, outside.buffers, [("forward", made)])
