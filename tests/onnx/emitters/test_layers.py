"""Layers in ONNX beside themselves, at sizes that the export did not see."""

import pytest
from sampan.static import InputSpec

import sampan as paddle
import sampan.nn.functional as F
from sampan import nn
from tests.onnx.exported import agrees, function_agrees


@pytest.mark.parametrize("cell", [nn.LSTM, nn.GRU, nn.SimpleRNN])
def test_recurrent_layers_with_and_without_lengths(tmp_path, cell):
    layer = cell(5, 6, 2, direction="bidirect")
    agrees(tmp_path, layer, [InputSpec([None, None, 5])], paddle.randn([3, 7, 5]))
    lengths = InputSpec([None], "int64")
    spec = [InputSpec([None, None, 5]), None, lengths]
    paddle.onnx.export(layer, str(tmp_path / "lengths"), spec)  # which compares


def test_relu_cells(tmp_path):
    layer = nn.SimpleRNN(5, 6, activation="relu", time_major=True)
    model = agrees(tmp_path, layer, [InputSpec([None, None, 5])], paddle.randn([7, 3, 5]))
    assert [node.op_type for node in model.graph.node].count("RNN") == 1


def test_convolutions_and_pools(tmp_path):
    paddle.seed(0)
    layers = [nn.Conv2D(4, 4, 3, padding="same", groups=2), nn.BatchNorm2D(4), nn.Conv2DTranspose(4, 6, 3, 2)]
    layers += [nn.AvgPool2D(3, 2, 1), nn.AvgPool2D(2, 1, 1, exclusive=False), nn.AdaptiveAvgPool2D(3)]
    # Norms before the largest entries, which may all be one: of a variance of 0 rounding alone is left.
    layers += [nn.GroupNorm(2, 6), nn.InstanceNorm2D(6), nn.MaxPool2D(2, 1, ceil_mode=True)]
    agrees(tmp_path, nn.Sequential(*layers), [InputSpec([None, 4, 16, 16])], paddle.randn([5, 4, 16, 16]))
    layers = [nn.Conv1D(4, 3, 2, dilation=2), nn.BatchNorm1D(3), nn.MaxPool1D(2, return_mask=True)]
    agrees(tmp_path, nn.Sequential(*layers), [InputSpec([None, 4, 9])], paddle.randn([5, 4, 9]))


def test_resizing(tmp_path):
    def computed(x):
        x = x.unsqueeze(1)
        yield from (F.interpolate(x, scale_factor=2), F.interpolate(x, size=[8, 9]))
        yield from (F.interpolate(x, size=[8, 9], mode=m) for m in ("bilinear", "bicubic"))
        yield F.interpolate(x, size=[8, 9], mode="bilinear", align_corners=True)

    function_agrees(tmp_path, lambda x: list(computed(x)))


def test_products_and_embeddings(tmp_path):
    def computed(x):
        return (
            x @ x.transpose([0, 2, 1]),
            paddle.einsum("bij,bkj->bik", x, x),
            F.layer_norm(x, [6]),
            F.normalize(x),
        )

    function_agrees(tmp_path, computed)
    ids = paddle.to_tensor([[1, 2, 9]])
    agrees(tmp_path, nn.Embedding(10, 4, padding_idx=1), [InputSpec([None, None], "int64")], ids)


def test_attention_with_a_mask_and_causal(tmp_path):
    def computed(x):
        heads = x.reshape([0, 0, 2, 3])
        mask = (x @ x.transpose([0, 2, 1])).unsqueeze(1)
        plain = F.scaled_dot_product_attention(heads, heads, heads, mask)
        return plain, F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)

    function_agrees(tmp_path, computed)
