"""What holds for every test: two threads, whatever the machine has, so that times and sums are comparable.

Examples that hypothesis draws have no deadline: a first one may compile a loop, and a machine may be busy.
"""

import os

THREADS = 2
# Before the libraries are imported: their pools read these once. Child processes inherit them.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = str(THREADS)

import torch  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("sampan", deadline=None)
settings.load_profile("sampan")

torch.set_num_threads(THREADS)
