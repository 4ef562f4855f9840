"""The callback that reports the events of `Model.fit` to a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sampan.callbacks import Callback


class Follow(Callback):
    """Calls `before_batch(epoch, step)`, `after_batch(epoch, step, loss, accuracy)`, `after_epoch(epoch)`.

    Epochs and steps count from one. The library's `acc` is a running mean over the epoch; the difference of two of
    them gives the accuracy of a single batch, so that the curve has no jump at each new epoch.
    """

    def __init__(
        self,
        before_batch: Callable[[int, int], None],
        after_batch: Callable[[int, int, float, float], None],
        after_epoch: Callable[[int], None],
        batch_size: int,
        examples: int,
    ) -> None:
        super().__init__()
        self._before_batch = before_batch
        self._after_batch = after_batch
        self._after_epoch = after_epoch
        self._batch_size = batch_size
        self._examples = examples
        self._epoch = 0
        self._right = 0.0  # correct images of this epoch

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        self._epoch, self._right = epoch + 1, 0.0

    def on_train_batch_begin(self, step: int, logs: Mapping[str, Any] | None = None) -> None:
        self._before_batch(self._epoch, step + 1)

    def on_train_batch_end(self, step: int, logs: Mapping[str, Any] | None = None) -> None:
        if logs is None:
            raise ValueError("logs: expected loss and acc, got None")
        before = min(step * self._batch_size, self._examples)
        here = min(self._batch_size, self._examples - before)
        right = float(logs["acc"]) * (before + here)
        accuracy = min(max((right - self._right) / here, 0.0), 1.0)
        self._right = right
        self._after_batch(self._epoch, step + 1, float(logs["loss"]), accuracy)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        self._after_epoch(self._epoch)
