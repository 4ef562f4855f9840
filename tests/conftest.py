"""What holds for every test: two threads, whatever the machine has, so that times and sums are comparable, and the same
random numbers in each run.

Every test starts from the seed SAMPAN_TEST_SEED (0). With another one hypothesis draws new examples too, instead of the
same ones. They have no deadline: a first one may compile a loop, and a machine may be busy.
"""

import os
import random
from collections.abc import Iterator

THREADS = 2
# Before the libraries are imported: their pools read these once. Child processes inherit them.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = str(THREADS)
if (
    "PYTEST_XDIST_WORKER" in os.environ
):  # the threads of the other process need the processor that waiting ones would use
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import settings  # noqa: E402

SEED = int(os.environ.get("SAMPAN_TEST_SEED", "0"))
settings.register_profile("sampan", deadline=None, derandomize=SEED == 0)
settings.load_profile("sampan")

torch.set_num_threads(THREADS)


def start_generators() -> None:
    """Of Python, NumPy and torch, which Sampan draws from. torch's starts from the system's entropy otherwise."""
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)


start_generators()  # for what a module of tests draws while it is imported


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Before the fixtures of a module are made too."""
    start_generators()


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """For small networks, to which two threads cost more than they bring."""
    import numba

    before = numba.get_num_threads(), torch.get_num_threads()
    numba.set_num_threads(1), torch.set_num_threads(1)
    yield
    numba.set_num_threads(before[0]), torch.set_num_threads(before[1])
