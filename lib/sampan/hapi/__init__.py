"""The high-level API: a network, an optimizer and a loss become a Model that is fit, evaluated and saved."""

from .. import callbacks as callbacks
from .loop import train_epoch as train_epoch
from .model import Model as Model
from .summary import summary as summary
