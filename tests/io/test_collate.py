"""Samples that become a batch, and those that do not fit together."""

import numpy as np
import pytest

import sampan as paddle
from sampan import io


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


def test_a_collate_function_gets_samples_even_then():
    seen = []

    def collate(samples):
        seen.append(type(samples).__name__ + str(len(samples)))
        return [paddle.to_tensor(np.stack([row for row, _ in samples]))]

    (first,), *_ = io.DataLoader(Together(), batch_size=4, collate_fn=collate)
    assert seen[0] == "list4" and first.shape == [4, 2]


class Ragged(io.Dataset):
    def __getitem__(self, index):
        return (np.zeros(index + 1), object() if index > 3 else 1)

    def __len__(self):
        return 6


def test_samples_that_do_not_fit_together():
    with pytest.raises(ValueError, match=r"collate: sample\[0\] has different shapes.*\(1,\), \(2,\)"):
        next(iter(io.DataLoader(Ragged(), batch_size=2)))
    with pytest.raises(TypeError, match=r"collate: sample\[1\] is a object"):
        next(iter(io.DataLoader(Ragged(), batch_sampler=[[4]])))
