"""PaddlePaddle's sparse kernels for the CPU, in a process and a venv of their own (`sparse.py` starts it).

Products of sparse matrices with dense and with sparse ones, masked products and attention have no CPU kernel there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from benchmarks.paddle_programs import Arrays, Step, serve


def csr(paddle: Any, a: Arrays, name: str) -> Any:
    parts = (paddle.to_tensor(a[f"{name}_{part}"].astype(kind)) for part, kind in (("crows", "int64"), ("cols", "int64"), ("values", "float32")))  # fmt: skip
    return paddle.sparse.sparse_csr_tensor(*parts, [int(n) for n in a[f"{name}_shape"]])


def softmax(paddle: Any, a: Arrays) -> Step:
    made, g = csr(paddle, a, "a"), csr(paddle, a, "g")

    def step() -> Any:
        x = made.detach()  # a second gradient added to a first one ends the process
        x.stop_gradient = False
        paddle.sparse.nn.functional.softmax(x).backward(g)
        return x.grad.values()

    return step


def coalesce(paddle: Any, a: Arrays) -> Step:
    places, values = paddle.to_tensor(a["places"]), paddle.to_tensor(a["values"])
    shape = [int(n) for n in a["shape"]]
    make = paddle.sparse.sparse_coo_tensor
    return lambda: make(places, values, shape).coalesce().values()


def add(paddle: Any, a: Arrays) -> Step:
    x, y = (csr(paddle, a, name).to_sparse_coo(2) for name in "ab")  # of compressed rows it ends the process
    return lambda: paddle.sparse.add(x, y).values()


def convolution(name: str, backward: bool, *settings: Any) -> Callable[[Any, Arrays], Step]:
    """With the search for neighbours in each call: PaddlePaddle keeps none for the CPU."""

    def make(paddle: Any, a: Arrays) -> Step:
        places, weight = paddle.to_tensor(a["places"]), paddle.to_tensor(a["weight"])
        values = paddle.to_tensor(a["values"])
        weight.stop_gradient = values.stop_gradient = not backward

        def step() -> None:
            x = paddle.sparse.sparse_coo_tensor(
                places, values, [1, 200, 200, 200, 32], stop_gradient=not backward
            )
            out = getattr(paddle.sparse.nn.functional, name)(x, weight, *settings)
            if backward:
                out.values().sum().backward()
                weight.clear_gradient(), values.clear_gradient()

        return step

    return make


PROGRAMS: dict[str, Callable[[Any, Arrays], Step]] = {
    "softmax": softmax, "coalesce": coalesce, "add": add,
    "submanifold": convolution("subm_conv3d", False), "strided": convolution("conv3d", False, None, 2, 1),
    "submanifold step": convolution("subm_conv3d", True), "strided step": convolution("conv3d", True, None, 2, 1),
}  # fmt: skip


if __name__ == "__main__":
    serve(PROGRAMS)
