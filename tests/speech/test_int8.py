"""Linear layers in int8 against their definition in float64, alone and in a stream."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn
from sampan.engine.errors import InvalidArgument
from sampan.speech.int8 import Int8Linear, int8_layers, to_channels
from sampan.speech.nn import ConformerEncoder, SpeechModel

pytestmark = pytest.mark.usefixtures("one_thread")  # small networks


@pytest.mark.parametrize("axis", [0, 1])
def test_each_channel_has_its_scale_and_is_the_same_a_second_time(axis):
    weight = torch.randn(6, 5) * torch.logspace(-3, 2, 5)
    weight[:, 2] = 0
    q, scale = to_channels(weight, axis)
    shape = [-1, 1] if axis == 0 else [1, -1]
    value = q.float() * scale.view(shape)
    assert (value - weight).abs().le(0.52 * scale.view(shape) + 1e-9).all()
    assert q.abs().max() == 127
    again, same = to_channels(value, axis)
    assert torch.equal(again, q)
    assert torch.equal(same, scale)


@pytest.mark.parametrize("bias", [None, False])
def test_values_are_the_product_of_the_rounded_numbers(bias):
    layer, x = nn.Linear(9, 4, bias_attr=bias), paddle.randn([2, 3, 9])
    made = Int8Linear(layer)
    weight, columns = to_channels(layer.weight.data, 1)
    given = x.numpy().astype(float)
    scale = np.abs(given).max(-1, keepdims=True) / 127
    expected = np.rint(given / scale) * scale @ (weight.numpy() * columns.numpy().astype(float))
    expected += 0 if bias is False else layer.bias.numpy()
    np.testing.assert_allclose(made(x).numpy(), expected, rtol=1e-4, atol=1e-5)
    assert np.abs(made(x).numpy() - layer(x).numpy()).max() < 0.05
    assert np.array_equal(made(x[1:]).numpy(), made(x).numpy()[1:])  # a row does not depend on the others
    assert made(paddle.zeros([0, 9])).shape == [0, 4]
    with pytest.raises(InvalidArgument, match=r"x: expected float32 \[..., 9\], got torch.float32 \[2, 8\]"):
        made(paddle.zeros([2, 8]))
    with pytest.raises(InvalidArgument, match=r"layer: expected float32 on the CPU, got torch.float64"):
        Int8Linear(nn.Linear(3, 2).astype("float64"))


def test_a_recogniser_in_int8_streams():
    paddle.seed(0)
    model = SpeechModel(ConformerEncoder(9, 16, 2, 2, kernel_size=5, causal=True, norm="layer"), 6)
    model.eval()
    x = paddle.randn([1, 83, 9])
    exact = model(x, None, 4, 2).logits.numpy()[0]
    int8_layers(model)
    assert not any(isinstance(layer, nn.Linear) for layer in model.sublayers())
    whole = model(x, None, 4, 2).logits.numpy()[0]
    assert 0 < np.abs(whole - exact).mean() < 0.03 * np.abs(exact).mean()
    stream = model.stream(4, 2)
    parts = [stream.feed(x[0, at : at + 10]) for at in range(0, 83, 10)] + [stream.finish()]
    frames = paddle.concat([part for part in parts if part.shape[0]])
    np.testing.assert_allclose(model.head(frames).numpy(), whole, atol=0.02)
