"""Numbers in eight bits: to and from them, and products of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import sampan as paddle

from ...engine.tensor import Tensor
from .table import Cannot, reads, tensor

_BOUNDS = {torch.uint8: (0, 255), torch.int8: (-128, 127), torch.int16: (-32768, 32767)}


def _along(node: Any, value: Any, x: Tensor) -> Tensor:
    """A scale or zero point for each slice along the axis, or one for all."""
    value = tensor(value)
    if node.get("block_size"):
        raise Cannot("blocks")
    if value.ndim == 0 or value.size == 1:
        return value.reshape([])
    axis = node.get("axis", 1) % x.ndim
    return value.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


@reads("QuantizeLinear")
def _quantize(node, x, scale, zero=None):
    x = tensor(x)
    zero = tensor(np.zeros((), np.uint8)) if zero is None else tensor(zero)
    kind = zero.data.dtype
    if kind not in _BOUNDS or node.get("output_dtype"):
        raise Cannot(f"values of {kind}")
    found = paddle.round(x.astype("float32") / _along(node, scale, x)) + _along(node, zero, x).astype(
        "float32"
    )
    return paddle.clip(found, *_BOUNDS[kind]).astype(kind)


@reads("DequantizeLinear")
def _dequantize(node, x, scale, zero=None):
    x = tensor(x)
    if x.data.dtype not in (*_BOUNDS, torch.int32):
        raise Cannot(f"values of {x.data.dtype}")
    rest = (
        x.astype("float32") if zero is None else x.astype("float32") - _along(node, zero, x).astype("float32")
    )
    return (rest * _along(node, scale, x)).astype(tensor(scale).dtype)


@reads("DynamicQuantizeLinear")
def _dynamic(node, x):
    x = tensor(x)
    low, high = paddle.clip(x.min(), max=0.0), paddle.clip(x.max(), min=0.0)
    scale = (high - low) / 255
    zero = paddle.clip(paddle.round(-low / scale), 0, 255)
    found = paddle.clip(paddle.round(x / scale) + zero, 0, 255).astype("uint8")
    return found, scale.reshape([]), zero.astype("uint8").reshape([])


@reads("MatMulInteger")
def _matmul_integer(node, a, b, a_zero=None, b_zero=None):
    a, b = tensor(a).astype("int32"), tensor(b).astype("int32")
    a = a if a_zero is None else a - tensor(a_zero).astype("int32")
    b = b if b_zero is None else b - tensor(b_zero).astype("int32")
    return paddle.matmul(a.astype("float64"), b.astype("float64")).astype("int32")


@reads("QLinearMatMul")
def _quantized_matmul(node, a, a_scale, a_zero, b, b_scale, b_zero, scale, zero):
    product = paddle.matmul(_dequantize(node, a, a_scale, a_zero), _dequantize(node, b, b_scale, b_zero))
    return _quantize(node, product, scale, zero)
