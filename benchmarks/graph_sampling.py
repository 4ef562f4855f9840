"""Structure, samples and walks of graphs, and training on samples, beside DGL, SciPy and PaddlePaddle: a Markdown table, which `make bench` appends.

    python benchmarks/graph_sampling.py [--rounds 11] [--threads 1 2] [--only X] [--paddle PYTHON] [--peers FOLDER]

How it is measured: `side_by_side.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import side_by_side

INTRODUCTION = """Times in ms (median ± interquartile range) of one call; a ratio above 1: Sampan is faster than the best peer.
Results are not compared, because samples differ. DGL and PaddlePaddle sample the seeds again in the second hop, Sampan the
nodes that the first hop found. torch_geometric samples with pyg-lib, which has no wheel for this torch. PaddlePaddle has
no walks. x limit: over the bytes that are read and written in order and the cache lines of 64 bytes that are read in random order."""


def families() -> Any:
    from benchmarks.graph_sampling_rows import FAMILIES  # it looks for its peers

    return FAMILIES


if __name__ == "__main__":
    side_by_side.table(__doc__, "Graph samples", INTRODUCTION, "graph_sampling_paddle.py", families)
