"""Operators under the names that Paddle has in `nn.functional`."""

from ...ops.indexing import one_hot as one_hot
from ...ops.linalg import linear as linear
from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .common import *  # noqa: F403
from .convolution import *  # noqa: F403
from .loss import *  # noqa: F403
from .normalization import *  # noqa: F403
from .pooling import *  # noqa: F403
from .regularization import *  # noqa: F403
from .vision import *  # noqa: F403
