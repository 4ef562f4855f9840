"""Only the first two members of a group count: a sum of three branches forgets the third."""

from sampan import learn


@learn.exercise("slim.L1NormFilterPruner.weakest")
def weakest(self, filters, channels, count):
    scores = []
    for channel in channels:
        scores.append(sum(filters[number][index].abs().sum().item() for number, index in channel[:2]))
    return sorted(range(len(channels)), key=scores.__getitem__)[:count]
