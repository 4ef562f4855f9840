"""Channels that belong together, beside a network in which they are set to 0."""

from typing import Any

import pytest

import sampan as paddle
from sampan import nn
from sampan.slim.channels import Channels, inputs_of


class Net(nn.Layer):
    """A residual sum, a concatenation, a depthwise and a grouped convolution, a flattened picture."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2D(3, 8, 3, padding=1), nn.Conv2D(8, 8, 3, padding=1)
        self.norm = nn.BatchNorm2D(8)
        self.depthwise = nn.Conv2D(8, 8, 3, padding=1, groups=8)
        self.grouped = nn.Conv2D(8, 4, 1, groups=2)
        self.linear, self.last = nn.Linear(12 * 16, 6), nn.Linear(6, 2)

    def forward(self, x: Any) -> Any:
        y = self.first(x)
        y = nn.functional.relu(self.norm(self.second(y)) + y)
        z = self.grouped(self.depthwise(y))
        return self.last(nn.functional.relu(self.linear(paddle.concat([y, z], 1).flatten(1))))


def labels(net: Any, channels: Channels, name: str, axis: int) -> list[int]:
    tensor = dict(net.named_parameters())[name]
    number = next(i for i, t in enumerate(channels.outside.tensors) if t is tensor)
    return channels.along(number, axis)


def test_a_group_has_all_its_places() -> None:
    net = Net()
    found = Channels.of(net, [2, 3, 4, 4])
    first = labels(net, found, "first.weight", 0)
    for name, axis in (
        ("second.weight", 0),
        ("second.weight", 1),
        ("norm.weight", 0),
        ("depthwise.weight", 0),
    ):
        assert labels(net, found, name, axis) == first, name
    assert first == labels(net, found, "first.bias", 0)
    assert first[:4] == first[4:] and len(set(first)) == 4 and 0 not in first  # the two groups stay alike
    grouped = labels(net, found, "grouped.weight", 0)
    assert grouped[:2] == grouped[2:] and labels(net, found, "grouped.weight", 1) == first[:4]
    rows = labels(net, found, "linear.weight", 0)
    assert rows == [label for label in [*first, *grouped] for _ in range(16)]
    assert labels(net, found, "first.weight", 1) == [0, 0, 0]
    assert labels(net, found, "last.weight", 1) == [0, 0]


def test_products_are_counted() -> None:
    found = Channels.of(Net(), [2, 3, 4, 4])
    pixels = 2 * 16
    by_hand = pixels * 8 * (27 + 72 + 9) + pixels * 4 * 4 + 2 * (192 * 6 + 6 * 2)
    assert sum(found.products.values()) == by_hand


def test_channels_that_are_shuffled_and_an_operator_without_a_rule() -> None:
    class Shuffled(nn.Layer):
        def __init__(self, softmax: bool) -> None:
            super().__init__()
            self.conv, self.after, self.softmax = nn.Conv2D(3, 4, 1), nn.Conv2D(4, 1, 1), softmax

        def forward(self, x: Any) -> Any:
            y = self.conv(x)
            if self.softmax:
                y = nn.functional.softmax(y, 1)
            y = y.reshape([y.shape[0], 2, 2, 4, 4]).transpose([0, 2, 1, 3, 4]).reshape([y.shape[0], 4, 4, 4])
            return self.after(y)

    net = Shuffled(softmax=False)
    found = Channels.of(net, [1, 3, 4, 4])
    a, b, c, d = labels(net, found, "conv.weight", 0)
    assert labels(net, found, "after.weight", 1) == [a, c, b, d] and len({a, b, c, d}) == 4
    net = Shuffled(softmax=True)
    assert labels(net, Channels.of(net, [1, 3, 4, 4]), "conv.weight", 0) == [0, 0, 0, 0]


def test_inputs_and_networks_that_do_not_fit() -> None:
    assert [t.shape for t in inputs_of([[2, 3], paddle.static.InputSpec([None, 4])])] == [[2, 3], [2, 4]]
    with pytest.raises(ValueError, match="inputs: expected shapes, InputSpecs or Tensors"):
        inputs_of("x")

    class Depends(nn.Layer):
        def forward(self, x: Any) -> Any:
            return x if x.sum() > 0 else -x

    with pytest.raises(ValueError, match="depends on more than shapes"):
        Channels.of(Depends(), [2, 3])
