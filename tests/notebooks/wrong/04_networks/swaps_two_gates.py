"""It takes the forget gate for the input gate: equal gates hide it."""

import sampan as paddle
from sampan import learn
from sampan.nn import functional as F


@learn.exercise("nn.LSTMCell.forward", forbid=("torch.nn",))
def forward(self, inputs, states=None):
    h, c = self.get_initial_states(inputs) if states is None else states
    gates = inputs @ self.weight_ih.T + self.bias_ih + h @ self.weight_hh.T + self.bias_hh
    f, i, g, o = paddle.chunk(gates, 4, axis=-1)
    c = F.sigmoid(f) * c + F.sigmoid(i) * paddle.tanh(g)
    h = F.sigmoid(o) * paddle.tanh(c)
    return h, (h, c)
