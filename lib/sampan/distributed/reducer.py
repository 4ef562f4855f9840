"""Gradients of several processes become their mean while backward still runs.

A gradient is ready when the last Node that leads to its parameter has been walked
(`Tensor.register_post_accumulate_grad_hook`). It is copied into a bucket; a full bucket is sent at once, and
the walk goes on. PyTorch Distributed (Li et al., VLDB 2020, section 3.2) describes the method.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as c10d

from ..engine.tensor import InvalidArgument, Tensor
from ..kernels.arena import lent
from ..names.framework import get_flags
from ..row_sparse import rows_of
from . import waiting
from .agreement import Call, CommunicationError, enter, failed, leave, until_done
from .group import Group, groups
from .row_exchange import RowExchange, started_sum

CHECKED = "FLAGS_check_nan_inf"
MOST_FORWARDS, MOST_COMPARED = 8, 32  # bfloat16 holds their product, the sum over so many processes
FEWEST = 6  # buckets, about, of a small network: with one or two there is nothing to send during backward


class Bucket:
    """Gradients of one dtype and device that are sent as one message: [all elements, a flag for each
    parameter, two numbers].

    A flag is 1 where the parameter got no gradient in this process: after the sum every process knows how
    many had none. The numbers are how many gradients are not finite, where that is looked for, and the
    forward passes, in the first bucket. The memory is new in each step, because the gradients of the step
    before may be in use.
    """

    def __init__(self, places: Sequence[int], parameters: Sequence[Tensor]) -> None:
        self.places = list(places)
        self.parameters = [parameters[place] for place in places]
        self.starts = [0]
        for parameter in self.parameters:
            self.starts.append(self.starts[-1] + parameter.data.numel())
        self.kept: dict[str, Any] = {}  # what a compression keeps from step to step
        self.start()

    def start(self) -> None:
        """Make ready for a step."""
        self.buffer: Any = None
        self.work: Any = None
        self.empty = set(range(len(self.places)))

    @property
    def gradients(self) -> Any:
        """All elements, [n]."""
        return self.buffer[: self.starts[-1]]

    @property
    def flags(self) -> Any:
        """In how many processes each parameter got no gradient; the two numbers."""
        return self.buffer[self.starts[-1] :]

    def view(self, at: int) -> Any:
        """The elements of its parameter number `at`, in the parameter's shape."""
        return self.buffer[self.starts[at] : self.starts[at + 1]].view(self.parameters[at].data.shape)

    def fill(self, at: int, factor: float, missing: bool) -> None:
        """Copy a parameter's gradient times `factor`; zeros where there is none."""
        if self.buffer is None:
            like = self.parameters[0].data
            size = (self.starts[-1] + len(self.places) + 2,)
            self.buffer = lent(size, like.dtype) if like.device.type == "cpu" else like.new_empty(size)
            self.flags.zero_()
        gradient: Any = self.parameters[at]._grad
        rows = None if gradient is None or type(gradient) is Tensor else rows_of(gradient)
        if gradient is None:
            self.view(at).zero_()
        else:
            torch.mul(gradient.data if rows is None else rows.dense(), factor, out=self.view(at))
        if missing:
            self.flags[at] = 1
        else:
            self.give(at)
        self.empty.discard(at)

    def give(self, at: int) -> None:
        """Let the parameter's gradient be this memory."""
        gradient: Any = self.parameters[at]._grad
        if type(gradient) is Tensor:
            gradient.data = self.view(at)
        else:
            self.parameters[at]._grad = Tensor(self.view(at), stop_gradient=False)


def sent_whole(bucket: Bucket, group: Any) -> Any:
    """The usual exchange: start the sum of a bucket over all processes."""
    return started_sum(bucket.buffer, group)


def assigned(
    order: Sequence[int],
    parameters: Sequence[Tensor],
    size: float,
    last: float,
    made: Callable[[Sequence[int], Sequence[Tensor]], Bucket] = Bucket,
) -> list[Bucket]:
    """Buckets of about `size` bytes, in the order in which their gradients are ready.

    Nothing is computed while the last one is sent, so it has about `last` bytes. A large parameter has one
    alone.
    """
    buckets: list[Bucket] = []
    open_: dict[Any, list[int]] = {}
    limits: dict[Any, float] = {}
    for place in reversed(order):
        data = parameters[place].data
        kind = data.dtype, data.device
        places = open_.setdefault(kind, [])
        places.insert(0, place)
        if sum(parameters[p].data.nbytes for p in places) >= limits.get(kind, last):
            buckets.append(made(open_.pop(kind), parameters))
            limits[kind] = size
    buckets += [made(places, parameters) for places in open_.values()]
    rank = {place: at for at, place in enumerate(order)}
    return sorted(buckets, key=lambda bucket: rank[bucket.places[-1]])


class Reducer:
    """Exchanges the gradients of `named` parameters among the processes of a group.

    The first step sends everything at its end. Then the processes agree on the order in which gradients
    become ready (that of process 0), and on the parameters whose gradients are rows. size, last: see
    `assigned`. unused: parameters may stay without a gradient.
    """

    def __init__(
        self, named: Sequence[tuple[str, Tensor]], group: Any, size: float, last: float, unused: bool
    ) -> None:
        self.names, self.parameters = [name for name, _ in named], [tensor for _, tensor in named]
        self.group, self.size, self.last, self.unused = group, size, last, unused
        self.members: Group | None = None  # where another group than that of all processes was given
        self.call: Call | None = None  # the backward that is exchanged now
        self.forwards = 0  # training passes since the last exchange
        self.checked = False  # whether gradients that are not finite are looked for
        self.world, self.rank = c10d.get_world_size(group), c10d.get_rank(group)
        self.exchange: Callable[[Bucket, Any], Any] = sent_whole
        self.bucket: Callable[[Sequence[int], Sequence[Tensor]], Bucket] = Bucket
        self.half: torch.dtype | None = None  # in which rows are sent
        self.armed = False
        self.unsent: set[int] = set()  # parameters whose gradient grew in a backward that is not exchanged
        self.handles: list[Any] = []
        self.watch()

    def watch(self) -> None:
        """Ask the trainable parameters to report; forget the buckets."""
        for handle in self.handles:
            handle.remove()
        self.trainable = [not tensor.stop_gradient for tensor in self.parameters]
        self.handles = [
            tensor.register_post_accumulate_grad_hook(self._reporting(place))
            for place, tensor in enumerate(self.parameters)
            if self.trainable[place]
        ]
        self.buckets: list[Bucket] | None = None
        self.where: dict[int, tuple[Bucket, int]] = {}
        self.rows: list[int] = []  # parameters whose gradients are rows
        self.exchange_of_rows: RowExchange | None = None
        self.start()

    def _reporting(self, place: int) -> Callable[[Tensor], None]:
        return lambda tensor: self.ready(place)

    def start(self) -> None:
        """Make ready for a step."""
        self.arrived: dict[int, None] = {}  # in order
        self.strange: list[str] = []  # gradients of this process that are not finite
        self.next = 0  # the bucket that is sent next: all processes send in one order
        for bucket in self.buckets or ():
            bucket.start()

    def forward(self, counted: bool) -> None:
        """Called before each forward: follow changes of stop_gradient, forget a backward that failed.
        counted: whether its backward is to be exchanged."""
        self.forwards += counted
        if self.trainable != [not tensor.stop_gradient for tensor in self.parameters]:
            self.watch()
        elif self.arrived:
            self.start()
        self.armed = False

    def begin(self) -> None:
        """A backward has come to an output: its gradients are exchanged."""
        members = self.members or groups.get(0)
        if not self.armed and members is not None and members.checks is not None:
            trained = [name for name, there in zip(self.names, self.trainable, strict=True) if there]
            label = f"of {len(trained)} parameters from {trained[0]!r} to {trained[-1]!r}"
            self.call = enter("DataParallel's backward", members, label=label)
            leave(members)
        self.armed, self.checked = True, bool(get_flags(CHECKED)[CHECKED])

    def ready(self, place: int) -> None:
        """A parameter's gradient is complete."""
        if not self.armed:
            self.unsent.add(place)
            return
        if place in self.arrived:
            raise RuntimeError(
                f"DataParallel: parameter {self.names[place]!r} got a gradient twice in one backward; "
                "run that backward within no_sync()"
            )
        self.arrived[place] = None
        if place in self.where:
            self.put(*self.where[place], missing=False)
            self.send()

    def put(self, bucket: Bucket, at: int, missing: bool) -> None:
        """Copy a gradient into its bucket, and note where it is not finite."""
        bucket.fill(at, 1 / self.world, missing)
        if self.checked:
            bucket.flags[-2] += self.note(bucket.places[at], bucket.view(at))

    def note(self, place: int, values: Any) -> bool:
        """Whether values of a parameter's gradient are not finite; its name is then kept."""
        count = int((~values.isfinite()).sum())
        if count:
            self.strange.append(f"{self.names[place]} ({count} of {values.numel()} values)")
        return count > 0

    def send(self) -> None:
        """Start the exchange of the buckets that are full, in their order."""
        buckets: Any = self.buckets
        while self.next < len(buckets) and not buckets[self.next].empty:
            if self.next == 0:
                buckets[0].flags[-1] = min(self.forwards, MOST_FORWARDS)
            buckets[self.next].work = self.exchange(buckets[self.next], self.group)
            self.next += 1

    def finish(self) -> None:
        """End of a backward: send the rest, wait for all, and let gradients be the means."""
        self.armed = False
        if self.buckets is None:
            self.plan()
        buckets: Any = self.buckets
        for bucket in buckets:
            for at in sorted(bucket.empty):
                place = bucket.places[at]
                self.put(bucket, at, place not in self.arrived and place not in self.unsent)
        self.send()
        if self.checked:
            self.note_rows()
        lacking = self.exchange_rows()  # while the buckets are under way
        for bucket in buckets:
            self.wait(bucket)
        self.compare_forwards()
        for bucket in buckets:
            for at, count in enumerate(bucket.flags[:-2].tolist()):
                if count:
                    lacking.append(bucket.places[at])
                    if count < self.world:
                        bucket.give(at)
        arrived, strange = {*self.arrived, *self.unsent}, self.strange
        not_finite = self.not_finite()
        self.unsent.clear()
        self.start()
        if not_finite:
            self.refuse_values(strange)
        if lacking and not self.unused:
            self.refuse(arrived)

    def wait(self, bucket: Bucket) -> None:
        """Wait for a bucket. CommunicationError that names what it holds, and who is missing in which line,
        where a process does not answer."""
        with self._telling([bucket.places[0], bucket.places[-1]]):
            if self.call is None:
                with waiting.for_others("all_reduce"):
                    bucket.work.wait()
            else:
                until_done(bucket.work, self.call)

    @contextlib.contextmanager
    def _telling(self, places: Sequence[int]) -> Iterator[None]:
        """CommunicationError that names the first and last of these parameters where a process does not
        answer."""
        try:
            yield
        except RuntimeError as error:
            first, last = self.names[places[0]], self.names[places[-1]]
            raise CommunicationError(
                f"DataParallel: process {self.rank} of {self.world}: the exchange of the gradients from "
                f"{first!r} to {last!r} failed; another process ended, or did not run this backward (it left "
                f"out a step, or has fewer batches): {error}"
            ) from error

    def compare_forwards(self) -> None:
        """Warn where this process ran another number of training passes than the others since the last
        exchange: then gradients of different steps were averaged."""
        own, self.forwards = min(self.forwards, MOST_FORWARDS), 0
        if not self.buckets or self.world > MOST_COMPARED:
            return
        total = round(float(self.buckets[0].flags[-1]))
        if total != own * self.world:
            text = (
                f"DataParallel: process {self.rank} ran {own} forward passes since the last exchange of "
                f"gradients, all {self.world} processes together {total}: did one leave out a backward?"
            )
            warnings.warn(text, RuntimeWarning, stacklevel=2)

    def note_rows(self) -> None:
        """`note` of the gradients of tables."""
        for place in self.rows:
            gradient: Any = self.parameters[place]._grad
            rows = None if gradient is None or type(gradient) is Tensor else rows_of(gradient)
            if gradient is not None:
                self.note(place, gradient.data if rows is None else rows.sums()[1])

    def not_finite(self) -> bool:
        """Whether a process has a gradient that is not finite, which all know after the exchange."""
        buckets: Any = self.buckets
        if any(float(bucket.flags[-2]) for bucket in buckets):
            return True
        if not (self.checked and self.rows):
            return False
        total = torch.tensor(len(self.strange))
        started_sum(total, self.group).wait()
        return bool(total)

    def refuse_values(self, strange: list[str]) -> None:
        """FloatingPointError in all processes; strange: the gradients of this one that are not finite."""
        told = self.told(strange)
        raise FloatingPointError(f"DataParallel: gradients are not finite ({told}); no step was taken")

    def told(self, mine: list[str]) -> str:
        """What each process tells, of those that tell something."""
        heard: list[Any] = [None] * self.world
        c10d.all_gather_object(heard, mine, group=self.group)
        return "; ".join(f"process {rank}: {', '.join(names)}" for rank, names in enumerate(heard) if names)

    def plan(self) -> None:
        """Agree on buckets and on the parameters whose gradients are rows."""
        kinds = {
            place: type(self.parameters[place]._grad) is Tensor
            for place, there in enumerate(self.trainable)
            if there and self.parameters[place]._grad is not None
        }
        heard: list[Any] = [None] * self.world
        c10d.all_gather_object(heard, (list(self.arrived), kinds, self.trainable), group=self.group)
        for rank, (_, _, trainable) in enumerate(heard):
            if trainable != self.trainable:
                at = [a == b for a, b in zip(trainable, self.trainable, strict=True)].index(False)
                raise InvalidArgument(
                    f"DataParallel: stop_gradient of parameter {self.names[at]!r}: expected that of process "
                    f"{self.rank}, {not self.trainable[at]}, got {not trainable[at]} in process {rank}"
                )
        dense = {place for _, kinds, _ in heard for place, is_dense in kinds.items() if is_dense}
        named = {place for _, kinds, _ in heard for place in kinds}
        self.rows = sorted(named - dense)
        tables = [self.parameters[place] for place in self.rows]
        self.exchange_of_rows = RowExchange(tables, self.group, self.half) if tables else None
        order = list(heard[0][0])
        order += [at for at in reversed(range(len(self.names))) if self.trainable[at] and at not in order]
        order = [place for place in order if place not in self.rows]
        whole = sum(self.parameters[place].data.nbytes for place in order)
        size = min(self.size, max(self.last, whole / FEWEST))
        self.buckets = assigned(order, self.parameters, size, self.last, self.bucket)
        self.where = {p: (bucket, at) for bucket in self.buckets for at, p in enumerate(bucket.places)}

    def exchange_rows(self) -> list[int]:
        """Let the gradients of tables be the means; returns those that are missing in a process."""
        if self.exchange_of_rows is None:
            return []
        arrived = {*self.arrived, *self.unsent}
        with self._telling(self.rows):
            try:
                missing = self.exchange_of_rows([place not in arrived for place in self.rows])
            except RuntimeError as error:
                if self.call is None:
                    raise
                raise failed(self.call, error) from error
        return [place for place, count in zip(self.rows, missing, strict=True) if count]

    def refuse(self, arrived: set[int]) -> None:
        """RuntimeError for parameters without a gradient, in all processes. arrived: those with one here."""
        mine = [self.names[at] for at, there in enumerate(self.trainable) if there and at not in arrived]
        told = self.told(mine)
        raise RuntimeError(
            f"DataParallel: parameters got no gradient in this backward ({told}); pass "
            "find_unused_parameters=True if the loss does not depend on all of them in each step"
        )
