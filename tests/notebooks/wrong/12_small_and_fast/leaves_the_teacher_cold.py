"""Only the student's logits are divided by T."""

from sampan import learn


def logs(z):
    z = z - z.max(-1, keepdim=True)
    return z - z.exp().sum(-1, keepdim=True).log()


@learn.exercise("slim.distill.tempered")
def tempered(student, teacher, T):
    q = logs(teacher.detach()).exp()
    return -(q * logs(student / T)).sum(-1).mean() * T**2
