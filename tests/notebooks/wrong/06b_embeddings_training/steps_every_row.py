"""It makes the gradient dense and steps the whole table, so that with epsilon 0 the rows that should rest become 0 / 0."""

import torch

from sampan import learn


@learn.exercise("optimizer.Adagrad.update_rows")
def update_rows(self, arrays, gradient, lr, slot, settings):
    table, moment = arrays
    ids, rows = gradient.coalesced()
    whole = torch.zeros_like(table)
    whole[ids] = rows.to(table.dtype)
    moment += whole * whole
    table -= lr * whole / (moment.sqrt() + settings["epsilon"])
    return True
