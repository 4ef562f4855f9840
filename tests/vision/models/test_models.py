"""The image networks: names and shapes of everything in their state as in PaddlePaddle, outputs, training."""

import zlib

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.nn import initializer
from sampan.vision import models

# Values in the state, and zlib.crc32 of "name[shape] name[shape] ...", both asked of PaddlePaddle 3.3.1.
# What the networks give for filled weights is compared in tests/parity/cases/vision.py.
NETWORKS = {
    "resnet18": (11_699_112, 2135092458),
    "resnet34": (21_814_696, 1918608546),
    "resnet50": (25_610_152, 661470738),
    "resnet101": (44_654_504, 2266316963),
    "resnet152": (60_344_232, 468419176),
    "resnext50_32x4d": (25_097_128, 1290650269),
    "resnext50_64x4d": (45_290_920, 852430227),
    "resnext101_32x4d": (44_315_560, 2659897971),
    "resnext101_64x4d": (83_658_152, 3417912119),
    "resnext152_32x4d": (60_150_696, 437665268),
    "resnext152_64x4d": (115_266_984, 1536331685),
    "wide_resnet50_2": (68_951_464, 1891909959),
    "wide_resnet101_2": (127_024_552, 922696716),
    "vgg11": (132_863_336, 829401031),
    "vgg13": (133_047_848, 1819037659),
    "vgg16": (138_357_544, 1099830773),
    "vgg19": (143_667_240, 2942212996),
    "mobilenet_v1": (4_253_864, 2564836933),
    "mobilenet_v2": (3_538_984, 2365978619),
    "mobilenet_v3_small": (2_554_968, 350336546),
    "mobilenet_v3_large": (5_507_432, 3522280824),
    "LeNet": (61_610, 2607306518),
    "densenet121": (8_062_504, 2196705242),
    "densenet161": (28_900_936, 1083002440),
    "densenet169": (14_307_880, 1618204842),
    "densenet201": (20_242_984, 1782052796),
    "densenet264": (33_736_232, 1098162206),
    "alexnet": (61_100_840, 2569784701),
    "inception_v3": (23_869_000, 3194966950),
    "squeezenet1_0": (1_248_424, 2597925199),
    "squeezenet1_1": (1_235_496, 4199445460),
    "googlenet": (11_535_736, 307757450),
    "shufflenet_v2_x0_25": (607_712, 3466510076),
    "shufflenet_v2_x0_33": (652_264, 3752375990),
    "shufflenet_v2_x0_5": (1_374_744, 2250486587),
    "shufflenet_v2_x1_0": (2_294_784, 1047058165),
    "shufflenet_v2_x1_5": (3_527_064, 2415246506),
    "shufflenet_v2_x2_0": (7_399_952, 1833598202),
    "shufflenet_v2_swish": (2_294_784, 1047058165),
}


@pytest.fixture
def weightless(monkeypatch):
    """Parameters without memory: their shapes are all that is asked."""
    for kind in [initializer.Initializer, *initializer.Initializer.__subclasses__()]:
        monkeypatch.setattr(
            kind, "make", lambda self, shape, dtype=None: torch.zeros(()).expand(tuple(shape))
        )


def test_every_network_is_in_the_table():
    assert {n for n in dir(models) if callable(getattr(models, n)) and n[0].islower()} == set(NETWORKS) - {
        "LeNet"
    }


@pytest.mark.parametrize("name", NETWORKS)
def test_the_state_is_paddles(name, weightless):
    state = getattr(models, name)().state_dict()
    text = " ".join(f"{key}{list(value.shape)}" for key, value in state.items())
    assert (sum(value.size for value in state.values()), zlib.crc32(text.encode())) == NETWORKS[name]


@pytest.mark.parametrize("name", ["mobilenet_v3_small", "shufflenet_v2_x0_25"])
def test_a_step_of_training_lowers_the_loss(name):
    paddle.seed(0)
    net = getattr(models, name)(num_classes=3)
    x, y = paddle.randn([8, 3, 64, 64]), paddle.to_tensor([0, 1, 2, 0, 1, 2, 0, 1])
    optimizer = paddle.optimizer.Adam(1e-3, parameters=net.parameters())
    losses = []
    for _ in range(3):
        loss = paddle.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        assert all((p.grad is None) == p.stop_gradient for p in net.parameters())
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[1] < losses[0]


def test_weights_from_a_local_file(tmp_path):
    net = models.LeNet()
    with pytest.raises(ValueError, match=r"^resnet18: pretrained: expected False or the path"):
        models.resnet18(pretrained=True)
    first = models.shufflenet_v2_x0_25(num_classes=2)
    paddle.save(first.state_dict(), str(tmp_path / "weights.pdparams"))
    again = models.shufflenet_v2_x0_25(pretrained=str(tmp_path / "weights.pdparams"), num_classes=2)
    for key, value in first.state_dict().items():
        np.testing.assert_array_equal(again.state_dict()[key].numpy(), value.numpy())
    assert net(paddle.zeros([2, 1, 28, 28])).shape == [2, 10]


def test_without_pooling_and_without_classes():
    net = models.mobilenet_v1(scale=0.25, num_classes=0, with_pool=False)
    assert net(paddle.zeros([1, 3, 64, 64])).shape == [1, 256, 2, 2]
    assert models.vgg11.__name__ == "vgg11" and "pretrained" in models.vgg11.__doc__
    with pytest.raises(ValueError, match="layers: expected one of 121,"):
        models.DenseNet(layers=100)
    with pytest.raises(ValueError, match="version: expected"):
        models.SqueezeNet("2.0")
    with pytest.raises(NotImplementedError, match="scale: expected one of"):
        models.ShuffleNetV2(scale=3)
