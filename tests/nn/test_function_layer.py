"""Layers that only keep a function's settings: signature, repr, pickle, subclasses, names of inputs."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest

import sampan as paddle

nn, F = paddle.nn, paddle.nn.functional


@pytest.mark.parametrize(
    ("layer", "signature"),
    [
        (nn.ReLU, "(name=None)"),
        (nn.Softmax, "(axis=-1, name=None)"),
        (nn.MaxPool2D, "(kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format='NCHW', name=None)"),
        (nn.Fold, "(output_sizes, kernel_sizes, dilations=1, paddings=0, strides=1, name=None)"),
        (nn.CTCLoss, "(blank=0, reduction='mean', zero_infinity=False)"),
        (nn.ConstantPad3D, "(padding, value, data_format='NCDHW', name=None)"),
        (nn.Dropout, "(p=0.5, inplace=False, axis=None, mode='upscale_in_train', name=None)"),
    ],
)  # fmt: skip
def test_the_signature_is_paddles(layer, signature: str) -> None:
    assert str(inspect.signature(layer)) == signature


def test_settings_are_attributes_and_shown() -> None:
    layer = nn.MaxPool2D(3, padding=1)
    assert (layer.kernel_size, layer.stride, layer.padding) == (3, None, 1)
    assert repr(layer) == "MaxPool2D(kernel_size=3, stride=None, padding=1)"
    assert repr(nn.ELU(0.5)) == "ELU(alpha=0.5)" and repr(nn.MSELoss()) == "MSELoss()"
    layer.kernel_size = 2
    x = paddle.arange(16, dtype="float32").reshape([1, 1, 4, 4])
    assert layer(x).tolist() == F.max_pool2d(x, 2, None, 1).tolist()


def test_a_layer_is_copied_and_pickled() -> None:
    x = paddle.to_tensor(np.random.default_rng(0).normal(size=(2, 4)).astype("float32"))
    for layer in (nn.Softmax(0), nn.Hardtanh(-0.5, 0.5), nn.Pad1D([1, 0], "reflect")):
        y = x if not isinstance(layer, nn.Pad1D) else x.reshape([1, 2, 4])
        for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            assert repr(twin) == repr(layer) and twin(y).tolist() == layer(y).tolist()


def test_a_subclass_has_its_own_arguments() -> None:
    class Twice(nn.LeakyReLU):
        def __init__(self, factor: float) -> None:
            super().__init__(0.5)
            self.factor = factor

        def forward(self, x):
            return super().forward(x) * self.factor

    assert Twice(3.0)(paddle.to_tensor([-2.0])).tolist() == [-3.0]
    assert str(inspect.signature(Twice)) == "(factor: 'float') -> 'None'"


def test_training_is_the_layers_own() -> None:
    layer, x = nn.Dropout(0.5), paddle.ones([100])
    assert 0 < float((layer(x) == 0).sum()) < 100
    layer.eval()
    assert layer(x).tolist() == x.tolist()


def test_inputs_and_settings_have_names_and_aliases() -> None:
    x, y = paddle.ones([2, 3]), paddle.zeros([2, 3])
    assert float(nn.L1Loss("sum")(label=y, input=x)) == 6.0
    assert float(nn.SmoothL1Loss()(x, target=y)) == 0.5
    assert nn.Hardshrink(lambd=2.0)(x).tolist() == y.tolist()
    assert nn.AdaptiveMaxPool2D(1, return_indices=True).return_mask is True
    with pytest.raises(TypeError, match="L1Loss: forward takes input, label, got weight"):
        nn.L1Loss()(x, y, weight=y)
    with pytest.raises(TypeError, match="MaxPool2D: missing a required argument: 'kernel_size'"):
        nn.MaxPool2D()
    with pytest.raises(ValueError, match="reduction: expected 'mean', 'sum' or 'none', got 'max'"):
        nn.L1Loss("max")


def test_normalisations_share_what_they_are_made_of() -> None:
    net = nn.Sequential(nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4), nn.ReLU())
    made = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert type(made[1]) is nn.SyncBatchNorm
    x = paddle.to_tensor(np.random.default_rng(0).normal(size=(2, 3, 5, 5)).astype("float32"))
    made(x)
    assert made[1]._mean is net[1]._mean and float(made[1]._mean.abs().sum()) > 0
    layer = nn.SpectralNorm([3, 4], power_iters=100)
    weight = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    found = layer(paddle.to_tensor(weight)).numpy()
    np.testing.assert_allclose(found, weight / np.linalg.svd(weight)[1][0], rtol=1e-4)
