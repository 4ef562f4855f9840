"""What holds for every test: two threads, whatever the machine has, so that times and sums are comparable.

Examples that hypothesis draws have no deadline: a first one may compile a loop, and a machine may be busy.
"""

import os
from collections.abc import Iterator

THREADS = 2
# Before the libraries are imported: their pools read these once. Child processes inherit them.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = str(THREADS)
if (
    "PYTEST_XDIST_WORKER" in os.environ
):  # the threads of the other process need the processor that waiting ones would use
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("sampan", deadline=None)
settings.load_profile("sampan")

torch.set_num_threads(THREADS)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """For small networks, to which two threads cost more than they bring."""
    import numba

    before = numba.get_num_threads(), torch.get_num_threads()
    numba.set_num_threads(1), torch.set_num_threads(1)
    yield
    numba.set_num_threads(before[0]), torch.set_num_threads(before[1])
