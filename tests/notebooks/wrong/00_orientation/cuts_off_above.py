"""It is relu6: large numbers are cut off too."""

from sampan import learn


@learn.exercise("ops.relu")
def relu(x):
    out = x.clamp(min=0, max=6)
    return out, lambda g: g * (out > 0)
