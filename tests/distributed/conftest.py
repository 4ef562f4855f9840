"""Fixtures of the tests of paddle.distributed."""

import pytest

import sampan.distributed as dist
from sampan.distributed import parallel


@pytest.fixture
def ready(monkeypatch):
    monkeypatch.setitem(parallel._state, "initialized", False)
    with pytest.warns(UserWarning, match="one process"):
        assert dist.init_parallel_env() is None
    dist.init_parallel_env()  # a second time says nothing
