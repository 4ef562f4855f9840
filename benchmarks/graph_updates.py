"""Updates of a graph beside queries: a Markdown table.

    python benchmarks/graph_updates.py [--rounds 11] [--threads 1 2] [--only X] [--peers FOLDER]

How it is measured: `side_by_side.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import side_by_side

INTRODUCTION = """Times in ms (median ± interquartile range) of one call; a ratio above 1: Sampan is faster than the best peer.
What undoes a call is not timed. SciPy cannot change a matrix in place: it makes one of all edges before a query; its edges
have no numbers, so the oldest are removed. The rows on 10M edges time updates while another thread asks for the neighbours
of 1,024 nodes, again and again with pauses of 2 ms; Sampan's graph is in a folder and flushed at the end of a call, and its
peer is the same graph without a folder. Goals there: 1M updates/s in batches, 0.1M/s singly."""


def families() -> Any:
    from benchmarks.graph_updates_rows import FAMILIES  # it looks for its peers

    return FAMILIES


if __name__ == "__main__":
    side_by_side.table(__doc__, "Graph updates", INTRODUCTION, "", families, patience=60.0)
