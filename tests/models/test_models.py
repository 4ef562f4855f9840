"""The networks: sizes worked out by hand, and that they learn real handwritten digits."""

import subprocess
import sys

import numpy as np
import pytest

import sampan as paddle
from sampan import datasets, io, models
from sampan.models import recipes


@pytest.mark.parametrize(
    ("network", "shape", "count"),
    [
        (lambda: models.MLP(784), (3, 1, 28, 28), 784 * 256 + 256 + 256 * 10 + 10),
        (lambda: models.MLP(64, (5, 7), 3), (3, 64), 64 * 5 + 5 + 5 * 7 + 7 + 7 * 3 + 3),
        (lambda: models.LeNet(), (3, 1, 28, 28), 61_610),  # Paddle's LeNet prints the same number
        (lambda: models.LeNet(image_size=8), (3, 1, 8, 8), 60 + 880 + 64 * 120 + 120 + 120 * 84 + 84 + 850),
    ],
)
def test_shapes_and_numbers_of_parameters(network, shape, count):
    net = network()
    assert sum(p.size for p in net.parameters()) == count
    out = net(paddle.rand(list(shape)))
    assert out.shape == [3, net.parameters()[-1].size]
    out.sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_a_network_brings_in_the_rooms_it_stands_on_when_it_is_first_named():
    code = (
        "import sys, sampan.models as models\n"
        "late = {'sampan.' + room for room in ('datasets', 'embedding', 'sparse', 'text', 'vision')}\n"
        "assert not late & set(sys.modules), late & set(sys.modules)\n"
        "assert models.PointUNet is models.point_cloud.PointUNet and 'sampan.text' not in sys.modules\n"
        "assert models.BagOfWords is models.bag_of_words.BagOfWords\n"
        "assert models.WordCharClassifier is models.word_char.WordCharClassifier\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with pytest.raises(AttributeError, match=r"module 'sampan\.models' has no attribute 'Unknown'"):
        _ = models.Unknown


@pytest.mark.parametrize("size", [4, 8, 11, 12, 20, 32])
def test_lenet_takes_any_size(size):
    assert models.LeNet(image_size=size)(paddle.rand([2, 1, size, size])).shape == [2, 10]


def test_lenet_says_what_is_too_small():
    with pytest.raises(ValueError, match="image_size: expected at least 4, got 3"):
        models.LeNet(image_size=3)
    with pytest.raises(ValueError, match="name: expected one of digits, mnist"):
        recipes.train("letters")


def test_moved_pictures_keep_their_ink_and_their_labels():
    paddle.seed(1)
    pictures = np.zeros((4, 1, 6, 6), np.float32)
    pictures[:, 0, 3, 3] = np.arange(1, 5)
    moved = recipes.Shifted(io.TensorDataset([pictures, np.arange(4)]), 1)
    places = set()
    for _ in range(40):
        batch, labels = moved.__getitems__([2, 0])
        assert labels.tolist() == [2, 0] and batch.sum() == 4 and batch.shape == (2, 1, 6, 6)
        places |= {tuple(int(v) for v in np.argwhere(b[0])[0]) for b in np.asarray(batch)}
    assert places == {(y, x) for y in (2, 3, 4) for x in (2, 3, 4)}


def test_digits_are_learned():
    _, result = recipes.train("digits", verbose=0)
    assert result["acc"] > 0.98


def test_mnist_is_learned():
    if "mnist" not in datasets.available():
        pytest.skip("MNIST is not here (set SAMPAN_DATA)")
    _, result = recipes.train("mnist", verbose=0)
    assert result["acc"] > 0.98
