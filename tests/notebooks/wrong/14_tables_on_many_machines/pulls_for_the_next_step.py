"""The pull belongs to the next step: a shard waits for a push that comes later."""

import numpy as np

from sampan import learn
from sampan.distributed.parameter_server import client


@learn.exercise("distributed.parameter_server.client.Client.pull")
def pull(self, name, ids, train=True):
    shards, dim = self.transport.parts, self.tables[name].dim
    different, inverse = np.unique(ids, return_inverse=True)
    order, bounds = client.divided(different, shards)
    rows = np.empty((len(different), dim), np.float32)
    parts = [order[bounds[shard] : bounds[shard + 1]] for shard in range(shards)]
    calls = [
        (s, "pull", (name, different[places], self.step + 1, train))
        for s, places in enumerate(parts)
        if len(places)
    ]
    for (shard, _, _), answer in zip(calls, self.transport.request(calls), strict=True):
        rows[parts[shard]] = answer["rows"]
    return rows[inverse]
