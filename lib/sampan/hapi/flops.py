"""How many multiplications with additions a network's layers make, counted as Paddle counts them."""

import math
from collections.abc import Callable
from operator import floordiv
from typing import Any

from .. import nn
from ..engine.tensor import InvalidType
from ..random import randn
from .summary import watched

# For a layer m, its inputs x and its output y; by the beginning of its class's name.
_COUNTS: dict[str, Callable[[Any, Any, Any], float]] = {
    "Conv": lambda m, x, y: y.size * (_taps(m, x[0]) + (m.bias is not None)),
    "BatchNorm": lambda m, x, y: 2 * x[0].size,
    "ReLU": lambda m, x, y: 0,
    "Dropout": lambda m, x, y: 0,
    "LeakyReLU": lambda m, x, y: x[0].size,
    "Linear": lambda m, x, y: m.weight.shape[0] * y.size,
    "AvgPool": lambda m, x, y: y.size,
    "AdaptiveAvgPool": lambda m, x, y: y.size * (math.prod(map(floordiv, x[0].shape[2:], y.shape[2:])) + 1),
}


def _taps(convolution: Any, x: Any) -> int:
    return x.shape[1] // convolution.groups * math.prod(convolution.weight.shape[2:])


def flops(net: nn.Layer, input_size: Any, custom_ops: Any = None, print_detail: bool = False) -> int:
    """Count for one input of input_size (with the batch axis), and print the sum; layers of other kinds count
    as 0.

    custom_ops: {class: function of (layer, inputs, output)} that adds to the layer's `total_ops`.
    print_detail: a line for each layer.
    """
    if not isinstance(net, nn.Layer):
        raise InvalidType(f"net: expected a Layer, got {type(net).__name__}")
    rows: list[tuple[str, str, str, int, int]] = []

    def note(layer: Any, inputs: Any, output: Any) -> None:
        layer.total_ops = 0
        first = output[0] if isinstance(output, list | tuple) else output
        if custom_ops and type(layer) in custom_ops:
            custom_ops[type(layer)](layer, inputs, output)
        else:
            kind = type(layer).__name__.removesuffix("6").rstrip("123D")
            name = kind.removesuffix("Transpose").rstrip("123D")
            layer.total_ops = _COUNTS[name](layer, inputs, first) if name in _COUNTS else 0
        size = sum(p.size for p in layer.parameters())
        rows.append(
            (layer.full_name(), str([*inputs[0].shape]), str([*first.shape]), size, int(layer.total_ops))
        )
        del layer.total_ops

    layers = [layer for layer in net.sublayers(include_self=True) if not layer._sub_layers]
    watched(net, layers, note, [randn(list(input_size))])
    for row in rows if print_detail else ():
        print("  ".join(str(cell).ljust(n) for cell, n in zip(row, (24, 20, 20, 12, 12), strict=True)))
    total = sum(row[4] for row in rows)
    print(f"Total Flops: {total}     Total Params: {sum(row[3] for row in rows)}")
    return total
