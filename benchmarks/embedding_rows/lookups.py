"""Lookups, their gradient, and sums of bags."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np
import torch

import sampan
from benchmarks.machine import summed_rows
from benchmarks.side_by_side import Row, Step
from sampan import embedding, nn, optimizer

from .tables import (
    MILLION,
    NAMED,
    RATE,
    ROW,
    SAMPLES,
    WIDTH,
    batches,
    fill,
    gathered,
    gradient,
    in_turn,
    ours,
    size,
    stepping,
    stepping_torch,
    tensors,
    theirs,
)


def lookups() -> Iterator[Row]:
    for rows in (MILLION, 10 * MILLION):

        def programs(rows: int = rows) -> dict[str, Step]:
            mine, other = ours(rows), theirs(rows)
            (ids, tids), flat = tensors(rows), in_turn(rows, np.ravel)
            out, values = np.zeros((64, WIDTH), np.float32), other.weight.data.numpy()

            def look() -> Any:
                with sampan.no_grad():
                    return mine(ids()).data

            def look_torch() -> Any:
                with torch.no_grad():
                    return other(tids())

            return {
                "sampan": look,
                "torch": look_torch,
                "rows read alone": lambda: summed_rows(values, flat(), out),
            }

        paddle = "lookup" if rows == MILLION else ""
        arrays = {"rows": rows, "ids": batches(rows)}
        yield Row(f"lookup, {size(rows)}", 0.8, programs, NAMED * ROW, paddle, arrays, **gathered(rows))


def gradients() -> Iterator[Row]:
    def programs() -> dict[str, Step]:
        mine, other = ours(MILLION), theirs(MILLION)
        outs = cycle([mine(sampan.to_tensor(ids)) for ids in batches(MILLION)])
        touts = cycle([other(torch.from_numpy(ids)) for ids in batches(MILLION)])
        g, tg = sampan.to_tensor(gradient()), torch.from_numpy(gradient())

        def back() -> Any:
            mine.weight.clear_gradient(False)
            next(outs).backward(g, retain_graph=True)
            ids, found = mine.weight.grad.rows().sums()
            return lambda: found[ids.argsort()]

        def back_torch() -> Any:
            other.weight.grad = None
            next(touts).backward(tg, retain_graph=True)
            return other.weight.grad.coalesce().values()

        return {"sampan": back, "torch": back_torch}

    yield Row(
        f"gradient of the table, repeated ids merged, {size(MILLION)}", 5.0, programs, NAMED * ROW, **gathered(MILLION)
    )  # fmt: skip


def bags() -> Iterator[Row]:
    def layers() -> tuple[Any, Any]:
        mine = embedding.EmbeddingBag(MILLION, WIDTH, mode="sum", weight_attr=nn.initializer.Constant(0.0))
        fill(mine.weight.data)
        return mine, theirs(MILLION, kind=torch.nn.EmbeddingBag, mode="sum")

    def forward() -> dict[str, Step]:
        (mine, other), (ids, tids) = layers(), tensors(MILLION)

        def sums() -> Any:
            with sampan.no_grad():
                return mine(ids()).data

        def sums_torch() -> Any:
            with torch.no_grad():
                return other(tids())

        return {"sampan": sums, "torch": sums_torch}

    def step() -> dict[str, Step]:
        (mine, other), (ids, tids) = layers(), tensors(MILLION)
        rule = optimizer.SGD(RATE, parameters=mine.parameters())
        trule = torch.optim.SGD(other.parameters(), RATE)
        g, tg = sampan.to_tensor(of_bags), torch.from_numpy(of_bags)
        return {
            "sampan": stepping(mine, rule, ids, MILLION, g),
            "torch": stepping_torch(other, trule, tids, MILLION, tg),
        }

    of_bags = gradient()[:, 0].copy()
    arrays = {"rows": MILLION, "ids": batches(MILLION), "g": of_bags, "rate": RATE}
    name = f"bag sum forward, {size(MILLION)}"
    yield Row(name, 1.5, forward, SAMPLES * ROW, "bag", arrays, **gathered(MILLION))
    name, moved = f"bag sum, forward and SGD step, {size(MILLION)}", 2 * SAMPLES * ROW
    yield Row(name, 13.0, step, moved, "bag step", arrays, **gathered(MILLION, 3))
