"""Operators under the names that Paddle has in `nn.functional`.

Losses with margins and other forms of attention are in `names`, and found when they are first named.
"""

from typing import TYPE_CHECKING

from ...engine.spelling import spell as _spell
from ...ops.activation import *  # noqa: F403
from ...ops.assembly import diag_embed as diag_embed
from ...ops.indexing import one_hot as one_hot
from ...ops.linalg import linear as linear
from ...ops.norms import pdist as pdist
from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .common import *  # noqa: F403
from .convolution import *  # noqa: F403
from .likelihood import *  # noqa: F403
from .loss import *  # noqa: F403
from .normalization import *  # noqa: F403
from .pooling import *  # noqa: F403
from .regularization import *  # noqa: F403
from .vision import *  # noqa: F403

if TYPE_CHECKING:  # at run time by the table of `sampan.lazy`
    from ...names import flash_attention as flash_attention
    from ...names.flash_attention import *  # noqa: F403
    from ...names.functional import *  # noqa: F403
    from ...names.losses import *  # noqa: F403
    from ...names.transducer import *  # noqa: F403

# Functions that are not operators take Paddle's other names of arguments too, and name themselves in errors.
_spell(globals())
