"""A node that no edge enters has a factor of 1 / sqrt(0): what it sends is infinite."""

import numpy as np

import sampan as paddle
from sampan import learn


@learn.exercise("graph.nn.GCNConv.forward", forbid=("degree_norm", ".forward"))
def forward(self, graph, feature, norm=None):
    if self.norm and norm is None:
        with np.errstate(divide="ignore"):
            factors = graph.by_target.degrees.astype(np.float32) ** -0.5
        norm = paddle.to_tensor(factors[:, None])
    output = self.linear(feature)
    output = graph.send_recv(output) if norm is None else graph.send_recv(output * norm) * norm
    return self.activation(output + self.bias)
