"""Loss scaling over two processes."""

import pytest

from tests.distributed.sharding import programs


@pytest.mark.servers
@pytest.mark.parametrize("level", ["os", "os_g", "p_g_os"])
def test_scaler_decides_as_one(workers, level):
    for (_, lower, changed), (_, kept, later) in workers(2)(programs.scaled, level):
        assert (lower, changed) == (512, False)
        assert (kept, later) == (512, True)
