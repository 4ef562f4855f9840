"""It divides by the degree of the receiver alone: a mean, which is right where all degrees are equal."""

import numpy as np

import sampan as paddle
from sampan import learn


@learn.exercise("graph.nn.GCNConv.forward", forbid=("degree_norm", ".forward"))
def forward(self, graph, feature, norm=None):
    output = graph.send_recv(self.linear(feature))
    if norm is not None:
        output = graph.send_recv(self.linear(feature) * norm) * norm
    elif self.norm:
        output = output * paddle.to_tensor(
            (1 / np.maximum(graph.by_target.degrees, 1)).astype(np.float32)[:, None]
        )
    return self.activation(output + self.bias)
