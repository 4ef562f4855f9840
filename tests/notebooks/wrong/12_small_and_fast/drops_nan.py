"""A NaN disappears from its channel: the broken weight is quantised as if nothing were wrong."""

import torch

from sampan import learn


@learn.exercise("quantization.observers.AbsMaxChannelWiseWeightObserverLayer._observe")
def observe(self, data):
    others = [a for a in range(data.ndim) if a != self._axis]
    self._max = torch.nan_to_num(data).abs().amax(others)
