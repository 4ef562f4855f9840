"""InputSpec."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.jit import InputSpec


def test_lengths_and_names() -> None:
    spec = InputSpec([None, 3, -1], "int32", "ids")
    assert spec.shape == (-1, 3, -1) and spec.unknown == [0, 2] and spec.dtype == paddle.int32
    assert spec.batch(4).shape == (4, -1, 3, -1) and spec.unbatch().shape == (-1, 3, -1)
    assert InputSpec.from_numpy(np.ones((2, 1), "float64"), "a") == InputSpec([2, 1], "float64", "a")
    assert InputSpec.from_tensor(paddle.ones([2])).shape == (2,)
    assert paddle.static.InputSpec is InputSpec


def test_samples() -> None:
    generator = torch.Generator().manual_seed(0)
    assert InputSpec([None, 3]).sample({0: 5}, generator).shape == [5, 3]
    ids = InputSpec([None], "int64").sample({0: 50}, generator)
    assert set(ids.tolist()) == {0, 1} and ids.dtype == paddle.int64
    assert InputSpec([4], "bool").sample({}, generator).dtype == paddle.bool


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="batch_size: expected an int"):
        InputSpec([2]).batch("a")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(ValueError, match="at least one axis"):
        InputSpec([]).unbatch()
