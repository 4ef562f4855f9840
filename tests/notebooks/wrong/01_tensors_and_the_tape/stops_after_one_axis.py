"""It sums the first axis of length 1 and forgets the others."""

from sampan import learn


@learn.exercise("autograd.unbroadcast")
def unbroadcast(gradient, shape):
    while gradient.ndim > len(shape):
        gradient = gradient.sum(axis=0)
    for axis, length in enumerate(shape):
        if length == 1:
            return gradient.sum(axis=axis, keepdim=True)
    return gradient
