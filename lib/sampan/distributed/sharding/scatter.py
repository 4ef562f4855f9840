"""Gradients of which each process keeps its part: buckets are reduced and scattered while backward runs
(ZeRO 2: Rajbhandari et al. 2020, section 5.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as c10d

from ...engine.tensor import Tensor
from ...row_sparse import rows_of
from .. import traffic
from ..compression.half_precision import Then
from ..reducer import Bucket, Reducer
from .parts import Cut


class ScatteredBucket(Bucket):
    """Gradients that are sent as one message to each process: [process, its elements, the flags and the two
    numbers of a Bucket]. What is received is summed in the order of the processes."""

    def __init__(self, places: Sequence[int], parameters: Sequence[Tensor], reducer: ScatterReducer) -> None:
        self.reducer, self.cuts = reducer, [reducer.cuts[place] for place in places]
        super().__init__(places, parameters)
        self.starts = [0]
        for cut in self.cuts:
            self.starts.append(self.starts[-1] + cut.length())

    def start(self) -> None:
        """Make ready for a step."""
        super().start()
        self.marks: Any = None  # flags and numbers: of this process, then the sums

    @property
    def flags(self) -> Any:
        """In how many processes each parameter got no gradient; the two numbers."""
        return self.marks

    def view(self, at: int) -> Any:
        """The elements of its parameter number `at`, [process, n]."""
        return self.buffer[:, self.starts[at] : self.starts[at + 1]]

    def fill(self, at: int, factor: float, missing: bool) -> None:
        """Copy a parameter's gradient times `factor`, and free it; zeros where there is none."""
        parameter, cut = self.parameters[at], self.cuts[at]
        if self.buffer is None:
            extra = len(self.places) + 2
            self.buffer = parameter.data.new_zeros((cut.count, self.starts[-1] + extra))
            self.marks = parameter.data.new_zeros(extra)
        gradient: Any = parameter._grad
        if gradient is not None:
            rows = None if type(gradient) is Tensor else rows_of(gradient)
            dense = (gradient.data if rows is None else rows.dense()).contiguous()
            for rank in range(cut.count):
                part = cut.of(dense, rank).reshape(-1)
                start = self.starts[at]
                torch.mul(part, factor, out=self.buffer[rank, start : start + part.numel()])
        if missing:
            self.marks[at] = 1
        parameter._grad = None
        self.empty.discard(at)

    def give(self, at: int) -> None:
        """Does nothing: `take` has given the parts."""

    def sent(self) -> torch.Tensor:
        """The message."""
        self.buffer[:, self.starts[-1] :] = self.marks
        message: torch.Tensor = self.buffer
        return message

    def take(self, received: torch.Tensor) -> None:
        """Let the parameters' gradients be the own parts of the sums."""
        sums = received.sum(0)
        self.buffer, self.marks = None, sums[self.starts[-1] :]
        rank = self.reducer.rank
        for at, (place, count) in enumerate(zip(self.places, self.marks[:-2].tolist(), strict=True)):
            before = self.reducer.kept.pop(place, None)
            cut, start = self.cuts[at], self.starts[at]
            first, last = cut.bounds(rank)
            shape = [last - first, *cut.inner]
            part = sums[start : start + torch.Size(shape).numel()].view(shape)
            if before is not None:
                part.add_(before)
            if count < cut.count or before is not None:
                self.reducer.parts[place] = given = Tensor(part, stop_gradient=False)
                self.parameters[at]._grad = given


def scattered(bucket: Any, group: Any) -> Then:
    """Start the exchange of a ScatteredBucket."""
    sent = bucket.sent()
    received = torch.empty_like(sent)
    traffic.count("reduce_scatter", sent.nbytes, sent.nbytes * (len(sent) - 1) // len(sent))
    work = c10d.all_to_all_single(received, sent, group=group, async_op=True)
    return Then(work, lambda: bucket.take(received))


class ScatterReducer(Reducer):
    """A Reducer after which a parameter's gradient is this process's part of the mean (`Cut`); gradients of
    rows of tables are whole. Gradients of several backward passes are added up in parts."""

    def __init__(self, named: Any, group: Any, size: float, last: float, unused: bool) -> None:
        count = c10d.get_world_size(group)
        self.cuts = [Cut(tensor.data.shape, count) for _, tensor in named]
        self.parts: dict[int, Tensor] = {}  # gradients that are parts
        self.kept: dict[int, torch.Tensor] = {}  # of earlier backward passes, while one runs
        super().__init__(named, group, size, last, unused)
        self.exchange = scattered
        self.bucket = lambda places, parameters: ScatteredBucket(places, parameters, self)

    def begin(self) -> None:
        """Set aside the parts of earlier backward passes."""
        super().begin()
        for place, part in list(self.parts.items()):
            if self.parameters[place]._grad is part:
                self.kept[place] = part.data
                self.parameters[place]._grad = None
            del self.parts[place]

    def holds_parts(self) -> bool:
        """Whether a parameter's gradient is a part."""
        return any(self.parameters[place]._grad is part for place, part in self.parts.items())
