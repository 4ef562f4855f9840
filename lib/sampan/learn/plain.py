"""Plain values: arguments and results of a learner's function, as trees of numbers, texts and
arrays."""

import sys
from typing import Any

import numpy as np

MAX_DEPTH = 16
FLOATS, COMPLEX = ("float64", "float32", "float16"), ("complex64", "complex128")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")
DTYPES = frozenset((*FLOATS, *COMPLEX, *INTEGERS))


class Foreign:
    """Replaces a result that is not a plain value; it holds only the name of its type."""

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name[:200]

    def __repr__(self) -> str:
        return f"an object of type {self.type_name}"


class Strided:
    """An argument that reaches the learner's function as a view with gaps: same values, not contiguous."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)
        if self.array.ndim == 0:
            raise ValueError("Strided: expected an array with at least 1 axis, got a 0-d one")


def plain(value: Any, depth: int = 0) -> Any:
    """The value as plain data: tensors and NumPy scalars become arrays, anything else
    becomes a `Foreign`."""
    if depth > MAX_DEPTH:
        return Foreign("something nested too deeply")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (Foreign, Strided)):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return array if array.dtype.name in DTYPES else Foreign(f"array of {array.dtype.name}")
    if type(value) in (list, tuple):
        return type(value)(plain(item, depth + 1) for item in value)
    if type(value) is dict:
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    torch = sys.modules.get("torch")
    if torch is not None:
        buffer = value
        if not isinstance(buffer, torch.Tensor):
            buffer = getattr(value, "data", None)  # a Sampan Tensor: its buffer
        if isinstance(buffer, torch.Tensor):
            buffer = buffer.detach().cpu()
            if str(buffer.dtype).removeprefix("torch.") in DTYPES:
                return buffer.numpy().copy()
            return Foreign(f"tensor of {buffer.dtype}")
    return Foreign(type(value).__qualname__)
