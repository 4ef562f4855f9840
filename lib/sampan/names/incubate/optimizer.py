"""Wrappers of optimizers: LookAhead (Zhang et al. 2019), and averages of the parameters (Polyak and Juditsky
1992)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ...engine import tape
from ...engine.backward import no_grad
from ...engine.tensor import InvalidArgument, InvalidType
from ...optimizer import Optimizer
from ..lbfgs import LBFGS as LBFGS

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside: see inner
__all__ = ["LBFGS", "LookAhead", "ModelAverage"]


def _trained(optimizer: Any) -> list[Any]:
    return [p for p in optimizer._parameter_list if not p.stop_gradient]


class LookAhead(Optimizer):
    """inner_optimizer steps the fast parameters; every k steps slow <- slow + alpha (fast - slow), fast <-
    slow."""

    def __init__(self, inner_optimizer: Any, alpha: float = 0.5, k: int = 5, name: str | None = None) -> None:
        if not isinstance(inner_optimizer, Optimizer):
            raise InvalidType(f"inner_optimizer: expected an Optimizer, got {type(inner_optimizer).__name__}")
        if not 0 <= alpha <= 1:
            raise InvalidArgument(f"alpha: expected a number from 0 to 1, got {alpha}")
        if not isinstance(k, int) or k < 1:
            raise InvalidArgument(f"k: expected a positive whole number, got {k!r}")
        super().__init__(inner_optimizer.get_lr(), inner_optimizer._parameter_list, name=name)
        self.inner_optimizer, self.alpha, self.k = inner_optimizer, alpha, k
        self._count = 0
        self._slow: dict[int, torch.Tensor] = {}

    @no_grad()
    def _step(self, given: Any) -> None:
        self.inner_optimizer._step(given)
        self._count += 1
        for parameter in _trained(self):
            slow = self._slow.get(id(parameter))
            if slow is None:  # as in Paddle, the slow parameters start after the first step
                slow = self._slow[id(parameter)] = parameter.data.clone()
            if self._count % self.k == 0:
                slow.lerp_(parameter.data, self.alpha)
                parameter.data.copy_(slow)
                tape.written(parameter.data)


class ModelAverage(Optimizer):
    """Keeps the average of the parameters over the last steps; `with average.apply():` the
    layer uses them.

    A window ends when it has min_average_window steps, and average_window_rate of all steps or
    max_average_window; the average is over the last and the current window.
    """

    def __init__(
        self,
        average_window_rate,
        parameters=None,
        min_average_window=10000,
        max_average_window=10000,
        name=None,
    ):
        super().__init__(0.0, parameters, name=name)
        self.average_window, self.updates = average_window_rate, 0
        self.min_average_window, self.max_average_window = min_average_window, max_average_window
        shapes = [torch.zeros_like(p.data) for p in self._parameter_list]
        self._sums, self._last = shapes, [s.clone() for s in shapes]
        self._counts = [0, 0]  # steps in the current and in the last window
        self._own: list[torch.Tensor] | None = None

    @no_grad()
    def _step(self, given: Any) -> None:
        self.updates += 1
        self._counts[0] += 1
        torch._foreach_add_(self._sums, [p.data for p in self._parameter_list])
        size = min(self.max_average_window, self.updates * self.average_window)
        if self._counts[0] >= max(self.min_average_window, size):
            self._last, self._sums = self._sums, [torch.zeros_like(s) for s in self._sums]
            self._counts = [0, self._counts[0]]

    def _put(self, values: list[torch.Tensor]) -> None:
        for parameter, value in zip(self._parameter_list, values, strict=True):
            parameter.data.copy_(value)
            tape.written(parameter.data)

    @contextmanager
    def apply(self, executor: Any = None, need_restore: bool = True) -> Iterator[None]:
        """Replace the parameters by their averages; afterwards restore them, if need_restore."""
        self._own = [p.data.clone() for p in self._parameter_list]
        count = max(sum(self._counts), 1)
        self._put([(a + b) / count for a, b in zip(self._sums, self._last, strict=True)])
        try:
            yield
        finally:
            if need_restore:
                self.restore()

    def restore(self, executor: Any = None) -> None:
        """The parameters as they were before `apply`."""
        if self._own is not None:
            self._put(self._own)
