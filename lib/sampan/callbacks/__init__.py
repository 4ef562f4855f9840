"""What happens beside training: progress, checkpoints, early stopping, schedules."""

from .callback import Callback as Callback
from .callback import CallbackList as CallbackList
from .checkpoint import ModelCheckpoint as ModelCheckpoint
from .logging import VisualDL as VisualDL
from .logging import WandbCallback as WandbCallback
from .progress import ProgBarLogger as ProgBarLogger
from .stopping import EarlyStopping as EarlyStopping
from .stopping import LRScheduler as LRScheduler
from .stopping import ReduceLROnPlateau as ReduceLROnPlateau
