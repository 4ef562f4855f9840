"""Graphs: their structure, message passing, sampling, and layers."""

from .adjacency import Adjacency as Adjacency
from .graph import Graph as Graph
