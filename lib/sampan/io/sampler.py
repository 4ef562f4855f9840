"""Which samples, in which order. Chance comes from `sampan.seed`: one draw an epoch seeds the epoch's
order."""

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from ..engine.tensor import InvalidArgument, InvalidType
from ..optimizer.lr import _number


class Sampler:
    """Subclasses write `__iter__`, which gives indices, and `__len__`."""

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__}.__iter__: write it in the subclass")

    def __len__(self) -> int:
        return len(self.data_source)


class SequenceSampler(Sampler):
    """0, 1, 2, ..."""

    def __init__(self, data_source: Any) -> None:
        super().__init__(data_source)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))


def _epoch_generator(given: torch.Generator | None) -> torch.Generator:
    """A generator for one epoch, seeded by one draw, so that nothing that runs in between disturbs the
    order."""
    made = torch.Generator()
    made.manual_seed(int(torch.empty((), dtype=torch.int64).random_(generator=given)))
    return made


class RandomSampler(Sampler):
    """A new random order each epoch; with replacement, num_samples independent draws.

    generator: torch's, or as in Paddle an iterator over indices, from which each epoch takes the next ones.
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: torch.Generator | Iterator[int] | None = None,
    ) -> None:
        super().__init__(data_source)
        if not isinstance(replacement, bool):
            raise InvalidType(f"replacement: expected True or False, got {replacement!r}")
        if num_samples is not None:
            _number(num_samples, "num_samples", 1, whole=True)
        if not replacement and num_samples is not None and num_samples > len(data_source):
            raise InvalidArgument(
                f"num_samples: unless replaced at most {len(data_source)}, got {num_samples}"
            )
        self.replacement, self._num_samples, self.generator = replacement, num_samples, generator

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        if self.generator is not None and not isinstance(self.generator, torch.Generator):
            return itertools.islice(self.generator, self.num_samples)
        chance = _epoch_generator(self.generator)
        size = len(self.data_source)
        if self.replacement:
            return iter(torch.randint(size, (self.num_samples,), generator=chance).tolist())
        return iter(torch.randperm(size, generator=chance)[: self.num_samples].tolist())

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices in a new random order each epoch."""

    def __init__(self, indices: Sequence[int], generator: torch.Generator | None = None) -> None:
        super().__init__(indices)
        if len(indices) == 0:
            raise InvalidArgument("indices: expected at least one, got none")
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        order = torch.randperm(len(self.indices), generator=_epoch_generator(self.generator))
        return iter([self.indices[i] for i in order.tolist()])


class WeightedRandomSampler(Sampler):
    """num_samples draws, index i with a probability proportional to weights[i]."""

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True) -> None:
        super().__init__(weights)
        self.weights = torch.as_tensor(weights, dtype=torch.float64)
        if not (bool((self.weights >= 0).all()) and 0 < float(self.weights.sum()) < math.inf):
            raise InvalidArgument("weights: expected finite numbers of at least 0, not all of them 0")
        if num_samples < 1 or (not replacement and num_samples > int((self.weights > 0).sum())):
            most = "" if replacement else ", without replacement at most the weights above 0"
            raise InvalidArgument(f"num_samples: expected a positive number{most}, got {num_samples}")
        self.num_samples, self.replacement = num_samples, replacement

    def __iter__(self) -> Iterator[int]:
        chance = _epoch_generator(None)
        drawn = torch.multinomial(self.weights, self.num_samples, self.replacement, generator=chance)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of `batch_size` indices, from a sampler, or from a data set in order or shuffled."""

    def __init__(
        self,
        dataset: Any = None,
        sampler: Iterable[int] | None = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        if (dataset is None) == (sampler is None):
            raise InvalidArgument("dataset, sampler: expected exactly one of the two")
        if not isinstance(drop_last, bool):
            raise InvalidType(f"drop_last: expected a bool, got {drop_last!r}")
        if not isinstance(shuffle, bool) or not (sampler is None or hasattr(sampler, "__iter__")):
            raise InvalidType(f"shuffle, sampler: expected a bool and indices, got {shuffle!r}, {sampler!r}")
        if sampler is not None and shuffle:
            raise InvalidArgument("shuffle: expected False with a sampler, which decides the order itself")
        _number(batch_size, "batch_size", 1, whole=True)
        if sampler is None:
            sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]  # a Sampler may lack __len__
        return count // self.batch_size if self.drop_last else math.ceil(count / self.batch_size)


class DistributedBatchSampler(BatchSampler):
    """Each of num_replicas processes gets its share of the batches; samples from the front fill up the last
    ones.

    num_replicas, rank: from the environment of `launch` or `torchrun` unless given. shuffle: an order of each
    epoch's own, the same in all processes; `set_epoch` sets which.
    """

    def __init__(self, dataset, batch_size, num_replicas=None, rank=None, shuffle=False, drop_last=False):
        super().__init__(dataset, None, False, batch_size, drop_last)
        for name, value in (("shuffle", shuffle), ("drop_last", drop_last)):
            if not isinstance(value, bool):
                raise InvalidType(f"{name}: expected True or False, got {value!r}")
        self.nranks = (
            int(os.environ.get("PADDLE_TRAINERS_NUM") or os.environ.get("WORLD_SIZE", 1))
            if num_replicas is None
            else num_replicas
        )
        self.local_rank = (
            int(os.environ.get("PADDLE_TRAINER_ID") or os.environ.get("RANK", 0)) if rank is None else rank
        )
        whole = isinstance(self.nranks, int) and isinstance(self.local_rank, int)
        if not whole or not 0 <= self.local_rank < self.nranks:
            raise InvalidArgument(
                f"num_replicas, rank: expected 0 <= rank < {self.nranks}, got {self.local_rank}"
            )
        self.dataset, self.shuffle, self.epoch = dataset, shuffle, 0
        self.num_samples = math.ceil(len(dataset) / self.nranks)
        self.total_size = self.num_samples * self.nranks

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        order = np.resize(np.arange(len(self.dataset)), self.total_size)  # begins again where it ends
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(order)
            self.epoch += 1
        last = self.total_size % (self.batch_size * self.nranks)
        whole, rest = np.split(order, [self.total_size - last])
        own = whole.reshape(-1, self.nranks, self.batch_size)[:, self.local_rank]
        mine = [*own.ravel().tolist(), *rest.reshape(self.nranks, -1)[self.local_rank].tolist()]
        batches = [mine[i : i + self.batch_size] for i in range(0, len(mine), self.batch_size)]
        return iter(b for b in batches if len(b) == self.batch_size or not self.drop_last)

    def __len__(self) -> int:
        count = self.num_samples
        return count // self.batch_size if self.drop_last else math.ceil(count / self.batch_size)
