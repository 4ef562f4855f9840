"""PaddlePaddle's side of `side_by_side.py`: programs by name, in a separate process and virtual environment.

Reads one JSON object per line: {"prepare": [program, folder, once]} builds it from the arrays in folder/arrays.npz, calls it,
stores its value as folder/value.npy and replies {"seconds", "peak"}; {"sample": null} replies the seconds of one call.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.worker import forget_peak, resident

Arrays = dict[str, np.ndarray]
Step = Callable[[], Any]


def serve(programs: dict[str, Callable[[Any, Arrays], Step]]) -> None:
    """programs: name to a function of (library, arrays) that returns the step to call."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # PaddlePaddle's output must not be mixed with the replies
    import paddle

    paddle.set_device("cpu")
    print(json.dumps({"version": paddle.__version__}), file=answers, flush=True)
    step: Step | None = None

    def timed() -> tuple[float, Any]:
        assert step is not None
        began = time.perf_counter()
        value = step()
        return time.perf_counter() - began, value

    for line in sys.stdin:
        ((action, given),) = json.loads(line).items()
        if action == "prepare":
            step = None  # free the tables of the previous program
            program, folder, once = given
            with np.load(Path(folder) / "arrays.npz") as arrays:
                step = programs[program](paddle, dict(arrays))
            if not once:
                step()
            forget_peak()
            before = resident("VmRSS")
            seconds, value = timed()
            answer = {"seconds": seconds, "peak": resident("VmHWM") - before}
            if value is not None:
                value = value() if callable(value) else value
                np.save(Path(folder) / "value.npy", value.numpy())
        else:
            answer = {"seconds": timed()[0]}
        print(json.dumps(answer), file=answers, flush=True)
