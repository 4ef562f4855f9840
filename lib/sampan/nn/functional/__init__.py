"""Operators under the names that Paddle has in `nn.functional`."""

from ...ops.activation import gelu as gelu
from ...ops.activation import leaky_relu as leaky_relu
from ...ops.activation import log_softmax as log_softmax
from ...ops.activation import relu as relu
from ...ops.activation import relu6 as relu6
from ...ops.activation import silu as silu
from ...ops.activation import softmax as softmax
from ...ops.activation import softplus as softplus
from ...ops.elementwise import sigmoid as sigmoid
from ...ops.elementwise import tanh as tanh
from ...ops.indexing import one_hot as one_hot
from ...ops.linalg import linear as linear
from .convolution import *  # noqa: F403
from .loss import *  # noqa: F403
from .normalization import *  # noqa: F403
from .pooling import *  # noqa: F403
from .regularization import *  # noqa: F403
