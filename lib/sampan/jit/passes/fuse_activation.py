"""A convolution, a sum and an activation after it become one call of oneDNN, where that is faster here.

oneDNN keeps the weight in the order that its loop reads, and applies relu before a value leaves the
register. Its names in torch are private: `convolution_twin` is the same in public ones, and what runs where
they are missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from ..program import Call, Ref
from .rewriting import Rewriting

CLEAR = 1.3  # a form that is slower by this after two measurements is not measured again
_ACTIVATIONS = {"relu": ("relu", []), "relu6": ("hardtanh", [0.0, 6.0])}


def convolution(
    x: torch.Tensor, weight: torch.Tensor, bias: Any, other: Any, settings: Any, activation: str
) -> torch.Tensor:
    """activation(conv(x) + other): weight as `prepacked` made it; other a tensor of the result's shape or
    None; activation "", "relu" or, without other, "relu6"."""
    stride, padding, dilation, _, _, groups = settings
    name, numbers = _ACTIVATIONS.get(activation, ("none", []))
    if other is None:
        made = torch.ops.mkldnn._convolution_pointwise(
            x, weight, bias, padding, stride, dilation, groups, name, numbers, ""
        )
    else:
        made = torch.ops.mkldnn._convolution_pointwise.binary(
            x,
            other,
            weight,
            bias,
            padding,
            stride,
            dilation,
            groups,
            "add",
            1.0,
            name if activation else None,
            numbers,
            "",
        )
    return made


def convolution_twin(
    x: torch.Tensor, weight: torch.Tensor, bias: Any, other: Any, settings: Any, activation: str
) -> torch.Tensor:
    """What `convolution` computes, in public functions of torch, of a weight as it is."""
    made = torch.convolution(x, weight, bias, *settings)
    if other is not None:
        made.add_(other)
    return made.clamp_(0.0, 6.0) if activation == "relu6" else made.relu_() if activation else made


def prepacked(weight: torch.Tensor, settings: Any, shape: tuple[int, ...]) -> torch.Tensor:
    """A weight in the order that oneDNN reads for inputs of this shape."""
    stride, padding, dilation, _, _, groups = settings
    made: torch.Tensor = torch.ops.mkldnn._reorder_convolution_weight(
        weight, padding, stride, dilation, groups, list(shape)
    )
    return made


def fuse_activation(rewriting: Rewriting) -> None:
    """Join each convolution in float32 with the sum and the activation that alone read its result."""
    readers = rewriting.readers()
    written = rewriting.written()
    reader_of: dict[Ref, Call] = {}
    for call in rewriting.calls:
        for arg in call.args:
            if isinstance(arg, Ref):
                reader_of[arg] = call

    def alone(ref: Ref) -> Call | None:
        return reader_of.get(ref) if readers[ref] == 1 and ref not in written else None

    for first in list(rewriting.calls):
        if first.name != "convolve" or first.args[3][3] or not isinstance(first.args[1], Ref):
            continue
        weight = rewriting.frozen.get(first.args[1])
        if weight is None or weight.ndim != 4 or weight.dtype is not torch.float32 or weight.is_cuda:
            continue
        given, _, bias, settings = first.args
        parts, other, activation = [first], None, ""
        following = alone(first.result)
        if following is not None and following.name == "add" and _is_sum(following, rewriting):
            other = next(arg for arg in following.args[:2] if arg != first.result)
            parts.append(following)
            following = alone(following.result)
        if following is not None and following.name in (_ACTIVATIONS if other is None else ["relu"]):
            activation = following.name
            parts.append(following)
        if len(parts) == 1:
            continue
        last = parts[-1]
        call = Call(
            convolution_twin,
            "convolution",
            (given, first.args[1], bias, other, settings, activation),
            {},
            last.result,
            line=last.line,
        )
        for part in parts[:-1]:
            rewriting.remove(part)
        rewriting.put(last, call)
        for arg in (given, other):
            if isinstance(arg, Ref):
                reader_of[arg] = call


def _is_sum(call: Call, rewriting: Rewriting) -> bool:
    """Whether an `add` is of two values that calls made: two results of one shape, in a residual network."""
    made_by = rewriting.made_by()
    return len(call.args) == 2 and all(
        isinstance(arg, Ref) and (arg in made_by or arg.kind == "x") for arg in call.args
    )


def chosen(buffers: list[Any], repeat: int = 5) -> tuple[Callable[..., torch.Tensor], torch.Tensor]:
    """The faster of both forms of a convolution for its arguments, and its weight, by a short measurement."""
    x, weight, bias, other, settings, activation = buffers
    try:
        packed = prepacked(weight, settings, tuple(x.shape))
        convolution(x, packed, bias, other, settings, activation)
    except (AttributeError, RuntimeError, NotImplementedError):
        return convolution_twin, weight  # this torch has no such function, or not for these shapes
    best = [float("inf"), float("inf")]
    for turn in range(repeat):
        for i, (function, own) in enumerate(((convolution, packed), (convolution_twin, weight))):
            started = time.perf_counter()
            function(x, own, bias, other, settings, activation)
            best[i] = min(best[i], time.perf_counter() - started)
        if turn and max(best) > CLEAR * min(best):
            break
    return (convolution, packed) if best[0] < best[1] else (convolution_twin, weight)
