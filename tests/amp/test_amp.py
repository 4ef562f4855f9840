"""Mixed precision: which operator runs in which dtype, gradients, loss scaling, and where a NaN came from."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import amp, nn, optimizer
from sampan.amp import debugging


@pytest.fixture(autouse=True)
def nothing_stays_on():
    yield
    debugging.disable_tensor_checker()
    assert (
        not amp.is_autocast_enabled() and not paddle.engine.apply.observers and not paddle.engine.apply.casts
    )
    amp.casting.last_dtype = "float32"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_level_1_by_its_lists(dtype):
    half = getattr(paddle, dtype)
    layer, x = nn.Linear(3, 4), paddle.ones([2, 3])
    with amp.auto_cast(dtype=dtype):
        assert amp.is_autocast_enabled() and amp.get_autocast_dtype() == dtype
        y = layer(x)
        assert y.dtype == half and (x @ layer.weight).dtype == half
        assert nn.functional.relu(y).dtype == half  # follows its input
        assert (y + x[:, :1]).dtype == paddle.float32  # one asks for float32
        assert y.exp().dtype == paddle.float32 and nn.functional.softmax(y).dtype == paddle.float32
        with amp.auto_cast(enable=False):
            assert layer(x).dtype == paddle.float32
        loss = (y * y).mean()
    loss.backward()
    assert layer.weight.grad.dtype == paddle.float32 and layer(x).dtype == paddle.float32
    plain = nn.Linear(3, 4)
    plain.set_state_dict(layer.state_dict())
    z = plain(x)
    (z * z).mean().backward()
    np.testing.assert_allclose(layer.weight.grad.numpy(), plain.weight.grad.numpy(), rtol=0.03, atol=0.01)


def test_lists_levels_and_errors():
    x, half = paddle.ones([2, 2]), paddle.ones([2, 2], "bfloat16")
    with amp.auto_cast(
        custom_white_list={"elementwise_add"}, custom_black_list={"matmul_v2"}, dtype="bfloat16"
    ):
        assert (x + x).dtype == paddle.bfloat16 and (half @ half).dtype == paddle.float32
    with amp.auto_cast(level="O2", dtype="bfloat16"):
        assert x.exp().dtype == paddle.float32 and half.exp().dtype == paddle.bfloat16
    with amp.auto_cast(level="O2", dtype="bfloat16", use_promote=False):
        assert x.exp().dtype == paddle.bfloat16
    with amp.auto_cast(level="OD", dtype="bfloat16"):
        assert (x @ x).dtype == paddle.bfloat16 and half.exp().dtype == paddle.float32
    with amp.auto_cast(level="O0"):
        assert (x @ x).dtype == paddle.float32
    with amp.autocast("cpu", dtype="bfloat16"):
        assert (x @ x).dtype == paddle.bfloat16
        assert (paddle.ones([2, 2], "float64") @ paddle.ones([2, 2], "float64")).dtype == paddle.float64
    for bad, what in (({"level": "O5"}, "level"), ({"dtype": "int8"}, "dtype"), ({"custom_white_list": ["a"], "custom_black_list": ["a"]}, "both")):  # fmt: skip
        with pytest.raises(ValueError, match=what), amp.auto_cast(**bad):
            pass


def test_a_network_in_half_precision_steps_in_float32():
    net = nn.Sequential(nn.Conv2D(1, 2, 3), nn.BatchNorm2D(2), nn.Flatten(), nn.Linear(8, 2))
    optim = optimizer.AdamW(1e-3, parameters=net.parameters())
    net, optim = amp.decorate(net, optim, level="O2", dtype="bfloat16", save_dtype="float32")
    assert net[0].weight.dtype == paddle.bfloat16 and net[1].weight.dtype == paddle.float32
    assert all(t.dtype == paddle.float32 for t in net.state_dict().values())
    with amp.auto_cast(level="O2", dtype="bfloat16"):
        loss = net(paddle.randn([4, 1, 4, 4])).astype("float32").square().mean()
    loss.backward()
    optim.step()
    assert len(optim.state_dict()["master_weights"]) == 4
    kept = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.LayerNorm(2))
    amp.decorate(kept, level="O2", dtype="float16", excluded_layers=[kept[0]])
    assert [layer.weight.dtype for layer in kept] == [paddle.float32, paddle.float16, paddle.float32]
    assert amp.decorate(kept) is kept
    for bad in ({"level": "O3"}, {"dtype": "float64"}, {"save_dtype": "int8", "level": "O2"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            amp.decorate(kept, **bad)


def scaled(scaler, optim, parameter, gradient):
    parameter.grad = paddle.to_tensor([gradient])
    scaler.step(optim)
    scaler.update()


def test_scaling_follows_what_it_finds(capsys):
    parameter = nn.Parameter(np.zeros(1, "float32"))
    optim = optimizer.SGD(1.0, [parameter])
    scaler = amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=2)
    amp.casting.last_dtype = "float16"
    assert scaler.scale(paddle.to_tensor(2.0)).item() == 16
    scaled(scaler, optim, parameter, 8.0)
    assert parameter.item() == -1
    scaled(scaler, optim, parameter, float("inf"))
    assert parameter.item() == -1 and scaler.state_dict()["scale"][0] == 4
    assert "becomes 4" in capsys.readouterr().out
    scaled(scaler, optim, parameter, 4.0)
    scaled(scaler, optim, parameter, 4.0)
    assert parameter.item() == -3 and scaler.state_dict()["scale"][0] == 8
    again = amp.GradScaler()
    again.load_state_dict(scaler.state_dict())
    assert again.state_dict() == {**scaler.state_dict(), "scale": again.state_dict()["scale"]}
    parameter.grad = paddle.to_tensor([8.0])
    scaler.unscale_(optim)
    assert parameter.grad.item() == 1
    with pytest.raises(RuntimeError, match="unscale_"):
        scaler.unscale_(optim)
    scaler.step(optim)
    with pytest.raises(RuntimeError, match="step"):
        scaler.step(optim)
    with pytest.raises(RuntimeError, match="empty"):
        again.load_state_dict({})
    for bad in ({"incr_ratio": 1.0}, {"decr_ratio": 1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            amp.GradScaler(**bad)


def test_scaling_is_off_where_it_is_not_needed():
    loss = paddle.to_tensor(2.0)
    off = amp.GradScaler(enable=False)
    assert off.scale(loss) is loss and off.state_dict() == {} and not off.is_enable()
    scaler = amp.GradScaler()
    with pytest.warns(UserWarning, match="float32"):
        assert scaler.scale(loss) is loss
    fixed = amp.GradScaler(init_loss_scaling=4.0, use_dynamic_loss_scaling=False)
    assert fixed.scale(loss).item() == 8 and not fixed.is_use_dynamic_loss_scaling()
    parameter = nn.Parameter(np.zeros(1, "float32"))
    optim = optimizer.SGD(1.0, [parameter])
    fixed.scale((parameter * 3).sum()).backward()
    fixed.minimize(optim, loss)
    assert parameter.item() == -3


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
