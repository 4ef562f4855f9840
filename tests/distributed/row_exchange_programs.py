"""Programs that test_row_exchange.py runs in each of several processes."""

from __future__ import annotations

import numpy as np
import torch
import torch.distributed as c10d

import sampan as paddle
import sampan.distributed as dist
from sampan.distributed import traffic
from sampan.distributed.row_exchange import RowExchange
from sampan.engine.tensor import Tensor
from sampan.row_sparse import RowGradient, RowSparse, rows_of


def batch(process, step, count, table, kind="zipf"):
    """Ids with repetitions and a gradient for each, of one process."""
    numbers = np.random.RandomState(100 * step + process)
    if kind == "zipf":
        ids = np.minimum(numbers.zipf(1.2, count), table) - 1
    else:
        ids = numbers.randint(0, table, count)
    return torch.from_numpy(ids), torch.from_numpy(numbers.randn(count, 4).astype("float32"))


def gradient_of(ids, rows, table):
    return RowGradient([(ids, rows, None, None)], (table, 4))


def exchanged(counts, table, kind, steps, half=None, growth=1):
    """Largest errors of the means against the dense sums, in each step and of the sum of all steps; whether all
    processes have equal bits; how the rows went; the bytes that this process sent."""
    rank, world = c10d.get_rank(), c10d.get_world_size()
    tables = [
        Tensor(torch.zeros(table, 4), stop_gradient=False),
        Tensor(torch.zeros(7, 4), stop_gradient=False),
    ]
    exchange = RowExchange(tables, None, getattr(torch, half) if half else None)
    errors, total, expected_total, equal = [], 0.0, 0.0, True
    before = traffic.totals().get("rows", (0, 0, 0))[-1]
    for step in range(steps):
        parts = [
            batch(process, step, counts[process] * growth**step, table, kind) for process in range(world)
        ]
        tables[0]._grad = gradient_of(*parts[rank], table)
        tables[1]._grad = None if rank else RowSparse(RowGradient.nothing(tables[1].data))
        missing = exchange([False, rank > 0])
        expected = sum(gradient_of(*part, table).dense().double() for part in parts) / world
        rows = tables[0]._grad
        assert type(rows) is RowGradient
        assert rows.merged
        assert missing == [0, world - 1]
        assert tables[1]._grad.count == 0
        found = rows.dense()
        errors.append(float((found - expected).abs().max()))
        total, expected_total = total + found.double(), expected_total + expected
        heard = [torch.empty_like(found) for _ in range(world)]
        c10d.all_gather(heard, found)
        equal &= all(torch.equal(heard[0], other) for other in heard)
    late = float((total - expected_total).abs().max())
    sent = traffic.totals()["rows"][-1] - before
    return errors, late, equal, exchange.different[0], sent


def one_is_dense():
    """A process with a dense gradient gives all a dense one."""
    rank = c10d.get_rank()
    table = Tensor(torch.zeros(5, 4), stop_gradient=False)
    table._grad = (
        Tensor(torch.ones(5, 4)) if rank == 0 else gradient_of(torch.tensor([1, 1]), torch.ones(2, 4), 5)
    )
    RowExchange([table], None)([False])
    return type(table._grad).__name__, table._grad.data[:, 0].tolist()


def one_is_dense_and_the_other_rounds():
    """The sum of row 1's means over two steps: in the first one a process has a dense gradient, and the other one a
    row that bfloat16 rounds."""
    rank = c10d.get_rank()
    table = Tensor(torch.zeros(5, 4), stop_gradient=False)
    exchange = RowExchange([table], None, torch.bfloat16)
    rounded = gradient_of(torch.tensor([1]), torch.full((1, 4), 1 + 2.0**-10), 5)
    table._grad = rounded if rank else Tensor(torch.ones(5, 4))
    exchange([False])
    total = float(table._grad.data[1, 0])
    table._grad = gradient_of(torch.tensor([1]), torch.zeros(1, 4), 5)
    exchange([False])
    return total + float(table._grad.dense()[1, 0])


def none_anywhere():
    """A table that no process used keeps its gradient."""
    table = Tensor(torch.zeros(5, 4), stop_gradient=False)
    table._grad = gradient_of(torch.tensor([c10d.get_rank()]), torch.ones(1, 4), 5)
    missing = RowExchange([table], None)([True])
    return missing, table._grad.parts[0][0].tolist()


def beside_a_message():
    """Rows of a table where a message of `isend` in the same group is on its way: (their ids, the message)."""
    table = Tensor(torch.zeros(9, 4), stop_gradient=False)
    table._grad = gradient_of(torch.tensor([dist.get_rank(), 5]), torch.ones(2, 4), 9)
    exchange, message = RowExchange([table], None), paddle.arange(200) * dist.get_rank()
    if dist.get_rank():
        sent = dist.isend(message, 0)
    exchange([False])
    if dist.get_rank():
        sent.wait()
    else:
        dist.recv(message, 1)
    return sorted(rows_of(table._grad).parts[0][0].tolist()), message.tolist()
