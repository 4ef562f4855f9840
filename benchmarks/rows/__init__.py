"""The measured rows, one file for each family. No framework is imported here; it is an argument.

A program is a function that takes the framework's module and returns a step: a function without arguments that
is called repeatedly and returns a number or a tensor. Sampan and PaddlePaddle share one program, because
their API is the same; PyTorch's follows it. Before timing, the values of a third call are compared, to check
that the programs do the same work, with two optimizer steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Program = Callable[[Any], Callable[[], Any]]


@dataclass(frozen=True)
class Row:
    """goal: the largest allowed fraction of PyTorch's time, or of PaddlePaddle's if PyTorch has no such operator.

    moved: bytes that the step must read and write; None: the bytes and flops of PyTorch's operators are
    counted (`machine.Work`); 0: no limit of the machine is known. within: the largest allowed multiple of the machine's
    limit, in place of `goal`.
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
