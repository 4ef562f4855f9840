"""Mixed precision: which operator runs in which dtype, and gradients."""

import numpy as np
import pytest

import sampan as paddle
from sampan import amp, nn, optimizer


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_level_1_by_its_lists(dtype):
    half = getattr(paddle, dtype)
    layer, x = nn.Linear(3, 4), paddle.ones([2, 3])
    with amp.auto_cast(dtype=dtype):
        assert amp.is_autocast_enabled() and amp.get_autocast_dtype() == dtype
        y = layer(x)
        assert y.dtype == half and (x @ layer.weight).dtype == half
        assert layer(x[0]).dtype == layer(x.unsqueeze(0)).dtype == half
        assert paddle.einsum("ij,jk->ik", x, layer.weight).dtype == half
        assert nn.functional.binary_cross_entropy_with_logits(y, y).dtype == paddle.float32
        assert nn.functional.interpolate(y[None, None], scale_factor=2).dtype == paddle.float32
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
