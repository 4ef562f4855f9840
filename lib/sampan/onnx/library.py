"""The `onnx` library, which is an extra, and its names for our dtypes."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import torch

from ..engine.errors import InvalidArgument

_NUMBERS = {
    torch.float32: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 5, torch.int32: 6, torch.int64: 7,
    torch.bool: 9, torch.float16: 10, torch.float64: 11, torch.complex64: 14, torch.complex128: 15,
    torch.bfloat16: 16,
}  # fmt: skip  # a table
DTYPES = {number: dtype for dtype, number in _NUMBERS.items()}


@cache
def library() -> Any:
    """The module `onnx`. ImportError with the extra to install where it is not there."""
    try:
        for part in ("checker", "helper", "numpy_helper", "reference", "shape_inference"):
            import_module(f"onnx.{part}")
        return import_module("onnx")
    except ImportError as error:
        raise ImportError(
            'ONNX files need the package onnx: pip install "sampan[deploy]" or pip install onnx onnxruntime'
        ) from error


@cache
def runtime() -> Any:
    """The module `onnxruntime`, or None where it is not installed."""
    try:
        return import_module("onnxruntime")
    except ImportError:
        return None


def number_of(dtype: torch.dtype) -> int:
    """ONNX's number of a dtype."""
    if dtype not in _NUMBERS:
        raise InvalidArgument(f"ONNX has no dtype for {dtype}")
    return _NUMBERS[dtype]


def array_of(buffer: torch.Tensor) -> np.ndarray:
    """A buffer as an array, bfloat16 in the dtype that the library has for it."""
    data = buffer.detach().cpu().contiguous()
    if data.dtype is torch.bfloat16:
        kind = library().helper.tensor_dtype_to_np_dtype(number_of(data.dtype))
        return data.view(torch.int16).numpy().view(kind)
    return data.numpy()


def session(model: Any, threads: int = 0) -> Any:
    """An ONNX Runtime session of a file's path or content, on the CPU. threads: 0 leaves the choice to it."""
    options = runtime().SessionOptions()
    options.log_severity_level = 4  # an error is raised as well
    options.intra_op_num_threads = threads
    return runtime().InferenceSession(model, options, providers=["CPUExecutionProvider"])
