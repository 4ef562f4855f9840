"""It forgets the batch number: entries of different samples become neighbours."""

import numpy as np

from sampan import learn


@learn.exercise("sparse.rulebook.neighbours", forbid=("scipy",))
def neighbours(places, offsets, shape):
    entry = {tuple(place): e for e, place in enumerate(places[1:].T.tolist())}
    near = np.full((len(offsets), places.shape[1]), -1, np.int32)
    for k, (dz, dy, dx) in enumerate(offsets.tolist()):
        near[k] = [entry.get((z + dz, y + dy, x + dx), -1) for z, y, x in places[1:].T.tolist()]
    return near
