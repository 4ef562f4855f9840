"""Sampan (舢板): a deep-learning framework small enough to read whole, with PaddlePaddle's API."""

from . import autograd as autograd
from . import kernels as kernels
from . import ops as ops
from .autograd import enable_grad as enable_grad
from .autograd import grad as grad
from .autograd import is_grad_enabled as is_grad_enabled
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .ops import *  # noqa: F403
from .tensor import Tensor as Tensor
from .tensor import to_tensor as to_tensor
