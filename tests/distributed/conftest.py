"""Fixtures of the tests of paddle.distributed."""

import pytest

import sampan.distributed as dist
from sampan.distributed import environment
from tests.distributed.pool import Pool


@pytest.fixture
def ready(monkeypatch):
    monkeypatch.setitem(environment.state, "initialized", False)
    with pytest.warns(UserWarning, match="one process"):
        assert dist.init_parallel_env() is None
    dist.init_parallel_env()  # a second time says nothing


@pytest.fixture(scope="session")
def workers():
    """`workers(2)`: two connected processes, started at the first use; see `Pool`."""
    pools: dict[int, Pool] = {}

    def started(count: int) -> Pool:
        if count not in pools:
            pools[count] = Pool(count)
        codes = [process.exitcode for process in pools[count].processes]
        if any(code is not None for code in codes):  # one test fails, and not all that follow
            pools.pop(count).close()
            pytest.fail(f"a process of the pool had ended before this test; exit codes {codes}")
        return pools[count]

    yield started
    for pool in pools.values():
        pool.close()
