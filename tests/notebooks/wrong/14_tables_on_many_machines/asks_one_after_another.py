"""A request for each shard: each waits for the one before."""

import numpy as np

from sampan import learn
from sampan.distributed.parameter_server import client


@learn.exercise("distributed.parameter_server.client.Client.pull")
def pull(self, name, ids, train=True):
    shards, dim = self.transport.parts, self.tables[name].dim
    different, inverse = np.unique(ids, return_inverse=True)
    order, bounds = client.divided(different, shards)
    rows = np.empty((len(different), dim), np.float32)
    for shard in range(shards):
        places = order[bounds[shard] : bounds[shard + 1]]
        if len(places):
            call = shard, "pull", (name, different[places], self.step, train)
            rows[places] = self.transport.request([call])[0]["rows"]
    return rows[inverse]
