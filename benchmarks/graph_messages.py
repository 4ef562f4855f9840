"""Message passing and edge softmax beside PyTorch Geometric, DGL and PaddlePaddle: a Markdown table.

    python benchmarks/graph_messages.py [--rounds 11] [--threads 1 2] [--only X] [--paddle PYTHON] [--peers FOLDER]

How it is measured: `side_by_side.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import side_by_side

INTRODUCTION = """Times in ms (median ± interquartile range) of one call forward and backward; a ratio above 1: Sampan is faster
than the best peer. 1M edges between 100k nodes, evenly drawn, in no order. "index tensors": Paddle's function with the
same index tensors at each call, which it checks; otherwise the graph is built before, as for DGL and PyG."""


def families() -> Any:
    from benchmarks.graph_messages_rows import FAMILIES  # it looks for its peers

    return FAMILIES


if __name__ == "__main__":
    side_by_side.table(__doc__, "Graph: messages", INTRODUCTION, "graph_messages_paddle.py", families)
