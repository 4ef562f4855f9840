"""The library's callback that tells a run what happens in `Model.fit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def follow(
    after_batch: Callable[[int, int, float, float], None],
    after_epoch: Callable[[int], None],
    batch_size: int,
    examples: int,
) -> Any:
    """A `sampan.callbacks.Callback` that calls `after_batch(epoch, step, loss, accuracy)`, both from one.

    The library's `acc` is a running mean over the epoch; the difference of two of them is the accuracy of the
    batch between, which makes a curve without a saw-tooth at each new epoch.
    """
    from sampan.callbacks import Callback

    class Follow(Callback):
        epoch = 0
        right = 0.0

        def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
            self.epoch, self.right = epoch + 1, 0.0

        def on_train_batch_end(self, step: int, logs: Mapping[str, Any] | None = None) -> None:
            logs = logs or {}
            before = min(step * batch_size, examples)
            here = min(batch_size, examples - before)
            right = number(logs["acc"]) * (before + here)
            accuracy = min(max((right - self.right) / here, 0.0), 1.0)
            self.right = right
            after_batch(self.epoch, step + 1, number(logs["loss"]), accuracy)

        def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
            after_epoch(self.epoch)

    return Follow()


def number(value: Any) -> float:
    """A logged value as a float: Paddle's callbacks may get a list with one number."""
    return float(np.asarray(value).reshape(-1)[0])
