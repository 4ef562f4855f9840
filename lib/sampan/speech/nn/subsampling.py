"""Four frames become one: two convolutions with stride 2 at the entrance of an encoder.

Speech features come every 10 ms, which is more often than sounds change, and attention costs the square of
the number of frames. Shapes: [batch, time, size] to [batch, ((time - 1) // 2 - 1) // 2, width].
Source: Gulati et al., Conformer, 2020, figure 1; the sizes of Dong et al., Speech-Transformer, 2018.
"""

from typing import Any

import torch

from ... import nn
from ...engine.operator import operator
from ...engine.tensor import InvalidArgument, InvalidType, Tensor
from ...nn import functional as F
from .masks import counted_frames

__all__ = ["Subsampling4"]


def _check_features(features: Any, lengths: Any, size: int, like: Any, least: int = 0) -> Tensor:
    """The checked lengths, int64 [batch], of features [batch, time, size]; `like` has the expected dtype.

    Raises InvalidArgument for another shape, an empty batch, NaN or infinite numbers, and lengths beyond
    `time`; InvalidType for another dtype.
    """
    if not isinstance(features, Tensor) or features.dtype != like.dtype:
        given = features.dtype if isinstance(features, Tensor) else type(features).__name__
        raise InvalidType(f"features: expected a Tensor of {like.dtype}, got {given}")
    if features.ndim != 3 or features.shape[2] != size:
        raise InvalidArgument(f"features: expected [batch, time, {size}], got {[*features.shape]}")
    if features.shape[0] == 0:
        raise InvalidArgument("features: expected at least one sequence, got an empty batch")
    return counted_frames(features, lengths, least)


@operator()
def subsampled(lengths):
    """The numbers of frames that Subsampling4 makes of these."""
    return (((lengths - 1) // 2 - 1) // 2).clamp(min=0)


class Subsampling4(nn.Layer):
    """ReLU(3x3 convolution, stride 2) twice over time and frequency, then a linear layer to `width`.

    Without padding: frame k of the result depends on the input frames 4 k to 4 k + 6, so that a stream needs
    no cache but those frames. input_size: at least 7. channels: of the convolutions, None: `width`.
    """

    RATE, WINDOW = 4, 7  # input frames for each further frame of the result, and for the first one

    def __init__(self, input_size: int, width: int, channels: int | None = None) -> None:
        super().__init__()
        if input_size < self.WINDOW or width < 1:
            raise InvalidArgument(
                f"input_size, width: expected at least {self.WINDOW} and 1, got {input_size} and {width}"
            )
        self.input_size = input_size
        channels = channels or width
        self.conv1 = nn.Conv2D(1, channels, 3, stride=2)
        self.conv2 = nn.Conv2D(channels, channels, 3, stride=2)
        self.linear = nn.Linear(channels * (((input_size - 1) // 2 - 1) // 2), width)

    @staticmethod
    def frames(time: Any) -> Any:
        """The number of frames after subsampling, of an int, or of a buffer or Tensor of ints."""
        if isinstance(time, Tensor | torch.Tensor):
            return subsampled(time)
        return max(((time - 1) // 2 - 1) // 2, 0)

    def forward(self, features: Any) -> Tensor:
        """[batch, time, input_size] to [batch, frames(time), width]."""
        if features.shape[1] < self.WINDOW:
            raise InvalidArgument(
                f"features: expected at least {self.WINDOW} frames, got {features.shape[1]}"
            )
        x = F.relu(self.conv2(F.relu(self.conv1(features.unsqueeze(1)))))  # [batch, channels, time, bins]
        return self.linear(x.transpose([0, 2, 1, 3]).flatten(2))
