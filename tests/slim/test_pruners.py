"""Pruned networks beside the same network with those channels at 0, sensitivities, and bad input."""

from typing import Any

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn, slim
from tests.slim.test_channels import Net


@pytest.mark.parametrize("kind", [slim.L1NormFilterPruner, slim.L2NormFilterPruner, slim.FPGMFilterPruner])
def test_channels_that_are_0_go_without_a_trace(kind: Any) -> None:
    paddle.seed(1)
    net: Any = Net()
    net.eval()
    x = paddle.randn([2, 3, 4, 4])
    for index in (1, 5):  # one position of both groups
        for part in (net.first, net.second, net.depthwise, net.norm):
            part.weight.data[index] = 0
            part.bias.data[index] = 0
    net.linear.weight.data[:, 2:4] = 0
    net.linear.bias.data[2:4] = 0
    expected, before = net(x).numpy(), slim.flops(net, [2, 3, 4, 4])
    pruner = kind(net, [2, 3, 4, 4])
    plan = pruner.prune_vars({"second.weight": 0.25, "linear.weight": 0.34})
    assert plan.removed == {"second.weight": 1, "linear.weight": 2}
    assert net.first.weight.shape == [6, 3, 3, 3] and net.second.weight.shape == [6, 6, 3, 3]
    assert net.norm.num_features == 6 and net.norm._mean.shape == [6]
    assert (net.depthwise.groups, net.depthwise.in_channels, net.grouped.weight.shape) == (6, 6, [4, 3, 1, 1])
    assert net.linear.weight.shape == [10 * 16, 4] and net.last.in_features == 4
    if kind is not slim.FPGMFilterPruner:  # which keeps a filter of zeros that is far from the others
        np.testing.assert_allclose(net(x).numpy(), expected, rtol=1e-4, atol=1e-5)
    assert plan.pruned_flops == pytest.approx(1 - slim.flops(net, [2, 3, 4, 4]) / before)
    pruner.restore()
    assert net.depthwise.groups == 8 and slim.flops(net, [2, 3, 4, 4]) == before
    np.testing.assert_array_equal(net(x).numpy(), expected)


def test_the_weakest_channels_are_those_with_the_smallest_sums_over_all_members() -> None:
    generator = np.random.default_rng(4)
    weights = {0: generator.integers(-9, 9, (7, 2, 3, 3)), 3: generator.integers(-9, 9, (5, 4))}
    channels = [[(0, 6), (3, 1)], [(0, 1), (3, 2)], [(0, 2), (3, 3)], [(0, 2), (3, 3)], [(0, 0), (0, 5)]]
    sums = [sum(np.abs(weights[number][index]).sum() for number, index in one) for one in channels]
    pruner = slim.L1NormFilterPruner(Net(), [2, 3, 4, 4])
    filters = {number: torch.from_numpy(weight.astype(np.float32)) for number, weight in weights.items()}
    for count in range(6):
        assert pruner.weakest(filters, channels, count) == np.argsort(sums, kind="stable")[:count].tolist()


def test_a_pruned_network_trains_on() -> None:
    paddle.seed(2)
    net = paddle.vision.models.LeNet()
    plan = slim.L1NormFilterPruner(net, [1, 1, 28, 28]).prune_vars(
        {"features.0.weight": 0.5, "features.3.weight": 0.5, "fc.0.weight": 0.5}
    )
    assert [p.shape[0] for p in net.parameters()][:4] == [3, 3, 8, 8] and plan.pruned_flops > 0.6
    adam = paddle.optimizer.Adam(0.002, parameters=net.parameters())
    x, y = paddle.randn([16, 1, 28, 28]), paddle.arange(16) % 10
    losses = []
    for _ in range(40):
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]


def test_sensitivity_and_ratios() -> None:
    paddle.seed(3)
    net: Any = Net()
    net.eval()
    x = paddle.randn([8, 3, 4, 4])
    expected = net(x).numpy()
    pruner = slim.L1NormFilterPruner(net, [2, 3, 4, 4])

    def score() -> float:
        return float(1 / (1 + np.abs(net(x).numpy() - expected).mean()))

    found = pruner.sensitive(score, ratios=(0.25, 0.5))
    assert set(found) == set(pruner.prunable) and all(set(v) == {0.25, 0.5} for v in found.values())
    assert all(0 <= v[0.25] < 1 and 0 < v[0.5] < 1 for v in found.values())
    np.testing.assert_array_equal(net(x).numpy(), expected)
    plan = pruner.sensitive_prune(0.4)
    assert 0.2 < plan.pruned_flops < 0.6 and net(x).shape == [8, 2]


def test_ratios_lie_on_a_straight_line_between_two() -> None:
    known = {"a": {0.1: 0.0, 0.3: 0.2, 0.5: 0.6}, "b": {0.1: 0.5}, "c": {0.1: 0.0, 0.2: 0.01}}
    assert slim.get_ratios_by_loss(known, 0.1) == pytest.approx({"a": 0.2, "b": 0.0, "c": 0.2})
    merged = slim.merge_sensitive([{"a": {0.1: 1.0}}, {"a": {0.2: 2.0}, "b": {0.1: 3.0}}])
    assert merged == {"a": {0.1: 1.0, 0.2: 2.0}, "b": {0.1: 3.0}}
    with pytest.raises(ValueError, match="at least one dictionary"):
        slim.merge_sensitive([])


def test_bad_ratios_names_and_the_last_layer() -> None:
    net: Any = Net()
    pruner = slim.L1NormFilterPruner(net, [2, 3, 4, 4])
    for ratio in (1, -0.1, 1.5, "half", float("nan")):
        with pytest.raises(ValueError, match=r"second\.weight: expected 0 <= ratio < 1"):
            pruner.prune_vars({"second.weight": ratio})  # type: ignore[dict-item]  # a text is one of the cases
    with pytest.raises(
        ValueError, match=r"no weight with filters has the name 'secnd.weight'; near it: second\.weight"
    ):
        pruner.prune_vars({"secnd.weight": 0.5})
    with pytest.raises(ValueError, match=r"last\.weight: its channels are fixed"):
        pruner.prune_vars({"last.weight": 0.5})
    with pytest.raises(ValueError, match="axis: expected 0, the filters, got 1"):
        pruner.prune_vars({"second.weight": 0.5}, 1)
    assert pruner.prune_vars({"second.weight": 0}).pruned_flops == 0
    assert pruner.prune_vars({"depthwise.weight": 0.99}).removed == {"depthwise.weight": 3}
    assert net.first.weight.shape[0] == 2


def test_a_network_with_a_fixed_size_stays_as_it_was() -> None:
    class Fixed(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.linear = nn.Conv2D(1, 4, 1), nn.Linear(16, 2)

        def forward(self, x: Any) -> Any:
            return self.linear(self.conv(x).reshape([-1, 16]))

    net: Any = Fixed()
    with pytest.raises(ValueError, match="the pruned network does not run, it is as it was"):
        slim.L1NormFilterPruner(net, [3, 1, 2, 2]).prune_vars({"conv.weight": 0.5})
    assert net.conv.weight.shape == [4, 1, 1, 1] and net(paddle.ones([3, 1, 2, 2])).shape == [3, 2]
