"""The enumerations of Paddle Inference."""

from __future__ import annotations

from enum import Enum

import torch

from ..engine.errors import InvalidType


class PrecisionType(Enum):
    """In what a predictor computes."""

    Float32 = 0
    Int8 = 1
    Half = 2
    Bfloat16 = 3


class PlaceType(Enum):
    """Where a tensor is."""

    UNK = -1
    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM = 4


class DataType(Enum):
    """The dtype of a tensor."""

    FLOAT32 = 0
    INT64 = 1
    INT32 = 2
    UINT8 = 3
    INT8 = 4
    FLOAT16 = 5
    BOOL = 6
    FLOAT64 = 7
    BFLOAT16 = 8


_TORCH = {
    DataType.FLOAT32: torch.float32,
    DataType.INT64: torch.int64,
    DataType.INT32: torch.int32,
    DataType.UINT8: torch.uint8,
    DataType.INT8: torch.int8,
    DataType.FLOAT16: torch.float16,
    DataType.BOOL: torch.bool,
    DataType.FLOAT64: torch.float64,
    DataType.BFLOAT16: torch.bfloat16,
}
_KINDS = {dtype: kind for kind, dtype in _TORCH.items()}


def data_type(dtype: torch.dtype) -> DataType:
    """The DataType of a buffer's dtype."""
    if dtype not in _KINDS:
        raise InvalidType(f"type: no DataType for {dtype}")
    return _KINDS[dtype]


def get_num_bytes_of_data_type(dtype: DataType) -> int:
    """Bytes of one number."""
    if not isinstance(dtype, DataType):
        raise InvalidType(
            f"get_num_bytes_of_data_type: dtype: expected a DataType, got {type(dtype).__name__}"
        )
    return _TORCH[dtype].itemsize
