"""PaddlePaddle's sparse embedding on a CPU, in a separate process and virtual environment (`embedding.py` starts it)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.paddle_programs import Arrays, Step, serve

BLOCK = 1 << 16


def table(paddle: Any, a: Arrays) -> Any:
    """A layer with the values that `embedding_rows.tables.fill` gives."""
    rows, width = int(a["rows"]), 64
    values = np.random.default_rng(2).standard_normal((BLOCK, width)).astype(np.float32)
    layer = paddle.nn.Embedding(rows, width, sparse=True, weight_attr=paddle.nn.initializer.Constant(0.0))
    layer.weight.set_value(np.resize(values, (rows, width)))
    return layer


def in_turn(paddle: Any, a: Arrays) -> Callable[[], Any]:
    every = cycle([paddle.to_tensor(ids) for ids in a["ids"]])
    return lambda: next(every)


def probe(paddle: Any, layer: Any, a: Arrays) -> Callable[[], Any]:
    named = paddle.to_tensor(np.unique(a["ids"][:2])[::7].copy())
    return lambda: layer.weight[named]


def lookup(paddle: Any, a: Arrays) -> Step:
    layer, ids = table(paddle, a), in_turn(paddle, a)

    def step() -> Any:
        with paddle.no_grad():
            return layer(ids())

    return step


def bag(paddle: Any, a: Arrays) -> Step:
    layer, ids = table(paddle, a), in_turn(paddle, a)

    def step() -> Any:
        with paddle.no_grad():
            return layer(ids()).sum(1)

    return step


def training(paddle: Any, a: Arrays, layer: Any, rule: Any, head: Callable[[Any], Any]) -> Step:
    ids, g, seen = in_turn(paddle, a), paddle.to_tensor(a["g"]), probe(paddle, layer, a)

    def step() -> Any:
        head(layer(ids())).backward(g)
        rule.step()
        rule.clear_grad(False)
        return seen

    return step


def bag_step(paddle: Any, a: Arrays) -> Step:
    layer = table(paddle, a)
    rule = paddle.optimizer.SGD(float(a["rate"]), parameters=layer.parameters())
    return training(paddle, a, layer, rule, lambda out: out.sum(1))


def whole(paddle: Any, a: Arrays) -> Step:
    layer, rate = table(paddle, a), float(a["rate"])
    kinds: dict[str, Callable[[Any], Any]] = {
        "SGD": lambda p: paddle.optimizer.SGD(rate, parameters=p),
        "Adagrad": lambda p: paddle.optimizer.Adagrad(rate, 1e-10, parameters=p),
        "lazy Adam": lambda p: paddle.optimizer.Adam(rate, parameters=p, lazy_mode=True),
    }
    name = str(a["rule"])
    step = training(paddle, a, layer, kinds[name](layer.parameters()), lambda out: out)
    # Its Adam with a sparse gradient counts one step too many in the bias correction: not compared.
    return step if name != "lazy Adam" else lambda: step() and None


if __name__ == "__main__":
    serve({"lookup": lookup, "bag": bag, "bag step": bag_step, "step": whole})
