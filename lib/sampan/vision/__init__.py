"""Images: networks, transforms. Operators of detection and data sets are in `names`, and found there when
they are first named."""

import functools
from typing import TYPE_CHECKING

from .. import lazy
from . import models as models
from . import transforms as transforms
from .image import *  # noqa: F403
from .models import *  # noqa: F403
from .transforms.functional import *  # noqa: F403
from .transforms.transforms import *  # noqa: F403

if TYPE_CHECKING:  # at run time by the table of `sampan.lazy`
    from ..names import vision_datasets, vision_ops
    from ..names.vision_datasets import *  # noqa: F403

    datasets = vision_datasets
    ops = vision_ops

__getattr__ = functools.partial(lazy.find, __name__)
__dir__ = functools.partial(lazy.names_of, __name__)
