"""Hot loops: arrays in, arrays out. A kernel picks its device and its parallel form; a caller never sees
either.

Look kernels up late (`kernels.name`), so that another version can take a kernel's place. Those of sparse
tensors and of embeddings are modules of their own, `kernels.sparse` and `kernels.embedding`.
"""

from .cpu_optimizer import adam_numbers as adam_numbers
from .cpu_optimizer import adam_step as adam_step
from .cpu_optimizer import rule_step as rule_step
from .cpu_optimizer import sgd_step as sgd_step
from .fused import FUSED_FROM as FUSED_FROM
from .fused import fused as fused
from .fused import names_in as names_in
from .fused import worth_fusing as worth_fusing
from .loops import listeners as listeners
