"""Losses as layers. reduction: "mean", "sum" or "none"."""

from typing import Any

from ..engine.tensor import InvalidArgument, Tensor
from . import functional as F
from .function_layer import FunctionLayer

# fmt: off
__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HuberLoss",
    "KLDivLoss", "L1Loss", "MSELoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss",
]
# fmt: on


class Loss(FunctionLayer, inputs=2, shows=""):
    """A loss of predictions and targets."""


class CrossEntropyLoss(Loss, of=F.cross_entropy):
    """-log softmax(input)[label]: input [batch, ..., classes] (logits), label int64 [batch, ...] or [batch,
    ..., 1].

    soft_label: labels are probabilities of input's shape. use_softmax=False: input is probabilities already.
    weight: a factor per class. ignore_index: labels that do not count.
    """


class MSELoss(Loss, of=F.mse_loss, takes="reduction"):
    """(input - label)^2, reduced."""


class L1Loss(Loss, of=F.l1_loss):
    """|input - label|, reduced."""


class SmoothL1Loss(Loss, of=F.smooth_l1_loss):
    """Huber's loss: squared up to a distance of delta, linear beyond it."""


class NLLLoss(Loss, of=F.nll_loss, private="*"):
    """-input[label] for input [batch, classes, ...] of log-probabilities."""


class BCELoss(Loss, of=F.binary_cross_entropy):
    """-label log(input) - (1 - label) log(1 - input)."""


class BCEWithLogitsLoss(Loss, of=F.binary_cross_entropy_with_logits):
    """BCELoss of sigmoid(logit), without overflow."""


class KLDivLoss(Loss, of=F.kl_div, takes="reduction log_target"):
    """label (log(label) - input) for input of log-probabilities; reduction may be "batchmean"."""


class PoissonNLLLoss(Loss, of=F.poisson_nll_loss, private="*"):
    """-log of Poisson's distribution."""

    def _check(self) -> None:
        super()._check()
        if self.epsilon <= 0:
            raise InvalidArgument(f"epsilon: expected a positive number, got {self.epsilon}")


class GaussianNLLLoss(Loss, of=F.gaussian_nll_loss, inputs=3):
    """-log of the normal distribution, for input, label and variance."""


class CTCLoss(Loss, of=F.ctc_loss, inputs=4, takes="blank reduction zero_infinity"):
    """Connectionist temporal classification (Graves et al., 2006)."""

    def forward(
        self, log_probs: Any, labels: Any, input_lengths: Any, label_lengths: Any, norm_by_times: bool = False
    ) -> Tensor:
        lengths = (input_lengths, label_lengths)
        return F.ctc_loss(
            log_probs, labels, *lengths, self.blank, self.reduction, norm_by_times, self.zero_infinity
        )


HuberLoss = SmoothL1Loss
