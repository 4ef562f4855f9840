"""paddle.distributed: training in several processes, over torch.distributed; with one process, rank 0 of
1."""

from . import collective as collective
from . import communication as communication
from . import environment as environment
from . import fleet as fleet
from . import parallel as parallel
from . import stream as stream
from . import sync_batch_norm as sync_batch_norm
from . import traffic as traffic
from . import utils as utils
from .collective import *
from .data_parallel import DataParallel as DataParallel
from .environment import *
from .gloo import gloo_barrier as gloo_barrier
from .gloo import gloo_init_parallel_env as gloo_init_parallel_env
from .gloo import gloo_release as gloo_release
from .launch.main import launch as launch
from .objects import *
from .point_to_point import *
from .spawn import spawn as spawn

parallel_helper = parallel.parallel_helper
