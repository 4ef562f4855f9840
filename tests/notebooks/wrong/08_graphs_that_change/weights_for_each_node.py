"""The softmax is taken for each node before the mean: the weights of a path are not those of its mean score."""

import sampan as paddle
from sampan import learn
from sampan.nn import functional as F


@learn.exercise("graph.nn.HANConv.forward", forbid=(".forward",))
def forward(self, graph, feature, return_semantic_attention_weights=False):
    graphs = graph.path_graphs if isinstance(graph, HeteroGraph) else list(graph)  # noqa: F821  the notebook's set-up cell has it
    x = self.proj(feature)
    x = x.reshape([x.shape[0], self.heads, x.shape[1] // self.heads])
    found = paddle.stack([self._along(one, x, place) for place, one in enumerate(graphs)])
    scores = (F.tanh(self.k_lin(found)) * self.q).sum(-1)
    beta = F.softmax(scores, axis=0).mean(1)
    output = (found * beta.reshape([-1, 1, 1])).sum(0)
    return (output, beta) if return_semantic_attention_weights else output
