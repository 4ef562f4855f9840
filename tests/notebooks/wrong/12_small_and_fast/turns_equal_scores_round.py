"""Of equal scores the last channel goes first."""

from sampan import learn


@learn.exercise("slim.L1NormFilterPruner.weakest")
def weakest(self, filters, channels, count):
    scores = [sum(filters[n][i].abs().sum().item() for n, i in channel) for channel in channels]
    return sorted(range(len(channels)), key=lambda c: (scores[c], -c))[:count]
