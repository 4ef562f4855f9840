"""Saved models beside the layers that they were, ONNX Runtime and OpenVINO: a Markdown table, which `make bench` appends.

    python benchmarks/deploy.py [--rounds 11] [--threads 1 2] [--only X]

How it is measured: `side_by_side.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import side_by_side

INTRODUCTION = """Times in ms (median ± interquartile range) of one call of a predictor (`paddle.inference`, Sampan's replay) on an
array of float32; a ratio above 1: the replay is faster than the peer. Peers: the layer itself without gradients (eager), ONNX
Runtime on the exported file, the same through `enable_onnxruntime`, OpenVINO in float32. Each model is one row for eager and
one for the engines that are installed. A training step is forward, loss, backward and SGD. A network in int8 has its linear
layers and convolutions in int8, beside its own float32. Elementwise functions are beside torch.compile and, where it is
installed, JAX. Rows of MB count what torch's allocator holds at most during a call, with the bound by liveness as their limit;
for rows of a first call and of a load the peer is the goal."""


def families() -> Any:
    from benchmarks import deploy_fused_rows
    from benchmarks.deploy_rows import FAMILIES

    return [*FAMILIES, deploy_fused_rows.rows]


if __name__ == "__main__":
    side_by_side.table(__doc__, "Deploy", INTRODUCTION, "", families)
