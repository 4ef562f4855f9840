"""Single entries at 0."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn, slim


def network() -> Any:
    paddle.seed(0)
    return nn.Sequential(
        nn.Conv2D(3, 4, 1), nn.Conv2D(4, 4, 3), nn.BatchNorm2D(4), nn.Flatten(), nn.Linear(16, 5)
    )


def test_the_smallest_entries_of_all_matrices_are_0() -> None:
    net = network()
    matrices = [p for p in net.parameters() if p.ndim > 1]
    sizes = np.sort(np.concatenate([np.abs(p.numpy()).ravel() for p in matrices]))
    slim.UnstructuredPruner(net, "ratio", ratio=0.6).step()
    kept = np.sort(np.concatenate([np.abs(p.numpy()).ravel() for p in matrices]))
    count = round(0.6 * sizes.size)
    assert (kept[:count] == 0).all()
    np.testing.assert_array_equal(kept[count:], sizes[count:])
    assert (net[2].weight.numpy() == 1).all()


def test_each_matrix_a_threshold_and_small_kernels_alone() -> None:
    net = network()
    slim.UnstructuredPruner(net, "ratio", ratio=0.5, local_sparsity=True).step()
    assert [(p.numpy() == 0).mean() for p in net.parameters() if p.ndim > 1] == [0.5, 0.5, 0.5]
    net = network()
    slim.UnstructuredPruner(net, "threshold", threshold=0.2).step()
    for p in net.parameters():
        assert p.ndim < 2 or not ((np.abs(p.numpy()) < 0.2) & (p.numpy() != 0)).any()
    net = network()
    pruner = slim.UnstructuredPruner(net, "ratio", ratio=0.5, prune_params_type="conv1x1_only")
    pruner.step()
    assert (net[0].weight.numpy() == 0).sum() == 6 and (net[1].weight.numpy() != 0).all()
    net[0].weight.set_value(net[0].weight + 1)
    pruner.update_params()
    assert (net[0].weight.numpy() == 0).sum() == 6
    zeros = sum(int((p.numpy() == 0).sum()) for p in net.parameters())
    assert slim.UnstructuredPruner.total_sparse(net) == zeros / slim.model_size(net)


def test_the_share_rises_by_the_cubic_schedule_while_the_network_trains() -> None:
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    configs = {"stable_iterations": 3, "pruning_iterations": 20, "pruning_steps": 10, "initial_ratio": 0.1}
    pruner = slim.GMPUnstructuredPruner(net, 0.75, configs)
    adam = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    x, y = paddle.randn([32, 8]), paddle.arange(32) % 2
    shares, losses = [], []
    for _ in range(40):
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        adam.step()
        adam.clear_grad()
        pruner.step()
        losses.append(float(loss))
        shares.append(
            np.mean(np.concatenate([p.numpy().ravel() == 0 for p in net.parameters() if p.ndim > 1]))
        )
    assert shares[1] == 0 and shares[2] == pytest.approx(0.1, abs=0.01) and shares == sorted(shares)
    assert shares[12] == pytest.approx(0.1 + 0.65 * (1 - 0.5**3), abs=0.01)
    assert shares[-1] == pytest.approx(0.75, abs=0.01) and losses[-1] < losses[0]


def test_what_does_not_fit_is_refused() -> None:
    net = network()
    for settings in ({"mode": "all"}, {"mode": "threshold", "local_sparsity": True}):
        with pytest.raises(ValueError, match="mode: expected"):
            slim.UnstructuredPruner(net, **settings)
    with pytest.raises(ValueError, match="0 <= ratio < 1"):
        slim.UnstructuredPruner(net, "ratio", ratio=1)
    with pytest.raises(ValueError, match="at least one parameter to prune"):
        slim.UnstructuredPruner(nn.BatchNorm2D(3), "ratio")
    with pytest.raises(ValueError, match="missing pruning_steps"):
        configs = {"stable_iterations": 0, "pruning_iterations": 2, "initial_ratio": 0}
        slim.GMPUnstructuredPruner(net, configs=configs)
