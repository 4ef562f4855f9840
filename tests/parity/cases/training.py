"""Recurrent networks, attention, optimizers and their rates, initializers, layers' methods, data, metrics."""

from __future__ import annotations

from tools.parity.spec import array, call, given, made, program

X = array(2, 5, 3)
LENGTHS = given([5, 2], "int64")


def states(*shapes):
    return tuple(array(*shape) for shape in shapes)


def last(P, kind, x, h, c=None, **settings):
    """A network with small fixed weights: outputs, last states, and gradients by them."""
    net = getattr(P.nn, kind)(3, 4, **settings)
    for place, p in enumerate(net.parameters()):
        p.set_value(((P.arange(p.size, dtype="float32") * (place + 3)) % 7 / 7 - 0.4).reshape(p.shape))
    out, state = net(x, h if c is None else (h, c))
    total = (out * out).sum() + sum((s * s).sum() for s in (state if isinstance(state, tuple) else [state]))
    total.backward()
    return [out, state, *(p.grad for p in net.parameters())]


STEPS = 6


def stepped(P, kind, *args, **settings):
    """Parameters and state after a few steps with the same gradients."""
    p = P.create_parameter(
        [2, 3], "float32", default_initializer=P.nn.initializer.Assign([[1.0, -2, 3], [0.5, 0, -1]])
    )
    optim = getattr(P.optimizer, kind)(*args, parameters=[p], **settings)
    for i in range(STEPS):
        ((p * (P.arange(6, dtype="float32").reshape([2, 3]) - 2 + i)).sum() + (p * p).sum()).backward()
        optim.step()
        optim.clear_grad()
    state = {k.rsplit(".w_0", 1)[-1]: v for k, v in optim.state_dict().items() if hasattr(v, "numpy")}
    counts = ("pow_0", "product_0", "rho_0")  # PaddlePaddle keeps these numbers once an element
    return [
        p.numpy(),
        {k: v.numpy() for k, v in sorted(state.items()) if v.size == 6 and not k.endswith(counts)},
    ]


def rates(P, kind, *args, **settings):
    scheduler = getattr(P.optimizer.lr, kind)(*args, **settings)
    found = []
    for _ in range(12):
        found.append(float(scheduler()))
        scheduler.step()
    state = scheduler.state_dict()
    return [found, sorted(state), state["last_epoch"]]


def measured(P, kind, preds, labels):
    metric = getattr(P.metric, kind)()
    values = metric.compute(preds, labels)
    metric.update(*(values if isinstance(values, tuple) else (values,)))
    return [metric.accumulate(), metric.name()]


def filled(P, kind, shape, *args):
    init = getattr(P.nn.initializer, kind)(*args)
    return P.create_parameter(shape, "float32", default_initializer=init)


class Numbers:
    def __init__(self, n):
        self.n = n

    def __getitem__(self, i):
        return i

    def __len__(self):
        return self.n


def shares(P, n, size, ranks, shuffle, drop):
    return [
        [list(map(int, b)) for b in P.io.DistributedBatchSampler(Numbers(n), size, ranks, r, shuffle, drop)]
        for r in range(ranks)
    ]


def shared_layer(P):
    net = P.nn.Sequential(P.nn.Linear(2, 3), P.nn.ReLU(), P.nn.Linear(3, 1))
    net.insert(1, P.nn.Sigmoid())
    names = [n for n, _ in net.named_parameters()]
    modules = [n for n, _ in net.named_modules()]
    return [
        names,
        modules,
        len(net),
        net.get_parameter("0.weight").shape,
        sorted(net.double().state_dict()),
        net[0].full_name().split("_")[0],
    ]


def weights_normed(P, dim):
    net = P.nn.Linear(3, 2)
    net.weight.set_value(P.arange(6, dtype="float32").reshape([3, 2]) / 7 - 0.3)
    P.nn.utils.weight_norm(net, dim=dim)
    net(P.ones([1, 3])).sum().backward()
    return [net.weight_g, net.weight_v, net.weight_g.grad, net.weight_v.grad]


def clipped(P, limit, kind):
    net = P.nn.Linear(3, 2)
    net(P.arange(6, dtype="float32").reshape([2, 3])).sum().backward()
    return [P.nn.utils.clip_grad_norm_(net.parameters(), limit, kind), net.weight.grad, net.bias.grad]


def attention(P, q, k, v, **settings):
    return P.nn.functional.scaled_dot_product_attention(q, k, v, **settings)


def multi_head(P, query, key, value, mask=None):
    layer = P.nn.MultiHeadAttention(8, 2, kdim=6, vdim=4, need_weights=True)
    for place, p in enumerate(layer.parameters()):
        p.set_value(((P.arange(p.size, dtype="float32") * (place + 3)) % 11 / 11 - 0.4).reshape(p.shape))
    return list(layer(query, key, value, mask))


def decoded(P, x, memory):
    layer = P.nn.TransformerDecoderLayer(8, 2, 12, 0.0, "gelu", normalize_before=True)
    for place, p in enumerate(layer.parameters()):
        p.set_value(((P.arange(p.size, dtype="float32") * (place + 3)) % 11 / 11 - 0.4).reshape(p.shape))
    whole = layer(x, memory)
    one, cache = layer(x[:, :1], memory, cache=layer.gen_cache(memory))
    return [whole, one, cache[0].k, cache[1].v, sorted(layer.state_dict())]


SEEN = given([[[[True, True, False, True, True]] * 3]] * 2, "bool")
# fmt: off
OPTIMIZERS = {
    "SGD": [((0.1,), {"weight_decay": 0.05})], "Momentum": [((0.1, 0.8), {}), ((0.1, 0.8), {"use_nesterov": True})],
    "Adam": [((0.1,), {}), ((0.1,), {"amsgrad": True, "beta2": 0.9})], "AdamW": [((0.1,), {"weight_decay": 0.1})],
    "Adagrad": [((0.1,), {"initial_accumulator_value": 0.2})], "Adadelta": [((0.9,), {"rho": 0.9})],
    "RMSProp": [((0.1,), {}), ((0.1,), {"centered": True, "momentum": 0.5})], "Adamax": [((0.1,), {"epsilon": 1e-3})],
    "NAdam": [((0.1,), {})], "RAdam": [((0.1,), {"beta2": 0.9})], "ASGD": [((0.1, 3), {})], "Rprop": [((0.1,), {})],
    "Lamb": [((0.1,), {}), ((0.1, 0.0), {}), ((0.1, 0.0), {"always_adapt": True})],
}
RATES = {
    "NoamDecay": (64, 5), "PiecewiseDecay": ([3, 6], [0.1, 0.2, 0.3]), "NaturalExpDecay": (0.5, 0.1),
    "InverseTimeDecay": (0.5, 0.1), "PolynomialDecay": (0.5, 6), "LinearWarmup": (0.5, 5, 0.1, 0.5),
    "ExponentialDecay": (0.5, 0.9), "MultiStepDecay": (0.5, [3, 8]), "StepDecay": (0.5, 3),
    "CosineAnnealingDecay": (0.5, 7, 0.01), "OneCycleLR": (0.5, 30), "CyclicLR": (0.1, 0.5, 4, 3, "triangular2"),
    "LinearLR": (0.5, 8), "CosineAnnealingWarmRestarts": (0.5, 4, 2),
}
CASES = {
    **{f"paddle.nn.{kind}": [
        program(last, kind, X, *states(*[(2, 2, 4)] * n), num_layers=2, text="two layers"),
        program(last, kind, X, *states(*[(2, 2, 4)] * n), direction="bidirect", text="two directions"),
        call(3, 4).on(X), call(3, 4, direction="bidirect").on(X, None, LENGTHS), call(3, 4, time_major=True).on(X),
        call(3, 0), call(3, 4, direction="back"),
    ] for kind, n in (("LSTM", 2), ("GRU", 1), ("SimpleRNN", 1))},
    **{f"paddle.nn.{kind}": [call(3, 4).on(array(2, 3)), call(3, -1)] for kind in ("LSTMCell", "GRUCell", "SimpleRNNCell")},
    "paddle.nn.RNN": [call(made(lambda P: P.nn.GRUCell(3, 4)), *more).on(X, None, LENGTHS) for more in ((), (True,))],
    "paddle.nn.BiRNN": [call(made(lambda P: P.nn.GRUCell(3, 4)), made(lambda P: P.nn.GRUCell(3, 4))).on(X)],
    "paddle.nn.MultiHeadAttention": [
        program(multi_head, array(2, 3, 8), array(2, 5, 6), array(2, 5, 4), text="weights"),
        program(multi_head, array(2, 3, 8), array(2, 5, 6), array(2, 5, 4), SEEN, text="mask"),
        call(8, 3), call(0, 1),
    ],
    "paddle.nn.TransformerDecoderLayer": [program(decoded, array(2, 3, 8), array(2, 4, 8))],
    "paddle.nn.TransformerEncoderLayer": [call(8, 2, 12, 0.0).on(array(2, 3, 8)), call(8, 2, 0)],
    "paddle.nn.functional.scaled_dot_product_attention": [
        program(attention, array(2, 3, 4, 8), array(2, 5, 2, 8), array(2, 5, 2, 8), text="groups"),
        program(attention, array(2, 3, 4, 8), array(2, 5, 4, 8), array(2, 5, 4, 8), is_causal=True),
        program(attention, array(2, 3, 4, 8), array(2, 5, 4, 8), array(2, 5, 4, 8), attn_mask=SEEN),
        program(attention, array(2, 3, 4, 8), array(2, 5, 4, 8), array(2, 5, 4, 8), attn_mask=array(3, 5)),
        program(attention, array(3, 4, 8), array(5, 4, 8), array(5, 4, 8), scale=0.3),
        program(attention, array(2, 3, 4, 8), array(2, 5, 3, 8), array(2, 5, 3, 8)),
    ],
    **{f"paddle.optimizer.{kind}": [program(stepped, kind, *a, **s).but(tolerance=1e-4) for a, s in given_] for kind, given_ in OPTIMIZERS.items()},
    **{f"paddle.optimizer.lr.{kind}": [program(rates, kind, *a)] for kind, a in RATES.items()},
    "paddle.metric.Precision": [program(measured, "Precision", array(9, 1, low=0, high=1, grad=False), array(9, 1, low=0, high=2, dtype="int64"))],
    "paddle.metric.Recall": [program(measured, "Recall", array(9, 1, low=0, high=1, grad=False), array(9, 1, low=0, high=2, dtype="int64"))],
    "paddle.metric.Accuracy": [program(measured, "Accuracy", array(9, 4, grad=False), array(9, 1, low=0, high=4, dtype="int64"))],
    "paddle.metric.accuracy": [call(array(9, 4, grad=False), array(9, 1, low=0, high=4, dtype="int64"), k) for k in (1, 2)],
    "paddle.nn.initializer.Dirac": [program(filled, "Dirac", [4, 2, 3, 3], 2), program(filled, "Dirac", [3, 2, 3], 2)],
    "paddle.nn.initializer.Bilinear": [program(filled, "Bilinear", [1, 2, 4, 4]), program(filled, "Bilinear", [1, 2, 4])],
    "paddle.nn.initializer.Constant": [program(filled, "Constant", [2, 2], 3.0)],
    "paddle.nn.initializer.calculate_gain": [call(n) for n in ("tanh", "relu", "selu", "leaky_relu", "conv3d", "nothing")],
    "paddle.io.DistributedBatchSampler": [program(shares, n, 4, 3, s, d) for n in (5, 23) for s in (False, True) for d in (False, True)],
    "paddle.nn.Sequential": [program(shared_layer)],
    "paddle.nn.utils.weight_norm": [program(weights_normed, dim) for dim in (0, 1, None)],
    "paddle.nn.utils.clip_grad_norm_": [program(clipped, limit, kind).but(values=False) for limit, kind in ((1.0, 2.0), (0.1, float("inf")))],
}
