"""The training loop of recommenders, for retrieval (recommender.py) and ranking (recommender_ranking.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import nn, optimizer
from ..engine.tensor import InvalidArgument, Tensor


class Step(NamedTuple):
    """Progress of training: the fraction done from 0 to 1, the epoch (from 0), the mean loss since the last
    Step, and whether the epoch is complete."""

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
    """Train on `rows` rows, shuffled in each epoch; yields a Step every `every` steps and after each epoch.

    loss_of: function of row numbers, int64 [batch], that returns the loss. whole: drop an incomplete last
    batch, unless it is the only one. AdamW with lazy_mode; the learning rate decays linearly to 0. Each step
    sets the network to train mode, because the caller may evaluate it between steps. Raises ValueError for a
    batch_size or `every` below 1.
    """
    if batch_size < 1 or every < 1:
        raise InvalidArgument(f"batch_size, every: expected 1 or more of each, got {batch_size} and {every}")
    steps = max(rows // batch_size, 1) if whole else -(-rows // batch_size)
    rng = np.random.default_rng(seed)
    adam = optimizer.AdamW(
        learning_rate, parameters=network.parameters(), weight_decay=weight_decay, lazy_mode=True
    )
    losses: list[float] = []
    for epoch in range(epochs):
        order = rng.permutation(rows)
        for step in range(steps):
            steps_done = epoch * steps + step
            adam.set_lr(learning_rate * (1 - steps_done / (epochs * steps)))
            network.train()
            loss = loss_of(order[step * batch_size : (step + 1) * batch_size])
            loss.backward()
            adam.step()
            adam.clear_grad()
            losses.append(float(loss))
            last = step == steps - 1
            if last or (step + 1) % every == 0:
                yield Step((steps_done + 1) / (epochs * steps), epoch, float(np.mean(losses)), last)
                losses.clear()
