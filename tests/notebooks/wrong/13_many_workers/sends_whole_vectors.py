"""Whole vectors go round W - 1 times: right sums, half of W times the bytes."""

from sampan import learn


@learn.exercise("distributed.ring.all_reduce")
def all_reduce(values, links, wire=None):
    dtype = wire or values.dtype
    passed = values.to(dtype)
    for _ in range(links.world - 1):
        links.send(passed)
        passed = links.receive(len(values), dtype)
        values += passed
