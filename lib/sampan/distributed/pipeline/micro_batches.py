"""A batch as micro-batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor

__all__ = ["PipelineDatasetPreprocessor", "micro_batches"]


class PipelineDatasetPreprocessor:
    """A function that makes the data of a step when it is called."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self) -> Any:
        return self.function()


def micro_batches(data: Any, count: int, size: int) -> list[tuple[Any, Any]]:
    """Inputs and labels of each micro-batch.

    data: (inputs, labels); each is a Tensor [count * size, ...], a tuple or dictionary of such Tensors, or a
    list with one entry for each micro-batch, also inside a tuple or dictionary; None stays None. Or an
    iterator that gives (inputs, labels) of a micro-batch. Raises InvalidArgument for another number of rows,
    also where the last micro-batch alone would have fewer.
    """
    if isinstance(data, PipelineDatasetPreprocessor):
        data = data()
    if isinstance(data, tuple | list):
        if len(data) != 2:
            raise InvalidArgument(f"data: expected inputs and labels, got {len(data)} entries")
        inputs, labels = data
        return [(_part(inputs, at, count, size), _part(labels, at, count, size)) for at in range(count)]
    if not isinstance(data, Iterator):
        raise InvalidType(
            f"data: expected (inputs, labels) or an iterator of them, got {type(data).__name__}"
        )
    found = []
    for number in range(count):
        micro = next(data, None)
        if micro is None:
            raise InvalidArgument(f"data: expected {count} micro-batches, accumulate_steps, got {number}")
        found.append((micro[0], micro[1]))
    return found


def _part(value: Any, at: int, count: int, size: int) -> Any:
    """A micro-batch of inputs or of labels."""
    if isinstance(value, tuple):
        return tuple(_part(part, at, count, size) for part in value)
    if isinstance(value, dict):
        return {name: _part(part, at, count, size) for name, part in value.items()}
    if isinstance(value, list):
        if len(value) != count:
            raise InvalidArgument(
                f"data: expected a list of {count} micro-batches, accumulate_steps, got {len(value)}"
            )
        return value[at]
    if value is None:
        return None
    if not isinstance(value, Tensor):
        raise InvalidType(f"data: expected Tensors, got {type(value).__name__}")
    rows = value.shape[0] if value.ndim else 0
    if rows != count * size:
        raise InvalidArgument(
            f"data: expected {count * size} rows, micro_batch_size {size} times accumulate_steps {count}, "
            f"got {rows}: leave out or fill up a last batch that is shorter"
        )
    return value[at * size : (at + 1) * size].detach()
