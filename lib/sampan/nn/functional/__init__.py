"""Operators under the names that Paddle has in `nn.functional`.

Losses with margins and other forms of attention are in `names`, and found when they are first named.
"""

from typing import TYPE_CHECKING

from ...engine.spelling import spell as _spell
from ...ops.activation import *
from ...ops.assembly import diag_embed as diag_embed
from ...ops.indexing import one_hot as one_hot
from ...ops.linalg import linear as linear
from ...ops.norms import pdist as pdist
from .activation import *
from .attention import *
from .common import *
from .convolution import *
from .likelihood import *
from .loss import *
from .normalization import *
from .pooling import *
from .regularization import *
from .vision import *

if TYPE_CHECKING:  # at run time by the table of `sampan.lazy`
    from ...names import flash_attention as flash_attention
    from ...names.flash_attention import *
    from ...names.functional import *
    from ...names.losses import *
    from ...names.transducer import *

# Functions that are not operators take Paddle's other names of arguments too, and name themselves in errors.
_spell(globals())
