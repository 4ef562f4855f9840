"""A word from sound and from the mouth: one branch for each, and what both say in every video frame.

Shapes: sound [batch, 4 * time, bins], 100 frames in a second; mouths [batch, time, size, size], 25 in a
second (`mouth_region`); logits [batch, classes].
Source: Petridis et al., End-to-end audiovisual speech recognition, 2018 (branches joined by concatenation).
"""

from typing import Any

from ... import nn
from ...engine.tensor import InvalidArgument, Tensor
from ...nn import functional as F
from ...ops import concat
from .keyword import LEAST, _SeparableBlock, _there
from .masks import checked_lengths

__all__ = ["AudioVisualNet", "MouthEncoder", "SoundEncoder"]

PER_FRAME = 4  # frames of sound in one of the video


class MouthEncoder(nn.Layer):
    """Mouths [batch, time, size, size] to [batch, width, time]: two convolutions with stride 2 in each
    frame."""

    def __init__(self, size: int = 16, width: int = 64) -> None:
        super().__init__()
        self.size = size
        self.conv1 = nn.Conv2D(1, 8, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2D(8, 16, 3, stride=2, padding=1)
        self.linear = nn.Linear(16 * ((size + 3) // 4) ** 2, width)

    def forward(self, mouths: Tensor) -> Tensor:
        batch, time, height, _ = mouths.shape
        if mouths.shape[2:] != [self.size, self.size]:
            raise InvalidArgument(
                f"mouths: expected [batch, time, {self.size}, {self.size}], got {[*mouths.shape]}"
            )
        x = mouths.reshape([batch * time, 1, height, height])
        x = self.linear(F.relu(self.conv2(F.relu(self.conv1(x)))).flatten(1))
        return F.relu(x).reshape([batch, time, -1]).transpose([0, 2, 1])


class SoundEncoder(nn.Layer):
    """Features [batch, 4 * time, bins] to [batch, width, time]: two convolutions along time with stride 2."""

    def __init__(self, input_size: int = 40, width: int = 64) -> None:
        super().__init__()
        self.conv1 = nn.Conv1D(input_size, width, 5, stride=2, padding=2)
        self.conv2 = nn.Conv1D(width, width, 5, stride=2, padding=2)

    def forward(self, sound: Tensor, mask: Tensor) -> Tensor:
        """mask: [batch, 1, 4 * time], 0 in padding, which then changes nothing."""
        x = sound.clip(min=LEAST).transpose([0, 2, 1]) * mask
        return F.relu(self.conv2(F.relu(self.conv1(x)) * mask[:, :, ::2]))


class AudioVisualNet(nn.Layer):
    """The branches that `uses` names ("sound", "mouth"), joined in each frame; separable convolutions; the
    mean and deviation over time; logits.

    forward(sound, mouths, lengths): lengths, ints [batch], are in video frames. A branch that is not used
    ignores what it is given.
    """

    def __init__(
        self,
        classes: int,
        uses: tuple[str, ...] = ("sound", "mouth"),
        input_size: int = 40,
        size: int = 16,
        width: int = 64,
        num_layers: int = 2,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        if not uses or set(uses) - {"sound", "mouth"}:
            raise InvalidArgument(f"uses: expected 'sound', 'mouth' or both, got {uses!r}")
        self.uses = tuple(uses)
        self.sound = SoundEncoder(input_size, width) if "sound" in uses else None
        self.mouth = MouthEncoder(size, width) if "mouth" in uses else None
        self.join = nn.Conv1D(width * len(set(uses)), width, 1, bias_attr=False)
        self.norm = nn.BatchNorm1D(width)
        self.blocks = nn.LayerList([_SeparableBlock(width, 5) for _ in range(num_layers)])
        self.dropout, self.head = nn.Dropout(dropout), nn.Linear(2 * width, classes)

    def forward(self, sound: Any, mouths: Any, lengths: Any = None) -> Tensor:
        batch, time = mouths.shape[:2]
        if sound.shape[1] != PER_FRAME * time:
            raise InvalidArgument(
                f"sound: expected {PER_FRAME * time} frames for {time} of the mouths, got {sound.shape[1]}"
            )
        lengths = checked_lengths(lengths, batch, time)
        mask = _there(lengths, time, mouths)
        branches = []
        if self.sound is not None:
            there = _there(lengths * PER_FRAME, time * PER_FRAME, mouths)
            branches.append(self.sound(sound, there) * mask)
        if self.mouth is not None:
            branches.append(self.mouth(mouths) * mask)
        x = F.relu(self.norm(self.join(concat(branches, 1)))) * mask
        for block in self.blocks:
            x = block(x, mask)
        count = lengths.unsqueeze(1).clip(min=1).astype(mouths.dtype).to(mouths.place)
        mean = x.sum(2) / count
        deviation = ((x * x).sum(2) / count - mean * mean).clip(min=1e-6).sqrt()
        return self.head(self.dropout(concat([mean, deviation], 1)))
