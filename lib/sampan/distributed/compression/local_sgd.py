"""Processes take several steps alone before they exchange their parameters."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...engine import tape
from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from .. import waiting
from ..row_exchange import started_sum


class _Wrapped:
    """An optimizer with another `step`; everything else is the optimizer's."""

    def __init__(self, optimizer: Any, group: Any) -> None:
        self.optimizer, self.steps = optimizer, 0
        self.group = getattr(group, "torch_group", None)

    def __getattr__(self, name: str) -> Any:
        if name == "optimizer":  # while a copy is made it is not there
            raise AttributeError(name)
        return getattr(self.optimizer, name)

    @property
    def parameters(self) -> list[Tensor]:
        return [p for p in self.optimizer._parameter_list if not p.stop_gradient]

    def step(self) -> None:
        self.optimizer.step()
        self.steps += 1
        self.exchange()

    def exchange(self) -> None:
        """Called after each step."""
        raise NotImplementedError(f"{type(self).__name__}.exchange: write it in the subclass")

    def minimize(self, loss: Tensor, *args: Any, **settings: Any) -> Any:
        """backward, and a step."""
        loss.backward()
        return self.step()


def average(buffers: list[torch.Tensor], group: Any) -> list[torch.Tensor]:
    """The means over all processes, in new memory: in one message for each dtype."""
    world = torch.distributed.get_world_size(group)
    found: list[Any] = [None] * len(buffers)
    for kind in dict.fromkeys(buffer.dtype for buffer in buffers):
        places = [place for place, buffer in enumerate(buffers) if buffer.dtype is kind]
        whole = torch.cat([buffers[place].flatten() for place in places]).mul_(1 / world)
        with waiting.for_others("all_reduce"):
            started_sum(whole, group).wait()
        parts = whole.split([buffers[place].numel() for place in places])
        for place, part in zip(places, parts, strict=True):
            found[place] = part.view(buffers[place].shape)
    return found


class LocalSGD(_Wrapped):
    """Every k_steps steps the parameters become their mean over the processes (Stich, 2019).

    begin_step: until then they do so in every step. adaptive: k_steps is the first number, and changes with
    the loss and the learning rate: k = ceil(k_steps sqrt(lr_0 F / (lr F_0))), from 1 to 16, as in Paddle
    (Wang and Joshi, 2019). The loss F is given by `minimize`, or assigned to `loss` before a step.
    """

    def __init__(
        self, optimizer: Any, k_steps: int = 1, begin_step: int = 1, adaptive: bool = False, group: Any = None
    ) -> None:
        super().__init__(optimizer, group)
        if k_steps < 1:
            raise InvalidArgument(f"LocalSGD: k_steps: expected 1 or more, got {k_steps}")
        self.k_steps = self.first_k = k_steps
        self.begin_step, self.adaptive = begin_step, adaptive
        self.last = 0
        self.loss: Any = None
        self.start: tuple[float, float] | None = None  # loss and learning rate of the first exchange

    def minimize(self, loss: Tensor, *args: Any, **settings: Any) -> Any:
        self.loss = loss
        return super().minimize(loss, *args, **settings)

    def exchange(self) -> None:
        if self.steps > self.begin_step and self.steps - self.last < self.k_steps:
            return
        self.last = self.steps
        parameters = self.parameters
        for parameter, mean in zip(
            parameters, average([p.data for p in parameters], self.group), strict=True
        ):
            parameter.data.copy_(mean)
            tape.written(parameter.data)
        if self.adaptive and self.loss is not None:
            (loss,) = average([torch.tensor([float(self.loss)])], self.group)
            now = max(float(loss), 0.0), float(self.optimizer.get_lr())
            if self.start is None:
                self.start = now
            ratio = self.start[1] * now[0] / max(now[1] * self.start[0], 1e-12)
            self.k_steps = min(16, max(1, math.ceil(self.first_k * math.sqrt(ratio))))


class DiLoCo(_Wrapped):
    """Every k_steps steps the mean change of the parameters is the gradient of an outer step, SGD with
    Nesterov's momentum (Douillard et al., 2023, algorithm 1)."""

    def __init__(
        self,
        optimizer: Any,
        k_steps: int = 100,
        outer_rate: float = 0.7,
        momentum: float = 0.9,
        group: Any = None,
    ) -> None:
        super().__init__(optimizer, group)
        if k_steps < 1:
            raise InvalidArgument(f"DiLoCo: k_steps: expected 1 or more, got {k_steps}")
        self.k_steps, self.outer_rate, self.momentum = k_steps, outer_rate, momentum
        self.outer = [p.data.clone() for p in self.parameters]
        self.velocity = [torch.zeros_like(buffer) for buffer in self.outer]

    def exchange(self) -> None:
        if self.steps % self.k_steps:
            return
        parameters = self.parameters
        changes = average([o - p.data for o, p in zip(self.outer, parameters, strict=True)], self.group)
        for parameter, outer, velocity, change in zip(
            parameters, self.outer, self.velocity, changes, strict=True
        ):
            velocity.mul_(self.momentum).add_(change)
            outer.sub_(change.add_(velocity, alpha=self.momentum), alpha=self.outer_rate)
            parameter.data.copy_(outer)
            tape.written(parameter.data)
