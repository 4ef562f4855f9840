"""Of edges that repeat one after another it adds the message of one only."""

import numba

from sampan import learn


@numba.njit
def add_messages(starts, neighbours, factors, x, out):
    for t in range(out.shape[0]):
        row = out[t]
        row[:] = 0
        for place in range(starts[t], starts[t + 1]):
            if place > starts[t] and neighbours[place] == neighbours[place - 1]:
                continue
            message, factor = x[neighbours[place]], factors[place]
            for j in range(row.size):
                row[j] += factor * message[j]


@learn.exercise(
    "graph.messages.neighbour_sum", forbid=(".index_add", ".index_add_", ".at", "scipy", "torch.sparse")
)
def neighbour_sum(x, routes, mean=""):
    def of_x(g):
        return send(g, routes.turned, OTHER_END[mean])  # noqa: F821  the notebook's set-up cell has it

    starts, neighbours, factors, dense, out = prepared(x, routes, mean)  # noqa: F821  the notebook's set-up cell has it
    careful(add_messages, starts, neighbours, factors, dense, out)  # noqa: F821  the notebook's set-up cell has it
    return shaped(out, x), (of_x,)  # noqa: F821  the notebook's set-up cell has it
