"""One number of threads for torch's operators and Sampan's loops."""

import subprocess
import sys

PROGRAM = """
import numba, torch
from sampan.transport.threads import use_threads
for count in (1, numba.config.NUMBA_NUM_THREADS):
    use_threads(count)
    print(torch.get_num_threads() == numba.get_num_threads() == count)
"""


def test_torch_keeps_the_number_when_numba_starts_its_threads_and_it_can_grow_again():
    """In a new process, where Numba's threads have not been started."""
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "True"]
