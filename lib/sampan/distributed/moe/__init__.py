"""Mixtures of experts over processes (Paddle's package `incubate.distributed.models.moe`)."""

from .clip import ClipGradForMOEByGlobalNorm as ClipGradForMOEByGlobalNorm
from .gates import BaseGate as BaseGate
from .gates import GShardGate as GShardGate
from .gates import NaiveGate as NaiveGate
from .gates import SwitchGate as SwitchGate
from .layer import MoELayer as MoELayer
