"""It adds epsilon under the root."""

from sampan import learn


@learn.exercise("optimizer.Adagrad.update_rows")
def update_rows(self, arrays, gradient, lr, slot, settings):
    table, moment = arrays
    ids, rows = gradient.coalesced()
    moment[ids] += rows * rows
    table[ids] -= lr * rows / ((moment[ids] + settings["epsilon"]).sqrt())
    return True
