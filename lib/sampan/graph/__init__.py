"""Graphs: their structure, message passing, sampling, and layers."""

from .adjacency import Adjacency as Adjacency
from .dynamic import DynamicGraph as DynamicGraph
from .exchange import *  # noqa: F403
from .graph import Graph as Graph
from .hetero import HeteroGraph as HeteroGraph
from .hetero import Relation as Relation
from .meta_path import PathCounts as PathCounts
