"""Layer and root-mean-square normalisation of a sum with a residual, as Paddle's fused functions return
them."""

import math
from typing import Any

import torch

from .....engine.operator import operator
from .....engine.tensor import InvalidArgument, Tensor
from .....ops.normalization import normalize_layer, normalize_rms


@operator(amp="as_is", returns=tuple[Tensor, ...])
def row_statistics(x, centred, epsilon):
    """float32 [rows] of x [..., d]: the mean and 1 / sqrt(variance + epsilon); not centred: 0, and 1 /
    sqrt(mean(x^2) + epsilon). They have no gradient."""
    rows = x.reshape(-1, x.shape[-1]).float()
    if centred:
        # 7 times faster than torch.var_mean: rows of 1024 on a CPU
        _, mean, inverse = torch.native_layer_norm(rows, rows.shape[-1:], None, None, epsilon)
        return mean.flatten(), inverse.flatten()
    return torch.zeros_like(rows[:, 0]), (rows.square().mean(1) + epsilon).rsqrt()


@operator(amp="as_is")
def quantized(x, scale, rounds_away, bound, least):
    """int8 of x: bound scale x, rounded (halves to even, or away from 0) and clipped to [least, bound]."""
    value = x.float() * (bound * scale)
    whole = (
        torch.where(value < 0, (value - 0.5).ceil(), (value + 0.5).floor()) if rounds_away else value.round()
    )
    return whole.clamp(least, bound).to(torch.int8)


def to_int8(x: Any, scale: float, round_type: int, bound: float, least: float) -> Any:
    """x itself without a scale (0 or less), else `quantized`."""
    if scale <= 0:
        return x
    if abs(bound - 127) > 1e-6:
        raise InvalidArgument(f"quant_max_bound: expected 127, the bound of int8, got {bound}")
    if round_type not in (0, 1):
        raise InvalidArgument(f"quant_round_type: expected 0 or 1, got {round_type}")
    return quantized(x, float(scale), bool(round_type), float(bound), float(least))


def layer_norm(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    """Layer normalisation of the last axis in the dtype of x. Scale and bias of half precision's inputs may
    be float32, as in Paddle's kernels."""
    kinds = {v.dtype for v in (scale, bias) if v is not None}
    if kinds <= {x.dtype}:
        return normalize_layer(x, scale, bias, float(epsilon))
    wide = (None if v is None else v.astype("float32") for v in (x, scale, bias))
    return normalize_layer(*wide, float(epsilon)).astype(x.dtype)


def _begin(axis: int, x: Any, least: int) -> int:
    """The first axis that is normalised."""
    if not least <= axis < x.ndim:
        raise InvalidArgument(f"begin_norm_axis: expected an axis from {least} to {x.ndim - 1}, got {axis}")
    return axis % x.ndim


def _summed(x: Any, bias: Any, residual: Any, alpha: float, shapes: list[Any]) -> Any:
    """x + bias + alpha residual. Without a residual x alone: Paddle's kernels leave the bias out then.

    shapes: that of the normalised axes, which the bias has, and others that it may have.
    """
    inner = list(shapes[0])
    if bias is not None and list(bias.shape) not in [list(shape) for shape in shapes]:
        raise InvalidArgument(f"bias: expected shape {inner}, got {list(bias.shape)}")
    if residual is None:
        return x
    if list(residual.shape) != list(x.shape):
        raise InvalidArgument(
            f"residual: expected the shape of x, {list(x.shape)}, got {list(residual.shape)}"
        )
    total = x if bias is None else x + bias.reshape(inner)
    return total + (residual if alpha == 1 else residual * alpha)


def _rows(x: Any, begin: int, **given: Any) -> Any:
    """x with the axes from `begin` made one. The given weights and biases must be of that length."""
    width = math.prod(x.shape[begin:])
    for name, value in given.items():
        if value is not None and list(value.shape) != [width]:
            raise InvalidArgument(f"{name}: expected shape [{width}], got {list(value.shape)}")
    return x if begin == x.ndim - 1 else x.reshape([*x.shape[:begin], width])


def _shown(total: Any, residual: Any) -> Any:
    """The sum, where there was one to make; else an empty tensor, as Paddle shows it."""
    return Tensor(total.data.new_empty(0)) if residual is None else total


def fused_layer_norm(
    x,
    norm_weight,
    norm_bias,
    epsilon,
    residual_alpha=1.0,
    begin_norm_axis=1,
    bias=None,
    residual=None,
    quant_scale=-1,
    quant_round_type=0,
    quant_max_bound=0,
    quant_min_bound=0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(value, sum, mean, 1 / sqrt(variance + epsilon)): layer normalisation of the sum x + bias +
    residual_alpha residual, over the axes from begin_norm_axis on.

    norm_weight, norm_bias: [d], the product of those axes' sizes, or None; without both, value is the sum.
    bias: of the shape of those axes. residual: of the shape of x; without it the bias is left out, as in
    Paddle's kernels, and the second result is empty. Mean and deviation: float32 [rows], without gradient.
    quant_scale above 0: value is int8, rounded quant_max_bound quant_scale value. Unlike in Paddle the value
    has a gradient.
    """
    begin = _begin(begin_norm_axis, x, 0)
    total = _summed(x, bias, residual, residual_alpha, [x.shape[begin:]])
    rows = _rows(total, begin, norm_weight=norm_weight, norm_bias=norm_bias)
    statistics = row_statistics(rows, True, float(epsilon))
    value = rows
    if norm_weight is not None or norm_bias is not None:
        value = layer_norm(rows, norm_weight, norm_bias, epsilon)
    value = to_int8(value, quant_scale, quant_round_type, quant_max_bound, quant_min_bound)
    return value.reshape(x.shape), _shown(total, residual), *statistics


def fused_rms_norm(
    x,
    norm_weight,
    norm_bias,
    epsilon,
    begin_norm_axis=1,
    bias=None,
    residual=None,
    quant_scale=-1,
    quant_round_type=0,
    quant_max_bound=0,
    quant_min_bound=0,
) -> tuple[Tensor, Tensor]:
    """(value, sum): s / sqrt(mean(s^2) + epsilon) norm_weight + norm_bias of the sum s = x + bias + residual,
    over the axes from begin_norm_axis on (Zhang and Sennrich, 2019).

    norm_weight: [d], the product of those axes' sizes; norm_bias: [d] or None. bias: of the shape of those
    axes, or [d]. residual: of the shape of x; without it the bias is left out, as in Paddle's kernels, and
    the second result is empty. quant_scale above 0: value is int8, rounded quant_max_bound quant_scale value.
    """
    if norm_weight is None:
        raise InvalidArgument("norm_weight: expected a Tensor, got None")
    begin = _begin(begin_norm_axis, x, -x.ndim)
    total = _summed(x, bias, residual, 1.0, [x.shape[begin:], [math.prod(x.shape[begin:])]])
    rows = _rows(total, begin, norm_weight=norm_weight, norm_bias=norm_bias)
    value = normalize_rms(rows, norm_weight, float(epsilon))
    value = value if norm_bias is None else value + norm_bias
    value = to_int8(value, quant_scale, quant_round_type, quant_max_bound, quant_min_bound)
    return value.reshape(x.shape), _shown(total, residual)


def fused_rms_norm_ext(x, scale, epsilon=1e-5, name=None) -> tuple[Tensor, Tensor]:
    """(value, 1 / sqrt(mean(x^2) + epsilon)) of root-mean-square normalisation over the last axis; the second
    float32 [rows], without gradient."""
    rows = _rows(x, x.ndim - 1, scale=scale)
    return normalize_rms(rows, scale, float(epsilon)), row_statistics(x, False, float(epsilon))[1]
