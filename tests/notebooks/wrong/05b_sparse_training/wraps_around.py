"""It asks by numbers of the flattened grid without looking at the edge: the end of a row meets the next one's beginning."""

import numpy as np

from sampan import learn


@learn.exercise("sparse.rulebook.neighbours", forbid=("scipy",))
def neighbours(places, offsets, shape):
    _, depth, height, width = shape
    b, z, y, x = places
    number = ((b * depth + z) * height + y) * width + x
    entry = {n: e for e, n in enumerate(number.tolist())}
    near = np.full((len(offsets), places.shape[1]), -1, np.int32)
    for k, (dz, dy, dx) in enumerate(offsets.tolist()):
        near[k] = [entry.get(n + (dz * height + dy) * width + dx, -1) for n in number.tolist()]
    return near
