"""Paddle's functions of graphs: message passing, segments and samples."""

from ..graph.messages import send_u_recv as send_u_recv
from ..graph.messages import send_ue_recv as send_ue_recv
from ..graph.messages import send_uv as send_uv
from ..graph.sampling import reindex_graph as reindex_graph
from ..graph.sampling import reindex_heter_graph as reindex_heter_graph
from ..graph.sampling import sample_neighbors as sample_neighbors
from ..graph.sampling import weighted_sample_neighbors as weighted_sample_neighbors
from ..graph.segments import segment_max as segment_max
from ..graph.segments import segment_mean as segment_mean
from ..graph.segments import segment_min as segment_min
from ..graph.segments import segment_sum as segment_sum
