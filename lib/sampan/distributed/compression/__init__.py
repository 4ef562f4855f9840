"""Training over slow networks: smaller messages (`HalfPrecision`, `TopK`, `LowRank`), or fewer of them
(`LocalSGD`, `DiLoCo`).

The first kind is given to `DataParallel.compress_with`. The second wraps an optimizer, and the network is not
a DataParallel.
"""

from .half_precision import HalfPrecision as HalfPrecision
from .local_sgd import DiLoCo as DiLoCo
from .local_sgd import LocalSGD as LocalSGD
from .low_rank import LowRank as LowRank
from .top_k import TopK as TopK
