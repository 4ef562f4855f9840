"""Where a NaN came from, numbers of a tensor, and calls counted by precision."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import amp, nn
from sampan.amp import debugging


def test_the_first_operator_with_a_nan_is_named():
    debugging.enable_tensor_checker(debugging.TensorCheckerConfig(enable=True))
    x = paddle.to_tensor([-1.0, 1.0], stop_gradient=False)
    with pytest.raises(RuntimeError, match=r"num_nan=1.*op=log"):
        (x.log() * 2).sum()
    y = paddle.to_tensor([0.0], stop_gradient=False)
    with pytest.raises(RuntimeError, match="op=sqrt_grad"):
        y.sqrt().sum().backward()
    debugging.disable_tensor_checker()
    assert np.isnan(x.log().numpy()[0])


def test_what_is_checked_can_be_chosen(tmp_path, capsys):
    x = paddle.to_tensor([-1.0])
    config = debugging.TensorCheckerConfig(True, debugging.DebugMode.CHECK_NAN_INF, skipped_op_list=["log"])
    debugging.enable_tensor_checker(config)
    x.log()
    x.sqrt()
    assert "op=sqrt" in capsys.readouterr().out
    steps = debugging.TensorCheckerConfig(True, debug_step=(1, 2))
    debugging.TensorCheckerConfig.current_step_id = 0
    debugging.enable_tensor_checker(steps)  # step 0 is not looked at
    x.log()
    for name in ("one", "two"):
        config = debugging.TensorCheckerConfig(
            True, debugging.DebugMode.CHECK_ALL, str(tmp_path / name), ["exp"]
        )
        debugging.enable_tensor_checker(config)
        (x * (2 if name == "two" else 1)).exp()
    debugging.disable_tensor_checker()
    debugging.compare_accuracy(tmp_path / "one", tmp_path / "two", tmp_path / "table.csv")
    assert (
        "op=exp" in (tmp_path / "table.csv").read_text() and "False" in (tmp_path / "table.csv").read_text()
    )
    for bad in ({"debug_step": 3}, {"debug_step": (2, 1)}, {"checked_op_list": "exp"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            debugging.TensorCheckerConfig(True, **bad)


def test_numbers_of_a_tensor_and_of_a_layer():
    stats, values = debugging.check_numerics(
        paddle.to_tensor([1.0, float("nan"), 0.0, float("inf")]), "op", "x", debugging.DebugMode.CHECK_ALL
    )
    assert stats.numpy().tolist() == [1, 1, 1]
    _, values = debugging.check_numerics(paddle.to_tensor([1.0, 2.0, 0.0]), "op", "x")
    assert values.numpy().tolist() == [2, 0, 1]

    class Log(nn.Layer):
        @debugging.check_layer_numerics
        def forward(self, x):
            return x.log()

    with pytest.raises(RuntimeError, match="op=log"):
        Log()(paddle.to_tensor([-1.0]))
    with pytest.raises(RuntimeError, match="expected a Tensor first"):
        Log()()


def test_calls_are_counted_by_precision(capsys):
    with debugging.collect_operator_stats(), amp.auto_cast(dtype="bfloat16"):
        x = paddle.ones([2, 2])
        (x @ x).exp()
    lines = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    assert lines["mm"] == ["0", "1", "0", "0"] and lines["exp"] == ["0", "0", "1", "0"]
    debugging.disable_operator_stats_collection()
    assert torch.is_grad_enabled()
