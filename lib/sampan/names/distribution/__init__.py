"""Probability distributions: drawn from, scored, compared and transformed, with gradients for their
parameters.

p = Normal(loc=mean, scale=spread)
x = p.rsample([16])                    # [16, *batch_shape], a function of mean and spread
loss = -p.log_prob(target).mean() + kl_divergence(p, Normal(0.0, 1.0)).mean()
"""

from . import constraint as constraint
from . import variable as variable
from .continuous import *
from .discrete import *
from .distribution import *
from .multivariate import *
from .transform import *
