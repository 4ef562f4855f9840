"""Layers, losses, initializers and gradient clipping."""

from . import functional as functional
from . import initializer as initializer
from . import utils as utils
from .activation import *  # noqa: F403
from .attr import *  # noqa: F403
from .clip import *  # noqa: F403
from .common import *  # noqa: F403
from .container import *  # noqa: F403
from .conv import *  # noqa: F403
from .decode import *  # noqa: F403
from .dropout import *  # noqa: F403
from .layer import *  # noqa: F403
from .linear import *  # noqa: F403
from .loss import *  # noqa: F403
from .norm import *  # noqa: F403
from .parameter import *  # noqa: F403
from .pooling import *  # noqa: F403
from .rnn import *  # noqa: F403
from .transformer import *  # noqa: F403
