"""Samplers: order and chance, weights, batches, shares of processes."""

import numpy as np
import pytest

import sampan as paddle
from sampan import io


class Squares(io.Dataset):
    def __getitem__(self, index):
        return np.float32(index), index * index

    def __len__(self):
        return 10


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


class Numbers(io.Dataset):
    def __init__(self, n, factor=1):
        self.n, self.factor = n, factor

    def __getitem__(self, index):
        return index * self.factor, [index]

    def __len__(self):
        return self.n


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("count", [1, 5, 16, 23])
def test_shares_cover_everything_in_batches_of_one_size(count, shuffle):
    shares = [io.DistributedBatchSampler(Numbers(count), 4, 3, rank, shuffle) for rank in range(3)]
    batches = [list(share) for share in shares]
    assert [len(b) for b in batches] == [len(s) for s in shares]
    seen = [i for share in batches for batch in share for i in batch]
    assert set(seen) == set(range(count)) and len(seen) == 3 * -(-count // 3)
    assert len({tuple(map(len, share)) for share in batches}) == 1
    if shuffle and count > 4:
        shares[0].set_epoch(0)
        assert list(shares[0]) == batches[0] != list(shares[0])


def test_shares_as_paddle_gives_them(monkeypatch):
    """Recorded from PaddlePaddle 3.3.1."""
    assert [list(io.DistributedBatchSampler(Numbers(23), 4, 2, r)) for r in range(2)] == [
        [[0, 1, 2, 3], [8, 9, 10, 11], [16, 17, 18, 19]],
        [[4, 5, 6, 7], [12, 13, 14, 15], [20, 21, 22, 0]],
    ]
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert io.DistributedBatchSampler(Numbers(8), 2, drop_last=True).local_rank == 1
    with pytest.raises(ValueError, match="rank"):
        io.DistributedBatchSampler(Numbers(8), 2, 2, 2)
