"""Activations as layers."""

from typing import Any

from ..engine.tensor import InvalidArgument, Tensor
from . import functional as F
from .function_layer import FunctionLayer
from .initializer import Constant
from .layer import Layer, alias

# fmt: off
__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Maxout", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid",
    "Silu", "Softmax", "Softmax2D", "Softplus", "Softshrink", "Softsign", "Swish", "Tanh", "Tanhshrink",
    "ThresholdedReLU",
]
# fmt: on


class _Activation(FunctionLayer, private="*"):
    """An activation whose settings are also read and assigned by Paddle's private names, `_alpha` for
    `alpha`."""


class CELU(_Activation, of=F.celu):
    """max(0, x) + min(0, alpha (e^(x / alpha) - 1)) (Barron, 2017)."""


class ELU(_Activation, of=F.elu):
    """x where positive, alpha (e^x - 1) elsewhere (Clevert et al., 2016)."""


class GELU(_Activation, of=F.gelu):
    """x times the normal distribution function of x; with approximate=True its tanh form (Hendrycks, Gimpel
    2016)."""


class GLU(_Activation, of=F.glu):
    """a sigmoid(b) for the halves a and b of x along an axis (Dauphin et al., 2017)."""


class Hardshrink(_Activation, of=F.hardshrink):
    """x where |x| > threshold, 0 elsewhere."""


class Hardsigmoid(FunctionLayer, of=F.hardsigmoid, takes="name"):
    """x / 6 + 1 / 2, held between 0 and 1."""


class Hardswish(_Activation, of=F.hardswish):
    """x relu6(x + 3) / 6 (Howard et al., 2019)."""


class Hardtanh(_Activation, of=F.hardtanh):
    """x held between min and max."""


class LeakyReLU(_Activation, of=F.leaky_relu):
    """x where positive, negative_slope x elsewhere."""


class LogSigmoid(_Activation, of=F.log_sigmoid):
    """-log(1 + e^-x)."""


class LogSoftmax(_Activation, of=F.log_softmax, takes="axis name"):
    """log(softmax(x)) along an axis, without overflow."""


class Maxout(_Activation, of=F.maxout):
    """The largest of each `groups` neighbours along an axis (Goodfellow et al., 2013)."""


class Mish(_Activation, of=F.mish):
    """x tanh(softplus(x)) (Misra, 2019)."""


class RReLU(_Activation, of=F.rrelu, shows="lower upper training dtype:_dtype_name name?"):
    """x where positive; elsewhere times a number drawn between lower and upper, outside training their
    mean."""


class ReLU(_Activation, of=F.relu):
    """max(x, 0)."""


class ReLU6(_Activation, of=F.relu6):
    """x held between 0 and 6."""


class SELU(_Activation, of=F.selu):
    """scale times elu(x, alpha), which keeps mean 0 and variance 1 (Klambauer et al., 2017)."""


class Sigmoid(FunctionLayer, of=F.sigmoid):
    """1 / (1 + exp(-x))."""


class Silu(_Activation, of=F.silu):
    """x sigmoid(x) (Elfwing et al., 2018)."""


class Softmax(_Activation, of=F.softmax, takes="axis name"):
    """exp(x) / sum(exp(x)) along an axis."""


class Softplus(_Activation, of=F.softplus):
    """log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold."""


class Softshrink(_Activation, of=F.softshrink):
    """x nearer to 0 by threshold, 0 where |x| is below it."""


class Softsign(_Activation, of=F.softsign):
    """x / (1 + |x|)."""


class Swish(_Activation, of=F.swish):
    """x sigmoid(x) (Ramachandran et al., 2017)."""


class Tanh(_Activation, of=F.tanh):
    """tanh(x)."""


class Tanhshrink(_Activation, of=F.tanhshrink):
    """x - tanh(x)."""


class ThresholdedReLU(_Activation, of=F.thresholded_relu):
    """x where it is above the threshold, value elsewhere."""


class Softmax2D(_Activation, of=F.softmax, takes="name", axis=-3):
    """Softmax over the channels of an image [batch, channels, height, width] or [channels, height, width]."""

    def forward(self, x: Any) -> Tensor:
        if x.ndim not in (3, 4):
            raise InvalidArgument(f"Softmax2D: expected x with 3 or 4 axes, got shape {[*x.shape]}")
        return super().forward(x)


class PReLU(Layer):
    """x where positive, elsewhere x times a learned weight: one, or one for each channel (He et al.,
    2015)."""

    _name = alias("name")
    _shows = "num_parameters:_num_parameters data_format:_data_format init:_init dtype:_dtype_name name?"

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._num_parameters, self._init, self._data_format = num_parameters, init, data_format
        self.name, self._weight_attr, start = name, weight_attr, Constant(init)
        self._weight = self.create_parameter([num_parameters], weight_attr, default_initializer=start)

    def forward(self, x: Any) -> Tensor:
        return F.prelu(x, self._weight, self._data_format)


SiLU = Silu
