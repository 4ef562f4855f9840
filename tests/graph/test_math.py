import numpy as np
import pytest

import sampan as paddle
from sampan.graph import math

IDS = np.array([0, 0, 0, 2, 2, 3])
DATA = np.random.default_rng(0).normal(size=(6, 2))
SCORES = np.array([0.1, 0.9, 0.5, 0.3, 0.3, 0.2])


def tensors(*arrays):
    return [paddle.to_tensor(array) for array in arrays]


@pytest.mark.parametrize("op", ["sum", "mean", "max", "min", "SUM"])
def test_segment_pool(op):
    expected = np.zeros((4, 2))
    for segment in (0, 2, 3):
        expected[segment] = getattr(np, op.lower())(DATA[segment == IDS], axis=0)
    np.testing.assert_allclose(math.segment_pool(*tensors(DATA, IDS), op).numpy(), expected)


def test_segment_padding():
    padded, lengths, index = math.segment_padding(*tensors(DATA, IDS))
    assert padded.shape == [4, 3, 2] and lengths.tolist() == [3, 0, 2, 1]
    assert index.tolist() == [[0, 0], [0, 1], [0, 2], [2, 0], [2, 1], [3, 0]]
    assert (padded.numpy()[tuple(index.numpy().T)] == DATA).all()
    assert (padded.numpy() != 0).sum() == DATA.size


def test_segment_topk():
    x, scores, ids = tensors(DATA, SCORES, IDS)
    rows, index = math.segment_topk(x, scores, ids, 0.5, return_index=True)
    assert index.tolist() == [1, 2, 3, 5] and (rows.numpy() == DATA[index.numpy()]).all()
    assert math.segment_topk(x, scores, ids, 1, return_index=True)[1].tolist() == [1, 3, 5]
    assert math.segment_topk(x, scores, ids, 9, return_index=True)[1].tolist() == [1, 2, 0, 3, 4, 5]
    assert math.segment_topk(x, scores, ids, 0.5, 0.4, True)[1].tolist() == [1, 2, 3, 4, 5]
    assert math.segment_topk(x, scores, ids, 0.5).shape == [4, 2]


def test_the_gradient_goes_to_the_rows_that_stay():
    x, scores, ids = tensors(DATA, SCORES, IDS)
    x.stop_gradient = False
    (math.segment_topk(x, scores, ids, 0.5).sum() + math.segment_padding(x, ids)[0].sum()).backward()
    assert x.grad[:, 0].tolist() == [1, 2, 2, 2, 1, 2]


def test_bad_input():
    x, scores, ids = tensors(DATA, SCORES, IDS)
    with pytest.raises(ValueError, match="segment_pool: pool_type: expected one of sum, mean, max, min"):
        math.segment_pool(x, ids, "median")
    with pytest.raises(ValueError, match="segment_topk: ratio: expected a number above 0, got 0"):
        math.segment_topk(x, scores, ids, 0)
    with pytest.raises(ValueError, match="segment_topk: scores: expected 6 numbers, got 5"):
        math.segment_topk(x, scores[:5], ids, 0.5)
    with pytest.raises(ValueError, match="segment_padding: expected ascending numbers"):
        math.segment_padding(x, ids.flip(0))
