"""Data sets made of others, shares of processes, and the batch size."""

import numpy as np
import pytest

from sampan import io


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


def test_the_batch_size_where_growing_no_longer_pays(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(io.finder.time, "perf_counter", lambda: clock[0])
    tried = []

    def step(size):
        tried.append(size)
        clock[0] += max(1.0, size / 16)

    assert io.find_batch_size(step, limit=1024) == 16 and max(tried) == 32

    def small(size):
        if size > 4:
            raise MemoryError
        clock[0] += 1

    assert io.find_batch_size(small) == 4
    with pytest.raises(MemoryError):
        io.find_batch_size(small, start=8)
    with pytest.raises(ValueError, match="start"):
        io.find_batch_size(step, 0)
    assert np.isfinite(clock[0])
