"""PaddlePaddle's message passing, in a separate process and virtual environment (`graph_messages.py` starts it)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.paddle_programs import Arrays, Step, serve


def received(reduce_op: str) -> Callable[[Any, Arrays], Step]:
    def make(paddle: Any, a: Arrays) -> Step:
        x, g, sources, targets = (paddle.to_tensor(a[name]) for name in ("x", "g", "sources", "targets"))
        x.stop_gradient = False

        def step() -> Any:
            x.clear_gradient()
            paddle.geometric.send_u_recv(x, sources, targets, reduce_op).backward(g)
            return x.grad

        return step

    return make


PROGRAMS: dict[str, Callable[[Any, Arrays], Step]] = {name: received(name) for name in ("sum", "mean", "max")}


if __name__ == "__main__":
    serve(PROGRAMS)
