"""Graphs: their structure, message passing, sampling, and layers."""

from . import distributed as distributed
from . import math as math
from . import nn as nn
from .adjacency import Adjacency as Adjacency
from .dynamic import DynamicGraph as DynamicGraph
from .exchange import *
from .graph import Graph as Graph
from .hetero import HeteroGraph as HeteroGraph
from .hetero import Relation as Relation
from .k_hop import Sample as Sample
from .k_hop import induced as induced
from .k_hop import k_hop as k_hop
from .loader import Batch as Batch
from .loader import LinkLoader as LinkLoader
from .loader import NeighborLoader as NeighborLoader
from .meta_path import PathCounts as PathCounts
from .negatives import negative_edges as negative_edges
from .negatives import negative_targets as negative_targets
from .node_vectors import DeepWalk as DeepWalk
from .node_vectors import MetaPath2Vec as MetaPath2Vec
from .node_vectors import Node2Vec as Node2Vec
from .node_vectors import WalkProgress as WalkProgress
from .temporal import Timeline as Timeline
from .walks import meta_path_walks as meta_path_walks
from .walks import node2vec_walks as node2vec_walks
from .walks import random_walks as random_walks
