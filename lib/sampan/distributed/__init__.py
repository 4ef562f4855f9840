"""paddle.distributed with one process: rank 0 of 1.

Programs that are written for one process or many run here as one. What needs a second process raises
RuntimeError that says so: Sampan does not train in several processes yet.
"""

from ..names.framework import DataParallel as DataParallel
from . import collective as collective
from . import fleet as fleet
from . import parallel as parallel
from . import utils as utils
from .collective import *
from .parallel import *

parallel_helper = parallel.parallel_helper
