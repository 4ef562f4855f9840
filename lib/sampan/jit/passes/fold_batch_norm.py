"""Batch normalisation that evaluates becomes part of the convolution or linear layer before it.

(w * x + b - mean) * s + beta, with s = gamma / sqrt(variance + epsilon), is a convolution with weight w s and
bias (b - mean) s + beta. Jacob et al. 2018, section 3.2. Of a convolution in int8 the scale of each channel
takes s, and the integers its sign.

Used by notebook 11, where a learner's `folded` takes the place of the one here.
"""

from __future__ import annotations

from typing import Any

import torch

from ...engine.operator import operators
from ..program import Call, Ref
from .rewriting import Rewriting


def fold_batch_norm(rewriting: Rewriting) -> None:
    """Fold each `normalize_batch` in evaluation into the `convolve`, `affine`, `mm` or `int8_conv2d` before
    it, where it is the only reader."""
    readers, made_by = rewriting.readers(), rewriting.made_by()
    names: dict[Ref, Ref] = {}
    for norm in list(rewriting.calls):
        if norm.name != "normalize_batch" or len(norm.args) < 8 or norm.args[5]:
            continue
        x, *parts = norm.args[:5]
        before = made_by.get(x)
        if before is None or readers[x] != 1:
            continue
        join = _joined_int8 if before.name == "int8_conv2d" else _joined
        args = join(rewriting, before, parts, norm.args[7])
        if args is None:
            continue
        call = Call(**{**vars(before), "args": args, "line": norm.line})
        if before.name == "mm":
            affine = operators["affine"]
            call.function, call.name, call.operator = affine.body, affine.name, affine
        rewriting.put(before, call)
        made_by[call.result] = call
        names[norm.result] = call.result
        readers[call.result] = readers[norm.result]
        made_by[norm.result] = call
        rewriting.remove(norm)
    rewriting.rename(names)


def _joined(rewriting: Rewriting, call: Call, parts: list[Any], epsilon: float) -> Any:
    """The arguments of a call with the normalisation in its weight and bias; None where that cannot be."""
    axis = _axis_of_outputs(call)
    if axis is None:
        return None
    given, weight, bias, *settings = call.args if call.name != "mm" else (*call.args[:2], None)
    known = _known(rewriting, weight, bias, *parts)
    if known is None or known[0] is None:
        return None
    weight, bias, gamma, beta, mean, variance = known
    new = folded(weight, bias, gamma, beta, mean, variance, epsilon, axis)
    return given, *map(rewriting.constant, new), *settings


def _joined_int8(
    rewriting: Rewriting, call: Call, parts: list[Any], epsilon: float
) -> tuple[Any, ...] | None:
    """The same of a convolution in int8, exactly: its integers stay, but for their signs."""
    given, weight, bias, step, steps, *settings = call.args
    known = _known(rewriting, weight, bias, steps, *parts)
    if known is None or call.settings or bool((known[0] == -128).any()):  # -128 has no negative
        return None
    weight, bias, scales, gamma, beta, mean, variance = known
    scales, bias = folded(scales.flatten().expand(len(weight)), bias, gamma, beta, mean, variance, epsilon)
    signs = torch.where(scales < 0, -1, 1).to(torch.int8).reshape(-1, 1, 1, 1)
    weight, bias, steps = map(rewriting.constant, ((weight * signs).contiguous(), bias, scales.abs()))
    return given, weight, bias, step, steps, *settings


def _axis_of_outputs(call: Call) -> int | None:
    """The axis of a layer's weight that counts its outputs; None where no axis does, or for another call."""
    if call.name in ("affine", "mm"):
        return 1
    if call.name != "convolve":
        return None
    *_, transposed, _, groups = call.args[3]
    return 0 if not transposed else 1 if groups == 1 else None


def _known(rewriting: Rewriting, *values: Any) -> list[Any] | None:
    """The buffers of these Refs, and None for None; None where one of them is not frozen."""
    found = [rewriting.frozen.get(value) if isinstance(value, Ref) else value for value in values]
    unknown = [v for v, buffer in zip(values, found, strict=True) if v is not None and buffer is None]
    return None if unknown else found


def folded(
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    gamma: torch.Tensor | None,
    beta: torch.Tensor | None,
    mean: torch.Tensor,
    variance: torch.Tensor,
    epsilon: float,
    axis: int = 0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight and bias of the layer with the normalisation after it, computed in float64.

    weight: of a convolution [out, in / groups, ...] with axis 0, of a linear layer [in, out] or a transposed
    convolution [in, out, ...] with axis 1. bias, gamma, beta, mean, variance: [out]; None for a bias or beta
    of zeros, a gamma of ones. The results have the dtype of the weight; nothing that is given is changed.
    """
    scale = (variance.double() + epsilon).rsqrt()
    scale = scale if gamma is None else scale * gamma.double()
    shift = (-mean.double() if bias is None else bias.double() - mean.double()) * scale
    shift = shift if beta is None else shift + beta.double()
    shape = [-1 if i == axis else 1 for i in range(weight.ndim)]
    made = (weight.double() * scale.reshape(shape)).to(weight.dtype)
    return made.contiguous(), shift.to(weight.dtype)
