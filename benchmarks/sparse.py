"""The sparse module beside torch.sparse, SciPy, PaddlePaddle, DGL and spconv: a Markdown table, which `make bench` appends.

    python benchmarks/sparse.py [--rounds 11] [--threads 1 2] [--only X] [--paddle PYTHON] [--peers FOLDER]

How it is measured: `side_by_side.py`.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import side_by_side

warnings.filterwarnings("ignore", "Sparse ")  # torch says that its CSR is in beta, and unchecked
INTRODUCTION = """Times in ms (median ± interquartile range) of one call; a ratio above 1: Sampan is faster than the best peer.
x limit: Sampan's time over what the bytes of the row take at the rates below, or over the GEMM floor (three times the
floor with backward), which is the product of the gathered rows of the submanifold convolution alone. Below 1 the caches held
rows. Peak MiB: what one call adds at most, in the order Sampan / peers. PaddlePaddle's convolutions are called once. The
plain kernel is a loop of ten lines in Numba."""


def families() -> Any:
    from benchmarks.sparse_rows import FAMILIES  # it looks for its peers

    return FAMILIES


if __name__ == "__main__":
    side_by_side.table(__doc__, "Sparse", INTRODUCTION, "sparse_paddle.py", families)
