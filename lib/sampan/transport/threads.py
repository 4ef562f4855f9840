"""How many threads this process computes with."""

import numba
import torch


def use_threads(count: int) -> None:
    """Let torch's operators and Sampan's loops use so many threads of this process from now on.

    Numba starts its threads when it is first asked about them, and then sets OpenMP's number, which is
    torch's too, to the number of cores. So torch's is set last.
    """
    most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # made when Numba is imported
    numba.set_num_threads(min(count, most))
    torch.set_num_threads(count)
