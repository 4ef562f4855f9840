"""Loss scaling: what it finds, and where none is needed."""

import numpy as np
import pytest

import sampan as paddle
from sampan import amp, nn, optimizer


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
