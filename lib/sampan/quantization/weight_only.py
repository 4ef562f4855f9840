"""Matrix products with weights of 8 or 4 bits and inputs of floats.

Source of the product with outliers apart: Dettmers et al., LLM.int8(), 2022.
"""

from __future__ import annotations

from typing import Any

import torch

from ..dtype import as_dtype
from ..engine.errors import InvalidArgument
from ..engine.operator import operator, operators
from ..engine.tensor import Tensor
from .base import largest, rounded
from .int8 import LEVELS

__all__ = [
    "apply_per_channel_scale",
    "llm_int8_linear",
    "weight_dequantize",
    "weight_only_linear",
    "weight_quantize",
]

_int8_body = operators["int8_linear"].body  # which int8.py declares
_BITS = {"weight_only_int8": 8, "weight_only_int4": 4, "llm.int8": 8}


def _most(algo: str, group_size: int) -> int:
    if algo not in _BITS:
        raise InvalidArgument(f"algo: expected one of {sorted(_BITS)}, got {algo!r}")
    if group_size not in (-1, 64, 128):
        raise InvalidArgument(f"group_size: expected -1, 64 or 128, got {group_size!r}")
    return largest(_BITS[algo])


def _packed4(q: torch.Tensor) -> torch.Tensor:
    """Two rows of 4 bits in one of 8: the even one in the low half."""
    if q.shape[0] % 2:
        raise InvalidArgument(f"x: expected an even number of columns for 4 bits, got {q.shape[0]}")
    return (q[0::2] & 15) | (q[1::2] << 4)


def _unpacked4(q: torch.Tensor) -> torch.Tensor:
    low, high = (q << 4) >> 4, q >> 4  # shifts of signed numbers keep the sign
    return torch.stack([low, high], 1).flatten(0, 1)


@operator(returns=tuple[Tensor, Tensor])
def _weight_quantize(x, most, group):
    """(q [out, in], scale [in / group, out]) of x [in, out]: x is about q * scale, transposed."""
    columns = x.float().t()
    groups = columns.reshape(columns.shape[0], -1, group)
    scale = groups.abs().amax(2) / most
    safe = torch.where(scale == 0, torch.ones_like(scale), scale)
    q = rounded(groups / safe.unsqueeze(2)).clamp(-most, most).to(torch.int8)
    return q.reshape(columns.shape).contiguous(), scale.t().contiguous()


def weight_quantize(
    x: Any, algo: str = "weight_only_int8", arch: int | None = None, group_size: int = -1
) -> tuple[Tensor, Tensor]:
    """(int8 [out, in], scales [out]) of a weight [in, out]; with a group_size scales [in / group_size, out].

    algo: "weight_only_int8", "llm.int8" or "weight_only_int4" (two rows in one: [out / 2, in]). arch is
    ignored: there is one order of the numbers for all machines. Scales are float32 for llm.int8, else of x's
    dtype. Raises InvalidArgument for another algo or group_size, for what is no matrix, and for rows that
    group_size does not divide.
    """
    most = _most(algo, group_size)
    if x.ndim != 2 or not x.data.is_floating_point():
        raise InvalidArgument(f"x: expected a matrix of floats, got {x.data.dtype} {[*x.shape]}")
    if group_size > 0 and x.shape[0] % group_size:
        raise InvalidArgument(f"x: expected rows that group_size {group_size} divides, got {x.shape[0]}")
    q, scale = _weight_quantize(x, most, x.shape[0] if group_size == -1 else group_size)
    if most == 7:
        q = Tensor(_packed4(q.data))
    scale = scale if algo == "llm.int8" else scale.astype(x.dtype)
    return q, (scale[0] if group_size == -1 else scale)


def weight_dequantize(
    x: Any, scale: Any, algo: str = "weight_only_int8", out_dtype: Any = "float16", group_size: int = -1
) -> Tensor:
    """The weight [in, out] of the dtype of scale, from what `weight_quantize` returned. out_dtype is
    ignored, as in Paddle."""
    most = _most(algo, group_size)
    q = _unpacked4(x.data) if most == 7 else x.data
    steps = scale.data.float().reshape(-1, q.shape[0])
    if q.shape[1] % steps.shape[0]:
        raise InvalidArgument(f"scale: expected one row, or one a group, got shape {[*scale.shape]}")
    spread = steps.repeat_interleave(q.shape[1] // steps.shape[0], 0)
    return Tensor((q.t().float() * spread).to(scale.data.dtype))


def weight_only_linear(
    x: Any,
    weight: Any,
    bias: Any = None,
    weight_scale: Any = None,
    weight_dtype: Any = "int8",
    arch: int | None = None,
    group_size: int = -1,
) -> Tensor:
    """x W + b [..., out] with an int8 or int4 weight of `weight_quantize`, dequantised for the product.

    weight_dtype: "int8" or "int4". bias: [out] or None. Gradients reach x and bias.
    """
    if weight_scale is None or weight_dtype not in ("int8", "int4"):
        raise InvalidArgument(
            "weight_scale, weight_dtype: expected scales, and 'int8' or 'int4', "
            f"got {weight_scale}, {weight_dtype!r}"
        )
    whole = weight_dequantize(weight, weight_scale, f"weight_only_{weight_dtype}", group_size=group_size)
    made: Tensor = x.matmul(whole.astype(x.dtype))
    return made if bias is None else made + bias


def llm_int8_linear(
    x: Any, weight: Any, bias: Any = None, weight_scale: Any = None, threshold: float = 6.0
) -> Tensor:
    """x W + b [..., out] in int8, but columns of x with a magnitude above the threshold in floats.

    weight: int8 [out, in] of `weight_quantize(..., "llm.int8")`.
    """
    if weight_scale is None:
        raise InvalidArgument("weight_scale: expected scales, got None")
    rows = x.data.reshape(-1, x.shape[-1]).float()
    large = rows.abs().amax(0) > threshold if rows.shape[0] else torch.zeros(rows.shape[1], dtype=torch.bool)
    scale = weight_scale.data.float() * LEVELS
    small = torch.where(large, torch.zeros_like(rows), rows)
    most = small.abs().amax(1, keepdim=True).clamp_min(1e-30)  # each row has a scale of its own
    one = torch.ones(1)
    made = _int8_body(small / most, weight.data.t(), None, one, scale) * most
    if bool(large.any()):
        made = made + rows[:, large] @ (weight.data[:, large].t().float() * (scale / LEVELS))
    made = made.reshape(*x.shape[:-1], weight.shape[0]).to(as_dtype(x.dtype))
    return Tensor(made) if bias is None else Tensor(made) + bias


def apply_per_channel_scale(x: Any, scales: Any) -> Tensor:
    """x [..., n] times scales [n]."""
    made: Tensor = x * scales
    return made
