"""Only the last step is known: a retry that comes late counts again."""

from sampan import learn


@learn.exercise("distributed.parameter_server.turns.Turns.is_known")
def is_known(self, worker, step):
    return step == self.applied.get(worker, 0)
