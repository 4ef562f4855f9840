"""What a table takes whose capacity is not given, also where a process is limited."""

import multiprocessing
import os
import resource
from pathlib import Path

import pytest

import sampan as paddle
from sampan.distributed.parameter_server import Client, TableSettings, start_shards
from sampan.embedding import DynamicEmbedding
from sampan.embedding.room import MOST_ROWS, default_capacity


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.alone
def test_a_fresh_table_takes_no_memory() -> None:
    client = Client(start_shards(2))
    client.table("first", TableSettings(64, rule="Adam", rule_settings={"lazy_mode": True}))
    before = resident()
    client.table("t", TableSettings(64, rule="Adam", rule_settings={"lazy_mode": True}))
    assert resident() - before < 1 << 20  # 2 shards x 100,000,000 rows x 256 bytes would be 51 GB


def test_without_a_limit_the_capacity_is_the_largest() -> None:
    if resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY:
        assert default_capacity(64, 4, None) == MOST_ROWS
    assert default_capacity(64, 4, 50) == 50


def _trained(which: int, limit: int) -> None:
    """Tables of a process that is limited to so many bytes more than it has."""
    DynamicEmbedding(None, 64, capacity=10)(paddle.to_tensor([3])).sum().backward()  # loads the loops
    field = "VmData" if which == resource.RLIMIT_DATA else "VmSize"
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    most = 1024 * int(lines[field].split()[0]) + limit
    resource.setrlimit(which, (most, most))
    with pytest.raises(MemoryError, match="bytes could not be had: Cannot allocate memory"):
        DynamicEmbedding(None, 64, capacity=MOST_ROWS)
    for _ in range(3):
        table = DynamicEmbedding(None, 64)
        assert 10_000 < table.capacity < limit // 4 // 256
        step = paddle.optimizer.Adam(0.1, parameters=table.parameters(), lazy_mode=True)
        before = table(paddle.to_tensor([3, -9]))
        before.sum().backward()
        step.step()
        assert (table(paddle.to_tensor([3, -9])) < before).all()


@pytest.mark.servers
@pytest.mark.parametrize("which", [resource.RLIMIT_DATA, resource.RLIMIT_AS])
def test_tables_of_a_limited_process_fit(which: int) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_trained, args=(which, 1 << 30))
    process.start()
    process.join()
    assert process.exitcode == 0
