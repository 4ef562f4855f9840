"""Paddle's image networks, one family a file, with the same names of parameters: its .pdparams files load."""

from .alexnet import *  # noqa: F403
from .densenet import *  # noqa: F403
from .googlenet import *  # noqa: F403
from .inceptionv3 import *  # noqa: F403
from .lenet import *  # noqa: F403
from .mobilenet import *  # noqa: F403
from .resnet import *  # noqa: F403
from .shufflenetv2 import *  # noqa: F403
from .squeezenet import *  # noqa: F403
from .vgg import *  # noqa: F403
