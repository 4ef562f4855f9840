"""The loop of training itself. `Model` looks it up as `hapi.train_epoch`: another one can take its place."""

from collections.abc import Callable, Iterable
from typing import Any


def train_epoch(
    network: Callable[..., Any],
    batches: Iterable[tuple[list[Any], list[Any]]],
    loss_function: Callable[..., Any],
    optimizer: Any,
    after_batch: Callable[[Any, Any, list[Any]], None],
) -> None:
    """Train on every batch once.

    batches: pairs (inputs, labels) of lists of Tensors. loss_function(outputs, *labels) gives a Tensor with
    one value. after_batch(loss, outputs, labels) updates metrics, progress and callbacks.
    """
    for inputs, labels in batches:
        outputs = network(*inputs)
        loss = loss_function(outputs, *labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        after_batch(loss, outputs, labels)
