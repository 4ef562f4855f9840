"""Paddle's functions of graphs: message passing and segments, samples."""

from ..graph.sampling import reindex_graph as reindex_graph
from ..graph.sampling import reindex_heter_graph as reindex_heter_graph
from ..graph.sampling import sample_neighbors as sample_neighbors
from ..graph.sampling import weighted_sample_neighbors as weighted_sample_neighbors
