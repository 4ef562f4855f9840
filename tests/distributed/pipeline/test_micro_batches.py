"""Batches as micro-batches."""

import numpy as np
import pytest

import sampan as paddle
from sampan.distributed.pipeline import PipelineDatasetPreprocessor
from sampan.distributed.pipeline.micro_batches import micro_batches

X = paddle.arange(12).reshape([6, 2])


def told(value):
    if isinstance(value, tuple | list):
        return [told(part) for part in value]
    if isinstance(value, dict):
        return {name: told(part) for name, part in value.items()}
    return None if value is None else value.tolist()


def test_rows_in_order():
    found = micro_batches((X, X[:, 0]), 3, 2)
    assert [told(inputs) for inputs, _ in found] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]]]
    assert [told(labels) for _, labels in found] == [[0, 2], [4, 6], [8, 10]]


def test_tuples_dictionaries_and_lists_of_micro_batches():
    inputs = (X, {"a": [X[:1], X[1:2]], "b": None})
    first, second = (part for part, _ in micro_batches([inputs, None], 2, 3))
    assert told(first) == [[[0, 1], [2, 3], [4, 5]], {"a": [[0, 1]], "b": None}]
    assert told(second) == [[[6, 7], [8, 9], [10, 11]], {"a": [[2, 3]], "b": None}]


def test_an_iterator_gives_micro_batches():
    parts = iter([(X[:1], X[:1]), (X[1:4], X[1:4]), (X, X)])
    found = micro_batches(PipelineDatasetPreprocessor(lambda: parts), 2, 99)
    assert [inputs.shape for inputs, _ in found] == [[1, 2], [3, 2]]
    assert next(parts)[0].shape == [6, 2]


def test_no_gradient_leads_to_the_data():
    x = paddle.ones([2, 2], "float64")
    x.stop_gradient = False
    ((part, _),) = micro_batches((x, x), 1, 2)
    assert part.stop_gradient
    np.testing.assert_array_equal(part.numpy(), x.numpy())


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ((X[:5], X), "expected 6 rows, micro_batch_size 2 times accumulate_steps 3, got 5"),
        ((paddle.to_tensor(1.0), X), "got 0"),
        ((X,), "expected inputs and labels, got 1 entries"),
        (([X, X], X), "expected a list of 3 micro-batches, accumulate_steps, got 2"),
        (iter([(X, X)]), "expected 3 micro-batches, accumulate_steps, got 1"),
        ((np.ones(6), X), "expected Tensors, got ndarray"),
        (X, "an iterator of them, got Tensor"),
    ],
)
def test_what_does_not_fit(data, text):
    with pytest.raises(ValueError, match=text):
        micro_batches(data, 3, 2)
