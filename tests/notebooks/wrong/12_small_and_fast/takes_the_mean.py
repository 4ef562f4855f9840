"""The mean over the members: a channel of three weak filters counts as little as one weak filter."""

from sampan import learn


@learn.exercise("slim.L1NormFilterPruner.weakest")
def weakest(self, filters, channels, count):
    scores = []
    for channel in channels:
        norms = [filters[number][index].abs().sum().item() for number, index in channel]
        scores.append(sum(norms) / len(norms))
    return sorted(range(len(channels)), key=scores.__getitem__)[:count]
