"""The networks: sizes worked out by hand, and what they import."""

import subprocess
import sys

import pytest

import sampan as paddle
from sampan import models


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
