"""SyncBatchNorm in two processes against BatchNorm with the whole batch in one."""

import pytest

from tests.distributed import data_parallel_programs as programs

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("empty", [False, True])
def test_values_gradients_and_second_derivatives(workers, dtype, channels_last, empty):
    for close, differences in workers(2)(programs.synchronised, dtype, channels_last, empty):
        assert close, differences


def test_conversion_and_sparse_tensors(workers):
    for name, difference in workers(2)(programs.converted):
        assert name == "SyncBatchNorm"
        assert difference < 1e-6
