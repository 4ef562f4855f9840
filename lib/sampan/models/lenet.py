"""LeNet (LeCun et al. 1998), with ReLU and max pooling in place of sigmoid and average pooling."""

from typing import Any

from .. import nn
from ..engine.tensor import InvalidArgument


class LeNet(nn.Layer):
    """Two convolutions with pooling, then three linear layers.

    forward: [batch, 1, image_size, image_size] to logits [batch, num_classes]. image_size: at least 4; below
    12 the second convolution is 3x3 with padding, because a 5x5 window would not fit.
    """

    def __init__(self, num_classes: int = 10, image_size: int = 28) -> None:
        super().__init__()
        if image_size < 4:
            raise InvalidArgument(f"image_size: expected at least 4, got {image_size}")
        small = image_size < 12
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 3, padding=1),  # [batch, 6, H, W]
            nn.ReLU(),
            nn.MaxPool2D(2, 2),  # [batch, 6, H/2, W/2]
            nn.Conv2D(6, 16, 3, padding=1) if small else nn.Conv2D(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),  # [batch, 16, 5, 5] for 28x28
        )
        side = image_size // 2 // 2 if small else (image_size // 2 - 4) // 2
        hidden = [nn.Flatten(), nn.Linear(16 * side * side, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU()]
        self.fc = nn.Sequential(*hidden, nn.Linear(84, num_classes))

    def forward(self, x: Any) -> Any:
        return self.fc(self.features(x))
