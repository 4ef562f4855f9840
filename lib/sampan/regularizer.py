"""Penalties on the size of parameters, for an optimizer's `weight_decay` or a ParamAttr's `regularizer`.

In Paddle's definition the gradient of L2Decay is coeff * p and that of L1Decay coeff * sign(p).
"""

import torch

from .ops.shape import number


class WeightDecayRegularizer:
    """Base class of penalties. coeff: their factor. ValueError for a negative one."""

    def __init__(self, coeff: float = 0.0) -> None:
        self.coeff = self._coeff = float(number(coeff, f"{type(self).__name__}: coeff"))
        if self.coeff < 0:
            raise ValueError(f"{type(self).__name__}: coeff: expected at least 0, got {coeff}")

    def add_to(self, gradient: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
        """The gradient with the penalty's, as a new buffer."""
        raise NotImplementedError("WeightDecayRegularizer.add_to: write it in the subclass")

    def __repr__(self) -> str:
        return f"{type(self).__name__}, coeff={self.coeff:f}"


class L2Decay(WeightDecayRegularizer):
    """coeff / 2 * sum(p^2)."""

    def add_to(self, gradient: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
        return gradient.add(parameter, alpha=self.coeff)


class L1Decay(WeightDecayRegularizer):
    """coeff * sum(|p|)."""

    def add_to(self, gradient: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
        return gradient.add(parameter.sign(), alpha=self.coeff)
