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
from .convolution import conv2d as conv2d
from .loss import cross_entropy as cross_entropy
from .loss import l1_loss as l1_loss
from .loss import mse_loss as mse_loss
from .loss import nll_loss as nll_loss
from .normalization import batch_norm as batch_norm
from .normalization import layer_norm as layer_norm
from .pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from .pooling import avg_pool2d as avg_pool2d
from .pooling import max_pool2d as max_pool2d
from .regularization import dropout as dropout
