"""Tensors from nothing: filled, counted, copied shapes."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import torch

from .dtype import as_device, as_dtype, default_dtype
from .ops.shape import _ints
from .tensor import Tensor, declared

# fmt: off
__all__ = [
    "arange", "empty", "empty_like", "eye", "full", "full_like", "linspace", "meshgrid", "ones", "ones_like", "zeros",
    "zeros_like",
]
# fmt: on


def _new(make: Any, shape: Any, dtype: Any, stop_gradient: bool = True) -> Tensor:
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    return Tensor(make(_sizes(shape), dtype=kind, device=as_device(None)), stop_gradient)


def _sizes(shape: Any) -> list[int]:
    """A shape as a list of ints. Raises ValueError for negative lengths, TypeError for what is no int."""
    sizes = _ints(shape, "shape")
    if builtins.any(n < 0 for n in sizes):
        raise ValueError(f"shape: expected lengths of 0 or more, got {sizes}")
    return sizes


def zeros(shape, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """Zeros of a shape, in the default floating dtype unless told."""
    return _new(torch.zeros, shape, dtype)


def ones(shape, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """Ones of a shape, in the default floating dtype unless told."""
    return _new(torch.ones, shape, dtype)


def empty(shape, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """Memory of a shape with whatever values it happens to hold."""
    return _new(torch.empty, shape, dtype)


def full(shape, fill_value, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """`fill_value` everywhere; unless told, in the default floating dtype, also for ints (bool for bools)."""
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    if dtype is None and isinstance(value, (bool, complex)):
        dtype = "bool" if isinstance(value, bool) else "complex64"
    return _new(lambda sizes, **kind: torch.full(sizes, value, **kind), shape, dtype)


def _like(x: Any, value: Any, dtype: Any) -> Tensor:
    kind = x.dtype if dtype is None else as_dtype(dtype)
    return Tensor(torch.full(x.data.shape, value, dtype=kind, device=x.data.device))


def zeros_like(x, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """Zeros with the shape, place and (unless told) dtype of `x`."""
    return _like(x, 0, dtype)


def ones_like(x, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """Ones with the shape, place and (unless told) dtype of `x`."""
    return _like(x, 1, dtype)


def empty_like(x, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """Uninitialised memory with the shape, place and (unless told) dtype of `x`."""
    return Tensor(torch.empty_like(x.data, dtype=None if dtype is None else as_dtype(dtype)))


def full_like(x, fill_value, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """`fill_value` with the shape, place and (unless told) dtype of `x`."""
    return _like(x, fill_value.item() if isinstance(fill_value, Tensor) else fill_value, dtype)


def arange(start=0, end=None, step=1, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """start, start + step, ... below end; `arange(n)` counts from 0."""
    if end is None:
        start, end = 0, start
    values = [v.item() if isinstance(v, Tensor) else v for v in (start, end, step)]
    if values[2] == 0:
        raise ValueError("arange: step must not be 0")
    if dtype is None:
        dtype = "int64" if builtins.all(isinstance(v, (int, np.integer)) for v in values) else default_dtype()
    if (values[1] - values[0]) * values[2] < 0:
        values[1] = values[0]
    return Tensor(torch.arange(*values, dtype=as_dtype(dtype), device=as_device(None)))


def linspace(start, stop, num, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """`num` values from start to stop, both included, evenly spaced."""
    values = [v.item() if isinstance(v, Tensor) else v for v in (start, stop, num)]
    if values[2] < 0:
        raise ValueError(f"linspace: num must be at least 0, got {values[2]}")
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    exact = torch.linspace(values[0], values[1], int(values[2]), dtype=torch.float64, device=as_device(None))
    return Tensor(exact.to(kind))


def eye(num_rows, num_columns=None, dtype=None, name=None):  # type: ignore[no-untyped-def]
    """Ones on the diagonal of a matrix of zeros."""
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    columns = num_rows if num_columns is None else num_columns
    return Tensor(torch.eye(int(num_rows), int(columns), dtype=kind, device=as_device(None)))


def meshgrid(*args, **kwargs):  # type: ignore[no-untyped-def]
    """Coordinate arrays of a grid, one per vector given, in matrix ("ij") order."""
    vectors = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    shape = [v.size for v in vectors]
    return [
        declared.expand(declared.reshape(v, [-1 if j == i else 1 for j in range(len(vectors))]), shape)
        for i, v in enumerate(vectors)
    ]
