"""Data sets. They are torch data sets too, and torch's can be used in their place."""

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import data as torch_data

from ..engine.tensor import InvalidArgument, InvalidType, Tensor


class Dataset(torch_data.Dataset):
    """Map-style: subclasses write `__getitem__(index)` and `__len__()`.

    A data set over arrays may also write `__getitems__(indices)`. It returns a tuple: the whole batch at
    once, one array per field; DataLoader then does no work per sample.
    """

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.__getitem__: write it in the subclass")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__}.__len__: write it in the subclass")


class IterableDataset(torch_data.IterableDataset):
    """A stream: subclasses write `__iter__`. With several workers each runs it; see `get_worker_info`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__}.__iter__: write it in the subclass")

    def __getitem__(self, idx: Any) -> Any:
        raise RuntimeError(f"{type(self).__name__}.__getitem__: a stream has no index")

    def __len__(self) -> int:
        raise RuntimeError(f"{type(self).__name__}.__len__: a stream has no length")


def _several(datasets: Iterable[Any], streams: bool) -> list[Any]:
    listed = list(datasets)
    if not listed:
        raise InvalidArgument("datasets: expected at least one, got none")
    for dataset in listed:
        if isinstance(dataset, torch_data.IterableDataset) != streams:
            wanted = "IterableDatasets" if streams else "map-style Datasets"
            raise InvalidType(f"datasets: expected {wanted}, got {type(dataset).__name__}")
    return listed


class ComposeDataset(Dataset):
    """Sample i is the fields of sample i of every data set, one after the other. They are of one length."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = _several(datasets, False)
        if len({len(d) for d in self.datasets}) > 1:
            raise InvalidArgument(f"datasets: expected one length, got {[len(d) for d in self.datasets]}")

    def __getitem__(self, idx: Any) -> tuple[Any, ...]:
        samples = [dataset[idx] for dataset in self.datasets]
        return tuple(f for s in samples for f in (s if isinstance(s, list | tuple) else [s]))

    def __len__(self) -> int:
        return len(self.datasets[0])


class ChainDataset(IterableDataset):
    """Streams one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = _several(datasets, True)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)


class TensorDataset(Dataset):
    """Sample i is (t[i] for t in tensors). Tensors or arrays of one length. ValueError otherwise."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        if isinstance(tensors, Tensor | np.ndarray) or len(tensors) == 0:
            raise InvalidType("tensors: expected a list of Tensors, such as TensorDataset([images, labels])")
        self.tensors = [
            t if isinstance(t, Tensor) else Tensor(torch.as_tensor(np.asarray(t))) for t in tensors
        ]
        lengths = [len(t) for t in self.tensors]
        if len(set(lengths)) > 1:
            raise InvalidArgument(f"tensors: expected one length, got {lengths}")

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(Tensor(t.data[index]) for t in self.tensors)

    def __getitems__(self, indices: Sequence[int]) -> tuple[torch.Tensor, ...]:
        chosen = np.asarray(indices, np.int64)
        return tuple(_rows(t.data, chosen) for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


def _rows(buffer: torch.Tensor, chosen: np.ndarray) -> torch.Tensor:
    if buffer.is_cuda or buffer.dtype is torch.bfloat16:
        return buffer[torch.from_numpy(chosen).to(buffer.device)]
    # for a small batch many times faster than torch's index_select
    return torch.from_numpy(buffer.numpy()[chosen])


class Subset(Dataset):
    """The samples of `dataset` at `indices`."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, list(indices)
        if hasattr(dataset, "__getitems__"):
            self.__getitems__ = self._getitems

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def _getitems(self, indices: Sequence[int]) -> Any:
        return self.dataset.__getitems__([self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Data sets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = _several(datasets, False)
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __getitem__(self, index: int) -> Any:
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"index: expected {-len(self)} to {len(self) - 1}, got {index}")
        which = bisect.bisect_right(self.cumulative_sizes, position)
        return self.datasets[which][position - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(
    dataset: Any, lengths: Sequence[float], generator: torch.Generator | None = None
) -> list[Subset]:
    """Disjoint random Subsets: of these lengths, or of these shares where they are fractions that add up to
    1."""
    sizes = list(lengths)
    if all(0 <= n <= 1 for n in sizes) and math.isclose(sum(sizes), 1.0):
        sizes = [math.floor(len(dataset) * share) for share in lengths]
        for i in range(len(dataset) - sum(int(n) for n in sizes)):
            sizes[i % len(sizes)] += 1  # what rounding left over goes round
    if sum(sizes) != len(dataset) or any(n < 0 or n != int(n) for n in sizes):
        raise InvalidArgument(
            f"lengths: expected whole numbers that add up to {len(dataset)}, or shares that add up to 1, got "
            f"{lengths}"
        )
    order = torch.randperm(len(dataset), generator=generator).tolist()
    ends = list(itertools.accumulate(int(n) for n in sizes))
    return [Subset(dataset, order[end - int(size) : end]) for size, end in zip(sizes, ends, strict=True)]
