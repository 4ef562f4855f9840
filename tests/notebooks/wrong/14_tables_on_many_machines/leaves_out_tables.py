"""A table without gradients gets no message: its step is missing."""

import numpy as np

from sampan import learn
from sampan.distributed.parameter_server import client


@learn.exercise("distributed.parameter_server.client.Client.push")
def push(self, gradients):
    shards, calls = self.transport.parts, []
    for name, (ids, rows, rate) in gradients.items():
        settings = self.tables[name]
        different, inverse = np.unique(ids, return_inverse=True)
        sums = np.zeros((len(different), settings.dim), np.float32)
        np.add.at(sums, inverse, rows)
        order, bounds = client.divided(different, shards)
        for shard in range(shards):
            places = order[bounds[shard] : bounds[shard + 1]]
            given = name, different[places], sums[places], rate, self.worker, self.step
            calls.append((shard, "push", given))
    self.transport.request(calls)
    self.step += 1
