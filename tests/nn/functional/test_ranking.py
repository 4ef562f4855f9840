"""Softmax and sigmoids over many classes: probabilities, and paths through the tree."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from tests.beside_torch import both

F, TF = paddle.nn.functional, torch.nn.functional


def test_an_adaptive_softmax_gives_probabilities() -> None:
    layer = paddle.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], head_bias=True)
    x, _ = both(12, 8)
    x = x.astype("float32")
    logs = layer.log_prob(x)
    np.testing.assert_allclose(logs.exp().sum(axis=1).numpy(), 1.0, rtol=1e-5)
    each, loss = layer(x, paddle.arange(12))
    np.testing.assert_allclose(each.numpy(), np.diagonal(logs.numpy()), rtol=1e-5, atol=1e-6)
    assert float(loss) == pytest.approx(-each.numpy().mean(), rel=1e-6)
    assert layer.predict(x).tolist() == logs.numpy().argmax(1).tolist()
    with pytest.raises(ValueError, match="label: expected 0 to 11, got 0 to 12"):
        layer(x[:2], paddle.to_tensor([0, 12]))


def test_a_hierarchical_sigmoid_walks_the_complete_tree() -> None:
    (x, _), (w, _), (b, _) = both(2, 3), both(3, 3, seed=1), both(3, 1, seed=2)
    found = F.hsigmoid_loss(
        x, paddle.to_tensor([1, 2]), 4, w, b
    ).numpy()  # leaves 5 and 6 of the heap with 1 as root
    scores = x.numpy() @ w.numpy().T + b.numpy().T
    log1p = np.log1p(np.exp(scores))
    expected = [[log1p[0, 0] + log1p[0, 1] - scores[0, 1]], [log1p[1, 0] - scores[1, 0] + log1p[1, 2]]]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
