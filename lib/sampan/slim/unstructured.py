"""Single entries at 0: the smallest, at once or more of them with each step of a training.

Such a file is smaller when it is packed; the time of a call is the same. Names are PaddleSlim's. Sources:
Han et al., Learning both Weights and Connections, 2015; Zhu and Gupta, To prune, or not to prune, 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch

from .. import nn
from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument
from ..nn.layer import Layer

__all__ = ["GMPUnstructuredPruner", "UnstructuredPruner"]


class UnstructuredPruner:
    """Sets the smallest entries of a network's parameters to 0: `step()` chooses them, `update_params()`
    keeps them at 0 after the optimizer's step.

    mode: "ratio" (that share of the entries) or "threshold" (magnitudes below it). local_sparsity: the
    share of each parameter, else of all together. prune_params_type: None, or "conv1x1_only".
    skip_params_func(model): the names of parameters (`parameter.name`) that stay; else those of all vectors.
    """

    def __init__(
        self,
        model: Layer,
        mode: str,
        threshold: float = 0.01,
        ratio: float = 0.55,
        prune_params_type: str | None = None,
        skip_params_func: Callable[[Any], Collection[str]] | None = None,
        local_sparsity: bool = False,
    ) -> None:
        if mode not in ("ratio", "threshold") or (local_sparsity and mode == "threshold"):
            raise InvalidArgument(
                f"mode: expected 'ratio', or 'threshold' without local_sparsity, got {mode!r}"
            )
        if not 0 <= ratio < 1 or not threshold >= 0:
            raise InvalidArgument(
                f"ratio, threshold: expected 0 <= ratio < 1 and threshold >= 0, got {ratio}, {threshold}"
            )
        if prune_params_type not in (None, "conv1x1_only"):
            raise InvalidArgument(
                f"prune_params_type: expected None or 'conv1x1_only', got {prune_params_type!r}"
            )
        self.model, self.mode, self.threshold, self.ratio = model, mode, threshold, ratio
        self.local_sparsity = local_sparsity
        skipped = (
            set(skip_params_func(model)) if skip_params_func is not None else _usual(model, prune_params_type)
        )
        self._parameters = [p for p in model.parameters() if p.name not in skipped]
        if not self._parameters:
            raise InvalidArgument("model: expected at least one parameter to prune, got none")
        self.masks: dict[str, torch.Tensor] = {}

    @no_grad()
    def step(self) -> None:
        """Choose the entries by their magnitude now, and set them to 0."""
        sizes = {p.name: p.data.abs() for p in self._parameters}
        if self.mode == "threshold":
            limits = dict.fromkeys(sizes, self.threshold)
        elif self.local_sparsity:
            limits = {name: _limit(size.flatten(), self.ratio) for name, size in sizes.items()}
        else:
            self.threshold = _limit(torch.cat([size.flatten() for size in sizes.values()]), self.ratio)
            limits = dict.fromkeys(sizes, self.threshold)
        self.masks = {name: size >= limits[name] for name, size in sizes.items()}
        self.update_params()

    @no_grad()
    def update_params(self) -> None:
        """Set the chosen entries to 0 again."""
        for parameter in self._parameters:
            if parameter.name in self.masks:
                parameter.data.mul_(self.masks[parameter.name])

    def set_static_masks(self) -> None:
        """The entries that are 0 now stay so."""
        self.masks = {p.name: p.data != 0 for p in self._parameters}

    @staticmethod
    def total_sparse(model: Layer) -> float:
        """The share of the entries of all parameters that are 0."""
        parameters = model.parameters()
        zeros = sum(int((p.data == 0).sum()) for p in parameters)
        return zeros / max(sum(p.data.numel() for p in parameters), 1)


def _usual(model: Layer, kind: str | None) -> set[str]:
    """Names of the parameters that stay."""
    if kind == "conv1x1_only":
        small = {
            str(layer.weight.name)
            for layer in model.sublayers(include_self=True)
            if isinstance(layer, nn.Conv2D) and layer.weight is not None and list(layer.kernel_size) == [1, 1]
        }
        return {p.name for p in model.parameters()} - small
    return {p.name for p in model.parameters() if p.ndim < 2}


def _limit(sizes: torch.Tensor, ratio: float) -> float:
    """The least magnitude that stays."""
    count = round(ratio * sizes.numel())
    return float(sizes.kthvalue(min(count + 1, sizes.numel())).values)


class GMPUnstructuredPruner(UnstructuredPruner):
    """The share rises during training: call `step()` after each step of the optimizer.

    configs: "stable_iterations" without zeros, then "pruning_iterations" in which the share rises in
    "pruning_steps" from "initial_ratio" to `ratio`, by initial + (ratio - initial) (1 - (1 - i / steps)^3);
    then it stays.
    """

    def __init__(
        self, model: Layer, ratio: float = 0.55, configs: Mapping[str, Any] | None = None, **settings: Any
    ) -> None:
        super().__init__(model, "ratio", 0.0, ratio, **settings)
        needed = ("stable_iterations", "pruning_iterations", "pruning_steps", "initial_ratio")
        missing = [name for name in needed if name not in (configs or {})]
        if configs is None or missing:
            raise InvalidArgument(f"configs: expected {', '.join(needed)}, missing {', '.join(missing)}")
        self.stable, self.rise, self.steps = (int(configs[name]) for name in needed[:3])
        self.initial, self.target = float(configs["initial_ratio"]), ratio
        if self.stable < 0 or self.steps < 1 or self.rise < self.steps or not 0 <= self.initial <= ratio:
            raise InvalidArgument(
                "configs: expected stable_iterations >= 0, pruning_iterations >= pruning_steps >= 1 and "
                f"0 <= initial_ratio <= {ratio}, got {dict(configs)}"
            )
        self.iteration, self.ratio = int(configs.get("resume_iteration", 0)), 0.0

    def ratio_at(self, iteration: int) -> float:
        """The share of zeros after this many calls of `step`."""
        done = min(max(iteration - self.stable, 0) * self.steps // self.rise, self.steps) / self.steps
        if iteration < self.stable:
            return 0.0
        return self.initial + (self.target - self.initial) * (1 - (1 - done) ** 3)

    def step(self) -> None:
        """Count one step; choose again where the share rises, else keep the zeros."""
        self.iteration += 1
        before, self.ratio = self.ratio, self.ratio_at(self.iteration)
        if self.ratio != before or not self.masks:
            super().step()
        else:
            self.update_params()
