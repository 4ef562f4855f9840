"""Enumerations of Paddle Inference, with the numbers that Paddle 3.3.1 has."""

import pytest
import torch

from sampan import inference
from sampan.engine.errors import InvalidType
from sampan.inference.kinds import DataType, PlaceType, PrecisionType, data_type, get_num_bytes_of_data_type


def test_numbers_are_those_of_paddle():
    kinds = {kind.name: kind.value for kind in DataType}
    assert kinds == {
        "FLOAT32": 0, "INT64": 1, "INT32": 2, "UINT8": 3, "INT8": 4, "FLOAT16": 5, "BOOL": 6, "FLOAT64": 7,
        "BFLOAT16": 8,
    }  # fmt: skip  # a table
    assert [kind.value for kind in PrecisionType] == [0, 1, 2, 3]
    assert {kind.name: kind.value for kind in PlaceType} == {
        "UNK": -1,
        "CPU": 0,
        "GPU": 1,
        "XPU": 2,
        "CUSTOM": 4,
    }


def test_dtypes():
    assert data_type(torch.bfloat16) is DataType.BFLOAT16
    assert get_num_bytes_of_data_type(DataType.FLOAT64) == 8
    with pytest.raises(InvalidType, match="no DataType for"):
        data_type(torch.complex64)
    with pytest.raises(InvalidType, match="expected a DataType, got str"):
        get_num_bytes_of_data_type("float32")
    assert inference.get_version().startswith("version: sampan")
    assert inference.get_trt_compile_version() == inference.get_trt_runtime_version() == (0, 0, 0)
