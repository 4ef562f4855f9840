"""paddle.distributed.communication: the collectives under their other address."""

import sys

from . import collective, stream
from .collective import Group as Group
from .collective import ReduceOp as ReduceOp
from .collective import all_gather as all_gather
from .collective import all_reduce as all_reduce
from .collective import alltoall as alltoall
from .collective import alltoall_single as alltoall_single
from .collective import barrier as barrier
from .collective import broadcast as broadcast
from .collective import destroy_process_group as destroy_process_group
from .collective import gather as gather
from .collective import get_backend as get_backend
from .collective import get_group as get_group
from .collective import new_group as new_group
from .collective import reduce as reduce
from .collective import reduce_scatter as reduce_scatter
from .collective import scatter as scatter
from .collective import wait as wait
from .environment import is_initialized as is_initialized
from .objects import all_gather_object as all_gather_object
from .objects import broadcast_object_list as broadcast_object_list
from .objects import recv_object_list as recv_object_list
from .objects import scatter_object_list as scatter_object_list
from .objects import send_object_list as send_object_list
from .point_to_point import P2POp as P2POp
from .point_to_point import batch_isend_irecv as batch_isend_irecv
from .point_to_point import irecv as irecv
from .point_to_point import isend as isend
from .point_to_point import recv as recv
from .point_to_point import send as send

group = sys.modules[f"{__name__}.group"] = collective
sys.modules[f"{__name__}.stream"] = stream
# Paddle has a module for each collective, below the function of its name.
_MODULES = (
    *("all_gather", "all_reduce", "all_to_all", "broadcast", "gather", "recv", "reduce", "reduce_scatter"),
    *("scatter", "send"),
)
for _name in (*_MODULES, "batch_isend_irecv"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
for _name in _MODULES:
    sys.modules[f"{__name__}.stream.{_name}"] = stream
__path__: list[str] = []  # so that `import` looks for Paddle's modules inside
all_to_all = alltoall
_reduce_scatter_base = stream._reduce_scatter_base
