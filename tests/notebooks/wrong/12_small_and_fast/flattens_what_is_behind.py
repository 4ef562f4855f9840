"""Filters are flattened and columns are not: right for axis 0 and for matrices, wrong for a transposed convolution."""

from sampan import learn


@learn.exercise("quantization.observers.AbsMaxChannelWiseWeightObserverLayer._observe")
def observe(self, data):
    self._max = data.abs().flatten(1).amax(1) if self._axis == 0 else data.abs().amax(0)
