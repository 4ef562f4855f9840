"""Programs run by an Executor, beside the same layers in a dynamic program."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn, static

Array = np.ndarray


def test_training_is_that_of_a_dynamic_program() -> None:
    rng = np.random.default_rng(0)
    xs, ys = rng.standard_normal((64, 4)).astype("float32"), rng.standard_normal((64, 1)).astype("float32")
    paddle.seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    state = {k: v.numpy() for k, v in net.state_dict().items()}
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x: Any = static.data("x", [None, 4])
        y: Any = static.data("y", [None, 1])
        loss = ((net(x) - y) ** 2).mean()
        paddle.optimizer.Adam(0.05, weight_decay=0.01).minimize(loss)
    exe = static.Executor(paddle.CPUPlace())
    assert exe.run(static.default_startup_program()) == []
    losses = [exe.run(main, feed={"x": xs[:n], "y": ys[:n]}, fetch_list=[loss])[0] for n in (64, 32, 64, 5)]
    paddle.disable_static()
    net.set_state_dict(state)
    optimizer = paddle.optimizer.Adam(0.05, parameters=net.parameters(), weight_decay=0.01)
    for n, found in zip((64, 32, 64, 5), losses, strict=True):
        wanted = ((net(paddle.to_tensor(xs[:n])) - paddle.to_tensor(ys[:n])) ** 2).mean()
        assert np.allclose(found, wanted.numpy(), rtol=1e-5)
        wanted.backward()
        optimizer.step()
        optimizer.clear_grad()


def test_a_clone_for_a_test_evaluates_and_statistics_move_in_training_only() -> None:
    main = static.Program()
    net: Any = nn.Sequential(nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4), nn.Flatten(), nn.Linear(4 * 36, 2))
    with static.program_guard(main):
        image: Any = static.data("image", [None, 3, 8, 8])
        out = net(image)
        test = main.clone(for_test=True)
        paddle.optimizer.SGD(0.0).minimize(out.mean())
    exe, x = static.Executor(), np.random.default_rng(1).standard_normal((6, 3, 8, 8)).astype("float32")
    before = [exe.run(test, feed={"image": x[:n]}, fetch_list=[out])[0] for n in (6, 2)]
    assert np.allclose(before[0][:2], before[1], atol=1e-6)
    exe.run(main, feed={"image": x}, fetch_list=[out])
    after = exe.run(test, feed={"image": x}, fetch_list=[out])[0]
    assert not np.allclose(before[0], after)
    paddle.disable_static()
    net.eval()
    assert np.allclose(after, net(paddle.to_tensor(x)).numpy(), atol=1e-5)


def test_gradients_are_variables() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [None, 3])
        x.stop_gradient = False
        layer: Any = nn.Linear(3, 2)
        loss = paddle.tanh(layer(x)).sum()
        (gx,) = static.gradients(loss, x)
        double = gx * 2
        pairs = static.append_backward(loss)
    feed = {"x": np.ones([4, 3], "float32")}
    got = static.Executor().run(main, feed=feed, fetch_list=[gx, double, "x@GRAD", *(g for _, g in pairs)])
    paddle.disable_static()
    given = paddle.to_tensor(feed["x"], stop_gradient=False)
    paddle.tanh(layer(given)).sum().backward()
    own: Any = given.grad
    wanted = [own, own * 2, own, layer.weight.grad, layer.bias.grad]
    for found, tensor in zip(got, wanted, strict=True):
        assert np.allclose(found, tensor.numpy(), atol=1e-6)


def test_random_numbers_are_drawn_in_each_run() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [None, 50])
        dropped = nn.functional.dropout(x, 0.5)
    exe, feed = static.Executor(), {"x": np.ones([2, 50], "float32")}
    one, two = (exe.run(main, feed=feed, fetch_list=[dropped])[0] for _ in range(2))
    assert set(np.unique(one)) == {0.0, 2.0} and not np.array_equal(one, two)
    main.random_seed = 7
    one, two = (
        exe.run(main, feed=feed, fetch_list=[dropped], return_numpy=False)[0].numpy() for _ in range(2)
    )
    assert np.array_equal(one, two)


def test_bad_feeds() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [None, 3])
        y = x + 1
    exe, good = static.Executor(), np.ones([2, 3], "float32")
    for feed, message in (
        ({"x": good[:, :2]}, r"x: expected shape \[-1, 3\], got \[2, 2\]"),
        ({"x": good.astype("float64")}, "x: expected float32, got float64"),
        ({"z": good}, "no input 'z'"),
        ({}, "missing the input 'x'"),
    ):
        with pytest.raises(ValueError, match=message):
            exe.run(main, feed=feed, fetch_list=[y])
    with pytest.raises(TypeError, match="expected a Program"):
        exe.run(3)
