"""PaddlePaddle's samplers for the CPU, in a separate process and virtual environment (`graph_sampling.py` starts it)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.paddle_programs import Arrays, Step, serve


def fan_out(paddle: Any, a: Arrays) -> Step:
    row, colptr = paddle.to_tensor(a["row"]), paddle.to_tensor(a["colptr"])
    batches, call = [paddle.to_tensor(seeds) for seeds in a["batches"]], [0]

    def step() -> None:
        call[0] += 1
        nodes = batches[call[0] % len(batches)]
        for size in (15, 10):
            neighbours, counts = paddle.geometric.sample_neighbors(row, colptr, nodes, size)
            _, _, nodes = paddle.geometric.reindex_graph(nodes, neighbours, counts)

    return step


if __name__ == "__main__":
    serve({"fan_out": fan_out})
