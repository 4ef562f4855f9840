"""A small network that names a short recording: separable convolutions over time, and the mean and deviation
of what they find.

Shapes: features [batch, time, bins] to one vector for each recording, [batch, 1, width]: the head of a
`SpeechModel` then gives one distribution, in which token 0 (CTC's blank) stands for "none of the labels".
Source: Majumdar and Ginsburg, MatchboxNet: 1D time-channel separable convolutional neural network
architecture for speech commands recognition, 2020; Snyder et al., X-vectors, 2018 (statistics pooling).
"""

from typing import Any

import torch

from ... import nn
from ...creation import ones_like
from ...engine.operator import operator
from ...engine.tensor import InvalidArgument, Tensor
from ...nn import functional as F
from ...ops import concat
from .masks import _check_chunk
from .subsampling import _check_features

__all__ = ["KeywordEncoder"]

LEAST = -3.0  # normalized features are raised to this: digital silence is minus infinity but for rounding


@operator(amp="as_is")
def _there(lengths, frames, like):
    """1 for a frame of the recording, 0 in padding, [batch, 1, frames], with the dtype of `like`."""
    places = torch.arange(frames, device=like.device)
    return (places[None] < lengths[:, None].to(like.device))[:, None].to(like.dtype)


class _SeparableBlock(nn.Layer):
    """relu(x + two convolutions): each one along time in every channel, then one across channels."""

    def __init__(self, channels: int, kernel_size: int) -> None:
        super().__init__()
        along: dict[str, Any] = {"padding": kernel_size // 2, "groups": channels, "bias_attr": False}
        self.along1 = nn.Conv1D(channels, channels, kernel_size, **along)
        self.across1 = nn.Conv1D(channels, channels, 1, bias_attr=False)
        self.norm1 = nn.BatchNorm1D(channels)
        self.along2 = nn.Conv1D(channels, channels, kernel_size, **along)
        self.across2 = nn.Conv1D(channels, channels, 1, bias_attr=False)
        self.norm2 = nn.BatchNorm1D(channels)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x: [batch, channels, time]. mask: [batch, 1, time], 0 in padding."""
        y = F.relu(self.norm1(self.across1(self.along1(x)))) * mask
        return F.relu(x + self.norm2(self.across2(self.along2(y)))) * mask


class KeywordEncoder(nn.Layer):
    """Features of a recording to one vector of `width`, as an encoder of `SpeechModel`.

    input_size: bins. channels, num_layers, kernel_size (odd): of the residual blocks, which see every second
    frame. width: 2 * channels, the mean and the deviation of each channel over time. The mean of the features
    over time and bins is subtracted first, so that loudness does not matter. Padding changes nothing.
    forward(features, lengths) returns ([batch, 1, width], ones [batch]); it cannot stream (`KeywordSpotter`
    moves a window over a stream instead).
    """

    def __init__(
        self,
        input_size: int = 40,
        channels: int = 96,
        num_layers: int = 3,
        kernel_size: int = 7,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        if kernel_size % 2 == 0:
            raise InvalidArgument(f"kernel_size: expected an odd number, got {kernel_size}")
        self.input_size, self.width = input_size, 2 * channels
        self.entrance = nn.Conv1D(input_size, channels, 5, stride=2, padding=2, bias_attr=False)
        self.norm = nn.BatchNorm1D(channels)
        self.blocks = nn.LayerList([_SeparableBlock(channels, kernel_size) for _ in range(num_layers)])
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, features: Any, lengths: Any = None, chunk: int | None = None, left_chunks: int = -1
    ) -> tuple[Tensor, Tensor]:
        lengths = _check_features(features, lengths, self.input_size, self.norm.weight, 1)
        _check_chunk(chunk, left_chunks)
        frames = features.shape[1]
        mask = _there(lengths, frames, features)
        x = features.clip(min=LEAST).transpose([0, 2, 1]) * mask  # [batch, bins, time]
        count = mask.sum([1, 2], keepdim=True)
        x = (x - x.sum([1, 2], keepdim=True) / (count * self.input_size)) * mask
        mask = _there((lengths + 1) // 2, (frames + 1) // 2, features)
        count = mask.sum(2)
        x = F.relu(self.norm(self.entrance(x))) * mask
        for block in self.blocks:
            x = block(x, mask)
        mean = x.sum(2) / count
        deviation = ((x * x).sum(2) / count - mean * mean).clip(min=1e-6).sqrt()
        pooled = self.dropout(concat([mean, deviation], 1))
        return pooled.unsqueeze(1), ones_like(lengths)
