"""The logarithm of a probability that has become 0 is infinite."""

from sampan import learn


def shares(z):
    z = (z - z.max(-1, keepdim=True)).exp()
    return z / z.sum(-1, keepdim=True)


@learn.exercise("slim.distill.tempered")
def tempered(student, teacher, T):
    q = shares(teacher.detach() / T)
    return -(q * shares(student / T).log()).sum(-1).mean() * T**2
