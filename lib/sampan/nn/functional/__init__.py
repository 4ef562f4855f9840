"""Operators under the names that Paddle has in `nn.functional`."""

from ...ops.activation import *  # noqa: F403
from ...ops.assembly import diag_embed as diag_embed
from ...ops.indexing import one_hot as one_hot
from ...ops.linalg import linear as linear
from ...ops.norms import pdist as pdist
from ...spelling import spelled
from . import flash_attention as flash_attention
from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .common import *  # noqa: F403
from .convolution import *  # noqa: F403
from .likelihood import *  # noqa: F403
from .loss import *  # noqa: F403
from .normalization import *  # noqa: F403
from .pooling import *  # noqa: F403
from .ranking import *  # noqa: F403
from .regularization import *  # noqa: F403
from .vision import *  # noqa: F403

# Those whose arguments Paddle knows by other names too.
_SPELLED = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
conv1d conv2d conv3d cosine_similarity cross_entropy dropout embedding fold group_norm interpolate layer_norm lp_pool1d
lp_pool2d normalize pad pairwise_distance silu
"""
for _name in _SPELLED.split():
    globals()[_name] = spelled(globals()[_name])
