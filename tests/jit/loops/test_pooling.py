import itertools
from typing import Any

import pytest
import torch

from sampan.jit.loops import pooling
from sampan.jit.loops.pooling import max_pool_values

CASES = [case for case in itertools.product((1, 2, 3, 5), (1, 2, 3), (0, 1, 2)) if 2 * case[2] <= case[0]]


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_values_are_those_of_torch(monkeypatch: Any, ceil_mode: bool, layout: torch.memory_format) -> None:
    monkeypatch.setattr(pooling, "LOOP_FROM", 0)
    for (kernel, stride, padding), (height, width) in itertools.product(CASES, ((17, 23), (16, 16), (5, 9))):
        x = torch.randn(2, 3, height, width)
        x[0, 0, 2, 3], x[1, 1], x[1, 2, 0, 0] = float("nan"), -float("inf"), float("inf")
        x = x.to(memory_format=layout)
        wanted = torch.max_pool2d(x, kernel, stride, padding, 1, ceil_mode)
        found = max_pool_values(x, (kernel,) * 2, (stride,) * 2, (padding,) * 2, ceil_mode)
        assert torch.allclose(found, wanted, rtol=0, atol=0, equal_nan=True)
        assert found.is_contiguous(memory_format=layout)


def test_windows_that_are_not_square() -> None:
    x = torch.randn(2, 4, 60, 62)
    wanted = torch.max_pool2d(x, (3, 2), (1, 2), (1, 0))
    assert torch.equal(max_pool_values(x, (3, 2), (1, 2), (1, 0), False), wanted)


def test_other_dtypes_and_layouts_take_the_call_of_torch(monkeypatch: Any) -> None:
    monkeypatch.setattr(pooling, "_largest_loop", None)
    monkeypatch.setattr(pooling, "LOOP_FROM", 1)
    settings = (2, 2), (2, 2), (0, 0), False
    x = torch.randn(2, 3, 8, 8)
    for given in (
        x.double(),
        x.to(memory_format=torch.channels_last),
        x.transpose(2, 3),
        x.to(torch.bfloat16),
    ):
        found, wanted = max_pool_values(given, *settings), torch.max_pool2d(given, 2)
        assert torch.equal(found, wanted) and found.stride() == wanted.stride()
    assert max_pool_values(x[:0], *settings).shape == (0, 3, 4, 4)
    with pytest.raises(RuntimeError, match="Output size is too small"):
        max_pool_values(x, (9, 9), (1, 1), (0, 0), False)
    with pytest.raises(RuntimeError, match="pad"):
        max_pool_values(x, (2, 2), (1, 1), (2, 2), False)
