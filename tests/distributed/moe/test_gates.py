"""Gates beside their formulas."""

import numpy as np
import pytest

import sampan as paddle
from sampan.distributed.moe import BaseGate, GShardGate, NaiveGate, SwitchGate
from tests.distributed.moe.programs import numbers


def scores_of(gate: NaiveGate, x: np.ndarray) -> np.ndarray:
    weight, bias = gate.gate.weight.numpy(), gate.gate.bias.numpy()
    return x @ weight + bias


def softmax(x: np.ndarray) -> np.ndarray:
    grown = np.exp(x - x.max(-1, keepdims=True))
    return grown / grown.sum(-1, keepdims=True)


X = numbers(12, 8, seed=1).astype("float32")


def test_the_best_scores() -> None:
    gate = NaiveGate(8, 2, 2, topk=3)
    best, chosen = gate(paddle.to_tensor(X))
    scores = scores_of(gate, X)
    assert np.array_equal(chosen.numpy(), np.argsort(-scores, axis=1)[:, :3])
    assert np.allclose(best.numpy(), -np.sort(-scores, axis=1)[:, :3], atol=1e-6)
    assert gate.tot_expert == 4 and gate.gate.weight.name.startswith("gate_")


def test_two_experts_of_limited_capacity() -> None:
    gate = GShardGate(8, 4, 1, capacity=(0.2, 2.4), random_routing=False)
    scores = scores_of(gate, X)
    _, chosen = gate(paddle.to_tensor(X))
    kept = np.bincount(chosen.numpy()[chosen.numpy() >= 0], minlength=4)
    assert kept.max() <= 3  # 0.2 of 12 rows, rounded up
    named = np.bincount(np.argsort(-scores, axis=1)[:, :2].ravel(), minlength=4) / 12
    wanted = (named * softmax(scores).mean(0)).mean() * 16
    loss = gate.get_loss(clear=False)
    assert loss is not None and loss.item() == pytest.approx(wanted, rel=1e-5)
    loss.backward()
    assert gate.gate.weight.grad is not None
    gate.eval()
    _, chosen = gate(paddle.to_tensor(X))
    assert (chosen.numpy() >= 0).all()  # 2.4 of the rows


def test_the_second_expert_is_left_out_at_random() -> None:
    gate = GShardGate(8, 4, 1, capacity=(9.0, 9.0))
    gate.gate.weight.set_value(np.zeros([8, 4], "float32"))
    gate.gate.bias.set_value(np.array([9.0, 0.25, -9, -9], "float32"))
    paddle.seed(0)
    _, chosen = gate(paddle.ones([4000, 8]))
    assert (chosen.numpy()[:, 0] == 0).all()
    assert (chosen.numpy()[:, 1] == 1).mean() == pytest.approx(0.5, abs=0.03)  # 2 x 0.25


def test_one_expert_by_probability() -> None:
    gate = SwitchGate(8, 4, 1)
    gate.eval()
    best, chosen = gate(paddle.to_tensor(X))
    probabilities = softmax(scores_of(gate, X))
    assert np.array_equal(chosen.numpy()[:, 0], probabilities.argmax(1))
    assert np.allclose(best.numpy()[:, 0], probabilities.max(1), atol=1e-6)
    named = np.bincount(probabilities.argmax(1), minlength=4) / 12
    loss = gate.get_loss()
    assert loss is not None and loss.item() == pytest.approx(
        (named * probabilities.sum(0) / 12).sum() * 4, rel=1e-5
    )
    assert gate.get_loss() is None
    gate.train()
    paddle.seed(0)
    noisy, _ = gate(paddle.to_tensor(X))
    assert 0 < np.abs(noisy.numpy() - best.numpy()).max() < 0.1


def test_what_gates_refuse() -> None:
    with pytest.raises(AssertionError, match="topk should be 1 in switch"):
        SwitchGate(8, 4, 1, topk=2)
    with pytest.raises(AssertionError, match="GShardGate: group: expected 2 processes, got 1"):
        GShardGate(8, 4, 2)
    with pytest.raises(NotImplementedError, match="write it in the subclass"):
        BaseGate(2, 1)(paddle.ones([1, 2]))
