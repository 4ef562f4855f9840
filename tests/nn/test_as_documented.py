"""What layers print, refuse and give back in PaddlePaddle 3.3.1: its answers, written down."""

import pytest

import sampan as paddle
from sampan import nn
from sampan.nn import functional as F
from tests.nn.drawn import random

PRINTED = [
    (lambda: nn.Linear(4, 3, name="abc"), "in_features=4, out_features=3, dtype=float32, name=abc"),
    (lambda: nn.Embedding(5, 3), "5, 3, sparse=False, scale_grad_by_freq=False"),
    (
        lambda: nn.Embedding(5, 3, padding_idx=-1),
        "5, 3, padding_idx=-1, sparse=False, scale_grad_by_freq=False",
    ),
    (lambda: nn.Embedding(5, 3, name="e"), "5, 3, sparse=False, scale_grad_by_freq=False, name=e"),
    (lambda: nn.Bilinear(3, 4, 5), "in1_features=3, in2_features=4, out_features=5, dtype=float32"),
    (lambda: nn.PairwiseDistance(), "p=2.0"),
    (lambda: nn.PairwiseDistance(1, 0.1, True), "p=1, epsilon=0.1, keepdim=True"),
    (lambda: nn.Pad1D(1), "padding=[1, 1], mode=constant, value=0.0, data_format=NCL"),
    (lambda: nn.ZeroPad2D(2), "padding=[2, 2, 2, 2], mode=constant, value=0.0, data_format=NCHW"),
    (
        lambda: nn.Pad3D(1, mode="circular"),
        "padding=[1, 1, 1, 1, 1, 1], mode=circular, value=0.0, data_format=NCDHW",
    ),
    (lambda: nn.UpsamplingNearest2D(size=[4, 4]), "size=[4, 4], data_format=NCHW"),
    (lambda: nn.UpsamplingBilinear2D(scale_factor=2), "scale_factor=2, data_format=NCHW"),
    (lambda: nn.PixelShuffle(2), "upscale_factor=2"),
    (lambda: nn.PixelUnshuffle(2, "NHWC"), "downscale_factor=2, data_format=NHWC"),
    (lambda: nn.ChannelShuffle(2), "groups=2"),
    (lambda: nn.Unfold(2), "kernel_size=2, dilation=1, padding=0, stride=1"),
    (lambda: nn.Fold([3, 3], [2, 2]), "kernel_size=[2, 2], dilation=1, padding=0, stride=1"),
    (lambda: nn.LocalResponseNorm(3), "size=3, alpha=0.0001, beta=0.75, k=1.0"),
    (lambda: nn.BatchNorm2D(3, name="b"), "num_features=3, momentum=0.9, epsilon=1e-05, name=b"),
    (lambda: nn.BatchNorm1D(3), "num_features=3, momentum=0.9, epsilon=1e-05, data_format=NCL"),
    (lambda: nn.InstanceNorm2D(3), "num_features=3, epsilon=1e-05"),
    (lambda: nn.LayerNorm([2, 3]), "normalized_shape=[2, 3], epsilon=1e-05"),
    (lambda: nn.GroupNorm(2, 4), "num_groups=2, num_channels=4, epsilon=1e-05"),
    (lambda: nn.PReLU(3, 0.1), "num_parameters=3, data_format=NCHW, init=0.1, dtype=float32"),
    (lambda: nn.RReLU(0.1, 0.2), "lower=0.1, upper=0.2, training=True, dtype=float32"),
    (lambda: nn.Dropout(0.2, name="d"), "p=0.2, axis=None, mode=upscale_in_train, name=d, inplace=False"),
    (lambda: nn.ReLU(name="x"), "name=x"),
    (lambda: nn.Softmax(), "axis=-1"),
    (lambda: paddle.vision.ops.RoIAlign(2), ""),
    (lambda: paddle.vision.ops.PSRoIPool(2, 0.5), ""),
    (lambda: paddle.vision.ops.RoIPool(2), "output_size=2, spatial_scale=1.0"),
    (lambda: nn.Unflatten(1, [3, -1]), "axis=1, shape=[3, -1]"),
]


@pytest.mark.parametrize(("make", "text"), PRINTED, ids=[text[:30] for _, text in PRINTED])
def test_layers_print_their_settings(make, text):
    layer = make()
    assert repr(layer) == f"{type(layer).__name__}({text})"


@pytest.mark.parametrize(
    ("make", "kind", "what"),
    [
        (lambda: nn.PixelShuffle("a"), TypeError, "upscale_factor"),
        (lambda: nn.PixelShuffle(2, "X"), ValueError, "data_format"),
        (lambda: nn.PixelUnshuffle(0), ValueError, "downscale_factor"),
        (lambda: nn.PixelUnshuffle(2.0), TypeError, "downscale_factor"),
        (lambda: nn.ChannelShuffle(0), ValueError, "groups"),
        (lambda: nn.ChannelShuffle(2, "X"), ValueError, "data_format"),
        (lambda: nn.GroupNorm(2, 4, data_format="X"), ValueError, "data_format"),
        (lambda: nn.Linear("a", 3), TypeError, "in_features"),
        (lambda: nn.Layer().create_parameter([2, 3], dtype="int32"), TypeError, "int32"),
        (lambda: nn.Layer().create_parameter([2], default_initializer=3), TypeError, "Initializer"),
        (lambda: nn.Layer().create_parameter([2, -3]), AssertionError, "shape"),
        (lambda: nn.NLLLoss(random(2))(random(2, 3), paddle.to_tensor([0, 2])), ValueError, "weight"),
        (lambda: F.hsigmoid_loss(random(1, 3), paddle.to_tensor([5]), 5, random(4, 3)), ValueError, "label"),
        (lambda: F.normalize(random(2, 3), axis=4), ValueError, "axis"),
        (lambda: nn.clip.clip_by_norm(random(2), -1.0), ValueError, "clip_norm"),
        (
            lambda: F.loss.edit_distance(random(1, 2), random(1, 2), ignored_tokens=[1]),
            ValueError,
            "ignored_tokens",
        ),
        (lambda: F.loss.edit_distance(random(1, 2), random(2, 2)), ValueError, "edit_distance"),
        (lambda: F.loss.edit_distance(random(1, 2), random(1, 0)), ValueError, "label_length"),
    ],
)
def test_what_cannot_be_is_refused(make, kind, what):
    with pytest.raises(kind, match=what):
        make()


def test_older_names():
    assert F.flash_attention.flash_attention(*[random(1, 4, 2, 8)] * 3)[0].shape == [1, 4, 2, 8]
    assert paddle.optimizer.lr.noam_decay is paddle.optimizer.lr.NoamDecay
    assert paddle.amp.AmpScaler().get_incr_every_n_steps() == 1000
    assert (
        paddle.amp.AmpScaler(init_loss_scaling=8.0, use_dynamic_loss_scaling=False)
        .scale(paddle.to_tensor(2.0))
        .item()
        == 16
    )
    assert paddle.amp.amp_guard is paddle.amp.auto_cast
    assert (F.diag_embed, F.pdist) == (paddle.diag_embed, paddle.pdist)
    assert "Conv2D(3, 4, kernel_size=[5, 5], padding=4, dilation=[2, 2]" in repr(paddle.vision.ops.ConvNormActivation(3, 4, 5, dilation=2))  # fmt: skip
    with paddle.LazyGuard():
        assert nn.Linear(2, 2).weight.initialize() is None
    features = paddle.vision.models.vgg.make_layers([4, "M", 8], batch_norm=True)
    assert [type(layer).__name__ for layer in features] == ["Conv2D", "BatchNorm2D", "ReLU", "MaxPool2D", "Conv2D", "BatchNorm2D", "ReLU"]  # fmt: skip
    assert not paddle.amp.is_float16_supported("cpu") and paddle.amp.is_bfloat16_supported("cpu")
