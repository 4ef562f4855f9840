"""Operators under the names that Paddle has in `nn.functional`."""

from ..ops.activation import gelu as gelu
from ..ops.activation import log_softmax as log_softmax
from ..ops.activation import relu as relu
from ..ops.activation import sigmoid as sigmoid
from ..ops.activation import softmax as softmax
from ..ops.activation import tanh as tanh
from ..ops.convolution import conv2d as conv2d
from ..ops.linear import linear as linear
from ..ops.loss import cross_entropy as cross_entropy
from ..ops.loss import mse_loss as mse_loss
from ..ops.loss import nll_loss as nll_loss
from ..ops.normalization import batch_norm as batch_norm
from ..ops.normalization import layer_norm as layer_norm
from ..ops.pooling import adaptive_avg_pool2d as adaptive_avg_pool2d
from ..ops.pooling import avg_pool2d as avg_pool2d
from ..ops.pooling import max_pool2d as max_pool2d
from ..ops.regularization import dropout as dropout
