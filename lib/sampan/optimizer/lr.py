"""Learning-rate schedules. `scheduler.step()` moves on by one epoch (or step: the caller decides what is counted)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..tensor import Tensor


class LRScheduler:
    """Subclasses write `get_lr`, from `self.base_lr` and `self.last_epoch` (0 after construction).

    What a subclass keeps between steps it names in `keys`; that is what `state_dict` saves.
    """

    keys: tuple[str, ...] = ("last_epoch", "last_lr")

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, int | float):
            raise TypeError(f"learning_rate: expected a number, got {type(learning_rate).__name__}")
        if learning_rate < 0:
            raise ValueError(f"learning_rate: expected at least 0, got {learning_rate}")
        self.base_lr = self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self.step()

    def __call__(self) -> float:
        """The rate of the present epoch."""
        return self.last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to a given one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.last_lr = self.get_lr()
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def get_lr(self) -> float:
        raise NotImplementedError("LRScheduler.get_lr: write it in the subclass")

    def state_dict(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.keys}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a `state_dict`. ValueError when it lacks something: it belongs to another scheduler."""
        missing = [key for key in self.keys if key not in state_dict]
        if missing:
            raise ValueError(f"state_dict: a {type(self).__name__} needs {', '.join(missing)} in it")
        for key in self.keys:
            setattr(self, key, state_dict[key])

    set_dict = set_state_dict


def _at_least(value: float, least: float, name: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name}: expected a number, got {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name}: expected at least {least}, got {value}")
    return value


class NoamDecay(LRScheduler):
    """lr * d_model^-0.5 * min(epoch^-0.5, epoch * warmup_steps^-1.5) (Vaswani et al. 2017, formula 3)."""

    def __init__(
        self,
        d_model: int,
        warmup_steps: int,
        learning_rate: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.d_model = _at_least(d_model, 1, "d_model")
        self.warmup_steps = _at_least(warmup_steps, 1, "warmup_steps")
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        rising = self.warmup_steps**-1.5 * self.last_epoch
        falling = 1.0 if self.last_epoch == 0 else self.last_epoch**-0.5
        return self.base_lr * self.d_model**-0.5 * min(falling, rising)


class PiecewiseDecay(LRScheduler):
    """values[i] up to boundaries[i]; values has one entry more than boundaries."""

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        self.boundaries, self.values = list(boundaries), [float(v) for v in values]
        if len(self.values) != len(self.boundaries) + 1:
            raise ValueError(
                f"values: expected {len(self.boundaries) + 1}, one more than boundaries, got {len(values)}"
            )
        if self.boundaries != sorted(self.boundaries):
            raise ValueError(f"boundaries: expected ascending numbers, got {boundaries}")
        super().__init__(self.values[0], last_epoch, verbose)

    def get_lr(self) -> float:
        return self.values[sum(self.last_epoch >= b for b in self.boundaries)]


class PolynomialDecay(LRScheduler):
    """(lr - end_lr) * (1 - epoch / decay_steps)^power + end_lr; with cycle, decay_steps grows in whole multiples."""

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.decay_steps = _at_least(decay_steps, 1, "decay_steps")
        self.end_lr = end_lr
        if power <= 0:
            raise ValueError(f"power: expected a positive number, got {power}")
        self.power, self.cycle = power, cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        steps, epoch = self.decay_steps, self.last_epoch
        if self.cycle:
            steps *= max(math.ceil(epoch / steps), 1)
        else:
            epoch = min(epoch, steps)
        return (self.base_lr - self.end_lr) * (1 - epoch / steps) ** self.power + self.end_lr


class LinearWarmup(LRScheduler):
    """From start_lr to end_lr in warmup_steps, then `learning_rate`: a number, or a scheduler that starts there."""

    keys = ("last_epoch", "last_lr")

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(learning_rate, LRScheduler):
            _at_least(learning_rate, 0, "learning_rate")
        self.learning_rate = learning_rate
        self.warmup_steps = _at_least(warmup_steps, 1, "warmup_steps")
        self.start_lr, self.end_lr = start_lr, end_lr
        if not end_lr > start_lr:
            raise ValueError(f"end_lr: expected more than start_lr ({start_lr}), got {end_lr}")
        super().__init__(start_lr, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return float(self.learning_rate)

    def state_dict(self) -> dict[str, Any]:
        found = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            found["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return found

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().set_state_dict(state_dict)
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])


class ExponentialDecay(LRScheduler):
    """lr * gamma^epoch."""

    def __init__(
        self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not 0 < gamma < 1:
            raise ValueError(f"gamma: expected a number between 0 and 1, got {gamma}")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma**self.last_epoch


class MultiStepDecay(LRScheduler):
    """lr * gamma^(number of milestones that are reached)."""

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.milestones, self.gamma = list(milestones), gamma
        if any(a >= b for a, b in zip(self.milestones, self.milestones[1:], strict=False)):
            raise ValueError(f"milestones: expected ascending numbers, got {milestones}")
        if gamma >= 1:
            raise ValueError(f"gamma: expected a number below 1, got {gamma}")
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma ** sum(self.last_epoch >= m for m in self.milestones)


class StepDecay(LRScheduler):
    """lr * gamma^(epoch // step_size)."""

    def __init__(
        self,
        learning_rate: float,
        step_size: int,
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.step_size = int(_at_least(step_size, 1, "step_size"))
        if gamma >= 1:
            raise ValueError(f"gamma: expected a number below 1, got {gamma}")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.gamma ** (self.last_epoch // self.step_size)


class LambdaDecay(LRScheduler):
    """lr * lr_lambda(epoch)."""

    def __init__(
        self,
        learning_rate: float,
        lr_lambda: Callable[[int], float],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not callable(lr_lambda):
            raise TypeError(f"lr_lambda: expected a function, got {type(lr_lambda).__name__}")
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.base_lr * self.lr_lambda(self.last_epoch)


class CosineAnnealingDecay(LRScheduler):
    """eta_min + (lr - eta_min) / 2 * (1 + cos(pi epoch / T_max)) (Loshchilov and Hutter 2017, without restarts).

    The closed form; past T_max the rate rises again along the cosine, as it does in torch and Paddle.
    """

    def __init__(
        self,
        learning_rate: float,
        T_max: int,
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self.T_max, self.eta_min = _at_least(T_max, 1, "T_max"), float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return self.eta_min + (self.base_lr - self.eta_min) / 2 * (
            1 + math.cos(math.pi * self.last_epoch / self.T_max)
        )


class ReduceOnPlateau(LRScheduler):
    """Multiplies the rate by `factor` when `step(metrics)` has not improved for more than `patience` calls.

    mode: "min" or "max". threshold: an improvement is a change of more than this share ("rel") or amount ("abs").
    cooldown: calls after a reduction that do not count. min_lr: the rate never falls below it. epsilon: a smaller
    change of the rate is not made.
    """

    keys = ("cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr")

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode: expected 'min' or 'max', got {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold_mode: expected 'rel' or 'abs', got {threshold_mode!r}")
        if factor >= 1:
            raise ValueError(f"factor: expected a number below 1, got {factor}")
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lr, self.epsilon = min_lr, epsilon
        self.cooldown_counter = self.num_bad_epochs = 0
        self.best: float | None = None
        self.base_lr = self.last_lr = float(_at_least(learning_rate, 0, "learning_rate"))
        self.last_epoch = 0
        self.verbose = verbose

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take the value that is watched: a number, or a Tensor or array with one."""
        value = float(metrics.item() if isinstance(metrics, Tensor) or hasattr(metrics, "item") else metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
        elif self.best is None or self._better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            lower = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - lower > self.epsilon:
                self.last_lr = lower
                if self.verbose:
                    print(
                        f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}."
                    )

    def _better(self, value: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        margin = abs(best) * self.threshold if self.threshold_mode == "rel" else self.threshold
        return sign * (value - best) > margin

    def get_lr(self) -> float:
        return self.last_lr
