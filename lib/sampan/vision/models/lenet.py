"""LeNet (LeCun et al. 1998) with Paddle's layers: no activations between the linear layers."""

from typing import Any

from ... import nn

__all__ = ["LeNet"]


class LeNet(nn.Layer):
    """[batch, 1, 28, 28] to [batch, num_classes]."""

    def __init__(self, num_classes=10):
        super().__init__()
        self.num_classes = num_classes
        first = [nn.Conv2D(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2, 2)]
        self.features = nn.Sequential(*first, nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2, 2))
        if num_classes > 0:
            self.fc = nn.Sequential(nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, num_classes))

    def forward(self, inputs: Any) -> Any:
        x = self.features(inputs)
        return self.fc(x.flatten(1)) if self.num_classes > 0 else x
