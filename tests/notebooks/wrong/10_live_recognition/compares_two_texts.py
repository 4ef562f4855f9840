"""It compares the first text with the second one, and not with the others."""

from sampan import learn


def last_shared(nodes, parent):
    "The deepest node on the way from node 0 to every one of `nodes`."
    at = nodes[0]
    for other in nodes[1:2]:
        while at != other:
            if at > other:
                at = parent[at]
            else:
                other = parent[other]
    return at


@learn.exercise("kernels.speech.shared_node", forbid=("shared_node", "commonprefix"))
def shared_node(beam, tree):
    return int(last_shared(beam.node[: beam.counts[0]].tolist(), tree.parent.tolist()))
