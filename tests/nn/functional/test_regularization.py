"""Dropout: its share, its gradient, its axes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle

F, TF = paddle.nn.functional, torch.nn.functional


def test_dropout_keeps_its_promise_on_average() -> None:
    paddle.seed(0)
    x = paddle.ones([40_000])
    for mode, inside, outside in (("upscale_in_train", 4 / 3, 1.0), ("downscale_in_infer", 1.0, 0.75)):
        found = F.dropout(x, 0.25, mode=mode).numpy()
        assert set(np.unique(found).round(5)) == {0.0, np.float32(round(inside, 5))}
        assert abs((found == 0).mean() - 0.25) < 0.01
        np.testing.assert_allclose(F.dropout(x, 0.25, training=False, mode=mode).numpy(), outside)


def test_dropout_gives_the_gradient_its_own_mask() -> None:
    x = paddle.ones([100])
    x.stop_gradient = False
    y = F.dropout(x, 0.5)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist() and 0 < (y == 0).sum() < 100


def test_dropout_along_axes() -> None:
    paddle.seed(1)
    for axis, same_along in ((0, 1), (1, 0), ([0], 1), (-1, 0)):
        found = F.dropout(paddle.ones([60, 50]), 0.5, axis=axis).numpy()
        assert (found.std(axis=same_along) == 0).all() and found.std() > 0
    assert F.dropout(paddle.ones([60, 50]), 0.5, axis=[0, 1]).numpy().std(axis=0).min() > 0


def test_dropout_at_its_ends_and_beyond() -> None:
    x = paddle.ones([3])
    assert F.dropout(x, 0.0) is x and F.dropout(x, 1.0).tolist() == [0.0] * 3
    for call, words in (
        (lambda: F.dropout(x, 1.5), "p from 0 to 1, got 1.5"),
        (lambda: F.dropout(x, 0.5, mode="up"), "mode 'upscale_in_train'"),
        (lambda: F.dropout(x, 0.5, axis=1), "axis 1 is outside an array of 1 axes"),
    ):
        with pytest.raises(ValueError, match=f"dropout: .*{words}"):
            call()


def test_dropout_of_channels_and_of_selu() -> None:
    paddle.seed(0)
    x = paddle.ones([40, 50, 4, 4])
    found = F.dropout2d(x, 0.5).numpy().reshape(2000, 16)
    assert (found.std(axis=1) == 0).all() and abs((found[:, 0] == 0).mean() - 0.5) < 0.05
    normal = paddle.to_tensor(np.random.default_rng(0).normal(size=(200, 200)))
    for call in (F.alpha_dropout, F.feature_alpha_dropout):
        kept = call(normal, 0.3).numpy()
        assert abs(kept.mean()) < 0.03 and abs(kept.std() - 1) < 0.03
    assert F.alpha_dropout(normal, 0.3, training=False) is normal
    once = F.dropout1d(paddle.ones([6, 50, 4]), 0.5).numpy()
    assert (once == once[:1, :, :1]).all() and 0 < (once == 0).mean() < 1
