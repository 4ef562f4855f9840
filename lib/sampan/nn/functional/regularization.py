"""Dropout of every kind, with Paddle's arguments."""

from typing import Any

import torch

from ...engine.operator import operator
from ...engine.tensor import InvalidArgument, InvalidType, Tensor
from ...ops.regularization import masked
from ...ops.shape import assign

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def _probability(p: Any) -> float:
    if isinstance(p, str) or not hasattr(p, "__float__"):
        raise InvalidType(f"expected p to be a number, got {type(p).__name__}")
    if not 0 <= float(p) <= 1:
        raise InvalidArgument(f"expected p from 0 to 1, got {float(p)}")
    return float(p)


@operator(amp="as_is")
def drawn_mask(x, p, shape, scaled):
    """0 with probability p, else 1, or 1 / (1 - p) if scaled: drawn in `shape` and repeated to the shape of
    x."""
    mask = torch.empty(shape, dtype=x.dtype, device=x.device).bernoulli_(1 - p)
    return (mask.div_(1 - p) if scaled and p < 1 else mask).expand(x.shape)


def dropout(x, p=0.5, axis=None, training=True, inplace=False, mode="upscale_in_train", name=None) -> Tensor:
    """Zero each entry with probability `p` in training (Srivastava et al., 2014).

    mode "upscale_in_train" divides what stays by 1 - p in training and does nothing else;
    "downscale_in_infer" multiplies by 1 - p outside training. axis: draw the mask along these axes only and
    repeat it along the others.
    inplace: put the result into x. Raises ValueError when p is outside [0, 1].
    """
    p = _probability(p)
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise InvalidArgument(
            f"dropout: expected mode 'upscale_in_train' or 'downscale_in_infer', got {mode!r}"
        )
    if p == 0:
        return x
    if not training:
        if mode != "upscale_in_train":
            return x * (1 - p)
        return assign(x) if axis is None else x
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    if any(not -x.ndim <= a < x.ndim for a in axes):
        raise InvalidArgument(f"dropout: axis {axis} is outside an array of {x.ndim} axes")
    axes = [a % x.ndim for a in axes]
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    mask = drawn_mask(x, p, shape, mode == "upscale_in_train")
    value = masked(x._before() if inplace else x, mask)
    return x._write(value) if inplace else value


def dropout1d(input, p=0.5, training=True, inplace=False) -> Tensor:
    """dropout of whole channels of [batch, channels, length], the same in a batch; in [channels, length]
    too."""
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: expected input with 2 or 3 axes, got shape {list(input.shape)}")
    return dropout(input, p, axis=input.ndim - 2, training=training)


def _channels(x: Any, p: Any, training: bool, data_format: str, formats: tuple[str, str]) -> Any:
    if x.ndim != len(formats[0]) or data_format not in formats:
        raise InvalidArgument(f"expected {' or '.join(formats)}, got {data_format!r} and shape {[*x.shape]}")
    return dropout(x, p, axis=[0, 1 if data_format == formats[0] else x.ndim - 1], training=training)


def dropout2d(x, p=0.5, training=True, data_format="NCHW", name=None) -> Tensor:
    """dropout of whole channels of images (Tompson et al., 2015)."""
    return _channels(x, p, training, data_format, ("NCHW", "NHWC"))


def dropout3d(x, p=0.5, training=True, data_format="NCDHW", name=None) -> Tensor:
    """dropout of whole channels of volumes."""
    return _channels(x, p, training, data_format, ("NCDHW", "NDHWC"))


_FLOOR = -1.0507009873554805 * 1.6732632423543772  # what selu tends to


def _alpha(x: Any, p: Any, training: bool, shape: list[int]) -> Any:
    """Dropped entries become selu's floor, and all are moved so that mean and variance stay."""
    p = _probability(p)
    if not training:
        return x
    if p == 0:
        return assign(x)
    if p == 1:
        return x * 0.0
    factor, moved = drawn_line(x, p, shape)
    return masked(x, factor) + moved


@operator(returns=tuple[Tensor, ...])
def drawn_line(x, p, shape):
    """What x is multiplied by, in its shape, and what is added then: with probability p nothing of it
    stays."""
    a = ((1 - p) * (1 + p * _FLOOR**2)) ** -0.5
    kept = torch.empty(shape, dtype=x.dtype, device=x.device).bernoulli_(1 - p)
    return (kept * a).expand(x.shape), (1 - kept) * (a * _FLOOR) - a * _FLOOR * p


def alpha_dropout(x, p=0.5, training=True, name=None) -> Tensor:
    """dropout that keeps mean 0 and variance 1, for networks of selu (Klambauer et al., 2017)."""
    return _alpha(x, p, training, list(x.shape))


def feature_alpha_dropout(x, p=0.5, training=True, name=None) -> Tensor:
    """alpha_dropout of whole channels of [batch, channels, ...]."""
    if x.ndim < 2:
        raise InvalidArgument(
            f"feature_alpha_dropout: expected x with 2 axes or more, got shape {list(x.shape)}"
        )
    return _alpha(x, p, training, [*x.shape[:2], *[1] * (x.ndim - 2)])
