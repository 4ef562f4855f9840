"""Images: networks, transforms, operators of detection, data sets."""

from . import models as models
from . import ops as ops
