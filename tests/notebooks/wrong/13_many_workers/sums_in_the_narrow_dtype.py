"""The sums are computed in the dtype of the wire, and what is large swallows what is small."""

from sampan import learn


@learn.exercise("distributed.ring.all_reduce")
def all_reduce(values, links, wire=None):
    W, r = links.world, links.rank
    chunks, dtype = values.tensor_split(W), wire or values.dtype
    for s in range(W - 1):
        links.send(chunks[(r - s) % W].to(dtype))
        chunk = chunks[(r - s - 1) % W]
        chunk.copy_(chunk.to(dtype) + links.receive(len(chunk), dtype))
    if W > 1:
        own = chunks[(r + 1) % W]
        own.copy_(own.to(dtype))
    for s in range(W - 1):
        links.send(chunks[(r + 1 - s) % W].to(dtype))
        chunk = chunks[(r - s) % W]
        chunk.copy_(links.receive(len(chunk), dtype))
