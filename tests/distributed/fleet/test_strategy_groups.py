"""Groups of processes that are arranged by hand."""

import pytest

from sampan.distributed.fleet.base import orthogonal_strategy
from sampan.distributed.fleet.strategy_groups import DPGroup, OrthogonalStrategy, StrategyGroupBase
from tests.distributed.fleet import hybrid_util_programs as programs


@pytest.mark.servers
def test_four_processes_as_a_grid(workers):
    each = workers(4)(programs.grid)
    assert [found["dp"] for found in each] == [[0, 2], [1, 3], [0, 2], [1, 3]]
    assert [found["pp"] for found in each] == [[0, 1], [0, 1], [2, 3], [2, 3]]
    assert [found["rank"] for found in each] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(found["all"] == [0, 1, 2, 3] for found in each)
    assert [found["sum"] for found in each] == [2, 4, 2, 4]
    assert each[0]["next"] == (1, [0, 1], [0, 1])
    assert each[2]["next"] == (3, [2, 3], [2, 3])


def test_errors():
    with pytest.raises(AssertionError, match="The global communication group need to be initialized"):
        StrategyGroupBase([[0]])
    with pytest.raises(AssertionError, match="There are total 1 ranks, but need 2 ranks"):
        OrthogonalStrategy([("dp", 2, DPGroup)])
    with pytest.raises(AssertionError, match="Defined duplicated strategies"):
        OrthogonalStrategy([("dp", 1, DPGroup), ("dp", 1, DPGroup)])
    with pytest.raises(AssertionError, match="Can not fuse strategy mp"):
        OrthogonalStrategy([("dp", 1, DPGroup)], {"check": ["mp"]})
    assert orthogonal_strategy.OrthogonalStrategy is OrthogonalStrategy
