"""Learning-rate schedules. `scheduler.step()` moves on by one epoch (or step: the caller decides what is
counted)."""

import math
from typing import Any

from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..ops.shape import scalar

# fmt: off
__all__ = [
    "CosineAnnealingDecay", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialDecay", "InverseTimeDecay",
    "LRScheduler", "LambdaDecay", "LinearLR", "LinearWarmup", "MultiStepDecay", "MultiplicativeDecay",
    "NaturalExpDecay", "NoamDecay", "OneCycleLR", "PiecewiseDecay", "PolynomialDecay", "ReduceOnPlateau",
    "StepDecay",
]
# fmt: on


class _OfAnother(InvalidArgument, RuntimeError):
    """The state of another scheduler; Paddle says RuntimeError."""


class LRScheduler:
    """Subclasses write `get_lr`, from `self.base_lr` and `self.last_epoch` (0 after construction).

    What a subclass keeps between steps it names in `keys` (or sets there in `state_keys`): that is what
    `state_dict` saves.
    """

    keys: Any = ("last_epoch", "last_lr")

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        self.base_lr = self.last_lr = float(_number(learning_rate, "learning_rate"))
        self.last_epoch = last_epoch
        self.verbose = verbose
        self.step()

    def __call__(self) -> float:
        """The rate of the present epoch."""
        return self.last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to a given one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set(self.get_lr() if epoch is None else self.at_epoch())

    def _set(self, rate: float) -> None:
        self.last_lr = rate
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def get_lr(self) -> float:
        """The rate of epoch `last_epoch`. A subclass defines it."""
        raise NotImplementedError("LRScheduler.get_lr: write it in the subclass")

    def at_epoch(self) -> float:
        """The rate after a jump to `last_epoch`; where a step starts from the last rate, this does not."""
        return self.get_lr()

    def state_keys(self) -> None:
        """A subclass may set `self.keys` here."""

    def state_dict(self) -> dict[str, Any]:
        """The attributes named in `keys`, for `set_state_dict`."""
        self.state_keys()
        found = {key: getattr(self, key) for key in self.keys if hasattr(self, key)}
        return {key: float(value) if isinstance(value, Tensor) else value for key, value in found.items()}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a `state_dict`. ValueError when it lacks something: it belongs to another scheduler."""
        self.state_keys()
        missing = [key for key in self.keys if key not in state_dict]
        if missing:
            raise _OfAnother(f"state_dict: a {type(self).__name__} needs {', '.join(missing)} in it")
        for key in self.keys:
            setattr(self, key, state_dict[key])

    set_dict = set_state_dict


def _number(value: Any, name: str, least: float = 0.0, below: float = math.inf, whole: bool = False) -> Any:
    """`value`, if it is a number from `least` to below `below`."""
    value = scalar(value)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise InvalidType(f"{name}: expected a {'whole ' * whole}number, got {type(value).__name__}")
    if not least <= value < below:
        wanted = f"at least {least}" + (f" and below {below}" if below < math.inf else "")
        raise InvalidArgument(f"{name}: expected {wanted}, got {value}")
    return value


def _choice(value: Any, name: str, *choices: str) -> Any:
    if value not in choices:
        raise InvalidArgument(f"{name}: expected {' or '.join(map(repr, choices))}, got {value!r}")
    return value


def _function(value: Any, name: str) -> Any:
    if not callable(value):
        raise InvalidType(f"{name}: expected a function, got {type(value).__name__}")
    return value


class NoamDecay(LRScheduler):
    """lr * d_model^-0.5 * min(epoch^-0.5, epoch * warmup_steps^-1.5) (Vaswani et al. 2017, formula 3)."""

    def __init__(self, d_model, warmup_steps, learning_rate=1.0, last_epoch=-1, verbose=False):
        self.d_model = _number(d_model, "d_model", 1)
        self.warmup_steps = _number(warmup_steps, "warmup_steps", 1)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        rising = self.warmup_steps**-1.5 * self.last_epoch
        falling = 1.0 if self.last_epoch == 0 else self.last_epoch**-0.5
        return self.base_lr * self.d_model**-0.5 * min(falling, rising)


class PiecewiseDecay(LRScheduler):
    """values[i] up to boundaries[i]; values has one entry more than boundaries."""

    def __init__(self, boundaries, values, last_epoch=-1, verbose=False):
        self.boundaries, self.values = list(boundaries), [float(v) for v in values]
        if len(self.values) != len(self.boundaries) + 1:
            raise InvalidArgument(f"values: expected {len(self.boundaries) + 1} of them, got {len(values)}")
        if self.boundaries != sorted(self.boundaries) or not self.boundaries:
            raise InvalidArgument(f"boundaries: expected ascending numbers, got {boundaries}")
        super().__init__(self.values[0], last_epoch, verbose)

    def get_lr(self) -> float:
        return self.values[sum(self.last_epoch >= b for b in self.boundaries)]


class PolynomialDecay(LRScheduler):
    """(lr - end_lr) * (1 - epoch / decay_steps)^power + end_lr; with cycle, decay_steps grows in whole
    multiples."""

    def __init__(
        self, learning_rate, decay_steps, end_lr=0.0001, power=1.0, cycle=False, last_epoch=-1, verbose=False
    ):
        self.decay_steps = _number(decay_steps, "decay_steps", 1)
        self.end_lr, self.power, self.cycle = end_lr, power, cycle
        if power <= 0:
            raise InvalidArgument(f"power: expected a positive number, got {power}")
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        steps, epoch = self.decay_steps, self.last_epoch
        if self.cycle:
            steps *= max(math.ceil(epoch / steps), 1)
        else:
            epoch = min(epoch, steps)
        return float((self.base_lr - self.end_lr) * (1 - epoch / steps) ** self.power + self.end_lr)


class LinearWarmup(LRScheduler):
    """From start_lr to end_lr in warmup_steps, then `learning_rate`: a number, or a scheduler that starts
    there."""

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, last_epoch=-1, verbose=False):
        if not isinstance(learning_rate, LRScheduler):
            _number(learning_rate, "learning_rate")
        self.learning_rate = learning_rate
        self.warmup_steps = _number(warmup_steps, "warmup_steps", 1, whole=True)
        self.start_lr, self.end_lr = start_lr, end_lr
        if not end_lr > start_lr:
            raise InvalidArgument(f"end_lr: expected more than start_lr ({start_lr}), got {end_lr}")
        super().__init__(start_lr, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch < self.warmup_steps:
            return float((self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps + self.start_lr)
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


class _Gamma(LRScheduler):
    """What schedules of a rate and a gamma share: its bounds."""

    bounds = (-math.inf, math.inf)

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        self.gamma = _number(gamma, "gamma", *self.bounds)
        super().__init__(learning_rate, last_epoch, verbose)


class ExponentialDecay(_Gamma):
    """lr * gamma^epoch."""

    bounds = (math.ulp(0.0), 1)

    def get_lr(self) -> float:
        return float(self.base_lr * self.gamma**self.last_epoch)


class NaturalExpDecay(_Gamma):
    """lr * e^(-gamma epoch)."""

    bounds = (math.ulp(0.0), math.inf)

    def get_lr(self) -> float:
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(_Gamma):
    """lr / (1 + gamma epoch)."""

    def get_lr(self) -> float:
        return float(self.base_lr / (1 + self.gamma * self.last_epoch))


class MultiStepDecay(LRScheduler):
    """lr * gamma^(number of milestones that are reached)."""

    def __init__(self, learning_rate, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        if not isinstance(milestones, tuple | list):
            raise InvalidType(f"milestones: expected a list or tuple, got {type(milestones).__name__}")
        self.milestones, self.gamma = list(milestones), _number(gamma, "gamma", -math.inf, 1)
        if any(a >= b for a, b in zip(self.milestones, self.milestones[1:], strict=False)):
            raise InvalidArgument(f"milestones: expected ascending numbers, got {milestones}")
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return float(self.base_lr * self.gamma ** sum(self.last_epoch >= m for m in self.milestones))


class StepDecay(LRScheduler):
    """lr * gamma^(epoch // step_size)."""

    def __init__(self, learning_rate, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        self.step_size = _number(step_size, "step_size", 1, whole=True)
        self.gamma = _number(gamma, "gamma", -math.inf, 1)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return float(self.base_lr * self.gamma ** (self.last_epoch // self.step_size))


class LambdaDecay(LRScheduler):
    """lr * lr_lambda(epoch)."""

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        self.lr_lambda = _function(lr_lambda, "lr_lambda")
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        return float(self.base_lr * self.lr_lambda(self.last_epoch))


class MultiplicativeDecay(LambdaDecay):
    """lr * lr_lambda(1) * ... * lr_lambda(epoch)."""

    def get_lr(self) -> float:
        return float(self.base_lr * math.prod(self.lr_lambda(e) for e in range(1, self.last_epoch + 1)))


# Their older names.
noam_decay, piecewise_decay, polynomial_decay = NoamDecay, PiecewiseDecay, PolynomialDecay


def _cosine(start: float, end: float, share: float) -> float:
    """From start (share 0) along half a cosine to end (share 1)."""
    return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


def _line(start: float, end: float, share: float) -> float:
    return (end - start) * share + start


class CosineAnnealingDecay(LRScheduler):
    """eta_min + (lr - eta_min) / 2 * (1 + cos(pi epoch / T_max)) (Loshchilov and Hutter 2017, without
    restarts).

    A step is the quotient of two of these, from the last rate on, as it is in Paddle: a schedule that starts
    at `last_epoch` starts from lr. Past T_max the rate rises again along the cosine.
    """

    def __init__(self, learning_rate, T_max, eta_min=0, last_epoch=-1, verbose=False):
        self.T_max = _number(T_max, "T_max", 1, whole=True)
        self.eta_min = float(_number(eta_min, "eta_min", -math.inf))
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch == 0:
            return self.base_lr
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # up from the lowest rate
            return self.last_lr + _cosine(0.0, self.base_lr - self.eta_min, 1 / self.T_max)
        now, before = (
            _cosine(1.0, 0.0, epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1)
        )
        return now / before * (self.last_lr - self.eta_min) + self.eta_min

    def at_epoch(self) -> float:
        return _cosine(self.base_lr, self.eta_min, self.last_epoch / self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """A cosine from lr to eta_min over T_0 epochs, then again over T_0 T_mult, T_0 T_mult^2, ... (the same
    paper)."""

    def __init__(self, learning_rate, T_0, T_mult=1, eta_min=0, last_epoch=-1, verbose=False):
        self.T_0 = self.T_i = _number(T_0, "T_0", 1, whole=True)
        self.T_mult, self.eta_min = _number(T_mult, "T_mult", 1, whole=True), eta_min
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        self.T_cur, self.T_i = _number(self.last_epoch, "epoch"), self.T_0
        if self.T_mult == 1:
            self.T_cur %= self.T_0
        while self.T_cur >= self.T_i:
            self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        return _cosine(self.base_lr, self.eta_min, self.T_cur / self.T_i)


class LinearLR(LRScheduler):
    """lr times a factor that goes from start_factor to end_factor in total_steps, and stays."""

    def __init__(
        self, learning_rate, total_steps, start_factor=1.0 / 3, end_factor=1.0, last_epoch=-1, verbose=False
    ):
        given = {"start_factor": (start_factor, math.ulp(0.0)), "end_factor": (end_factor, 0.0)}
        for name, (value, low) in given.items():
            if not low <= value <= 1:
                raise InvalidArgument(f"{name}: expected a number up to 1, above 0 at the start, got {value}")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_steps = _number(total_steps, "total_steps", 1)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch == 0:
            return self.base_lr * self.start_factor
        if self.last_epoch > self.total_steps:
            return self.last_lr
        rise = self.end_factor - self.start_factor
        return self.last_lr * (
            1 + rise / (self.total_steps * self.start_factor + (self.last_epoch - 1) * rise)
        )


class OneCycleLR(LRScheduler):
    """Up from max / divide_factor to max in phase_pct of total_steps, then down to end_learning_rate (Smith
    2018).

    three_phase: down to where it began in as many steps as up, and then to the end. anneal_strategy: "cos" or
    "linear". ValueError after more than total_steps.
    """

    def __init__(
        self,
        max_learning_rate,
        total_steps,
        divide_factor=25.0,
        end_learning_rate=0.0001,
        phase_pct=0.3,
        anneal_strategy="cos",
        three_phase=False,
        last_epoch=-1,
        verbose=False,
    ):
        top = _number(max_learning_rate, "max_learning_rate")
        low = _number(end_learning_rate, "end_learning_rate")
        steps = self.total_steps = _number(total_steps, "total_steps", 1, whole=True)
        start = top / _number(divide_factor, "divide_factor", -math.inf)
        if not isinstance(phase_pct, float):
            raise InvalidType(f"phase_pct: expected a float, got {type(phase_pct).__name__}")
        if not 0 <= phase_pct <= 1 or (three_phase and phase_pct >= 0.5):
            limit = "below 0.5 with three_phase" if three_phase else "up to 1"
            raise InvalidArgument(f"phase_pct: expected a number from 0 {limit}, got {phase_pct}")
        kind = _choice(anneal_strategy, "anneal_strategy", "cos", "linear")
        self.anneal_func = _cosine if kind == "cos" else _line
        turns = [phase_pct * steps - 1, 2 * phase_pct * steps - 2] if three_phase else [phase_pct * steps - 1]
        self._steps = [0, *turns, steps - 1]
        self._rates = [start, top, start, low] if three_phase else [start, top, low]
        super().__init__(start, last_epoch, verbose)

    def get_lr(self) -> float:
        if self.last_epoch > self.total_steps:
            raise InvalidArgument(
                f"step: expected at most total_steps={self.total_steps}, got {self.last_epoch}"
            )
        phase = 0
        while self.last_epoch > self._steps[phase + 1] and phase < len(self._rates) - 2:
            phase += 1
        begin, end = self._steps[phase], self._steps[phase + 1]
        return self.anneal_func(*self._rates[phase : phase + 2], (self.last_epoch - begin) / (end - begin))


class CyclicLR(LRScheduler):
    """A triangle between base and max: step_size_up steps up, step_size_down (as many) down (Smith 2017).

    mode: "triangular", "triangular2" (each cycle half as high) or "exp_range" (exp_gamma^step as high); or
    scale_fn, a function of the cycle (from 1) or, by scale_mode, of the "iterations".
    """

    def __init__(
        self,
        base_learning_rate,
        max_learning_rate,
        step_size_up,
        step_size_down=None,
        mode="triangular",
        exp_gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        last_epoch=-1,
        verbose=False,
    ):
        self.max_lr = float(_number(max_learning_rate, "max_learning_rate"))
        up = _number(step_size_up, "step_size_up", 1, whole=True)
        down = up if step_size_down is None else _number(step_size_down, "step_size_down", 1, whole=True)
        self.cycle_size, self.step_up_pct = up + down, up / (up + down)
        self.amplitude = self.max_lr - base_learning_rate
        if not isinstance(exp_gamma, float):
            raise InvalidType(f"exp_gamma: expected a float, got {type(exp_gamma).__name__}")
        self.gamma, self.mode = exp_gamma, mode
        self.scale_mode = _choice(scale_mode, "scale_mode", "cycle", "iterations")
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
            scale_fn = {
                "triangular": lambda cycle: 1.0,
                "triangular2": lambda cycle: 0.5 ** (cycle - 1),
                "exp_range": lambda step: exp_gamma**step,
            }[_choice(mode, "mode", "triangular", "triangular2", "exp_range")]
        self.scale_fn = scale_fn
        super().__init__(base_learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        cycle, step = divmod(self.last_epoch, self.cycle_size)
        share = step / self.cycle_size
        up = self.step_up_pct
        height = share / up if share <= up else (1 - share) / (1 - up)
        scale = self.scale_fn(cycle + 1 if self.scale_mode == "cycle" else self.last_epoch)
        return float(self.base_lr + self.amplitude * height * scale)


class ReduceOnPlateau(LRScheduler):
    """Multiplies the rate by `factor` when `step(metrics)` has not improved for more than `patience` calls.

    mode: "min" or "max". threshold: an improvement is a change of more than this share ("rel") or amount
    ("abs").
    cooldown: calls after a reduction that do not count. min_lr: the rate never falls below it. epsilon: a
    smaller change of the rate is not made.
    """

    keys = ("cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr")

    def __init__(
        self,
        learning_rate,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=0.0001,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        epsilon=1e-08,
        verbose=False,
    ):
        mode, threshold_mode = mode.lower(), threshold_mode.lower()
        self.mode = _choice(mode, "mode", "min", "max")
        self.threshold_mode = _choice(threshold_mode, "threshold_mode", "rel", "abs")
        self.factor, self.patience = _number(factor, "factor", -math.inf, 1), patience
        self.threshold, self.cooldown = threshold, cooldown
        self.min_lr, self.epsilon = min_lr, epsilon
        self.cooldown_counter = self.num_bad_epochs = 0
        self.best: float | None = None
        self.base_lr = self.last_lr = float(_number(learning_rate, "learning_rate"))
        self.last_epoch = 0
        self.verbose = verbose

    # Paddle adds `metrics`.
    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take the value that is watched: a number, or a Tensor or array with one."""
        if isinstance(metrics, str):
            raise InvalidType(f"metrics: expected a number, got {metrics!r}")
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
                self._set(lower)

    def _better(self, value: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        margin = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return sign * (value - best) > margin

    def get_lr(self) -> float:
        return self.last_lr
