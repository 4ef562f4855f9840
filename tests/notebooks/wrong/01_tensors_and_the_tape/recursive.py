"""It calls itself for every parent, which ends on a long tape."""

from sampan import learn


@learn.exercise("autograd.topological_order")
def topological_order(roots):
    finished, seen = [], set()

    def visit(node):
        if node in seen:
            return
        seen.add(node)
        for parent in node.parents:
            if parent is not None:
                visit(parent)
        finished.append(node)

    for root in roots:
        visit(root)
    return finished[::-1]
