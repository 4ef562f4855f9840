"""Activations, and the softmax family."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..dtype import as_dtype
from ..operator import composite, operator
from .elementwise import Buffer, aten, sigmoid, tanh
from .samples import Array

_AWAY = Array((3, 4), 0.2, 2.0)  # away from the kink at 0

softmax_backward = torch._softmax_backward_data
log_softmax_backward = torch._log_softmax_backward_data
threshold_backward = aten.threshold_backward.default._op
gelu_backward = aten.gelu_backward.default._op


@operator(
    value=torch.relu,
    method="",
    reference=torch.relu,
    samples=[(_AWAY,), (Array((3,), -2, -0.2),), (Array(()),), (Array((0, 2)),)],
)
def relu(x, name=None):  # type: ignore[no-untyped-def]
    """max(x, 0); its derivative at 0 is taken as 0."""
    out = torch.relu(x)
    return out, (lambda g: threshold_backward(g, out, 0) if g.__class__ is Buffer else g * (out > 0),)


@composite(reference=torch.nn.functional.relu6, samples=[(Array((3, 4), 0.2, 5),)])
def relu6(x, name=None):  # type: ignore[no-untyped-def]
    """x held between 0 and 6."""
    return x.clip(0.0, 6.0)


@operator(reference=torch.nn.functional.leaky_relu, samples=[(_AWAY,), (Array((3,), -2, -0.2), 0.1)])
def leaky_relu(x, negative_slope=0.01, name=None):  # type: ignore[no-untyped-def]
    """x where positive, negative_slope x elsewhere."""
    value = torch.nn.functional.leaky_relu(x, negative_slope)
    return value, (lambda g, slope=negative_slope: g * ((x > 0) * (1.0 - slope) + slope),)


@operator(reference=lambda x, a=False: torch.nn.functional.gelu(x, approximate="tanh" if a else "none"), samples=[((3, 4),), ((3, 4), True)])  # fmt: skip
def gelu(x, approximate=False, name=None):  # type: ignore[no-untyped-def]
    """x Φ(x), with Φ the normal distribution function, or its tanh approximation (Hendrycks and Gimpel, 2016)."""
    kind = "tanh" if approximate else "none"

    return torch.nn.functional.gelu(x, approximate=kind), (
        lambda g, kind=kind: (
            gelu_backward(g, x, approximate=kind) if g.__class__ is Buffer else g * _gelu_slope(x, kind)
        ),
    )


def _gelu_slope(x: Any, kind: str) -> Any:
    """The derivative of gelu, by operators."""
    if kind == "none":
        density = (x * x * -0.5).exp() * (1 / math.sqrt(2 * math.pi))
        return ((x * math.sqrt(0.5)).erf() + 1) * 0.5 + x * density
    c = math.sqrt(2 / math.pi)
    t = (c * (x + 0.044715 * x * x * x)).tanh()
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x)


@operator(reference=torch.nn.functional.silu, samples=[((3, 4),)])
def silu(x, name=None):  # type: ignore[no-untyped-def]
    """x sigmoid(x)."""
    return torch.nn.functional.silu(x), (lambda g: g * _silu_slope(x.sigmoid(), x),)


def _silu_slope(s: Any, x: Any) -> Any:
    return s * (1 + x * (1 - s))


@operator(reference=torch.nn.functional.softplus, samples=[((3, 4),), ((3, 4), 2.0)])
def softplus(x, beta=1.0, threshold=20.0, name=None):  # type: ignore[no-untyped-def]
    """log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold."""
    return torch.nn.functional.softplus(x, beta, threshold), (lambda g, b=beta: g * (x * b).sigmoid(),)


def _axis(x: Any, axis: int) -> int:
    n = max(x.ndim, 1)
    if not -n <= axis < n:
        raise IndexError(f"axis {axis} is outside an array of {x.ndim} axes")
    return axis


@operator(
    method="", reference=lambda x, a=-1: torch.softmax(x, a), samples=[((3, 4),), ((2, 3, 4), 1), ((),)]
)
def softmax(x, axis=-1, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """exp(x) / sum(exp(x)) along `axis`, shifted by the maximum so that it cannot overflow."""
    out = torch.softmax(x, _axis(x, axis), dtype=None if dtype is None else as_dtype(dtype))
    return out, (
        lambda g, axis=axis, kind=x.dtype: (
            softmax_backward(g, out, axis, out.dtype)
            if g.__class__ is Buffer
            else out * (g - (g * out).sum(axis=axis, keepdim=True))
        ).to(kind),
    )


@operator(reference=lambda x, a=-1: torch.log_softmax(x, a), samples=[((3, 4),), ((2, 3, 4), 1), ((),)])
def log_softmax(x, axis=-1, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """x - log(sum(exp(x))) along `axis`."""
    out = torch.log_softmax(x, _axis(x, axis), dtype=None if dtype is None else as_dtype(dtype))
    return out, (
        lambda g, axis=axis, kind=x.dtype: (
            log_softmax_backward(g, out, axis, out.dtype)
            if g.__class__ is Buffer
            else g - out.exp() * g.sum(axis=axis, keepdim=True)
        ).to(kind),
    )


__all__ = [
    "gelu",
    "leaky_relu",
    "log_softmax",
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]
