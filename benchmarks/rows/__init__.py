"""What is measured: one file a family of rows. Nothing here imports a framework; it is handed in.

A program is a function that takes the framework's module and returns a step: a function without arguments that
is called over and over and returns a number or a tensor. Sampan and PaddlePaddle share one program, because
their API is the same; PyTorch's stands below it. Before timing, the values of a third call are compared, so that
the columns are known to do the same work, two optimizer steps included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Program = Callable[[Any], Callable[[], Any]]


@dataclass(frozen=True)
class Row:
    """`goal`: at most this share of PyTorch's time; of PaddlePaddle's where PyTorch has no such thing.

    moved: bytes that the step must read and write; None: what PyTorch's operators move and compute one by one is counted
    instead (`machine.Work`); 0: the machine sets no limit that could be stated. within: the goal is at most so many times
    the machine's limit, which takes the place of `goal`.
    """

    name: str
    paddle: Program  # given the module sampan or paddle
    torch: Program | None
    goal: float = 1.0
    moved: float | None = None
    within: float | None = None


def all_rows() -> dict[str, Row]:
    from . import families, loader, networks, operators, optimizers, training

    modules = (operators, training, optimizers, networks, loader, families)
    rows = [row for module in modules for row in module.ROWS]
    table = {row.name: row for row in rows}
    if len(table) != len(rows):
        raise ValueError("two benchmark rows have the same name")
    return table
