"""Optimizer steps with row-sparse gradients: alone, with lookup and backward, and compared with a dense gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any, NamedTuple

import torch

from benchmarks.side_by_side import Row, Step, library
from sampan import optimizer
from sampan.row_sparse import RowGradient

from .tables import (
    BATCHES,
    MILLION,
    NAMED,
    RATE,
    ROW,
    WIDTH,
    batches,
    fill,
    gathered,
    gradient,
    in_turn,
    ours,
    probe,
    size,
    stepping,
    stepping_torch,
    tensors,
    theirs,
)


class DecayedSparseAdam:
    """torch's SparseAdam after AdamW's decay of the rows with a gradient."""

    def __init__(self, parameters: list[Any]) -> None:
        self.parameter, self.inner = parameters[0], torch.optim.SparseAdam(parameters, lr=RATE)

    @torch.no_grad()
    def step(self) -> None:
        self.parameter.grad = self.parameter.grad.coalesce()
        rows = self.parameter.grad._indices()[0]
        self.parameter.index_copy_(0, rows, self.parameter[rows] * (1 - RATE * 0.01))
        self.inner.step()


class SparseFtrl:
    """FTRL for rows with a gradient, by torch's operations, because torch has no FTRL."""

    def __init__(self, parameters: list[Any]) -> None:
        self.parameter = parameters[0]
        self.n, self.z = (torch.zeros_like(self.parameter) for _ in range(2))

    @torch.no_grad()
    def step(self) -> None:
        table = self.parameter
        merged = table.grad.coalesce()
        rows, g = merged._indices()[0], merged._values()
        p, n, z = table[rows], self.n[rows], self.z[rows]
        after = n + g * g
        z += g - (after.sqrt() - n.sqrt()) / RATE * p
        p = torch.where(z.abs() > 0.001, (z.sign() * 0.001 - z) / (after.sqrt() / RATE + 0.002), 0.0)
        for whole, part in ((self.n, after), (self.z, z), (table, p)):
            whole.index_copy_(0, rows, part)


class Rule(NamedTuple):
    """One rule in two libraries: each constructs an optimizer for a list of parameters."""

    sampan: Callable[[Any], Any]
    torch: Callable[[Any], Any]
    sparse: bool  # whether torch's takes a sparse gradient
    goal: float
    moves: int  # rows read and written for each distinct id; 0 if torch's rule updates the whole table


# fmt: off
RULES = {
    "SGD": Rule(lambda p: optimizer.SGD(RATE, parameters=p), lambda p: torch.optim.SGD(p, RATE), True, 5.0, 2),
    "Momentum": Rule(lambda p: optimizer.Momentum(RATE, 0.9, parameters=p), lambda p: torch.optim.SGD(p, RATE, 0.9), False, 1.0, 0),
    "Adagrad": Rule(lambda p: optimizer.Adagrad(RATE, 1e-10, parameters=p), lambda p: torch.optim.Adagrad(p, RATE), True, 10.0, 4),
    "lazy Adam": Rule(lambda p: optimizer.Adam(RATE, parameters=p, lazy_mode=True), lambda p: torch.optim.SparseAdam(p, RATE), True, 16.0, 6),
    "lazy AdamW": Rule(lambda p: optimizer.AdamW(RATE, parameters=p, lazy_mode=True), DecayedSparseAdam, True, 10.0, 6),
    "RMSProp": Rule(lambda p: optimizer.RMSProp(RATE, 0.99, 1e-20, parameters=p), lambda p: torch.optim.RMSprop(p, RATE, eps=1e-20), False, 1.0, 0),
    "FTRL": Rule(lambda p: optimizer.Ftrl(RATE, 0.001, 0.001, parameters=p), SparseFtrl, True, 1.0, 6),
}
# The same rules, made for a dense gradient.
DENSE = {
    "SGD": RULES["SGD"],
    "Adagrad": RULES["Adagrad"],
    "lazy Adam": Rule(lambda p: optimizer.Adam(RATE, parameters=p), lambda p: torch.optim.Adam(p, RATE), False, 1.0, 0),
}
# fmt: on
WHOLE = tuple(DENSE)  # rules whose whole step is measured; PaddlePaddle's take its sparse gradient on a CPU


def steps() -> Iterator[Row]:
    """The step alone: the gradients of eight batches are precomputed, with duplicate ids not yet merged, in both libraries."""
    for name, rule in RULES.items():

        def programs(rule: Rule = rule) -> dict[str, Step]:
            mine, other = ours(MILLION), theirs(MILLION, rule.sparse)
            made, tmade = rule.sampan(mine.parameters()), rule.torch(list(other.parameters()))
            g = torch.from_numpy(gradient())
            parts, tgrads = [], []
            for ids in batches(MILLION)[: BATCHES if rule.sparse else 2]:  # a dense one takes 256 MB
                parts.append((torch.from_numpy(ids).flatten(), g.view(-1, WIDTH), None, None))
                other(torch.from_numpy(ids)).backward(g)
                tgrads.append(other.weight.grad)
                other.weight.grad = None
            turn, tturn = cycle(parts), cycle(tgrads)

            def step() -> Any:
                mine.weight.grad = RowGradient([next(turn)], mine.weight.shape).tensor()
                made.step()
                return probe(mine.weight.data, MILLION)

            def step_torch() -> Any:
                other.weight.grad = next(tturn)
                tmade.step()
                return probe(other.weight.data, MILLION)

            return {"sampan": step, "torch" if rule.sparse else "torch, dense": step_torch}

        # A rule without `moves` steps every row of the table.
        work = {"moved": NAMED * ROW, **gathered(MILLION, rule.moves)} if rule.moves else {}
        yield Row(f"{name} step, {size(MILLION)}", rule.goal, programs, **work)


def wholes() -> Iterator[Row]:
    """Lookup, backward and step."""
    for rows in (MILLION, 10 * MILLION):
        for name in WHOLE:
            rule = RULES[name]

            def programs(rows: int = rows, name: str = name, rule: Rule = rule) -> dict[str, Step]:
                ids, tids = tensors(rows)
                mine, other = ours(rows), theirs(rows)
                return {
                    "sampan": stepping(mine, rule.sampan(mine.parameters()), ids, rows),
                    "torch": stepping_torch(other, rule.torch(list(other.parameters())), tids, rows),
                } | fbgemm_step(rows, name)

            moved = 2 * NAMED * ROW  # the rows are written, their gradient is read
            paddle = "step" if rows == MILLION else ""
            arrays = {"rows": rows, "ids": batches(rows), "g": gradient(), "rule": name, "rate": RATE}
            label = f"lookup, backward and {name} step, {size(rows)}"
            yield Row(label, rule.goal, programs, moved, paddle, arrays, **gathered(rows, 1 + rule.moves))


def fbgemm_step(rows: int, name: str) -> dict[str, Step]:
    """fbgemm's fused tables, whose backward includes the step; none if the library does not load."""
    module = library("fbgemm_gpu.split_table_batched_embeddings_ops_training")
    common = library("fbgemm_gpu.split_table_batched_embeddings_ops_common")
    if module is None or common is None:
        return {}
    kinds = library("fbgemm_gpu.split_embedding_configs").EmbOptimType
    kind = {"SGD": kinds.EXACT_SGD, "Adagrad": kinds.EXACT_ADAGRAD}.get(name)  # it has no Adam on a CPU
    if kind is None:
        return {}
    layer = module.SplitTableBatchedEmbeddingBagsCodegen(
        [(rows, WIDTH, common.EmbeddingLocation.HOST, module.ComputeDevice.CPU)],
        optimizer=kind, learning_rate=RATE, eps=1e-10, pooling_mode=common.PoolingMode.NONE,
    )  # fmt: skip
    fill(layer.split_embedding_weights()[0])
    turn, g = in_turn(rows, lambda ids: torch.from_numpy(ids.ravel())), torch.from_numpy(gradient())
    starts = torch.arange(NAMED + 1)

    def step() -> Any:
        layer(turn(), starts).backward(g.reshape(NAMED, WIDTH))
        return probe(layer.split_embedding_weights()[0], rows)

    return {"fbgemm": step}


def beside_dense() -> Iterator[Row]:
    """The same layer and rule with a dense gradient, as `sparse=False` gives it in Sampan and in torch."""
    for name, rule in DENSE.items():

        def programs(name: str = name, rule: Rule = rule) -> dict[str, Step]:
            (ids, tids), (other_ids, _) = tensors(MILLION), tensors(MILLION)
            mine, full, other = ours(MILLION), ours(MILLION, False), theirs(MILLION, False)
            sparse = RULES[name].sampan(mine.parameters())
            dense, tdense = rule.sampan(full.parameters()), rule.torch(list(other.parameters()))
            same = name != "lazy Adam"  # it leaves the other rows unchanged; a dense Adam updates them
            return {
                "sampan": stepping(mine, sparse, ids, MILLION),
                "sampan, dense": stepping(full, dense, other_ids, MILLION, shown=same),
                "torch, dense": stepping_torch(other, tdense, tids, MILLION, shown=same),
            }

        yield Row(f"sparse beside dense, {name}, {size(MILLION)}", 10.0, programs)
