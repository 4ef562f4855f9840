"""The steps that train a recommender, of recall (recommender.py) and of ranking (recommender_ranking.py)
alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import nn, optimizer
from ..engine.tensor import Tensor


class Step(NamedTuple):
    """Progress of a training: the fraction done, 0 to 1, the epoch (from 0), the mean loss since the
    last one of these, and whether the epoch ends here."""

    done: float
    epoch: int
    loss: float
    last: bool


def train_steps(
    network: nn.Layer,
    loss_of: Callable[[np.ndarray[Any, Any]], Tensor],
    rows: int,
    *,
    whole: bool,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    weight_decay: float,
    seed: int,
    every: int,
) -> Iterator[Step]:
    """Train on `rows` rows in an order drawn anew each epoch, and report every so many steps and after each
    epoch.

    loss_of: the loss of the rows of these numbers, int64 [batch]. whole: a last batch that is not full is
    left out, unless it is the only one. AdamW with lazy_mode, its rate falling to 0 along a line. The network
    is in train mode at each step, whatever the reader of these reports did with it. Raises ValueError for a
    batch_size or `every` below 1.
    """
    if batch_size < 1 or every < 1:
        raise ValueError(f"batch_size, every: expected 1 or more of each, got {batch_size} and {every}")
    steps = max(rows // batch_size, 1) if whole else -(-rows // batch_size)
    rng = np.random.default_rng(seed)
    adam = optimizer.AdamW(
        learning_rate, parameters=network.parameters(), weight_decay=weight_decay, lazy_mode=True
    )
    losses: list[float] = []
    for epoch in range(epochs):
        order = rng.permutation(rows)
        for step in range(steps):
            taken = epoch * steps + step
            adam.set_lr(learning_rate * (1 - taken / (epochs * steps)))
            network.train()
            loss = loss_of(order[step * batch_size : (step + 1) * batch_size])
            loss.backward()
            adam.step()
            adam.clear_grad()
            losses.append(float(loss))
            last = step == steps - 1
            if last or (step + 1) % every == 0:
                yield Step((taken + 1) / (epochs * steps), epoch, float(np.mean(losses)), last)
                losses.clear()
