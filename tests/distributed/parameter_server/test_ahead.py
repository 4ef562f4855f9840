"""Rows that are asked for before they are used."""

import threading
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan.distributed.parameter_server import Service, prefetched, start_shards
from sampan.distributed.server_roles import Roles
from sampan.transport import Transport

BATCHES = [np.random.default_rng(n).integers(0, 40, (8, 3)) for n in range(7)]


def rows_after(
    home: Transport, ahead: bool, workers: int, a_sync: bool, k_steps: int, **more: Any
) -> np.ndarray:
    """Train tables with `ahead` or without; the rows of the shards afterwards."""
    errors: list[Exception] = []

    def work(number: int) -> None:
        try:
            service = Service(Roles(False, number, workers), a_sync, k_steps, home)
            table = service.embedding(
                [40, 2], paddle.ParamAttr("t", paddle.nn.initializer.Constant(1.0)), **more
            )
            own = table.parameters() or [paddle.nn.Linear(1, 1).weight]
            step = service.optimizer(paddle.optimizer.SGD(0.25, parameters=own), a_sync, k_steps)
            ids_of = lambda ids: paddle.to_tensor(ids[number::workers])
            batches = prefetched(BATCHES, [(table, ids_of)]) if ahead else iter(BATCHES)
            for batch in batches:
                out = table(ids_of(batch))
                (out * out).sum().backward()
                step.step()
                step.clear_grad()
            service.client().settle()
            found.append(service.client().pull("t", np.arange(40), False))
        except Exception as error:
            errors.append(error)

    found: list[np.ndarray] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found[-1]


@pytest.mark.parametrize("workers", [1, 2])
def test_synchronous_rows_are_those_without(workers: int) -> None:
    found = [rows_after(start_shards(2), ahead, workers, False, 0) for ahead in (False, True)]
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != 1).any()


def test_geo_rows_are_those_without_and_only_new_ids_are_asked_for() -> None:
    found = [rows_after(start_shards(2), ahead, 1, True, 3) for ahead in (False, True)]
    np.testing.assert_array_equal(found[0], found[1])
    home = start_shards(1)
    table = Service(Roles(), True, 3, home).embedding([40, 2])
    table(paddle.to_tensor([1, 2]))
    table.prefetch(paddle.to_tensor([2, 3]))
    assert table._coming[0].ids.tolist() == [3]
    assert (table(paddle.to_tensor([2, 3])).numpy() != 0).all() and not table._coming


def test_a_shards_cache_misses_are_fetched_before_they_are_used(tmp_path: Any) -> None:
    home: Any = start_shards(1, folder=tmp_path)
    table = Service(Roles(), False, 0, home).embedding([1000, 2], cache_rows=100)
    cache = lambda: home.shards[0].parts[table.table_name].layer.statistics()
    table(paddle.to_tensor([1, 2]))
    table.clear_gradients()
    table.prefetch(paddle.to_tensor([500, 600]))
    assert cache()["misses"] == 4
    table(paddle.to_tensor([500, 600]))
    assert cache()["misses"] == 4 and cache()["hits"] == 0  # nothing was asked for again
    off = Service(Roles(), False, 0, start_shards(1)).embedding([10, 2], remote_prefetch=False)
    off.prefetch(paddle.to_tensor([5]))
    assert not off._ahead and not off._later
