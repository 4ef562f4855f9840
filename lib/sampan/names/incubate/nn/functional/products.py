"""Linear maps with bias and activation."""

from typing import Any

from .....dtype import bfloat16, float16, float32, int32
from .....engine.tensor import InvalidArgument, InvalidType, Tensor
from .....ops.activation import gelu, relu, swiglu
from .....ops.joining import equal_views
from .....ops.linalg import linear, matmul
from .....ops.shape import swapaxes
from .norms import to_int8


def _product(x: Any, y: Any, bias: Any, transpose_x: bool, transpose_y: bool) -> Any:
    """x y + bias for y with 2 axes; transpose_x exchanges the last two axes of x."""
    for name, value, axes in (("y", y, 2), ("bias", bias, 1)):
        if value.ndim != axes:
            raise InvalidArgument(f"{name}: expected {axes} axes, got shape {list(value.shape)}")
    if x.ndim < 2:
        raise InvalidArgument(f"x: expected 2 axes or more, got shape {list(x.shape)}")
    inner, outer = reversed(y.shape) if transpose_y else y.shape
    if x.shape[-2 if transpose_x else -1] != inner:
        raise InvalidArgument(f"y: expected {x.shape[-2 if transpose_x else -1]} rows, got {inner}")
    if bias.shape[0] != outer:
        raise InvalidArgument(f"bias: expected shape [{outer}], got {list(bias.shape)}")
    x = swapaxes(x, -1, -2) if transpose_x else x
    return linear(x, y.t() if transpose_y else y, bias)


def fused_matmul_bias(x, y, bias=None, transpose_x=False, transpose_y=False, name=None) -> Tensor:
    """x y + bias: x [..., n, k], y [k, m], bias [m]; with transpose_x x is [..., k, n], with transpose_y y is
    [m, k]. Without bias as `matmul`, for any y."""
    if bias is None:
        return matmul(x, y, transpose_x, transpose_y)
    return _product(x, y, bias, transpose_x, transpose_y)


def fused_linear(x, weight, bias=None, transpose_weight=False, name=None) -> Tensor:
    """x weight + bias: x [..., in], weight [in, out] or, with transpose_weight, [out, in]; bias [out]."""
    return fused_matmul_bias(x, weight, bias, False, transpose_weight)


def fused_linear_activation(x, y, bias, trans_x=False, trans_y=False, activation=None) -> Tensor:
    """`activation` of fused_matmul_bias: None or "none", "relu", or "gelu", which is tanh's approximation, as
    in cuBLAS."""
    if activation not in (None, "none", "relu", "gelu"):
        raise InvalidArgument(f"activation: expected None, 'none', 'relu' or 'gelu', got {activation!r}")
    value = _product(x, y, bias, trans_x, trans_y)
    if activation == "gelu":
        return gelu(value, True)
    return relu(value) if activation == "relu" else value


def _geglu(x: Any) -> Any:
    a, b = equal_views(x, 2, -1)
    return gelu(a) * b


_ACTIVATIONS = {"gelu": gelu, "relu": relu, "geglu": _geglu, "swiglu": swiglu}
_COMPUTED = {"fp16": float16, "bf16": bfloat16, "fp32": float32}


def fused_bias_act(
    x,
    bias=None,
    dequant_scales=None,
    shift=None,
    smooth=None,
    act_method="gelu",
    compute_dtype="default",
    quant_scale=-1,
    quant_round_type=0,
    quant_max_bound=0,
    quant_min_bound=0,
) -> Tensor:
    """(activation(x + bias) + shift) smooth, along the last axis.

    act_method: "gelu", "relu", or "geglu" and "swiglu", which halve the last axis: f(a) b of its halves.
    x: floating, or int32 with dequant_scales [d], computed in compute_dtype "fp16", "bf16" or "fp32".
    shift and smooth: both or none. quant_scale above 0: the value is int8, rounded quant_max_bound
    quant_scale value. Unlike in Paddle the value has a gradient.
    """
    if act_method not in _ACTIVATIONS:
        raise InvalidArgument(f"act_method: expected one of {', '.join(_ACTIVATIONS)}, got {act_method!r}")
    width, halves = x.shape[-1], act_method.endswith("glu")
    if halves and width % 2:
        raise InvalidArgument(f"x: expected an even last axis for {act_method}, got shape {list(x.shape)}")
    after = width // 2 if halves else width
    sizes = {"bias": (bias, width), "dequant_scales": (dequant_scales, width)}
    for name, (value, size) in {**sizes, "shift": (shift, after), "smooth": (smooth, after)}.items():
        if value is not None and list(value.shape) != [size]:
            raise InvalidArgument(f"{name}: expected shape [{size}], got {list(value.shape)}")
    if (shift is None) != (smooth is None):
        raise InvalidArgument("smooth: expected with shift, and not without")
    if (x.dtype == int32) != (dequant_scales is not None):
        raise InvalidType("dequant_scales: expected with x of int32, and not with another dtype")
    if dequant_scales is not None:
        if compute_dtype not in _COMPUTED:
            raise InvalidArgument(
                f"compute_dtype: expected one of {', '.join(_COMPUTED)} for int32, got {compute_dtype!r}"
            )
        x = (x.astype("float32") * dequant_scales).astype(_COMPUTED[compute_dtype])
    result: Any = _ACTIVATIONS[act_method](x if bias is None else x + bias)
    result = result if shift is None else (result + shift) * smooth
    return to_int8(result, quant_scale, quant_round_type, quant_max_bound, quant_min_bound)
