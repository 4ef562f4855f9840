"""It adds the squares of an id's gradients where the square of their sum belongs."""

from sampan import learn


@learn.exercise("optimizer.Adagrad.update_rows")
def update_rows(self, arrays, gradient, lr, slot, settings):
    table, moment = arrays
    ids, rows, which, _ = gradient.joined()
    rows = rows if which is None else rows[which]
    moment.index_add_(0, ids, rows * rows)
    table.index_add_(0, ids, -lr * rows / (moment[ids].sqrt() + settings["epsilon"]))
    return True
