"""Who speaks: an embedding of a recording whose angle to another one tells speakers apart.

Shapes: features [batch, time, bins] to embeddings [batch, width].
Source: Desplanques, Thienpondt and Demuynck, ECAPA-TDNN, 2020; Okabe et al., Attentive statistics pooling for
deep speaker embedding, 2018; Deng et al., ArcFace, 2019 (the loss).
"""

from typing import Any

import torch

from ... import nn
from ...engine.tensor import InvalidArgument, Tensor
from ...nn import functional as F
from ...ops import concat
from .keyword import _there
from .subsampling import _check_features

__all__ = ["AngularMargin", "AttentiveStatistics", "SpeakerEncoder"]

MASKED = -1e9  # a score whose softmax is 0


class AttentiveStatistics(nn.Layer):
    """The mean and deviation of each channel over time, each frame with a weight of its own in each channel.

    forward(x, mask): x [batch, channels, time]; mask [batch, 1, time], 0 in padding. The weights are the
    softmax over time of a two-layer network that also sees the plain mean and deviation of the recording.
    Returns [batch, 2 * channels].
    """

    def __init__(self, channels: int, hidden: int = 32) -> None:
        super().__init__()
        self.inner = nn.Conv1D(3 * channels, hidden, 1)
        self.outer = nn.Conv1D(hidden, channels, 1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        mean, deviation = _statistics(x, mask / mask.sum(2, keepdim=True))
        context = concat([x, mean.expand_as(x), deviation.expand_as(x)], 1)
        scores = self.outer(F.tanh(self.inner(context))) + (1 - mask) * MASKED
        mean, deviation = _statistics(x, F.softmax(scores, 2))
        return concat([mean, deviation], 1).squeeze(2)


def _statistics(x: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted mean and deviation over time, [batch, channels, 1]."""
    mean = (x * weights).sum(2, keepdim=True)
    return mean, ((x - mean) ** 2 * weights).sum(2, keepdim=True).clip(min=1e-6).sqrt()


class _Res2Block(nn.Layer):
    """x + squeeze-excitation of a 1x1 convolution, a dilated one in `scale` groups, and another 1x1 one.

    Each group but the first is added to the result of the one before, so that groups see ever more frames.
    """

    def __init__(self, channels: int, dilation: int, scale: int = 4) -> None:
        super().__init__()
        self.size = channels // scale
        self.first, self.last = nn.Conv1D(channels, channels, 1), nn.Conv1D(channels, channels, 1)
        self.first_norm, self.last_norm = nn.BatchNorm1D(channels), nn.BatchNorm1D(channels)
        self.groups = nn.LayerList(
            [
                nn.Conv1D(self.size, self.size, 3, padding=dilation, dilation=dilation)
                for _ in range(scale - 1)
            ]
        )
        self.norms = nn.LayerList([nn.BatchNorm1D(self.size) for _ in range(scale - 1)])
        self.squeeze, self.excite = (
            nn.Conv1D(channels, channels // 4, 1),
            nn.Conv1D(channels // 4, channels, 1),
        )

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        y = self.first_norm(F.relu(self.first(x))) * mask
        parts = [y[:, : self.size]]
        for n, (group, norm) in enumerate(zip(self.groups, self.norms, strict=True), 1):
            part = y[:, n * self.size : (n + 1) * self.size]
            parts.append(norm(F.relu(group(part if n == 1 else part + parts[-1]))) * mask)
        y = self.last_norm(F.relu(self.last(concat(parts, 1)))) * mask
        mean = y.sum(2, keepdim=True) / mask.sum(2, keepdim=True)
        return x + y * F.sigmoid(self.excite(F.relu(self.squeeze(mean))))


class SpeakerEncoder(nn.Layer):
    """A small ECAPA-TDNN: a convolution, three blocks of dilation 2, 3, 4, attentive statistics, a linear
    layer.

    channels: of the blocks, a multiple of 4. width: of the embedding. The mean of each bin over the recording
    is subtracted first, and with it the colour of the microphone. Padding changes nothing.
    forward(features, lengths) returns embeddings [batch, width] of length 1.
    """

    def __init__(self, input_size: int = 40, channels: int = 64, width: int = 64) -> None:
        super().__init__()
        if channels % 4:
            raise InvalidArgument(f"channels: expected a multiple of 4, got {channels}")
        self.input_size, self.channels, self.width = input_size, channels, width
        self.entrance = nn.Conv1D(input_size, channels, 5, padding=2)
        self.norm = nn.BatchNorm1D(channels)
        self.blocks = nn.LayerList([_Res2Block(channels, dilation) for dilation in (2, 3, 4)])
        self.join = nn.Conv1D(3 * channels, 2 * channels, 1)
        self.pool = AttentiveStatistics(2 * channels)
        self.pool_norm = nn.BatchNorm1D(4 * channels)
        self.linear = nn.Linear(4 * channels, width)

    def forward(self, features: Any, lengths: Any = None) -> Tensor:
        lengths = _check_features(features, lengths, self.input_size, self.linear.weight, 1)
        mask = _there(lengths, features.shape[1], features)
        x = features.clip(min=-3.0).transpose([0, 2, 1]) * mask
        x = (x - x.sum(2, keepdim=True) / mask.sum(2, keepdim=True)) * mask
        x = self.norm(F.relu(self.entrance(x))) * mask
        found = []
        for block in self.blocks:
            x = block(x, mask)
            found.append(x)
        pooled = self.pool(F.relu(self.join(concat(found, 1))) * mask, mask)
        return F.normalize(self.linear(self.pool_norm(pooled)), axis=1)


class AngularMargin(nn.Layer):
    """The additive angular margin loss over the speakers of the training (ArcFace, AAM-softmax).

    Each speaker has a direction; the logit is scale * cos(angle), and scale * cos(angle + margin) for the
    right speaker, whose embeddings so must be nearer by the margin, in radians. forward(embeddings [batch,
    width], speakers int64 [batch]) returns the mean cross-entropy. Beyond pi - margin the logit is
    scale * (cos(angle) - margin * sin(margin)), so that it falls with the angle everywhere.
    Source: Deng et al., 2019, equation 3, and its published code for large angles.
    """

    def __init__(self, width: int, speakers: int, margin: float = 0.2, scale: float = 30.0) -> None:
        super().__init__()
        self.speakers, self.margin, self.scale = speakers, margin, scale
        self.turn = float(torch.tensor(margin).cos()), float(torch.tensor(margin).sin())
        self.weight = self.create_parameter([speakers, width])

    def forward(self, embeddings: Any, speakers: Any) -> Tensor:
        cosine = F.normalize(embeddings, axis=1) @ F.normalize(self.weight, axis=1).T
        hot = F.one_hot(speakers, self.speakers)
        inner = cosine.clip(-1 + 1e-6, 1 - 1e-6)
        cos, sin = self.turn
        moved = inner * cos - (1 - inner * inner).sqrt() * sin  # cos(angle + margin)
        near = (inner > -cos).astype(inner.dtype)
        moved = moved * near + (inner - self.margin * sin) * (1 - near)
        return F.cross_entropy((cosine + hot * (moved - cosine)) * self.scale, speakers)
