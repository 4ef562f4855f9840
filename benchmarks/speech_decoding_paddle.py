"""PaddlePaddle's programs for `speech_decoding.py`: a process of its own, driven by `side_by_side.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.paddle_programs import Arrays, Step, serve


def ctc(paddle: Any, a: Arrays) -> Step:
    logits = paddle.to_tensor(a["logits"], stop_gradient=False)
    labels = paddle.to_tensor(a["labels"].astype("int32"))
    lengths, counts = (paddle.to_tensor(a[name]) for name in ("lengths", "counts"))

    def step() -> Any:
        logits.clear_grad()
        loss = paddle.nn.functional.ctc_loss(logits, labels, lengths, counts, reduction="none")
        loss.sum().backward()
        return lambda: loss

    return step


if __name__ == "__main__":
    serve({"ctc": ctc})
