"""What goes into a Model: batches cut into inputs and labels."""

import inspect
import itertools
from collections.abc import Iterator
from typing import Any

from ..dtype import as_device
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..io import DataLoader, IterableDataset
from ..io.collate import to_tensors


def as_loader(data: Any, batch_size: int, shuffle: bool, drop_last: bool, num_workers: int, name: str) -> Any:
    """A DataLoader over a data set; a DataLoader, or another iterable of batches, as it is."""
    if isinstance(data, DataLoader):
        return data
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not isinstance(data, str | dict):
        order: dict[str, Any] = {"shuffle": shuffle, "drop_last": drop_last}
        return DataLoader(data, batch_size=batch_size, num_workers=num_workers, **order)
    if isinstance(data, IterableDataset):
        return DataLoader(data, batch_size=batch_size, drop_last=drop_last, num_workers=num_workers)
    if hasattr(data, "__iter__") and not isinstance(data, str | dict):
        return data
    raise InvalidType(f"{name}: expected a Dataset or a DataLoader, got {type(data).__name__}")


def length(loader: Any) -> int | None:
    """How many batches an epoch has, None for a stream."""
    try:
        return len(loader)
    except TypeError:
        return None


def batches(loader: Any, skip: int = 0) -> Iterator[Any]:
    """An epoch of batches without the first `skip`."""
    if isinstance(loader, DataLoader):
        return loader.batches(skip)
    return (to_tensors(batch) for batch in itertools.islice(iter(loader), skip, None))


def as_list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def tensors(value: Any) -> list[Any]:
    """A Tensor, an array or a list of them as a list of Tensors."""
    return [v if isinstance(v, Tensor) else to_tensors(v, as_device(None)) for v in as_list(value)]


def inputs_of(forward: Any) -> int | None:
    """How many inputs a network's forward requires; None when it takes any number."""
    given = inspect.signature(forward).parameters.values()
    plain = [p for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in given)
    return None if takes_any else sum(p.default is p.empty for p in plain)


def split(batch: Any, inputs: int | None) -> tuple[list[Any], list[Any]]:
    """(inputs, labels) of a batch. If the number of inputs is unknown, the last field is the label."""
    fields = as_list(batch)
    if inputs is None:
        inputs = max(len(fields) - 1, 1)
    if len(fields) < inputs:
        raise InvalidArgument(
            f"batch: the network takes {inputs} inputs, the data set gives {len(fields)} fields"
        )
    return fields[:inputs], fields[inputs:]
