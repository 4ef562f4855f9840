"""One number of threads for torch's operators and Sampan's loops."""

import subprocess
import sys

PROGRAM = """
import numba, torch
from sampan.transport.threads import use_threads
use_threads(1)
print(torch.get_num_threads(), numba.get_num_threads())
"""


def test_torch_keeps_the_number_when_numba_starts_its_threads():
    """In a new process, where Numba's threads have not been started."""
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["1", "1"]
