"""The step is noted when it is asked for: a push that is refused then is lost."""

from sampan import learn


@learn.exercise("distributed.parameter_server.turns.Turns.is_known")
def is_known(self, worker, step):
    known = step <= self.applied.get(worker, 0)
    if not known:
        self.applied[worker] = step
    return known
