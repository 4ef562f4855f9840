"""Networks whose tensors are on several meshes: processes run the operators of meshes that they are not in."""

import numpy as np
import pytest

from tests.distributed.auto_parallel import programs


@pytest.mark.servers
@pytest.mark.parametrize(("count", "clip"), [(2, "none"), (2, "norm"), (4, "none"), (4, "global")])
def test_two_stages_train_as_one_process(workers, count, clip):
    for rank, (cut, whole, told) in enumerate(workers(count)(programs.stages, count, clip)):
        if rank < count // 2:  # the loss is on the second mesh
            assert cut[0] == [[]] * 3
            assert "the values of a tensor on processes" in told
            assert "are asked for in another process" in told
            assert "placements=[Replicate()], GlobalDenseTensor=\n       on other processes)" in told
        else:
            np.testing.assert_allclose(cut[0], whole[0], rtol=1e-5)
            np.testing.assert_allclose(cut[1], whole[1], atol=1e-6)
