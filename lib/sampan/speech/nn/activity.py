"""Whether a frame is speech, by a small recurrent network that sees the past alone.

Shapes: features [batch, time, bins] to logits [batch, time].
Source: Hughes and Mierle, Recurrent neural networks for voice activity detection, 2013; Cho et al., 2014
(GRU).
"""

from typing import Any

from ... import nn
from ...engine.tensor import Tensor
from ...nn import functional as F
from .subsampling import _check_features

__all__ = ["ActivityNet"]


class ActivityNet(nn.Layer):
    """A linear layer, one GRU of `hidden` states, and a linear layer to one logit for each frame.

    forward(features, states): features [batch, time, input_size]; states: [1, batch, hidden] that an earlier
    call returned, or None at the beginning. Returns logits [batch, time] and the states.
    """

    def __init__(self, input_size: int = 40, hidden: int = 32) -> None:
        super().__init__()
        self.input_size = input_size
        self.entrance = nn.Linear(input_size, hidden)
        self.rnn = nn.GRU(hidden, hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, features: Any, states: Any = None) -> tuple[Tensor, Tensor]:
        _check_features(features, None, self.input_size, self.head.weight)
        x, states = self.rnn(F.relu(self.entrance(features)), states)
        return self.head(x).squeeze(-1), states
