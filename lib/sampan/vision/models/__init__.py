"""Paddle's image networks, one file for each family. Parameter names are Paddle's, so its .pdparams files
load."""

from .alexnet import *
from .densenet import *
from .googlenet import *
from .inceptionv3 import *
from .lenet import *
from .mobilenet import *
from .resnet import *
from .shufflenetv2 import *
from .squeezenet import *
from .vgg import *
