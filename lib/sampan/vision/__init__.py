"""Images: networks, transforms, operators of detection, data sets."""

from . import datasets as datasets
from . import models as models
from . import ops as ops
from . import transforms as transforms
from .datasets import *  # noqa: F403
from .image import *  # noqa: F403
from .models import *  # noqa: F403
from .transforms.functional import *  # noqa: F403
from .transforms.transforms import *  # noqa: F403
