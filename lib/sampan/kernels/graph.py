"""The graph kernels as `kernels.graph`. Look them up late (`kernels.graph.compress`), so that another version
can take a kernel's place."""

from . import cpu_graph_dynamic, cpu_graph_structure

# What a graph is made of.
copy_checked = cpu_graph_structure.copy_checked
compress = cpu_graph_structure.compress


def warm_up() -> None:
    """Compile (or load from the cache) every loop."""
    cpu_graph_structure.warm_up()
    cpu_graph_dynamic.warm_up()
