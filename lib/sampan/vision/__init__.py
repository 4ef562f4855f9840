"""Images: networks and transforms. Detection operators and Paddle's data sets are in `names`, imported at
first use."""

import functools
from typing import TYPE_CHECKING

from .. import lazy
from . import models as models
from . import transforms as transforms
from .image import *
from .models import *
from .transforms.functional import *
from .transforms.transforms import *

if TYPE_CHECKING:  # at run time by the table of `sampan.lazy`
    from ..names import vision_datasets, vision_ops
    from ..names.vision_datasets import *

    datasets = vision_datasets
    ops = vision_ops

__getattr__ = functools.partial(lazy.find, __name__)
__dir__ = functools.partial(lazy.names_of, __name__)
