"""Printing a Tensor says what one looks for."""

from __future__ import annotations

import torch

import sampan as paddle
from sampan.nn import Parameter


def test_printing_says_what_one_looks_for() -> None:
    x = paddle.to_tensor([[1.0, 2.5], [3.0, 4.0]], stop_gradient=False)
    assert repr(x) == (
        "Tensor(shape=[2, 2], dtype=float32, place=Place(cpu), stop_gradient=False,\n"
        "       [[1.        , 2.50000000],\n        [3.        , 4.        ]])"
    )
    assert repr(x - 2.0).endswith("[[-1.       , 0.50000000],\n        [ 1.       ,  2.       ]])")
    assert repr(paddle.arange(30)).endswith(
        "[0 , 1 , 2 , 3 , 4 , 5 , 6 , 7 , 8 , 9 , 10, 11, 12, 13, 14, 15, 16, 17,\n        18, 19, 20, 21, 22, "
        "23, 24, 25, 26, 27, 28, 29])"
    )
    assert repr(paddle.to_tensor([1 + 2j, 0.5 - 1j])).endswith(
        "[(1.00000000+2.00000000j), (0.50000000-1.00000000j)])"
    )
    assert repr(paddle.arange(2000).reshape([2, 1000])).endswith(
        "[[0   , 1   , 2   , ..., 997 , 998 , 999 ],\n        [1000, 1001, 1002, ..., 1997, 1998, 1999]])"
    )
    assert f"{paddle.to_tensor(1.5)}, {paddle.to_tensor(2):03d}" == "1.5, 002"
    assert repr(paddle.to_tensor(1)).endswith("stop_gradient=True,\n       1)")
    assert "shape=[0, 3]" in repr(paddle.zeros([0, 3])) and "True" in repr(paddle.to_tensor([True]))
    assert "..." in repr(paddle.zeros([100, 100])) and len(repr(paddle.zeros([100, 100]))) < 2000
    assert repr(Parameter(torch.ones(1))).startswith("Parameter containing:\nTensor(")
    assert "1.5" in repr(paddle.to_tensor([1.5], dtype="bfloat16")) and str(x) == repr(x)
