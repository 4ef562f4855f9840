"""Layers, losses, initializers and gradient clipping.

Losses with margins and beam search are in `names`, and found when they are first named.
"""

# ruff: noqa: F405 - `__all__` lists what the stars bring

from typing import TYPE_CHECKING

from . import functional as functional
from . import initializer as initializer
from . import utils as utils
from .activation import *
from .attr import *
from .clip import *
from .common import *
from .container import *
from .conv import *
from .dropout import *
from .layer import *
from .linear import *
from .loss import *
from .norm import *
from .parameter import *
from .pooling import *
from .rnn import *
from .transformer import *

if TYPE_CHECKING:  # at run time by the table of `sampan.lazy`
    from ..names.decode import *
    from ..names.loss_layers import *

# What Paddle's `nn` lists; programs read it to look up layers by name.
# fmt: off
__all__ = [
    "CELU", "ELU", "GELU", "GLU", "GRU", "LSTM", "RNN", "SELU", "AdaptiveAvgPool1D", "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D", "AdaptiveLogSoftmaxWithLoss", "AdaptiveMaxPool1D", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2D", "AdaptiveMaxPool2d", "AdaptiveMaxPool3D", "AdaptiveMaxPool3d", "AlphaDropout",
    "AvgPool1D", "AvgPool2D", "AvgPool3D", "BCELoss", "BCEWithLogitsLoss", "BatchNorm", "BatchNorm1D",
    "BatchNorm2D", "BatchNorm3D", "BeamSearchDecoder", "BiRNN", "Bilinear", "CTCLoss", "ChannelShuffle",
    "CircularPad1D", "CircularPad1d", "CircularPad2D", "CircularPad2d", "CircularPad3D", "CircularPad3d",
    "ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue", "ConstantPad1D", "ConstantPad1d",
    "ConstantPad2D", "ConstantPad2d", "ConstantPad3D", "ConstantPad3d", "Conv1D", "Conv1DTranspose",
    "Conv1d", "Conv2D", "Conv2DTranspose", "Conv2d", "Conv3D", "Conv3DTranspose", "Conv3d",
    "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "Dropout", "Dropout2D", "Dropout3D",
    "Embedding", "FeatureAlphaDropout", "Flatten", "Fold", "FractionalMaxPool2D", "FractionalMaxPool3D",
    "GRUCell", "GaussianNLLLoss", "GroupNorm", "HSigmoidLoss", "Hardshrink", "Hardsigmoid", "Hardswish",
    "Hardtanh", "HingeEmbeddingLoss", "Identity", "InstanceNorm1D", "InstanceNorm2D", "InstanceNorm3D",
    "KLDivLoss", "L1Loss", "LPPool1D", "LPPool1d", "LPPool2D", "LPPool2d", "LSTMCell", "Layer", "LayerDict",
    "LayerList", "LayerNorm", "LeakyReLU", "Linear", "LocalResponseNorm", "LogSigmoid", "LogSoftmax",
    "MSELoss", "MarginRankingLoss", "MaxPool1D", "MaxPool2D", "MaxPool3D", "MaxUnPool1D", "MaxUnPool2D",
    "MaxUnPool3D", "Maxout", "Mish", "Module", "ModuleDict", "ModuleList", "MultiHeadAttention",
    "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PReLU", "Pad1D",
    "Pad2D", "Pad3D", "PairwiseDistance", "Parameter", "ParameterDict", "ParameterList", "PixelShuffle",
    "PixelUnshuffle", "PoissonNLLLoss", "RNNCellBase", "RNNTLoss", "RReLU", "ReLU", "ReLU6",
    "ReflectionPad1D", "ReflectionPad1d", "ReflectionPad2D", "ReflectionPad2d", "ReflectionPad3D",
    "ReflectionPad3d", "ReplicationPad1D", "ReplicationPad1d", "ReplicationPad2D", "ReplicationPad2d",
    "ReplicationPad3D", "ReplicationPad3d", "Sequential", "SiLU", "Sigmoid", "Silu", "SimpleRNN",
    "SimpleRNNCell", "SmoothL1Loss", "SoftMarginLoss", "Softmax", "Softmax2D", "Softplus", "Softshrink",
    "Softsign", "SpectralNorm", "Swish", "SyncBatchNorm", "Tanh", "Tanhshrink", "ThresholdedReLU",
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer", "TripletMarginLoss", "TripletMarginWithDistanceLoss", "Unflatten", "Unfold",
    "Upsample", "UpsamplingBilinear2D", "UpsamplingNearest2D", "ZeroPad1D", "ZeroPad2D", "ZeroPad3D",
    "dynamic_decode",
]
# fmt: on
