"""Data sets, and data sets made of others."""

import numpy as np
import pytest

import sampan as paddle
from sampan import io


class Squares(io.Dataset):
    def __getitem__(self, index):
        return np.float32(index), index * index

    def __len__(self):
        return 10


def test_tensor_dataset():
    data = io.TensorDataset([paddle.arange(6).reshape([3, 2]), np.array([7, 8, 9])])
    assert len(data) == 3
    x, y = data[1]
    assert x.numpy().tolist() == [2, 3] and y.item() == 8
    whole = data.__getitems__([2, 0])
    assert [w.tolist() for w in whole] == [[[4, 5], [0, 1]], [9, 7]]
    with pytest.raises(ValueError, match=r"tensors: expected one length, got \[3, 2\]"):
        io.TensorDataset([np.zeros(3), np.zeros(2)])
    with pytest.raises(TypeError, match="tensors"):
        io.TensorDataset(np.zeros(3))


def test_subset_and_concat():
    part = io.Subset(Squares(), [4, 2])
    assert [part[i][1] for i in range(2)] == [16, 4]
    both = io.ConcatDataset([part, Squares()])
    assert len(both) == 12 and both[1][1] == 4 and both[2][1] == 0 and both[-1][1] == 81
    with pytest.raises(IndexError):
        both[12]
    with pytest.raises(ValueError, match="datasets"):
        io.ConcatDataset([])
    fast = io.Subset(io.TensorDataset([np.arange(5)]), [3, 1])
    assert fast.__getitems__([1, 0])[0].tolist() == [1, 3] and not hasattr(part, "__getitems__")


@pytest.mark.parametrize("lengths", [[7, 3], [0.7, 0.3]])
def test_random_split_is_a_partition(lengths):
    parts = io.random_split(Squares(), lengths)
    assert [len(p) for p in parts] == [7, 3]
    assert sorted(i for p in parts for i in p.indices) == list(range(10))


def test_random_split_of_uneven_shares_and_wrong_lengths():
    assert sorted(len(p) for p in io.random_split(Squares(), [1 / 3, 1 / 3, 1 / 3])) == [3, 3, 4]
    with pytest.raises(ValueError, match="lengths: expected whole numbers that add up to 10"):
        io.random_split(Squares(), [5, 4])


def test_what_a_subclass_must_write():
    with pytest.raises(NotImplementedError, match="__getitem__"):
        io.Dataset()[0]
    with pytest.raises(NotImplementedError, match="__iter__"):
        iter(io.IterableDataset())


class Numbers(io.Dataset):
    def __init__(self, n, factor=1):
        self.n, self.factor = n, factor

    def __getitem__(self, index):
        return index * self.factor, [index]

    def __len__(self):
        return self.n


class Stream(io.IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


def test_composed_and_chained():
    assert io.ComposeDataset([Numbers(3), Numbers(3, 5)])[2] == (2, [2], 10, [2])
    assert [x for x in io.ChainDataset([Stream(2), Stream(3)])] == [0, 1, 0, 1, 2]
    for call, error in (
        (lambda: io.ComposeDataset([Numbers(3), Numbers(2)]), ValueError),
        (lambda: io.ComposeDataset([Stream(2)]), TypeError),
        (lambda: io.ChainDataset([Numbers(2)]), TypeError),
        (lambda: io.ChainDataset([]), ValueError),
        (lambda: len(Stream(2)), RuntimeError),
        (lambda: Stream(2)[0], RuntimeError),
    ):
        with pytest.raises(error):
            call()
