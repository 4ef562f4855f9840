"""Callbacks that steer training: when to stop, and the learning rate."""

import math
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from ..engine.tensor import InvalidArgument
from ..optimizer.lr import LRScheduler as Scheduler
from ..optimizer.lr import ReduceOnPlateau, _number
from .callback import Callback, Logs


class EarlyStopping(Callback):
    """Stops when `monitor`, a name in the evaluation's logs, has not improved for `patience` evaluations.

    With patience 0 that is after the first one, as in Paddle.

    mode: "min", "max", or "auto" (max for names with "acc"). min_delta: smaller changes do not
    count as improvements.
    baseline: the value to beat at first. save_best_model: the best so far is saved as `save_dir/best_model`.
    """

    def __init__(
        self,
        monitor: str = "loss",
        mode: str = "auto",
        patience: int = 0,
        verbose: int = 1,
        min_delta: float = 0,
        baseline: float | None = None,
        save_best_model: bool = True,
        save_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        if mode not in ("auto", "min", "max"):
            raise InvalidArgument(f"mode: expected 'auto', 'min' or 'max', got {mode!r}")
        self.monitor, self.patience, self.verbose = monitor, _number(patience, "patience"), verbose
        self.min_delta, self.baseline, self.save_best_model = abs(min_delta), baseline, save_best_model
        self.sign = 1 if mode == "max" or (mode == "auto" and "acc" in monitor) else -1
        self.save_dir = save_dir
        self._reset()

    def _reset(self) -> None:
        self.best_value = -self.sign * math.inf if self.baseline is None else self.baseline
        self.wait_epoch = 0
        self.best_epoch: int | None = None
        self.stopped_epoch = 0
        self._epoch = 0

    def state_dict(self) -> dict[str, Any]:
        return {k: getattr(self, k) for k in ("best_value", "wait_epoch", "best_epoch")}

    def set_state_dict(self, state: dict[str, Any]) -> None:
        for key, value in state.items():
            setattr(self, key, value)
        if self.wait_epoch >= self.patience:  # the run had stopped before it was resumed
            self.model.stop_training = True

    def on_train_begin(self, logs: Logs | None = None) -> None:
        self._reset()

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        self._epoch = epoch

    def on_eval_end(self, logs: Logs | None = None) -> None:
        found = (logs or {}).get(self.monitor)
        if found is None:
            known = f"a name in the evaluation's logs, {sorted(logs or {})}"
            raise InvalidArgument(f"monitor: expected {known}, got {self.monitor!r}")
        value = float(found[0] if isinstance(found, list | tuple) else found)
        if self.sign * (value - self.best_value) > self.min_delta:
            self.best_value, self.best_epoch, self.wait_epoch = value, self._epoch, 0
            folder = self.save_dir or self.params.get("save_dir")
            if self.save_best_model and folder is not None:
                self.model.save(Path(folder) / "best_model", training=False)
        else:
            self.wait_epoch += 1
        if self.wait_epoch >= self.patience:
            self.model.stop_training = True
            self.stopped_epoch = self._epoch
            if self.verbose:
                best = "the baseline" if self.best_epoch is None else f"epoch {self.best_epoch + 1}"
                why = f"{self.monitor} is not better than {self.best_value:.5g} of {best}"
                sys.stdout.write(f"Epoch {self._epoch + 1}: early stopping, {why}\n")


class ReduceLROnPlateau(Callback):
    """Multiplies a plain learning rate by `factor` when `monitor` has not improved for `patience`
    evaluations.

    mode, min_delta: as for EarlyStopping. cooldown: evaluations after a reduction that do not count. min_lr:
    the rate never falls below it.
    """

    def __init__(
        self,
        monitor="loss",
        factor=0.1,
        patience=10,
        verbose=1,
        mode="auto",
        min_delta=1e-4,
        cooldown=0,
        min_lr=0,
    ):
        super().__init__()
        self.factor = _number(factor, "factor", -math.inf, 1)
        self.monitor, self.patience, self.verbose = monitor, patience, verbose
        self.mode, self.min_delta, self.cooldown, self.min_lr = mode, min_delta, cooldown, min_lr
        self.sign = 1 if mode == "max" or (mode != "min" and "acc" in monitor) else -1
        self.on_train_begin()

    def state_dict(self) -> dict[str, Any]:
        return {k: getattr(self, k) for k in ("best", "wait", "cooldown_counter")}

    def set_state_dict(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def on_train_begin(self, logs: Logs | None = None) -> None:
        self.best, self.wait, self.cooldown_counter = -self.sign * math.inf, 0, 0

    def on_eval_end(self, logs: Logs | None = None) -> None:
        found, optimizer = (logs or {}).get(self.monitor), self.model._optimizer
        if found is None or isinstance(getattr(optimizer, "_learning_rate", None), Scheduler):
            what = "there is a scheduler" if found is not None else f"the logs have no {self.monitor!r}"
            warnings.warn(f"ReduceLROnPlateau: {what}; nothing is done", stacklevel=2)
            return
        value = float(found[0] if isinstance(found, list | tuple) else found)
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self.sign * (value - self.best) > self.min_delta:
            self.best, self.wait = value, 0
        elif self.cooldown_counter == 0:
            self.wait += 1
            if self.wait >= self.patience and optimizer.get_lr() > self.min_lr:
                optimizer.set_lr(max(optimizer.get_lr() * self.factor, self.min_lr))
                self.cooldown_counter, self.wait = self.cooldown, 0
                if self.verbose:
                    sys.stdout.write(f"ReduceLROnPlateau: the learning rate becomes {optimizer.get_lr():g}\n")


class LRScheduler(Callback):
    """Steps the optimizer's schedule after every batch (by_step) or every epoch (by_epoch).

    ReduceOnPlateau is given the epoch's evaluation loss, or the training loss without evaluation.
    Model adds one by step unless the list of callbacks has one.
    """

    def __init__(self, by_step: bool = True, by_epoch: bool = False) -> None:
        super().__init__()
        if by_step == by_epoch:
            raise InvalidArgument("by_step, by_epoch: expected exactly one of the two")
        self.by_step, self.by_epoch = by_step, by_epoch

    def _scheduler(self) -> Any:
        rate = getattr(self.model._optimizer, "_learning_rate", None)
        return rate if isinstance(rate, Scheduler) else None

    def on_train_batch_end(self, step: int, logs: Logs | None = None) -> None:
        scheduler = self._scheduler() if self.by_step else None
        if scheduler is not None and not isinstance(scheduler, ReduceOnPlateau):
            scheduler.step()

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        scheduler = self._scheduler()
        if isinstance(scheduler, ReduceOnPlateau):
            if not self.params.get("evaluates"):
                scheduler.step((logs or {})["loss"])
        elif scheduler is not None and self.by_epoch:
            scheduler.step()

    def on_eval_end(self, logs: Logs | None = None) -> None:
        scheduler = self._scheduler()
        if isinstance(scheduler, ReduceOnPlateau) and self.params.get("evaluates"):
            scheduler.step((logs or {})["loss"])
