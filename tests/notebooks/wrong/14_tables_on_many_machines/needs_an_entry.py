"""A worker without an entry raises KeyError."""

from sampan import learn


@learn.exercise("distributed.parameter_server.turns.Turns.is_known")
def is_known(self, worker, step):
    return step <= self.applied[worker]
