"""It gives the local derivative and drops the gradient that arrives."""

from sampan import learn


@learn.exercise("ops.multiply")
def multiply(x, y):
    return x * y, lambda g: (y, x)
