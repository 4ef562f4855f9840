"""Branches and loops of Programs, with their gradients."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn, static


@pytest.mark.parametrize("value", [1.0, -1.0])
def test_branches_and_loops(value: float) -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [None, 3])
        x.stop_gradient = False
        layer: Any = nn.Linear(3, 3)
        a = static.nn.cond(x.sum() > 0, lambda: layer(x) * 2, lambda: x - 1)
        n, s = static.nn.while_loop(
            lambda n, s: n < 4, lambda n, s: [n + 1, s * 2], [paddle.zeros([1], "int64"), x * 1]
        )
        c = static.nn.case(
            [(x.sum() > 10, lambda: x + 10), (x.sum() > 0, lambda: x + 1)], default=lambda: x * 0
        )
        k = static.nn.switch_case(paddle.cast(x.sum() > 0, "int32"), {0: lambda: x * 5, 1: lambda: x * 6})
        (g,) = static.gradients(a.mean() + s.mean(), x)
    fed = np.full([2, 3], value, "float32")
    got = static.Executor().run(main, feed={"x": fed}, fetch_list=[a, n, s, c, k, g])
    paddle.disable_static()
    t = paddle.to_tensor(fed, stop_gradient=False)
    wanted = layer(t) * 2 if value > 0 else t - 1
    (wanted.mean() + (t * 16).mean()).backward()
    expected = [
        wanted.numpy(),
        [4],
        fed * 16,
        fed + 1 if value > 0 else fed * 0,
        fed * (6 if value > 0 else 5),
        t.grad,
    ]
    for found, right in zip(got, expected, strict=True):
        assert np.allclose(found, np.asarray(right), atol=1e-6)


def test_a_loop_reads_values_from_outside_and_leaves_them() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [3])
        step = x * 0.5
        (total,) = static.nn.while_loop(lambda t: t.sum() < 10, lambda t: t + step, [x])
        after = x + total
    fed = np.ones([3], "float32")
    got = static.Executor().run(main, feed={"x": fed}, fetch_list=[total, after, x])
    assert got[0].tolist() == [3.5] * 3 and got[1].tolist() == [4.5] * 3 and got[2].tolist() == [1] * 3


def test_ways_must_give_as_much() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [3])
        with pytest.raises(ValueError, match="true_fn returns 1 Tensors, false_fn 2"):
            static.nn.cond(x.sum() > 0, lambda: x, lambda: [x, x])
        with pytest.raises(ValueError, match="expected 1 results, got 2"):
            static.nn.while_loop(lambda t: t.sum() < 1, lambda t: [t, t], [x])
