"""The plan beside counts, real shards and the published constants."""

import numpy as np
import pytest

from sampan.distributed.parameter_server.planner import Costs, distinct, plan, simulate, zipf


@pytest.mark.parametrize("rows", [1000, 3_000_000])
def test_different_ids_are_as_many_as_drawn(rows: int) -> None:
    rng = np.random.default_rng(0)
    ranks = np.arange(1, rows + 1) ** -1.05
    drawn = [np.unique(rng.choice(rows, 20_000, p=ranks / ranks.sum())).size for _ in range(3)]
    assert distinct(20_000, rows) == pytest.approx(np.mean(drawn), rel=0.02)


def test_bytes_of_the_large_plans() -> None:
    small, large = plan(10**9, 16, 65_536), plan(10**11, 16, 65_536)
    assert small.bytes_per_row == 285  # as 2,000,000 rows of this width took with Adam
    assert small.shards == 2 and large.shards == 134
    assert large.memory_per_shard < 256e9 / 1.19
    assert (
        plan(10**9, 64, 65_536, half=True).network_per_step < 0.53 * plan(10**9, 64, 65_536).network_per_step
    )


def test_a_real_shard_serves_its_part_of_a_stream() -> None:
    found = simulate(16, 10_000_000, 8, 20_000, steps=6)
    said = plan(10_000_000, 8, 20_000, costs=Costs(1e-4, 1e-9, 1e-7), shards=16)
    assert found.ids_per_step == pytest.approx(said.ids_per_step, rel=0.1)  # `zipf` is the continuous law
    assert 1 < found.imbalance < 1.15
    assert found.rows == pytest.approx(
        np.unique(zipf(np.random.default_rng(1), 120_000, 10_000_000, 1.05)).size / 16, rel=0.1
    )
    assert found.seconds_per_step > 0 and said.steps_per_second is not None


def test_arguments_that_make_no_plan_are_named() -> None:
    with pytest.raises(ValueError, match="rule: expected one of SGD"):
        plan(10, 4, 4, rule="Lion")
    with pytest.raises(ValueError, match="rows: expected a whole number of at least 1, got 0"):
        plan(0, 4, 4)
    with pytest.raises(ValueError, match="spare at least 1"):
        plan(10, 4, 4, spare=0.5)
