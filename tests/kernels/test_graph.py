"""The face of the graph kernels."""

import inspect

from sampan.kernels import cpu_graph_messages, cpu_graph_structure, graph
from sampan.kernels.loops import Loop


def test_every_loop_is_compiled_by_the_warm_up():
    graph.warm_up()
    modules = cpu_graph_messages, cpu_graph_structure
    loops = [loop for module in modules for loop in vars(module).values() if isinstance(loop, Loop)]
    assert loops
    for loop in loops:
        assert loop.serial.signatures and loop.parallel.signatures, loop.name


def test_each_is_the_loop_of_its_name():
    for name, kernel in vars(graph).items():
        if inspect.isfunction(kernel) and name != "warm_up":
            assert inspect.unwrap(kernel) is getattr(inspect.getmodule(kernel), name)
