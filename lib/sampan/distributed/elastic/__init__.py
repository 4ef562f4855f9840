"""Training that survives: processes that are killed, added and removed.

`python -m sampan.distributed.launch --nnodes 1:N --max_restart 3 program.py` starts the processes again;
`Run` in the program finds the state and the place in the data.
"""

from .report import Report as Report
from .report import Reporter as Reporter
from .run import Run as Run
from .run import Step as Step
from .samples import Samples as Samples
