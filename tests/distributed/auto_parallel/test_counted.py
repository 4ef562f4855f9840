"""Bytes of the exchanges of distributed tensors, beside the formula of each collective."""

import numpy as np
import pytest

import sampan
import sampan.distributed as dist
from sampan import nn
from sampan.distributed import traffic
from tests.distributed.auto_parallel.programs import KINDS, line

pytestmark = pytest.mark.servers


def exchanged(before, after, rows):
    """What `reshard` of a [rows, 12] tensor counts."""
    count = dist.get_world_size()
    x = dist.shard_tensor(sampan.ones([rows, 12], dtype="float64"), line(count), [KINDS[before]()])
    traffic.reset()
    dist.reshard(x, line(count), [KINDS[after]()])
    return {name: tuple(counted) for name, counted in traffic.totals().items()}


def parts(rows, count):
    """Rows of the longest part: shorter ones are padded."""
    return -(-rows // count)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("rows", [8, 7])
def test_bytes_of_each_change_of_placement(workers, count, rows):
    row, pool = 12 * 8, workers(count)  # bytes of a row
    whole = rows * row
    padded = parts(rows, count) * row
    reduced = (1, whole, 2 * (count - 1) * whole // count)
    expected = {
        ("R", "S0"): {},
        ("R", "P"): {},
        ("S0", "S0"): {},
        ("S0", "R"): {"all_gather": (1, padded, (count - 1) * padded)},
        ("S1", "R"): {"all_gather": (1, whole // count, (count - 1) * whole // count)},
        ("P", "R"): {"all_reduce": reduced},
        # gloo computes the whole sum for a reduce_scatter; where parts differ in length it is asked for.
        ("P", "S0"): {"all_reduce" if rows % count else "reduce_scatter": reduced},
    }
    for (before, after), counted in expected.items():
        assert pool(exchanged, before, after, rows) == [counted] * count, (before, after)


def on_a_grid():
    """Cut along both axes of a 2 x 2 mesh, then whole: a gather along each."""
    mesh = dist.ProcessMesh(np.arange(4).reshape(2, 2), dim_names=["x", "y"])
    x = dist.shard_tensor(sampan.ones([8, 12]), mesh, [dist.Shard(0), dist.Shard(1)])
    traffic.reset()
    dist.unshard_dtensor(x)
    gathered = tuple(traffic.totals()["all_gather"])
    traffic.reset()
    half = dist.ProcessMesh([0, 1], dim_names=["z"])
    pair = dist.shard_tensor(sampan.ones([8, 12]), half, [dist.Replicate()])
    traffic.reset()
    dist.reshard(pair, dist.ProcessMesh([2, 3], dim_names=["z"]), [dist.Replicate()])
    return gathered, {name: tuple(counted) for name, counted in traffic.totals().items()}


def test_bytes_on_a_grid_and_to_another_mesh(workers):
    quarter = 4 * 6 * 4
    each = workers(4)(on_a_grid)
    assert {gathered for gathered, _ in each} == {(2, 3 * quarter, 3 * quarter)}
    sent = [counted["broadcast"] for _, counted in each]
    assert [payload for _, payload, _ in sent] == [8 * 12 * 4] * 4
    assert sum(wire for *_, wire in sent) == 3 * 8 * 12 * 4  # three processes get it


def trained(batch, width, hidden):
    """A step of a network of two layers, the first cut by columns and the second by rows."""
    network = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width), nn.Tanh())
    plan = {"0": dist.ColWiseParallel(), "2": dist.RowWiseParallel()}
    mesh = dist.ProcessMesh([0, 1], dim_names=["mp"])
    network, _ = dist.parallelize(network, mesh=mesh, config={"mp_config": {"parallelize_plan": plan}})
    x = sampan.ones([batch, width])
    x.stop_gradient = False
    traffic.reset()
    out = network(x)
    forward = traffic.step()
    out.sum().backward()
    return forward, traffic.step()


def test_bytes_of_a_step_of_tensor_parallelism(workers):
    """One sum of [batch, width] in each direction (Shoeybi et al. 2019, figure 3)."""
    batch, width = 6, 10
    summed = {"all_reduce": (1, batch * width * 4, batch * width * 4)}  # 2 (n - 1) / n = 1 with two processes
    assert workers(2)(trained, batch, width, 16) == [(summed, summed)] * 2
