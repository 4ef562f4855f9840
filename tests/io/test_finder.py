"""The batch size where growing no longer pays."""

import numpy as np
import pytest

from sampan import io


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
