"""Batch normalisation that evaluates becomes part of the convolution before it.

(w * x + b - mean) * s + beta, with s = gamma / sqrt(variance + epsilon), is a convolution with weight w s and
bias (b - mean) s + beta. Jacob et al. 2018, section 3.2.
"""

from __future__ import annotations

from typing import Any

import torch

from ..program import Call, Ref
from .rewriting import Rewriting


def fold_batch_norm(rewriting: Rewriting) -> None:
    """Fold each `normalize_batch` in evaluation into the `convolve` whose only reader it is."""
    readers, made_by, known = rewriting.readers(), rewriting.made_by(), rewriting.frozen
    names: dict[Ref, Ref] = {}
    for norm in list(rewriting.calls):
        if norm.name != "normalize_batch" or len(norm.args) < 8 or norm.args[5]:
            continue
        x, *parts = norm.args[:5]
        before = made_by.get(x)
        if before is None or before.name != "convolve" or readers[x] != 1:
            continue
        given, weight, bias, settings = before.args
        values = [_known(part, known) for part in (weight, bias, *parts)]
        if any(value is _UNKNOWN for value in values) or values[0] is None or settings[3]:
            continue  # a transposed convolution has the outputs on its second axis
        new_weight, new_bias = _folded(values, norm.args[7])
        args = (given, rewriting.constant(new_weight), rewriting.constant(new_bias), settings)
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


def _folded(values: list[Any], epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The weight and bias of the convolution, computed in float64."""
    wide: list[Any] = [None if v is None else v.double() for v in values]
    weight, bias, gamma, beta, mean, variance = wide
    scale = (variance + epsilon).rsqrt()
    scale = scale if gamma is None else scale * gamma
    shift = (-mean if bias is None else bias - mean) * scale
    shift = shift if beta is None else shift + beta
    shape = [-1] + [1] * (weight.ndim - 1)
    kind = values[0].dtype
    return (weight * scale.reshape(shape)).to(kind).contiguous(), shift.to(kind)
