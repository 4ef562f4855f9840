"""The embedding module beside torch, fbgemm, PaddlePaddle, pandas and lru-dict: a Markdown table, which `make bench` appends.

    python benchmarks/embedding.py [--rounds 11] [--threads 1 2] [--only X] [--paddle PYTHON] [--peers FOLDER]

How it is measured: `side_by_side.py`. Words a second of skip-gram: `word_vectors.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import side_by_side

INTRODUCTION = """Tables of float32 rows of 64; a batch names 4096 x 26 ids, the k-th most popular in proportion to k^-1.05; eight
batches take turns. Times in ms (median ± interquartile range) of one call; a ratio above 1: Sampan is faster than the best
peer. x limit: Sampan's time over what its bytes take at the rates below, each row of the table that a batch names read
once (written once more, with its states, by a step). Peak MiB: what one call adds at most, in the order Sampan / peers.
A goal of 1.00: none was set. Dense: with a gradient of the whole table. The
plain table of ids never grows, and is the limit of the hash. "Rows read alone" adds the named rows up and writes
none."""


def families() -> Any:
    from benchmarks.embedding_rows import FAMILIES  # it looks for its peers

    return FAMILIES


if __name__ == "__main__":
    side_by_side.table(__doc__, "Embedding", INTRODUCTION, "embedding_paddle.py", families, patience=1.0)
