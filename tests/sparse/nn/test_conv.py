"""Layers of sparse convolution."""

import sampan
from sampan import sparse
from tests.sparse.clouds import cloud


def test_layers():
    kinds = sparse.nn
    x, _ = cloud((1, 6, 6, 6), 4)
    conv = kinds.Conv3D(4, 8, 3, stride=2, padding=1, key="d").to(dtype="float64")
    assert conv.weight.shape == [3, 3, 3, 4, 8] and conv.bias.shape == [8]
    assert repr(kinds.SubmConv3D(2, 4, 3)) == "SubmConv3D(2, 4, kernel_size=[3, 3, 3], data_format=NDHWC)"
    back = kinds.InverseConv3D(8, 4, 3, key="d").to(dtype="float64")
    assert back(conv(x)).pattern is x.pattern
    assert kinds.MaxPool3D(2, 2)(x).shape == [1, 3, 3, 3, 4] and kinds.AvgPool3D(2, 2)(x).shape == [
        1,
        3,
        3,
        3,
        4,
    ]
    assert kinds.Linear(4, 5).to(dtype="float64")(x).shape == [1, 6, 6, 6, 5]
    assert kinds.Conv3DTranspose(4, 2, 2, 2).to(dtype="float64")(x).shape == [1, 12, 12, 12, 2]
    assert kinds.GlobalAvgPool()(x).shape == [1, 4]
    y, _ = cloud((1, 6, 6), 4)
    for layer, shape in [
        (kinds.AvgPool2D(2), [1, 3, 3, 4]),
        (kinds.Conv2D(4, 3, 3), [1, 4, 4, 3]),
        (kinds.SubmConv2D(4, 3, 3), [1, 6, 6, 3]),
        (kinds.Conv2DTranspose(4, 3, 2, 2), [1, 12, 12, 3]),
        (kinds.MaxPool2D(2), [1, 3, 3, 4]),
    ]:
        assert layer.to(dtype="float64")(y).shape == shape
    sampan.seed(0)
    assert abs(float(kinds.Conv2D(64, 64, 3).weight.std()) - (2 / (64 * 9)) ** 0.5) < 1e-3
