"""The layer Dropout: its share, and nothing in evaluation."""

import numpy as np
import pytest

import sampan as paddle
from sampan import nn


def test_dropout_keeps_the_mean_and_does_nothing_in_evaluation():
    paddle.seed(1)
    layer = nn.Dropout(0.25)
    x = paddle.ones([200, 200])
    out = layer(x).numpy()
    assert set(np.unique(out)) == {0.0, np.float32(1 / 0.75)}
    assert abs((out == 0).mean() - 0.25) < 0.01  # 40,000 draws: five standard deviations
    layer.eval()
    assert (layer(x).numpy() == 1).all()


def test_a_share_above_one_is_refused():
    with pytest.raises(ValueError, match="p"):
        nn.Dropout(1.5)(paddle.ones([2]))
