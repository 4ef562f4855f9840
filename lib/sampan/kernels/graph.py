"""The graph kernels as `kernels.graph`. Look them up late (`kernels.graph.compress`), so that another version
can take a kernel's place."""

from . import (
    cpu_graph_dynamic,
    cpu_graph_messages,
    cpu_graph_partition,
    cpu_graph_sampling,
    cpu_graph_structure,
    cpu_graph_walks,
)
from .device import dispatch

# What a graph is made of.
copy_checked = cpu_graph_structure.copy_checked
compress = cpu_graph_structure.compress

# Samples and walks, on the host: a sampler copies what lies on a GPU.
child = cpu_graph_sampling.child
rows_found = cpu_graph_sampling.rows_found
rows_between = cpu_graph_sampling.rows_between
drawn = cpu_graph_sampling.drawn
drawn_by_weight = cpu_graph_sampling.drawn_by_weight
Numbers = cpu_graph_sampling.Numbers
reindexed = cpu_graph_sampling.reindexed
inside = cpu_graph_sampling.inside
unjoined = cpu_graph_sampling.unjoined
unjoined_pairs = cpu_graph_sampling.unjoined_pairs
walks = cpu_graph_walks.walks
sorted_rows = cpu_graph_walks.sorted_rows
biased_walks = cpu_graph_walks.biased_walks

# Shards.
hashed = cpu_graph_partition.hashed
streamed = cpu_graph_partition.streamed

# Messages.
row_max = dispatch(cpu_graph_messages.row_max, "cuda_graph.row_max")
row_min = dispatch(cpu_graph_messages.row_min, "cuda_graph.row_min")
equal_sums = dispatch(cpu_graph_messages.equal_sums, "cuda_graph.equal_sums")
head_sums = dispatch(cpu_graph_messages.head_sums, "cuda_graph.head_sums")
head_dots = dispatch(cpu_graph_messages.head_dots, "cuda_graph.head_dots")
edge_softmax = dispatch(cpu_graph_messages.edge_softmax, "cuda_graph.edge_softmax")
edge_softmax_back = dispatch(cpu_graph_messages.edge_softmax_back, "cuda_graph.edge_softmax_back")
differ = cpu_graph_messages.differ


def warm_up() -> None:
    """Compile (or load from the cache) every loop."""
    cpu_graph_structure.warm_up()
    cpu_graph_dynamic.warm_up()
    cpu_graph_sampling.warm_up()
    cpu_graph_walks.warm_up()
    cpu_graph_messages.warm_up()
    cpu_graph_partition.warm_up()
