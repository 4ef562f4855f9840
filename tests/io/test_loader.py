"""DataLoader: what a batch is, workers and their deaths, order and chance."""

import os
import signal
import time

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import io


class Rows(io.Dataset):
    """Sample i: a float32 row of i, a label, and a dictionary."""

    def __getitem__(self, index):
        return np.full((2,), index, np.float32), index, {"half": index / 2, "name": f"n{index}"}

    def __len__(self):
        return 10


class Together(io.Dataset):
    """The same rows, handed over a batch at a time."""

    def __init__(self):
        self.asked = []

    def __getitem__(self, index):
        return np.full((2,), index, np.float32), np.int64(index)

    def __getitems__(self, indices):
        self.asked.append(list(indices))
        index = np.asarray(indices)
        return np.repeat(index[:, None], 2, axis=1).astype(np.float32), index

    def __len__(self):
        return 10


class Stream(io.IterableDataset):
    def __iter__(self):
        info = io.get_worker_info()
        numbers = range(7) if info is None else range(info.id, 7, info.num_workers)
        return (np.int64(n) for n in numbers)


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_tensors_field_by_field(workers):
    loader = io.DataLoader(Rows(), batch_size=4, num_workers=workers)
    batches = list(loader)
    assert len(batches) == len(loader) == 3
    rows, labels, more = batches[2]
    assert isinstance(rows, paddle.Tensor) and rows.stop_gradient
    assert rows.dtype is paddle.float32 and rows.numpy().tolist() == [[8, 8], [9, 9]]
    assert labels.dtype is paddle.int64 and labels.numpy().tolist() == [8, 9]
    assert more["half"].numpy().tolist() == [4.0, 4.5] and more["name"] == ["n8", "n9"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_set_may_hand_over_whole_batches(workers):
    data = Together()
    batches = list(io.DataLoader(data, batch_size=4, num_workers=workers))
    expected = list(io.DataLoader(io.Subset(Rows(), range(10)), batch_size=4))
    for (rows, labels), (wanted, indices, _) in zip(batches, expected, strict=True):
        np.testing.assert_array_equal(rows.numpy(), wanted.numpy())
        np.testing.assert_array_equal(labels.numpy(), indices.numpy())
    if workers == 0:
        assert data.asked == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_tensors_go_through():
    data = io.TensorDataset([paddle.arange(10).astype("float32"), paddle.arange(10)])
    for workers in (0, 1):
        batches = list(io.DataLoader(data, batch_size=3, num_workers=workers))
        assert [b[1].numpy().tolist() for b in batches] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]


def test_without_batches_samples_come_as_they_are():
    samples = list(io.DataLoader(Together(), batch_size=None))
    assert len(samples) == 10 and samples[3][0].numpy().tolist() == [3, 3] and samples[3][1].item() == 3


@pytest.mark.parametrize(("workers", "drop", "expected"), [
    (0, False, [[0, 1, 2], [3, 4, 5], [6]]), (0, True, [[0, 1, 2], [3, 4, 5]]), (2, False, None),
])  # fmt: skip
def test_streams(workers, drop, expected):
    loader = io.DataLoader(Stream(), batch_size=3, num_workers=workers, drop_last=drop)
    batches = [b.numpy().tolist() for b in loader]
    if expected is not None:
        assert batches == expected
    else:
        assert sorted(n for b in batches for n in b) == list(range(7))
    with pytest.raises(TypeError, match="stream"):
        len(loader)


def test_shuffle_follows_the_seed_and_changes_by_epoch():
    def order(workers=0):
        paddle.seed(9)
        loader = io.DataLoader(Together(), batch_size=3, shuffle=True, num_workers=workers)
        return [[n for _, labels in loader for n in labels.numpy().tolist()] for _ in range(2)]

    one, two = order(), order()
    assert one == two and one[0] != one[1] and sorted(one[0]) == list(range(10))
    assert order(2) == order(2)


@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_can_begin_in_the_middle(workers):
    loader = io.DataLoader(Together(), batch_size=2, shuffle=True, num_workers=workers)
    paddle.seed(3)
    whole = [labels.numpy().tolist() for _, labels in loader]
    paddle.seed(3)
    assert [labels.numpy().tolist() for _, labels in loader.batches(skip=3)] == whole[3:]
    assert len(list(loader)) == 5  # the next epoch is whole again
    assert [b.numpy().tolist() for b in io.DataLoader(Stream(), batch_size=3).batches(skip=2)] == [[6]]


class Chance(io.Dataset):
    def __getitem__(self, index):
        return torch.rand(()).item(), np.random.rand()

    def __len__(self):
        return 8


def test_workers_draw_from_seeds_of_their_own():
    def run():
        paddle.seed(4)
        return np.array(
            [[v.numpy() for v in b] for b in io.DataLoader(Chance(), batch_size=4, num_workers=2)]
        )

    one, two = run(), run()
    assert (one == two).all() and len(np.unique(one)) == one.size


class Dies(io.Dataset):
    def __init__(self, how):
        self.how = how

    def __getitem__(self, index):
        if index == 5:
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif self.how == "exit":
                os._exit(3)
            elif self.how == "hang":
                time.sleep(3)  # torch waits up to 5 s for it to end
            raise KeyError("sample five is broken")
        return np.float32(index)

    def __len__(self):
        return 8


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("kill", r"worker 1 \(process \d+\) was killed by SIGKILL.*memory ran out"),
        ("exit", r"worker 1 \(process \d+\) ended with exit code 3.*num_workers=0"),
    ],
)
def test_a_worker_that_dies_is_named(how, message):
    # Worker 1 has the second batch, in which sample 5 is.
    with pytest.raises(RuntimeError, match=message):
        list(io.DataLoader(Dies(how), batch_size=4, num_workers=2))


@pytest.mark.timeout(60)
def test_a_worker_that_hangs_is_given_up_after_the_timeout():
    with pytest.raises(RuntimeError, match="larger timeout"):
        list(io.DataLoader(Dies("hang"), batch_size=4, num_workers=1, timeout=1))


@pytest.mark.parametrize("workers", [0, 1])
def test_an_error_in_the_data_set_arrives(workers):
    with pytest.raises(KeyError, match="sample five is broken"):
        list(io.DataLoader(Dies("raise"), batch_size=4, num_workers=workers))


@pytest.mark.parametrize(
    ("make", "error", "what"),
    [
        (lambda: io.DataLoader(Rows(), num_workers=-1), ValueError, "num_workers"),
        (lambda: io.DataLoader(Rows(), batch_size=0), ValueError, "batch_size"),
        (lambda: io.DataLoader(Stream(), shuffle=True), ValueError, "shuffle"),
        (lambda: io.DataLoader(Rows(), timeout=-1), ValueError, "timeout"),
        (lambda: io.DataLoader(3), TypeError, "dataset"),
    ],
)
def test_bad_settings_are_named(make, error, what):
    with pytest.raises(error, match=what):
        make()


def test_persistent_workers_serve_every_epoch():
    loader = io.DataLoader(Together(), batch_size=4, num_workers=1, persistent_workers=True)
    for _ in range(2):
        assert [labels.numpy().tolist() for _, labels in loader] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_without_batches_shuffle_and_drop_last_change_nothing():
    """As in Paddle, where only the batches are shuffled and left out."""
    rows = [np.full([2], i, "float32") for i in range(3)]

    class Arrays(io.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return rows[index]

    class Stream(io.IterableDataset):
        def __iter__(self):
            return iter(rows)

    for settings in ({"drop_last": True}, {"shuffle": True}, {"shuffle": True, "drop_last": True}):
        loader = io.DataLoader(Arrays(), batch_size=None, **settings)
        assert [batch.tolist() for batch in loader] == [[0, 0], [1, 1], [2, 2]]
        assert len(loader) == 3
    assert len([*io.DataLoader(Stream(), batch_size=None, drop_last=True)]) == 3


def test_a_sampler_that_reads_its_indices_from_an_iterator():
    assert list(io.RandomSampler(range(3), generator=iter([2, 0, 1]))) == [2, 0, 1]
    assert list(io.RandomSampler(range(3), replacement=True, num_samples=2, generator=iter([1, 1, 1]))) == [
        1,
        1,
    ]
    with pytest.raises(TypeError, match="drop_last"):
        io.BatchSampler(range(3), drop_last=1)
