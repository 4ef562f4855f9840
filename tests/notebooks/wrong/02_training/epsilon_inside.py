"""It adds epsilon under the square root."""

from sampan import learn


@learn.exercise("kernels.adam_step")
def adam_step(parameters, gradients, moments, variances, lr, beta1, beta2, epsilon, step):
    for p, g, m, v in zip(parameters, gradients, moments, variances, strict=True):
        m.mul_(beta1).add_(g, alpha=1 - beta1)
        v.mul_(beta2).add_(g * g, alpha=1 - beta2)
        p.sub_(lr * (m / (1 - beta1**step)) / (v / (1 - beta2**step) + epsilon).sqrt())
