"""It clamps in place, so the input is overwritten."""

from sampan import learn


@learn.exercise("ops.relu")
def relu(x):
    out = x.clamp_(min=0)
    return out, lambda g: g * (out > 0)
