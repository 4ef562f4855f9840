"""Batch normalisation that evaluates becomes part of the convolution before it.

(w * x + b - mean) * s + beta, with s = gamma / sqrt(variance + epsilon), is a convolution with weight w s and
bias (b - mean) s + beta. Jacob et al. 2018, section 3.2. Of a convolution in int8 the scale of
each channel takes s, and the integers its sign.
"""

from __future__ import annotations

from typing import Any

import torch

from ..program import Call, Ref
from .rewriting import Rewriting


def fold_batch_norm(rewriting: Rewriting) -> None:
    """Fold each `normalize_batch` in evaluation into the convolution whose only reader it is."""
    readers, made_by = rewriting.readers(), rewriting.made_by()
    names: dict[Ref, Ref] = {}
    for norm in list(rewriting.calls):
        if norm.name != "normalize_batch" or len(norm.args) < 8 or norm.args[5]:
            continue
        x, *parts = norm.args[:5]
        before = made_by.get(x)
        if before is None or readers[x] != 1:
            continue
        if before.name == "convolve":
            args = _joined(rewriting, before.args, parts, norm.args[7])
        elif before.name == "int8_conv2d" and len(before.args) == 9 and not before.settings:
            args = _joined_int8(rewriting, before.args, parts, norm.args[7])
        else:
            continue
        if args is None:
            continue
        call = Call(**{**vars(before), "args": args, "line": norm.line})
        rewriting.put(before, call)
        made_by[call.result] = call
        names[norm.result] = call.result
        readers[call.result] = readers[norm.result]
        made_by[norm.result] = call
        rewriting.remove(norm)
    rewriting.rename(names)


_UNKNOWN = object()


def _known(value: Any, known: dict[Ref, torch.Tensor]) -> Any:
    return known.get(value, _UNKNOWN) if isinstance(value, Ref) else value


def _joined(rewriting: Rewriting, args: Any, parts: Any, epsilon: float) -> Any:
    """The arguments of a `convolve` with the normalisation in them; None where that cannot be."""
    given, weight, bias, settings = args
    weight, bias, *statistics = (_known(part, rewriting.frozen) for part in (weight, bias, *parts))
    if any(v is _UNKNOWN for v in (weight, bias, *statistics)) or weight is None or settings[3]:
        return None  # a transposed convolution has the outputs on its second axis
    scale, shift = _scale_and_shift(statistics, bias, epsilon)
    folded = (weight.double() * scale.reshape([-1] + [1] * (weight.ndim - 1))).to(weight.dtype).contiguous()
    return given, rewriting.constant(folded), rewriting.constant(shift.to(weight.dtype)), settings


def _joined_int8(rewriting: Rewriting, args: Any, parts: Any, epsilon: float) -> Any:
    """The same of an `int8_conv2d`, exactly: its integers stay, but for their signs."""
    given, weight, bias, step, steps, *settings = args
    integers, bias, scales, *statistics = (
        _known(part, rewriting.frozen) for part in (weight, bias, steps, *parts)
    )
    if any(v is _UNKNOWN for v in (integers, bias, scales, *statistics)) or integers is None:
        return None
    scale, shift = _scale_and_shift(statistics, bias, epsilon)
    signs = torch.where(scale < 0, -1, 1).to(torch.int8).reshape(-1, 1, 1, 1)
    if bool((integers == -128).any()):  # which has no negative
        return None
    scales = (scales.double().flatten() * scale.abs()).float()
    made = (rewriting.constant(v) for v in ((integers * signs).contiguous(), shift.float(), scales))
    weight, bias, steps = made
    return given, weight, bias, step, steps, *settings


def _scale_and_shift(statistics: list[Any], bias: Any, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    """What each channel is multiplied by, and what is then added, in float64."""
    wide: list[Any] = [None if v is None else v.double() for v in statistics]
    gamma, beta, mean, variance = wide
    scale = (variance + epsilon).rsqrt()
    scale = scale if gamma is None else scale * gamma
    shift = (-mean if bias is None else bias.double() - mean) * scale
    return scale, shift if beta is None else shift + beta
