"""What DataParallel checks and copies at its start."""

import pytest

from tests.distributed import data_parallel_programs as programs

pytestmark = pytest.mark.servers


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("shape", "process 0 has '0.weight' [3, 5] float32, process 1 has '0.weight' [3, 4] float32"),
        ("dtype", "process 1 has '0.weight' [3, 5] float64"),
        ("count", "process 1 alone has '1.weight' [2, 2] float32"),
        ("frozen", "process 1 has '0.bias' [5] float32 with stop_gradient=True"),
    ],
)
def test_processes_with_different_parameters(workers, what, text):
    for error in workers(2).outcomes(programs.different, what):
        assert isinstance(error, ValueError)
        assert text in str(error)


def test_all_start_as_process_0(workers):
    first, second = workers(2)(programs.equal_start)
    assert first == second
    assert first["count"] == [5]
    assert first["1._mean"] == [0, 0, 0]
