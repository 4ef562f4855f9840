"""It computes the factors also where `norm` is given."""

import numpy as np

import sampan as paddle
from sampan import learn


@learn.exercise("graph.nn.GCNConv.forward", forbid=("degree_norm", ".forward"))
def forward(self, graph, feature, norm=None):
    output = self.linear(feature)
    if self.norm:
        norm = paddle.to_tensor(np.maximum(graph.by_target.degrees, 1).astype(np.float32)[:, None] ** -0.5)
        output = graph.send_recv(output * norm) * norm
    else:
        output = graph.send_recv(output)
    return self.activation(output + self.bias)
