"""Figures of what the library does, drawn with plotly: memory, the tape, the way of an optimizer, the machine's limits.

Every function gives back a plotly `Figure`; in a notebook it is shown by standing at the end of a cell.
Used by notebooks 01 to 04.
"""

from .machine import reads, roofline
from .memory import strides
from .pictures import images
from .race import loss_surface_race
from .tape import tape

__all__ = ["images", "loss_surface_race", "reads", "roofline", "strides", "tape"]
