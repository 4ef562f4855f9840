"""ONNX files as layers."""

import numpy as np
import pytest
from sampan.static import InputSpec

import sampan as paddle
from sampan import nn
from sampan.engine.errors import InvalidArgument

onnx = pytest.importorskip("onnx")


def round_trip(folder, layer, spec):
    layer.eval()
    paddle.onnx.export(layer, str(folder / "m"), spec)
    return paddle.onnx.load(folder / "m.onnx")


NETWORKS = {
    "lenet": (paddle.vision.models.LeNet, [None, 1, 28, 28]),
    "lstm": (lambda: nn.LSTM(4, 5, direction="bidirect"), [None, None, 4]),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16), [None, None, 8]),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_what_was_exported_comes_back(tmp_path, name):
    make, shape = NETWORKS[name]
    layer = make()
    x = paddle.randn([n or 3 for n in shape])
    made, wanted = round_trip(tmp_path, layer, [InputSpec(shape)])(x), layer(x)
    first = (made[0], wanted[0]) if isinstance(made, list) else (made, wanted)
    np.testing.assert_allclose(first[0].numpy(), first[1].numpy(), atol=1e-5)


def test_it_trains_further(tmp_path):
    paddle.seed(0)
    layer = round_trip(
        tmp_path, nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1)), [InputSpec([None, 2])]
    )
    assert len(layer.parameters()) == 4
    x = paddle.randn([32, 2])
    y = x[:, :1] * x[:, 1:]
    optimizer = paddle.optimizer.Adam(0.05, parameters=layer.parameters())
    losses = []
    for _ in range(60):
        loss = ((layer(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def test_inputs_are_checked(tmp_path):
    layer = round_trip(tmp_path, nn.Linear(2, 2), [InputSpec([None, 2], name="given")])
    with pytest.raises(InvalidArgument, match=r"given: expected float32\[-1, 2\], got float32\[1, 3\]"):
        layer(paddle.ones([1, 3]))
    with pytest.raises(InvalidArgument, match=r"given: expected float32.*got int64"):
        layer(paddle.ones([1, 2], "int64"))
    with pytest.raises(InvalidArgument, match=r"expected 1 inputs \['given'\], got 2"):
        layer(paddle.ones([1, 2]), paddle.ones([1, 2]))


def test_an_imported_layer_is_exported_again(tmp_path):
    layer = nn.Sequential(nn.Conv2D(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    again = round_trip(
        tmp_path, round_trip(tmp_path, layer, [InputSpec([None, 1, 4, 4])]), [InputSpec([None, 1, 4, 4])]
    )
    x = paddle.randn([5, 1, 4, 4])
    np.testing.assert_allclose(again(x).numpy(), layer(x).numpy(), atol=1e-5)
