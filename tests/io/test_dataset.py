"""Data sets and samplers."""

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


def test_order_and_chance():
    data = Squares()
    assert list(io.SequenceSampler(data)) == list(range(10))
    paddle.seed(1)
    first, second = list(io.RandomSampler(data)), list(io.RandomSampler(data))
    assert sorted(first) == list(range(10)) and first != second
    paddle.seed(1)
    assert list(io.RandomSampler(data)) == first
    assert len(list(io.RandomSampler(data, num_samples=4))) == 4
    drawn = list(io.RandomSampler(data, replacement=True, num_samples=100))
    assert len(drawn) == 100 and set(drawn) <= set(range(10))
    assert sorted(io.SubsetRandomSampler([5, 9, 1])) == [1, 5, 9]


def test_weights_decide():
    paddle.seed(2)
    drawn = list(io.WeightedRandomSampler([1.0, 0.0, 3.0], 10_000))
    shares = np.bincount(drawn, minlength=3) / 10_000
    np.testing.assert_allclose(shares, [0.25, 0.0, 0.75], atol=0.02)
    assert sorted(io.WeightedRandomSampler([1.0, 2.0, 3.0], 3, replacement=False)) == [0, 1, 2]


def test_batches():
    assert list(io.BatchSampler(Squares(), batch_size=4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    dropped = io.BatchSampler(sampler=io.SequenceSampler(Squares()), batch_size=4, drop_last=True)
    assert list(dropped) == [[0, 1, 2, 3], [4, 5, 6, 7]] and len(dropped) == 2
    assert len(io.BatchSampler(Squares(), batch_size=4)) == 3


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: io.BatchSampler(Squares(), batch_size=0), "batch_size"),
        (lambda: io.BatchSampler(), "dataset, sampler"),
        (lambda: io.BatchSampler(sampler=[1], shuffle=True), "shuffle"),
        (lambda: io.RandomSampler(Squares(), num_samples=11), "num_samples"),
        (lambda: io.RandomSampler(Squares(), num_samples=0), "num_samples"),
        (lambda: io.SubsetRandomSampler([]), "indices"),
        (lambda: io.WeightedRandomSampler([0.0], 1), "weights"),
        (lambda: io.WeightedRandomSampler([1.0, float("nan")], 1), "weights"),
        (lambda: io.WeightedRandomSampler([1.0, 0.0], 2, replacement=False), "num_samples"),
    ],
)
def test_bad_settings_are_named(make, what):
    with pytest.raises(ValueError, match=what):
        make()
