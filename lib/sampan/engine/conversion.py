"""Buffers from numbers, lists, arrays and Tensors, and NumPy arrays from buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..dtype import NAMES, as_device, as_dtype, default_dtype
from ..kernels.arena import array_copy
from .errors import InvalidArgument, InvalidType

UNKNOWN_TO_NUMPY = (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)


def buffer_from(data: Any, dtype: Any = None, place: Any = None) -> torch.Tensor:
    """A new buffer with the values of `data`: see `to_tensor`, which makes a Tensor of it."""
    device = as_device(place)
    target = None if dtype is None else as_dtype(dtype)
    buffer = _buffer_of(data)
    if buffer is not None:
        buffer = buffer.detach().clone()
    else:
        buffer = from_numbers(data)
        if buffer.dtype is torch.uint16 and target is not torch.uint16:
            buffer = buffer.view(torch.bfloat16)  # what `to_numpy` made of it
        if target is None and not isinstance(data, np.ndarray | np.generic) and not _holds_tensor(data):
            if buffer.is_floating_point():
                target = default_dtype()
            elif buffer.is_complex():
                target = torch.complex128 if default_dtype() is torch.float64 else torch.complex64
    return buffer.to(device=device, dtype=target or buffer.dtype)


def from_numbers(data: Any) -> torch.Tensor:
    """A buffer with a copy of numbers, nested lists or an array, in NumPy's dtype. Raises TypeError or
    ValueError."""
    try:
        array = array_copy(_arrays_in(data))
        if array.dtype == object and not isinstance(data, (list, tuple, np.ndarray)):
            raise TypeError("expected numbers, lists of them, an array or a Tensor")
        if array.dtype == object:
            raise ValueError("its entries are no numbers or its rows have different lengths")
        if array.dtype.name not in NAMES:
            raise TypeError(f"its entries are {array.dtype.name}, expected one of {', '.join(NAMES)}")
        return torch.from_numpy(array)
    except (ValueError, TypeError) as error:
        kind = InvalidType if isinstance(error, TypeError) else InvalidArgument
        raise kind(f"cannot make an array of {type(data).__name__}: {error}") from None


def to_numpy(data: torch.Tensor) -> np.ndarray:
    """The array over a buffer's memory, of its bits for bfloat16; of a copy for a GPU's and for lazy
    conjugates."""
    data = data.cpu()
    plain = data.view(torch.uint16) if data.dtype is torch.bfloat16 else data.resolve_conj().resolve_neg()
    return plain.numpy()


def _buffer_of(value: Any) -> torch.Tensor | None:
    """A torch tensor itself, the buffer of a Tensor, None for anything else."""
    if isinstance(value, torch.Tensor):
        return value
    return value.data if hasattr(value, "stop_gradient") else None


def _arrays_in(data: Any) -> Any:
    """Nested lists with an array in place of each tensor."""
    if isinstance(data, (list, tuple)):
        return [_arrays_in(d) for d in data]
    buffer = _buffer_of(data)
    return data if buffer is None else to_numpy(buffer)


def _holds_tensor(data: Any) -> bool:
    """Whether a nested list holds tensors, which keep their dtype."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return _buffer_of(data) is not None
