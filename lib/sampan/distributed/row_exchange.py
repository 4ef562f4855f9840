"""Gradients of tables over several processes: the mean of all rows that any process named.

Each process merges its rows before it sends them, [ids, rows], for all tables in one message; ids are int32
where the table allows. The result is again a merged gradient of rows, equal bit for bit in all processes, so
optimizers need not know. Two ways, of which the cheaper one is chosen for each table and step:

- gathered: every process gets the rows of all others, and adds them up;
- at the owner: row i is summed by process i mod n, which sends the sum to all. It sends less where the
  processes name the same rows: u < s (n - 1) / n, with u different rows among s that were named.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as c10d

from ..engine.tensor import Tensor
from ..kernels.arena import filled_like
from ..kernels.cpu_embedding_messages import sum_of_messages, write_rounded
from ..kernels.device import arrays
from ..row_sparse import Part, RowGradient, rows_of
from . import traffic, waiting

TAG = 1  # other than that of `send`: a pending message of that kind must not match a receive of rows
DENSE, MISSING = -1, -2  # in place of a number of rows: all rows have a gradient; none was computed
Rows = tuple[torch.Tensor, torch.Tensor]  # ids [n], rows [n, d]; no id repeats
Column = tuple[torch.dtype, list[int], int]  # dtype, shape, and the byte where it begins


class RowExchange:
    """Exchanges the gradients of `tables` among the processes of a group.

    half: send rows in this dtype, torch.bfloat16 or torch.float16. What rounding loses of a row is added to
    it when it is sent next (error feedback: Seide et al., 2014), so that it is late and not lost.
    """

    def __init__(self, tables: Sequence[Tensor], group: Any, half: torch.dtype | None = None) -> None:
        self.tables, self.group, self.half = list(tables), group, half
        self.world, self.rank = c10d.get_world_size(group), c10d.get_rank(group)
        self.different = [1.0] * len(self.tables)  # of the rows that were named, the part that were different
        self.lost: dict[tuple[int, bool], torch.Tensor] = {}  # what rounding lost of each row, by table
        self.header = 8 * len(self.tables) * self.world  # bytes
        # A message of at most so many bytes is sent in one piece. gloo's TCP takes one that is shorter than
        # the memory for it; elsewhere the header goes alone, and says how long the rest is.
        self.expected = self.header
        # gloo takes messages on the CPU alone: there the rows of a table on a GPU are copied.
        device = self.tables[0].data.device
        self.place = device if "nccl" in str(c10d.get_backend_config(group)) else torch.device("cpu")
        self.in_one_piece = c10d.get_backend(group) == "gloo" and sys.platform == "linux"

    def __call__(self, missing: Sequence[bool]) -> list[int]:
        """Let each table's gradient be the mean over the processes; a process may have no rows.

        missing: whether backward gave this process no gradient of it. Returns in how many processes that is
        so; where it is so in all, the gradient stays as it is. Where one has a dense gradient, all get one.
        """
        own: list[Any] = [_merged(table) for table in self.tables]
        mine = [self._counts(*each) for each in zip(own, missing, strict=True)]
        places = range(len(self.tables))
        # Known before anything is heard: u < s (n - 1) / n, as it was in the last step.
        at_owner = {place for place in places if self.different[place] < (self.world - 1) / self.world}
        first = [place for place in places if place not in at_owner]
        heard, messages = self._exchanged(first, own, mine)
        exchanged: list[int] = []
        for place, table in enumerate(self.tables):
            column = [each[place] for each in heard]
            if any(DENSE in each for each in column):
                if self.half is not None and place in first and mine[place][0] >= 0:
                    self._as_sent(table, first, mine, messages[self.rank][self.header :])
                mean_of_dense(table, self.group)
            elif any(MISSING not in each for each in column):
                exchanged.append(place)
        counts = [_totals(each, first) for each in heard]
        self._take(first, counts, [message[self.header :] for message in messages], exchanged)
        owned = [place for place in exchanged if place in at_owner]
        if owned:
            self._gather(owned, self._at_owners(owned, own, heard))
        for place in exchanged:
            named = sum(sum(_totals(each, [place])) for each in heard)
            ids = rows_of(self.tables[place]._grad).parts[0][0]  # type: ignore[union-attr]  # made just now
            self.different[place] = len(ids) / max(1, named)
        return [sum(MISSING in each[place] for each in heard) for place in places]

    def _counts(self, rows: Rows | None, missing: bool) -> list[int]:
        """How many rows of a table belong to each owner."""
        if missing or rows is None:
            return [MISSING if missing else DENSE] * self.world
        return torch.bincount(rows[0] % self.world, minlength=self.world).tolist()

    # --- the two ways ---

    def _at_owners(self, places: Sequence[int], own: Sequence[Any], heard: Any) -> dict[int, Rows]:
        """Of each table the sums of the rows that this process owns."""
        tables = [self.tables[place] for place in places]
        sent, received, views = [], [], []
        for peer in range(self.world):
            going = [heard[self.rank][place][peer] for place in places]
            coming = [heard[peer][place][self.rank] for place in places]
            sent.append(self._message(tables, going))
            received.append(sent[peer] if peer == self.rank else self._message(tables, coming))
            parts = self._views(tables, going, sent[peer])
            for at, place in enumerate(places):
                if going[at] > 0:
                    ids, rows = own[place]
                    chosen = (ids % self.world == peer).nonzero().flatten()
                    self._write(place, False, ids[chosen], rows[chosen], parts[2 * at : 2 * at + 2])
            views.append(self._views(tables, coming, received[peer]))
        self._send(sent, received)
        return {place: self._sum(views, at, tables[at]) for at, place in enumerate(places)}

    def _exchanged(self, places: Sequence[int], own: Any, mine: list[list[int]]) -> tuple[Any, Any]:
        """(all processes' `mine`, their messages), which hold the rows of these tables, in one round where
        they are not longer than expected."""
        tables = [self.tables[place] for place in places]
        message = self._message(tables, _totals(mine, places), self.header)
        message[: self.header].view(torch.int64).copy_(torch.tensor(mine).flatten())
        views = self._views(tables, _totals(mine, places), message[self.header :])
        for at, place in enumerate(places):
            if mine[place][0] >= 0:
                ids, rows = own[place]
                self._write(place, False, ids, rows, views[2 * at : 2 * at + 2])
        expected = self.expected
        received = [
            message if peer == self.rank else message.new_empty(expected) for peer in range(self.world)
        ]
        self._send([message[:expected]] * self.world, received)
        shape = len(self.tables), self.world
        heard = [each[: self.header].view(torch.int64).view(shape).tolist() for each in received]
        sizes = [self.header + self._columns(tables, _totals(each, places))[1] for each in heard]
        if max(sizes) > expected:
            whole = [
                torch.cat([each, each.new_empty(size - expected)])
                if size > expected and each is not message
                else each
                for each, size in zip(received, sizes, strict=True)
            ]
            self._send(
                [message[expected:]] * self.world, [w[expected:s] for w, s in zip(whole, sizes, strict=True)]
            )
            received = whole
        if self.in_one_piece:
            self.expected = max(expected, max(sizes) * 5 // 4)
        return heard, received

    def _as_sent(self, table: Tensor, places: Sequence[int], mine: list[list[int]], message: Any) -> None:
        """Let a table's gradient be its rows as rounded for the message; the rest is in `lost`."""
        at = [self.tables[place] is table for place in places].index(True)
        tables = [self.tables[place] for place in places]
        ids, rows = self._views(tables, _totals(mine, places), message)[2 * at : 2 * at + 2]
        part: Part = (ids.to(table.data.device, torch.int64), rows.to(table.data), None, None)
        table._grad = RowGradient([part], table.data.shape, merged=True)

    def _gather(self, places: Sequence[int], sums: dict[int, Rows]) -> None:
        """Let each table's gradient be the mean over the processes. sums: of the rows that this one owns."""
        tables = [self.tables[place] for place in places]
        counts = self._gathered(torch.tensor([len(sums[place][0]) for place in places])).tolist()
        messages = [self._message(tables, each) for each in counts]
        views = self._views(tables, counts[self.rank], messages[self.rank])
        for at, place in enumerate(places):
            ids, rows = sums[place]
            self._write(place, True, ids, rows, views[2 * at : 2 * at + 2])
        self._send([messages[self.rank]] * self.world, messages)
        self._take(places, counts, messages, places)

    def _gathered(self, counts: torch.Tensor) -> torch.Tensor:
        """The counts of all processes, [processes, ...]."""
        heard = counts.new_empty((self.world, *counts.shape))
        traffic.count("all_gather", counts.nbytes, counts.nbytes * (self.world - 1))
        c10d.all_gather(list(heard), counts, group=self.group)
        return heard

    def _take(self, places: Sequence[int], counts: Any, messages: Any, wanted: Sequence[int]) -> None:
        """Let the gradients of the tables `wanted` be the means of the rows in messages that hold those of
        `places`: counts[process][table] of them."""
        tables = [self.tables[place] for place in places]
        views = [self._views(tables, each, message) for each, message in zip(counts, messages, strict=True)]
        for at, (place, table) in enumerate(zip(places, tables, strict=True)):
            if place in wanted:
                part = (*self._sum(views, at, table, 1 / self.world), None, None)
                table._grad = RowGradient([part], table.data.shape, merged=True)

    def _sum(self, views: Any, at: int, table: Tensor, factor: float = 1.0) -> Rows:
        """The rows of table number `at` in all messages, times `factor`, added up in the order of the
        processes."""
        kind = table.data.dtype
        ids, rows = [view[2 * at] for view in views], [view[2 * at + 1] for view in views]
        if _has_loops(table.data) and self.half is not torch.float16:
            given = [_bits(each).numpy() for each in rows]
            named, sums = sum_of_messages([i.numpy() for i in ids], given, len(table.data), factor, kind)
            return torch.from_numpy(named), sums
        device = table.data.device
        parts: list[Part] = [
            (i.to(device, torch.int64), r.to(device, kind), None, None)
            for i, r in zip(ids, rows, strict=True)
        ]
        found, total = RowGradient(parts, table.data.shape).coalesced()
        return found, total.mul_(factor)

    # --- messages ---

    def _columns(self, tables: Sequence[Tensor], counts: Sequence[int]) -> tuple[list[Column], int]:
        """What a message holds, ids and rows of each table, and its bytes. Columns begin at multiples of
        8."""
        columns: list[Column] = []
        size = 0
        for table, count in zip(tables, counts, strict=True):
            data = table.data
            narrow = torch.int32 if data.shape[0] <= 2**31 else torch.int64
            rows = (self.half or data.dtype, [max(0, count), *data.shape[1:]])
            for kind, shape in ((narrow, [max(0, count)]), rows):
                columns.append((kind, shape, size))
                size += -(-kind.itemsize * math.prod(shape) // 8) * 8
        return columns, size

    def _message(self, tables: Sequence[Tensor], counts: Sequence[int], header: int = 0) -> torch.Tensor:
        size = header + self._columns(tables, counts)[1]
        return torch.empty(size, dtype=torch.uint8, device=self.place)

    def _views(self, tables: Sequence[Tensor], counts: Sequence[int], message: torch.Tensor) -> Any:
        """The columns of a message, which share its memory."""
        return [
            message[start : start + kind.itemsize * math.prod(shape)].view(kind).view(shape)
            for kind, shape, start in self._columns(tables, counts)[0]
        ]

    def _write(self, place: int, summed: bool, ids: Any, rows: Any, columns: Sequence[torch.Tensor]) -> None:
        """Put ids and rows into a message; what rounding loses is kept for the next time. summed: they are
        the owner's sums, which are rounded a second time."""
        columns[0].copy_(ids)
        if self.half is None:
            columns[1].copy_(rows)
            return
        table = self.tables[place].data
        if (place, summed) not in self.lost:
            self.lost[place, summed] = filled_like(table)  # takes memory as rows are first written
        lost = self.lost[place, summed]
        if self.half is torch.bfloat16 and table.dtype is torch.float32 and _has_loops(table):
            write_rounded(*arrays(ids, rows.contiguous(), lost, _bits(columns[1])))
            return
        whole = rows + lost.index_select(0, ids)
        columns[1].copy_(whole)
        left = whole.sub_(columns[1].to(whole))  # without an overflow, which would be sent again
        lost.index_copy_(0, ids, left.nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0))

    def _send(self, sent: Sequence[torch.Tensor], received: Sequence[torch.Tensor]) -> None:
        """Send sent[peer] to each peer, and fill received[peer]; messages without a byte are left out."""
        operations = []
        total = 0
        for peer in range(self.world):
            if peer == self.rank:
                continue
            total += sent[peer].nbytes
            for call, message in ((c10d.isend, sent[peer]), (c10d.irecv, received[peer])):
                if message.numel():
                    operations.append(c10d.P2POp(call, message, group=self.group, group_peer=peer, tag=TAG))
        traffic.count("rows", sent[self.rank].nbytes, total)
        for work in c10d.batch_isend_irecv(operations) if operations else ():
            with waiting.for_others("rows"):
                work.wait()


def _totals(counts: Sequence[Sequence[int]], places: Sequence[int]) -> list[int]:
    """How many rows of each of these tables a process names."""
    return [sum(max(0, n) for n in counts[place]) for place in places]


def _has_loops(table: torch.Tensor) -> bool:
    """Whether the kernels of messages take rows of this table."""
    return table.dtype in (torch.float32, torch.float64) and table.device.type == "cpu" and table.ndim == 2


def _bits(rows: torch.Tensor) -> torch.Tensor:
    """Rows as the kernels of messages take them: NumPy has no bfloat16."""
    return rows.view(torch.uint16) if rows.dtype is torch.bfloat16 else rows


def _merged(table: Tensor) -> Rows | None:
    """(ids, rows) of the table's gradient, each row once; None for a dense gradient."""
    gradient: Any = table._grad
    if gradient is None:
        return RowGradient.nothing(table.data).parts[0][:2]
    rows = rows_of(gradient)
    return None if rows is None else rows.sums()


def started_sum(buffer: torch.Tensor, group: Any) -> Any:
    """Start the sum of a buffer over all processes, in place; returns torch's work of it. In a ring of n
    processes each sends 2 (n - 1) / n of the buffer."""
    world = c10d.get_world_size(group)
    traffic.count("all_reduce", buffer.nbytes, 2 * buffer.nbytes * (world - 1) // world)
    return c10d.all_reduce(buffer, group=group, async_op=True)


def mean_of_dense(table: Tensor, group: Any) -> None:
    """Let a parameter's gradient be the dense mean over the processes of a group."""
    gradient: Any = table._grad
    if gradient is None:
        dense = torch.zeros_like(table.data)
    else:
        rows = None if type(gradient) is Tensor else rows_of(gradient)
        dense = gradient.data.clone() if rows is None else rows.dense()
    started_sum(dense.mul_(1 / c10d.get_world_size(group)), group).wait()
    table._grad = Tensor(dense, stop_gradient=False)
