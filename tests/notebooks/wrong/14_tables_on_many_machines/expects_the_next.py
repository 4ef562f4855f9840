"""Only the next step is new: after a step that is missing nothing counts."""

from sampan import learn


@learn.exercise("distributed.parameter_server.turns.Turns.is_known")
def is_known(self, worker, step):
    return step != self.applied.get(worker, 0) + 1
