"""Thousands of calls with changing shapes keep no memory."""

import psutil
import pytest
from sampan.static import InputSpec

import sampan as paddle
from sampan import nn

pytestmark = pytest.mark.alone  # it measures the memory of the process


def grown(call, calls=2_000, warm=300):
    """By what part the process is larger after `calls` calls, the first `warm` left out."""
    process = psutil.Process()
    for number in range(calls):
        if number == warm:
            before = process.memory_info().rss
        call(number)
    return process.memory_info().rss / before - 1


def network():
    net = nn.Sequential(
        nn.Conv2D(3, 8, 3),
        nn.BatchNorm2D(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2D(2),
        nn.Flatten(),
        nn.Linear(32, 10),
    )
    net.eval()
    return net


def test_a_loaded_network(tmp_path):
    paddle.jit.save(network(), str(tmp_path / "net"), [InputSpec([None, 3, None, None])])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    inputs = [paddle.randn([1 + i % 7, 3, 16 + i % 5, 16 + i % 3]) for i in range(105)]
    with paddle.no_grad():
        assert grown(lambda number: loaded(inputs[number % 105])) < 0.02


@pytest.mark.parametrize("training", [True, False])
def test_to_static(training):
    net = network()
    static = paddle.jit.to_static(net.forward)
    inputs = [paddle.randn([1 + i % 4, 3, 16 + i % 3, 16]) for i in range(12)]

    def call(number):
        found = static(inputs[number % 12])
        if training:
            found.sum().backward()
            net.clear_gradients()

    with paddle.set_grad_enabled(training):
        assert grown(call) < 0.02
