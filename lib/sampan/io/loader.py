"""DataLoader: batches of Tensors from a data set, made here or by torch's worker processes."""

import itertools
import re
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from torch.utils import data as torch_data

from ..dtype import as_device, set_device
from ..engine.tensor import InvalidArgument, InvalidType
from .collate import default_collate_fn, samples_of, to_buffers, to_tensors
from .sampler import BatchSampler


class _Skipping:
    """A batch sampler that leaves out the first batches: how training resumes inside an epoch."""

    def __init__(self, batches: Any) -> None:
        self.batches, self.skip = batches, 0

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(iter(self.batches), self.skip, None)

    def __len__(self) -> int:
        return len(self.batches)


class _Collate:
    """What runs in a worker after fetching: samples to buffers."""

    def __init__(self, function: Callable[[Any], Any] | None) -> None:
        self.function = function

    def __call__(self, samples: Any) -> Any:
        if self.function is None:
            return default_collate_fn(samples)
        return to_buffers(self.function(samples_of(samples)))


class DataLoader:
    """Iterate it once an epoch; each batch is a list of Tensors, one per field of a sample.

    dataset: map-style or a stream (IterableDataset). batch_sampler: takes the place of batch_size, shuffle
    and drop_last. batch_size None: samples as they are, in their order; shuffle and drop_last then change
    nothing. collate_fn: from a list of samples to a batch.
    num_workers: processes that make batches, 0 for this one; each holds prefetch_factor batches ready.
    timeout: seconds to wait for a batch from a worker, 0 without limit. places: where the batches go.
    The order and the workers' seeds follow from `sampan.seed`.

    Raises RuntimeError that names the worker when one dies; an exception in a worker's data set arrives as it
    is.

    >>> pairs = paddle.io.TensorDataset([paddle.arange(5), paddle.arange(5) * 10])
    >>> [(x.tolist(), y.tolist()) for x, y in paddle.io.DataLoader(pairs, batch_size=2)]
    [([0, 1], [0, 10]), ([2, 3], [20, 30]), ([4], [40])]
    """

    def __init__(
        self,
        dataset: Any,
        feed_list: Any = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[Any], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        reader_buffer_size: int = 2,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        persistent_workers: bool = False,
    ) -> None:
        if not isinstance(num_workers, int) or num_workers < 0:
            raise InvalidArgument(f"num_workers: expected a whole number of at least 0, got {num_workers!r}")
        if timeout < 0:
            raise InvalidArgument(f"timeout: expected seconds of at least 0, got {timeout}")
        self.dataset, self.batch_size, self.num_workers = dataset, batch_size, num_workers
        self.drop_last, self.timeout, self.persistent_workers = drop_last, timeout, persistent_workers
        self.prefetch_factor, self.worker_init_fn = prefetch_factor, worker_init_fn
        self._place = places[0] if isinstance(places, (list, tuple)) and places else places or None
        self._collate = _Collate(collate_fn)
        self._streams = isinstance(dataset, torch_data.IterableDataset)
        if self._streams and (shuffle or batch_sampler is not None):
            raise InvalidArgument(
                "shuffle, batch_sampler: a stream decides its order itself; expected neither"
            )
        if batch_sampler is not None and (batch_size != 1 or shuffle or drop_last):
            raise InvalidArgument(
                "batch_sampler: it decides batch_size, shuffle and drop_last; expected none of them"
            )
        if not self._streams and not hasattr(dataset, "__getitem__"):
            raise InvalidType(f"dataset: expected a Dataset, got {type(dataset).__name__}")
        if batch_sampler is None and batch_size is not None and not self._streams:
            batch_sampler = BatchSampler(dataset, None, shuffle, batch_size, drop_last)
        elif self._streams and batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
            raise InvalidArgument(f"batch_size: expected a positive whole number or None, got {batch_size!r}")
        self.batch_sampler = batch_sampler
        self._order = _Skipping(batch_sampler if batch_sampler is not None else range(self._size()))
        self._torch_loader: Any = None

    def _size(self) -> int:
        return 0 if self._streams else len(self.dataset)

    def __len__(self) -> int:
        if self._streams:
            raise InvalidType("len: a stream has no length")
        return len(self._order)

    def __iter__(self) -> Iterator[Any]:
        return self.batches()

    def __call__(self) -> Iterator[Any]:
        return self.batches()

    def batches(self, skip: int = 0) -> Iterator[Any]:
        """An epoch without its first `skip` batches; for a map-style data set those are not even read."""
        self._order.skip = 0 if self._streams else skip
        source = self._from_workers() if self.num_workers else self._made_here(self._order.skip)
        made = itertools.islice(source, skip, None) if self._streams else source
        device = as_device(self._place)
        target = None if device.type == "cpu" else device
        tensors = (to_tensors(batch, target) for batch in made)
        return _watched(tensors, source) if self.num_workers else tensors

    def _made_here(self, skip: int) -> Iterator[Any]:
        if self._streams:
            return self._stream()
        dataset = self.dataset
        order = iter(self._order.batches)
        # now and not at the first batch: the order's draw belongs to the epoch's beginning
        for _ in range(skip):
            next(order, None)
        if self.batch_sampler is None:
            return (dataset[index] for index in order)
        collate = self._collate
        together = getattr(dataset, "__getitems__", None)
        if together is not None:
            return (collate(together(indices)) for indices in order)
        return (collate([dataset[i] for i in indices]) for indices in order)

    def _stream(self) -> Iterator[Any]:
        samples = iter(self.dataset)
        if self.batch_size is None:
            yield from samples
            return
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self._collate(batch)

    def _from_workers(self) -> Iterator[Any]:
        loader = self._torch_loader
        if loader is None:
            own = ("num_workers", "prefetch_factor", "timeout", "worker_init_fn", "persistent_workers")
            shared: dict[str, Any] = {name: getattr(self, name) for name in own}
            shared["worker_init_fn"] = partial(_begin, self.worker_init_fn)
            if self._streams and self.batch_size is not None:
                shared |= {"batch_size": self.batch_size, "drop_last": self.drop_last}
                shared["collate_fn"] = self._collate
            elif self.batch_sampler is not None:
                shared |= {"batch_sampler": self._order, "collate_fn": self._collate}
            else:
                shared |= {"batch_size": None, "collate_fn": to_buffers}
                shared |= {} if self._streams else {"sampler": self._order}
            loader = torch_data.DataLoader(self.dataset, **shared)
            if self.persistent_workers:
                self._torch_loader = loader
        return iter(loader)


def _begin(given: Any, number: int) -> None:
    """Beginning of a worker: its Tensors are on the CPU, since a forked process has no GPU."""
    set_device("cpu")
    if given is not None:
        given(number)


def _watched(batches: Iterator[Any], source: Any) -> Iterator[Any]:
    """The batches, with a full description of a worker of torch's iterator that died; torch tells of it at
    any moment."""
    try:
        yield from batches
    except RuntimeError as error:
        text = str(error)
        if re.search("exited unexpectedly|is killed by signal|timed out", text):
            raise RuntimeError(_obituary(source, text)) from error
        raise


def _obituary(source: Any, text: str) -> str:
    dead = []
    for number, process in enumerate(source._workers):
        # A process that was just killed needs a moment until its exit code is known.
        process.join(10 if f"{process.pid}" in text else 0)
        code = process.exitcode
        if code is None:
            continue
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        dead.append(f"worker {number} (process {process.pid}) {how}")
    if not dead:
        return f"DataLoader: {text}; give a larger timeout, or num_workers=0 to see where the data set hangs"
    return (
        f"DataLoader: {'; '.join(dead)}. SIGKILL mostly means that memory ran out (use fewer workers or "
        "smaller batches), anything else a crash in the data set's own code (use num_workers=0 to see it)"
    )


def get_worker_info() -> Any:
    """In a worker its `id`, `num_workers`, `seed` and `dataset`; None in the main process."""
    return torch_data.get_worker_info()
