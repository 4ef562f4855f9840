"""Products and convolutions in int8, as those of floats behind QuantizeLinear and DequantizeLinear (QDQ).

Engines compute such a part on integers where they can. ONNX's operators round and limit as
`quantization/int8.py` does: halves to even, to -128..127.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...quantization.int8 import LEVELS, SMALL
from ..graph import Graph, Unsupported
from .table import emits


def _held(g: Graph, value: Any, what: str) -> torch.Tensor:
    """The buffer of a value from outside."""
    if value not in g.outside:
        raise Unsupported(f"a {what} that is computed")
    return g.outside[value][1].detach().float().flatten()


def _rounded(g: Graph, x: Any, scale: Any) -> tuple[str, np.ndarray | None]:
    """x as it is after int8, and the step of its integers if that is known. scale: see `int8_linear`."""
    zero = np.array(0, np.int8)
    if scale is not None:
        step: Any = (_held(g, scale, "scale").clamp_min(SMALL) / LEVELS).numpy().reshape(())
        given = step
    else:
        most = g.node("Max", g.reduce("Max", g.node("Abs", x), None, False), g.number(SMALL, torch.float32))
        step, given = g.node("Div", most, g.number(LEVELS, torch.float32)), None
    return g.node("DequantizeLinear", g.node("QuantizeLinear", x, step, zero), step, zero), given


def _weight(g: Graph, weight: Any, scale: Any, axis: int) -> tuple[str, np.ndarray]:
    """The floats of an int8 weight, and the step of each channel."""
    channels = g.static(weight, "a weight")[axis]
    steps = (_held(g, scale, "scale of a weight") / LEVELS).expand(channels).numpy().copy()
    return g.node("DequantizeLinear", weight, steps, np.zeros(channels, np.int8), axis=axis), steps


def _only_recorded(activation: str, out_scale: Any) -> None:
    if activation or out_scale is not None:
        raise Unsupported("what a pass has joined; engines join it themselves")


@emits("int8_linear")
def _int8_linear(g, x, weight, bias, scale, weight_scale, activation="", out_scale=None):
    _only_recorded(activation, out_scale)
    product = g.node("MatMul", _rounded(g, x, scale)[0], _weight(g, weight, weight_scale, 1)[0])
    return product if bias is None else g.node("Add", product, bias)


@emits("int8_conv2d")
def _int8_conv2d(
    g, x, weight, bias, scale, weight_scale, stride, padding, dilation, groups, activation="", out_scale=None
):
    _only_recorded(activation, out_scale)
    given, step = _rounded(g, x, scale)
    floats, steps = _weight(g, weight, weight_scale, 0)
    top, bottom, left, right = padding
    return g.node(
        "Conv",
        given,
        floats,
        bias if bias is None else _bias(g, bias, step, steps),
        kernel_shape=[int(n) for n in g.fact(weight).shape[2:]],
        strides=[*stride],
        pads=[top, left, bottom, right],
        dilations=[*dilation],
        group=groups,
    )


def _bias(g: Graph, bias: Any, step: np.ndarray | None, steps: np.ndarray) -> Any:
    """A bias in steps of the sums, as engines want it for a convolution on integers; as it is where that is
    not known, or where int32 is too small for it."""
    if step is None or bias not in g.outside:
        return bias
    unit = (steps * step).astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = np.rint(_held(g, bias, "bias").numpy().astype(np.float64) / unit)
    if not (np.abs(whole) < 2**31 - 1).all():
        return bias
    return g.node("DequantizeLinear", whole.astype(np.int32), unit, np.zeros(len(unit), np.int32), axis=0)
