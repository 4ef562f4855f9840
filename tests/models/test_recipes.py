"""The recipes: real handwritten digits are learned."""

import numpy as np
import pytest

import sampan as paddle
from sampan import datasets, io
from sampan.models import recipes


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
