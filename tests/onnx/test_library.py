"""Names of dtypes."""

import pytest
import torch

from sampan.engine.errors import InvalidArgument
from sampan.onnx.library import DTYPES, library, number_of


def test_numbers_of_dtypes_are_those_of_the_library():
    kinds = pytest.importorskip("onnx").TensorProto
    for name, dtype in {"FLOAT": torch.float32, "INT64": torch.int64, "BFLOAT16": torch.bfloat16}.items():
        assert number_of(dtype) == getattr(kinds, name) and DTYPES[getattr(kinds, name)] is dtype
    assert library().__name__ == "onnx"
    with pytest.raises(InvalidArgument, match="no dtype"):
        number_of(torch.quint8)
