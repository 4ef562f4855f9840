"""Tensors from numbers, lists, arrays and other tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.tensor import Tensor


def name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("paddle.")


@pytest.mark.parametrize(
    ("data", "dtype", "value"),
    [  # as PaddlePaddle 3.3.1 answers
        (1, "int64", 1),
        (1.5, "float32", 1.5),
        (True, "bool", True),
        (1 + 2j, "complex64", 1 + 2j),
        ([1, 2], "int64", [1, 2]),
        ([1.0, 2], "float32", [1.0, 2.0]),
        ([1, True], "int64", [1, 1]),
        ([], "float32", []),
        (2**40, "int64", 2**40),
        (np.float64(3), "float64", 3.0),
        (np.float16(2), "float16", 2.0),
        (np.int32(3), "int32", 3),
        (np.bool_(True), "bool", True),
        ([np.float64(1.0)], "float32", [1.0]),
        ([np.zeros(2), np.ones(2)], "float32", [[0.0, 0.0], [1.0, 1.0]]),
        (np.zeros(2), "float64", [0.0, 0.0]),
        (np.array(3), "int64", 3),
        ((1, 2.0), "float32", [1.0, 2.0]),
        (range(3), "int64", [0, 1, 2]),
    ],
)
def test_to_tensor_chooses_the_dtype(data, dtype: str, value) -> None:
    tensor = paddle.to_tensor(data)
    assert name(tensor) == dtype and tensor.tolist() == value and tensor.stop_gradient


def test_tensors_in_a_list_keep_their_dtype() -> None:
    assert name(paddle.to_tensor([paddle.to_tensor(1.0, dtype="float64")])) == "float64"
    assert paddle.to_tensor([paddle.to_tensor([1, 2]), torch.tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]


def test_the_default_dtype_is_that_of_python_floats() -> None:
    paddle.set_default_dtype("float64")
    try:
        made = [paddle.to_tensor(1.5), paddle.ones([1]), paddle.full([1], 2), paddle.rand([1]), paddle.eye(2)]
        assert {name(m) for m in made} == {"float64"} and paddle.get_default_dtype() == "float64"
        assert name(paddle.to_tensor(1j)) == "complex128" and name(paddle.to_tensor([1])) == "int64"
    finally:
        paddle.set_default_dtype("float32")
    with pytest.raises(TypeError, match="floating dtype, got int64"):
        paddle.set_default_dtype("int64")


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ([[1], [2, 3]], ValueError, "to_tensor"),
        ("abc", TypeError, "to_tensor: cannot make an array of str"),
        (None, TypeError, "to_tensor: cannot make an array of NoneType"),
        (object(), TypeError, "to_tensor"),
        ({"a": 1}, TypeError, "to_tensor"),
        ([1, None], ValueError, "to_tensor"),
        (2**63, TypeError, "uint64"),
        (np.zeros(2, "datetime64[s]"), TypeError, r"datetime64\[s\], expected one of"),
        (np.array(["a"]), TypeError, "to_tensor"),
    ],
)
def test_to_tensor_refuses_what_is_no_array(data, error, words: str) -> None:
    with pytest.raises(error, match=words):
        paddle.to_tensor(data)


def test_to_tensor_copies_and_takes_its_settings() -> None:
    source = np.array([1.0, 2.0])
    tensor = paddle.to_tensor(source, dtype="int64", stop_gradient=False)
    assert name(tensor) == "int64" and not tensor.stop_gradient
    for data in (source, torch.from_numpy(source), paddle.Tensor(torch.from_numpy(source))):
        tensor = paddle.to_tensor(data)
        tensor.zero_()
        assert source.tolist() == [1.0, 2.0]
    assert paddle.to_tensor(source[::-1]).tolist() == [2.0, 1.0]
    recorded = paddle.to_tensor([1.0], stop_gradient=False) * 2.0
    assert paddle.to_tensor(recorded).is_leaf


def test_a_list_of_bfloat16_keeps_it() -> None:
    made = paddle.to_tensor([torch.ones(2, dtype=torch.bfloat16), paddle.ones([2], "bfloat16")])
    assert name(made) == "bfloat16" and made.astype("float32").tolist() == [[1.0, 1.0], [1.0, 1.0]]
