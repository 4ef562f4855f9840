"""Rows of the next batch, asked for while this one is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

Batch = TypeVar("Batch")


def prefetched(
    batches: Iterable[Batch], tables: Sequence[tuple[Any, Callable[[Batch], Any]]]
) -> Iterator[Batch]:
    """The batches; before each is given, the rows of the one behind it are asked for.

    tables: layers with `prefetch`, each with the function that gives its ids of a batch. A layer without it
    has its rows in this process.
    """
    waiting: list[Batch] = []
    for batch in batches:
        for layer, ids_of in tables:
            if hasattr(layer, "prefetch"):
                layer.prefetch(ids_of(batch))
        waiting.append(batch)
        if len(waiting) == 2:
            yield waiting.pop(0)
    yield from waiting
