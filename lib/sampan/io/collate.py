"""From samples to a batch of buffers, and from buffers to Tensors."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from ..engine.tensor import Tensor

_KINDS = {
    np.dtype(name): getattr(torch, name)
    for name in (
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "bool",
    )
}


def default_collate_fn(batch: Any) -> Any:
    """Stack samples along a new first axis, field by field: arrays, Tensors, numbers, and lists, tuples and
    dictionaries of these. Strings stay a list. A tuple is a batch that `__getitems__` made at once.

    Returns buffers. Raises ValueError when samples differ in shape, TypeError for anything else.
    """
    if type(batch) is not tuple:
        return _stack(batch, "sample")
    return _mapped(batch, lambda v: torch.from_numpy(v) if isinstance(v, np.ndarray) else _buffer_of(v))


def _mapped(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    """`leaf` of every entry of nested lists, tuples (which become lists) and dictionaries."""
    if isinstance(tree, (list, tuple)):
        return [_mapped(part, leaf) for part in tree]
    return {k: _mapped(v, leaf) for k, v in tree.items()} if isinstance(tree, Mapping) else leaf(tree)


def _buffer_of(value: Any) -> Any:
    """The buffer of a dense Tensor; anything else as it is."""
    return value.data if isinstance(value, Tensor) and not value.is_sparse() else value


def _stack(samples: Sequence[Any], where: str) -> Any:
    first = samples[0]
    if isinstance(first, Tensor):
        return _fill([s.data for s in samples], where)
    if isinstance(first, torch.Tensor):
        return _fill(samples, where)
    if isinstance(first, np.ndarray):
        if first.dtype not in _KINDS:
            raise TypeError(f"collate: {where} is an array of dtype {first.dtype}, which no Tensor can hold")
        shapes = {s.shape for s in samples}
        if len(shapes) > 1:
            raise ValueError(f"collate: {where} has different shapes in one batch: {sorted(shapes)}")
        out = _buffer((len(samples), *first.shape), _KINDS[first.dtype])
        np.stack(samples, out=out.numpy())
        return out
    if isinstance(first, bool | int | float | complex | np.generic):
        return torch.from_numpy(np.array(samples))
    if isinstance(first, str | bytes):
        return list(samples)
    if isinstance(first, Mapping):
        return {key: _stack([s[key] for s in samples], f"{where}[{key!r}]") for key in first}
    if isinstance(first, (list, tuple)):
        if len({len(s) for s in samples}) > 1:
            raise ValueError(f"collate: {where} has different numbers of fields in one batch")
        return [_stack(field, f"{where}[{i}]") for i, field in enumerate(zip(*samples, strict=True))]
    raise TypeError(f"collate: {where} is a {type(first).__name__}; expected arrays, numbers, lists or dicts")


def _fill(samples: Sequence[torch.Tensor], where: str) -> torch.Tensor:
    shapes = {tuple(s.shape) for s in samples}
    if len(shapes) > 1:
        raise ValueError(f"collate: {where} has different shapes in one batch: {sorted(shapes)}")
    first = samples[0]
    if first.is_cuda:
        return torch.stack(list(samples))
    return torch.stack(list(samples), out=_buffer((len(samples), *first.shape), first.dtype))


def _buffer(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Memory for a batch; in a worker it is shared memory, so that sending it copies nothing."""
    if get_worker_info() is None:
        return torch.empty(shape, dtype=dtype)
    storage = torch.UntypedStorage._new_shared(dtype.itemsize * math.prod(shape))
    # Torch takes lists too.
    return torch.empty(0, dtype=dtype).set_(storage, 0, shape)  # type: ignore[call-overload]


def samples_of(batch: Any) -> Any:
    """A batch that `__getitems__` made, as a list of samples: what a collate function of the user's
    expects."""
    if type(batch) is not tuple:
        return batch
    return [tuple(field[i] for field in batch) for i in range(len(batch[0]))]


def to_tensors(batch: Any, device: torch.device | None = None) -> Any:
    """Buffers and arrays in nested lists and dictionaries as Tensors, on a device."""

    def moved(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype in _KINDS:
            value = torch.from_numpy(value)
        elif isinstance(value, np.generic):
            value = torch.as_tensor(value)
        if isinstance(value, torch.Tensor):
            return Tensor(value if device is None else value.to(device, non_blocking=True))
        if isinstance(value, Tensor) and device is not None and not value.is_sparse():
            return Tensor(value.data.to(device))
        return value

    return _mapped(batch, moved)


def to_buffers(batch: Any) -> Any:
    """Tensors in nested lists and dictionaries as buffers: how a worker sends a batch."""
    return _mapped(batch, _buffer_of)
