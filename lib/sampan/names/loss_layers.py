"""The losses of `names/losses.py` as layers. reduction: "mean", "sum" or "none"."""

from collections.abc import Sequence
from typing import Any

from ..engine.tensor import InvalidArgument
from ..nn import functional as F
from ..nn.layer import Layer
from ..nn.loss import Loss
from ..ops.joining import concat
from . import losses, transducer

__all__ = [
    "AdaptiveLogSoftmaxWithLoss",
    "CosineEmbeddingLoss",
    "HSigmoidLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "RNNTLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class HingeEmbeddingLoss(Loss, of=losses.hinge_embedding_loss):
    """input where label is 1, max(0, margin - input) where it is -1."""


class CosineEmbeddingLoss(Loss, of=losses.cosine_embedding_loss, inputs=3):
    """1 - cos where label is 1, max(0, cos - margin) where it is -1; margin from -1 to 1."""

    def _check(self) -> None:
        super()._check()
        if not -1 <= self.margin <= 1:
            raise InvalidArgument(f"margin: expected -1 to 1, got {self.margin}")


class MarginRankingLoss(Loss, of=losses.margin_ranking_loss, inputs=3):
    """max(0, -label (input - other) + margin)."""


class MultiLabelMarginLoss(Loss, of=losses.multi_label_margin_loss):
    """Margins between each target class and all other classes."""


class MultiLabelSoftMarginLoss(Loss, of=losses.multi_label_soft_margin_loss):
    """The mean over the classes of binary cross-entropies of sigmoid(input)."""


class MultiMarginLoss(Loss, of=losses.multi_margin_loss):
    """Margins between the target class and all others."""


class SoftMarginLoss(Loss, of=losses.soft_margin_loss):
    """log(1 + e^(-label input)), labels 1 and -1."""


class TripletMarginLoss(Loss, of=losses.triplet_margin_loss, inputs=3, p=2.0):
    """max(0, d(input, positive) - d(input, negative) + margin) in the p-norm."""


class TripletMarginWithDistanceLoss(Loss, of=losses.triplet_margin_with_distance_loss, inputs=3):
    """TripletMarginLoss with a user-defined distance function."""


class RNNTLoss(Loss, of=transducer.rnnt_loss, inputs=4):
    """The transducer's loss (Graves, 2012)."""


class HSigmoidLoss(Layer):
    """Hierarchical sigmoid (Morin and Bengio, 2005) with its weight [nodes, feature_size] and bias [nodes,
    1].

    is_custom: forward is given path_table and path_code of a custom tree, with num_classes nodes.
    """

    def __init__(
        self,
        feature_size: int,
        num_classes: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        is_custom: bool = False,
        is_sparse: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if num_classes < 2 and not is_custom:
            raise InvalidArgument(f"num_classes: expected 2 or more, got {num_classes}")
        nodes = num_classes if is_custom else num_classes - 1
        self._num_classes, self._feature_size = num_classes, feature_size
        self._is_custom, self._is_sparse, self._name = is_custom, is_sparse, name
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self.weight = self.create_parameter([nodes, feature_size], weight_attr)
        self.bias = self.create_parameter([nodes, 1], bias_attr, is_bias=True)

    def forward(self, input: Any, label: Any, path_table: Any = None, path_code: Any = None) -> Any:
        return losses.hsigmoid_loss(
            input, label, self._num_classes, self.weight, self.bias, path_table, path_code
        )


class AdaptiveLogSoftmaxWithLoss(Layer):
    """Softmax over very many classes, most frequent first, the rare ones in clusters (Grave et al., 2017).

    cutoffs: where the clusters begin. div_value: the factor by which the projection of each cluster is
    smaller than that of the previous one. forward gives (log probability of each label, loss).
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        weight_attr: Any = None,
        bias_attr: Any = None,
        div_value: float = 4.0,
        head_bias: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        ends = list(cutoffs)
        if not ends or ends != sorted({int(c) for c in ends}) or ends[0] <= 0 or ends[-1] > n_classes - 1:
            raise InvalidArgument(
                f"cutoffs: expected increasing ints from 1 to {n_classes - 1}, got {cutoffs}"
            )
        self.cutoffs, self.shortlist_size, self.n_clusters = [*ends, n_classes], ends[0], len(ends)
        self.in_features, self.n_classes, self.div_value = in_features, n_classes, div_value
        self.is_head_bias, self.head_size = head_bias, self.shortlist_size + self.n_clusters
        self.head_weight = self.create_parameter([in_features, self.head_size], weight_attr)
        self.head_bias = (
            self.create_parameter([self.head_size], bias_attr, is_bias=True) if head_bias else None
        )
        self.tail_weights = []
        for i, (start, stop) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False), 1):
            width = int(in_features // div_value**i)
            shapes = ([in_features, width], [width, stop - start])
            self.tail_weights.append([self.create_parameter(shape, weight_attr) for shape in shapes])
            for part, weight in enumerate(self.tail_weights[-1]):
                self.add_parameter(f"tail_{i - 1}_{part}", weight)

    def forward(self, input: Any, label: Any) -> Any:
        return losses.adaptive_log_softmax_with_loss(
            input, label, self.head_weight, self.tail_weights, self.cutoffs, self.head_bias
        )

    def log_prob(self, input: Any) -> Any:
        """[batch, n_classes]: the log probability of every class."""
        head = F.log_softmax(F.linear(input, self.head_weight, self.head_bias), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, (first, second) in enumerate(self.tail_weights):
            own = F.log_softmax(F.linear(F.linear(input, first), second), 1)
            parts.append(own + head[:, self.shortlist_size + i].unsqueeze(1))
        return concat(parts, 1)

    def predict(self, input: Any) -> Any:
        """[batch]: the most probable class."""
        return self.log_prob(input).argmax(axis=1)
