"""Figures of what the library does, drawn with plotly: memory, the tape, the way of an optimizer, the
machine's limits.

Every function gives back a plotly `Figure`; in a notebook it is shown by standing at the end of a cell.
Used by notebooks 01 to 14.
"""

from .cloud import cloud
from .embeddings import ablation_curve, growth, hits, neighbours, popularity, projected, vector_map
from .machine import reads, roofline
from .memory import strides
from .network import curves, laid_out, network
from .pictures import images
from .programs import arena, bars
from .race import loss_surface_race
from .shards import loads, shards
from .sound import heat, players, waves
from .sparsity import costs, crossing, rulebook, spy
from .tape import tape
from .workers import ring

__all__ = [
    "ablation_curve",
    "arena",
    "bars",
    "cloud",
    "costs",
    "crossing",
    "curves",
    "growth",
    "heat",
    "hits",
    "images",
    "laid_out",
    "loads",
    "loss_surface_race",
    "neighbours",
    "network",
    "players",
    "popularity",
    "projected",
    "reads",
    "ring",
    "roofline",
    "rulebook",
    "shards",
    "spy",
    "strides",
    "tape",
    "vector_map",
    "waves",
]
