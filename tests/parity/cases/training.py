"""Optimizers over several steps, learning-rate schedules, clipping, metrics, samplers, parameter utilities."""

from tools.parity.spec import array, call, given, program

X = array(4, 3, grad=False)
WEIGHTS = array(3, 2, grad=False)


def trained(P, kind, x, weights, steps=4, **settings):
    """The weights after some steps down a bowl, and the state's names and shapes."""
    layer = P.nn.Linear(3, 2)
    layer.weight.set_value(weights)
    layer.bias.set_value(P.full([2], 0.3))
    clip = settings.pop("clip", None)
    if clip:
        settings["grad_clip"] = getattr(P.nn, clip[0])(*clip[1:])
    decay = settings.pop("decay", None)
    if decay:
        settings["weight_decay"] = (
            getattr(P.regularizer, decay[0])(decay[1]) if isinstance(decay, tuple) else decay
        )
    optimizer = getattr(P.optimizer, kind)(parameters=layer.parameters(), **settings)
    for _ in range(steps):
        loss = (layer(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return [layer.weight.detach(), layer.bias.detach(), optimizer.get_lr(), loss.detach()]


def closed(P, x, weights, **settings):
    layer = P.nn.Linear(3, 2)
    layer.weight.set_value(weights)
    layer.bias.set_value(P.full([2], 0.3))
    optimizer = P.optimizer.LBFGS(parameters=layer.parameters(), **settings)

    def loss():
        optimizer.clear_grad()
        value = (layer(x) ** 2).mean()
        value.backward()
        return value

    values = [optimizer.step(loss).detach() for _ in range(2)]
    return [values, layer.weight.detach()]


def groups(P, kind, x, weights):
    layer = P.nn.Linear(3, 2)
    layer.weight.set_value(weights)
    parts = [{"params": [layer.weight]}, {"params": [layer.bias], "learning_rate": 0.1, "weight_decay": 0.2}]
    optimizer = getattr(P.optimizer, kind)(learning_rate=0.1, parameters=parts, weight_decay=0.01)
    for _ in range(3):
        (layer(x) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    return [layer.weight.detach(), layer.bias.detach()]


def minimized(P, x, weights):
    layer = P.nn.Linear(3, 2)
    layer.weight.set_value(weights)
    optimizer = P.optimizer.SGD(0.1, parameters=layer.parameters())
    loss = (layer(x) ** 2).mean()
    loss.backward()
    result = optimizer.minimize(loss)
    return [type(result).__name__, layer.weight.detach()]


def rate_set(P, x, weights):
    layer = P.nn.Linear(3, 2)
    optimizer = P.optimizer.SGD(0.1, parameters=layer.parameters())
    seen = [optimizer.get_lr()]
    optimizer.set_lr(0.5)
    seen.append(optimizer.get_lr())
    optimizer.set_lr_scheduler(P.optimizer.lr.StepDecay(0.2, 3))
    seen.append(optimizer.get_lr())
    optimizer.set_lr(0.3)
    return seen


def rates(P, kind, *args, steps=12, metrics=None, **settings):
    schedule = getattr(P.optimizer.lr, kind)(*args, **settings)
    seen = [schedule() if callable(schedule) else None, schedule.last_lr]
    for step in range(steps):
        schedule.step(*([metrics[step]] if metrics else []))
        seen.append(schedule.last_lr)
    return [*seen, sorted(schedule.state_dict())]


def nested(P, **settings):
    inner = P.optimizer.lr.PiecewiseDecay([3, 6], [0.1, 0.05, 0.01])
    return rates(P, "LinearWarmup", inner, **settings)


def scheduled(P, x, weights):
    layer = P.nn.Linear(3, 2)
    layer.weight.set_value(weights)
    schedule = P.optimizer.lr.ExponentialDecay(0.1, 0.5)
    optimizer = P.optimizer.SGD(schedule, parameters=layer.parameters())
    for _ in range(3):
        (layer(x) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
    return [layer.weight.detach(), optimizer.get_lr()]


def counted(P, kind, updates, *args, **settings):
    metric = getattr(P.metric, kind)(*args, **settings)
    seen = []
    for update in updates:
        made = [P.to_tensor(u) for u in update]
        if hasattr(metric, "compute") and kind == "Accuracy":
            made = [metric.compute(*made)]
        seen.append(metric.update(*made))
        seen.append(metric.accumulate())
    seen.append(metric.name())
    metric.reset()
    return seen


def clipped(P, kind, x, weights, *args, **settings):
    layer = P.nn.Linear(3, 2)
    layer.weight.set_value(weights)
    (layer(x) ** 2).sum().backward()
    result = getattr(P.nn.utils, kind)(layer.parameters(), *args, **settings)
    return [None if result is None else result.detach(), layer.weight.grad.detach(), layer.bias.grad.detach()]


def as_vector(P, weights):
    layer = P.nn.Linear(3, 2)
    layer.weight.set_value(weights)
    vector = P.nn.utils.parameters_to_vector(layer.parameters())
    P.nn.utils.vector_to_parameters(vector * 2, layer.parameters())
    return [vector.detach(), layer.weight.detach()]


def normed(P, kind, weights, x, **settings):
    layer = P.nn.Linear(3, 2)
    layer.weight.set_value(weights)
    getattr(P.nn.utils, kind)(layer, **settings)
    names = sorted(name for name, _ in layer.named_parameters())
    shapes = [list(p.shape) for _, p in sorted(layer.named_parameters())]
    return [names, shapes, layer(x).detach() if kind == "weight_norm" else None]


def unnormed(P, weights, x):
    layer = P.nn.Linear(3, 2)
    layer.weight.set_value(weights)
    P.nn.utils.weight_norm(layer)
    before = layer(x).detach()
    P.nn.utils.remove_weight_norm(layer)
    return [before, layer(x).detach(), sorted(name for name, _ in layer.named_parameters())]


def batches(P, length, **settings):
    return [list(b) for b in P.io.BatchSampler(dataset=list(range(length)), **settings)]


def shares(P, length, rank, **settings):
    sampler = P.io.DistributedBatchSampler(list(range(length)), num_replicas=3, rank=rank, **settings)
    return [[list(b) for b in sampler], len(sampler)]


def datasets(P):
    class Squares(P.io.Dataset):
        def __init__(self, n):
            self.n = n

        def __len__(self):
            return self.n

        def __getitem__(self, i):
            return i * i

    class Stream(P.io.IterableDataset):
        def __iter__(self):
            return iter(range(3))

    both = P.io.ConcatDataset([Squares(3), Squares(2)])
    side = P.io.ComposeDataset([Squares(3), Squares(3)])
    part = P.io.Subset(Squares(5), [4, 1])
    chain = P.io.ChainDataset([Stream(), Stream()])
    return [
        [both[i] for i in range(5)],
        [side[i] for i in range(3)],
        list(map(part.__getitem__, range(2))),
        list(chain),
        len(both),
    ]


def loaded(P, n, **settings):
    class Pairs(P.io.Dataset):
        def __len__(self):
            return n

        def __getitem__(self, i):
            return [float(i), float(i) / 2], i

    found = []
    for x, y in P.io.DataLoader(Pairs(), **settings):
        found.append([x[0] if isinstance(x, list) else x, y])
    return found


def split(P):
    parts = P.io.random_split(list(range(7)), [3, 4])
    return [len(parts), sorted(v for part in parts for v in part)]


RULES = {
    "SGD": [{}, {"decay": 0.1}, {"decay": ("L1Decay", 0.1)}, {"decay": ("L2Decay", 0.1)}],
    "Momentum": [{}, {"momentum": 0.5, "use_nesterov": True}, {"decay": 0.1}],
    "Adagrad": [{}, {"initial_accumulator_value": 0.1}, {"decay": 0.1}],
    "Adadelta": [{}, {"rho": 0.8}],
    "RMSProp": [{}, {"rho": 0.8, "momentum": 0.5}, {"centered": True}, {"decay": 0.1}],
    "Adam": [{}, {"beta1": 0.5, "beta2": 0.9}, {"decay": 0.1}, {"amsgrad": True}, {"clip": ("ClipGradByGlobalNorm", 0.5)}, {"clip": ("ClipGradByNorm", 0.3)}, {"clip": ("ClipGradByValue", 0.1)}],
    "AdamW": [{}, {"decay": 0.3}, {"amsgrad": True}],
    "Adamax": [{}, {"decay": 0.1}],
    "NAdam": [{}, {"momentum_decay": 0.01}, {"decay": 0.1}],
    "RAdam": [{}, {"beta2": 0.9}, {"decay": 0.1}],
    "ASGD": [{}, {"batch_num": 3}, {"decay": 0.1}],
    "Rprop": [{}, {"etas": (0.4, 1.3)}, {"learning_rate_range": (0.01, 0.2)}],
    "Lamb": [{}, {"lamb_weight_decay": 0.1}],
}  # fmt: skip
RATES = {
    "CosineAnnealingDecay": [call(0.5, T_max=5), call(0.5, 5, 0.1)],
    "CosineAnnealingWarmRestarts": [call(0.5, 3), call(0.5, 2, T_mult=2, eta_min=0.1)],
    "CyclicLR": [call(0.1, 0.5, 3), call(0.1, 0.5, 2, 4, mode="triangular2"), call(0.1, 0.5, 3, mode="exp_range", exp_gamma=0.9)],
    "ExponentialDecay": [call(0.5, 0.9)],
    "InverseTimeDecay": [call(0.5, 0.1)],
    "LambdaDecay": [],
    "LinearLR": [call(0.5, 5), call(0.5, 4, start_factor=0.5, end_factor=0.8), call(0.5, 0)],
    "LinearWarmup": [call(0.5, 4, 0.0, 0.5)],
    "MultiStepDecay": [call(0.5, [3, 6], 0.5), call(0.5, (4,)), call(0.5, 3)],
    "NaturalExpDecay": [call(0.5, 0.1)],
    "NoamDecay": [call(64, 4), call(64, 4, 2.0)],
    "OneCycleLR": [call(1.0, 12), call(1.0, 12, divide_factor=10.0, phase_pct=0.5, anneal_strategy="linear"), call(1.0, 12, three_phase=True, phase_pct=0.4)],
    "PiecewiseDecay": [call([3, 6], [0.1, 0.05, 0.01])],
    "PolynomialDecay": [call(0.5, 5), call(0.5, 5, power=2.0, cycle=True), call(0.5, 5, end_lr=0.1)],
    "ReduceOnPlateau": [call(0.5, metrics=[1.0, 0.9] + [0.95] * 20, patience=2, factor=0.5), call(0.5, metrics=[1.0] * 20, patience=1, cooldown=2, mode="max")],
    "StepDecay": [call(0.5, 3), call(0.5, 3, gamma=0.5), call(0.5, "3"), call(0.5, 3, 2.0)],
}  # fmt: skip
SCORES = [[[0.9, 0.1], [0.3, 0.7], [0.6, 0.4]], [[0], [1], [1]]]
CASES = {
    **{f"paddle.optimizer.{kind}": [
        program(trained, kind, X, WEIGHTS, learning_rate=0.1, text=kind, **settings) for settings in choices
    ] for kind, choices in RULES.items()},
    **{f"paddle.optimizer.lr.{kind}": [
        program(rates, kind, *c.args, text=kind, **c.settings) for c in choices
    ] for kind, choices in RATES.items()},
}  # fmt: skip
CASES["paddle.optimizer.lr.LinearWarmup"] += [
    program(nested, warmup_steps=4, start_lr=0.0, end_lr=0.1, text="nested")
]
CASES["paddle.optimizer.SGD"] += [
    program(minimized, X, WEIGHTS, text="minimized"),
    program(rate_set, X, WEIGHTS, text="rates"),
    program(scheduled, X, WEIGHTS, text="scheduled"),
]
for kind in ("SGD", "Momentum", "Adam", "AdamW"):
    CASES[f"paddle.optimizer.{kind}"] += [program(groups, kind, X, WEIGHTS, text="groups")]
CASES |= {
    "paddle.optimizer.LBFGS": [
        program(closed, X, WEIGHTS, text="plain", max_iter=3),
        program(closed, X, WEIGHTS, text="search", line_search_fn="strong_wolfe", max_iter=2),
        program(closed, X, WEIGHTS, text="slow", learning_rate=0.1, max_iter=5, history_size=2),
    ],
    "paddle.metric.Accuracy": [
        program(counted, "Accuracy", [SCORES, SCORES], text="one"),
        program(counted, "Accuracy", [SCORES], text="two", topk=(1, 2)),
    ],
    "paddle.metric.Precision": [program(counted, "Precision", [[[0.9, 0.2, 0.8], [1, 0, 0]], [[0.6], [1]]])],
    "paddle.metric.Recall": [program(counted, "Recall", [[[0.9, 0.2, 0.8], [1, 1, 0]], [[0.6], [1]]])],
    "paddle.metric.Auc": [program(counted, "Auc", [SCORES, SCORES])],
    "paddle.metric.accuracy": [
        call(given(SCORES[0]), given(SCORES[1], "int64")).but(grad=False),
        call(given(SCORES[0]), given(SCORES[1], "int64"), k=2).but(grad=False),
    ],
    "paddle.nn.utils.clip_grad_norm_": [
        program(clipped, "clip_grad_norm_", X, WEIGHTS, 0.5, text="two"),
        program(clipped, "clip_grad_norm_", X, WEIGHTS, 0.5, text="inf", norm_type=float("inf")),
        program(clipped, "clip_grad_norm_", X, WEIGHTS, 0.5, text="one", norm_type=1.0),
    ],
    "paddle.nn.utils.clip_grad_value_": [program(clipped, "clip_grad_value_", X, WEIGHTS, 0.5)],
    "paddle.nn.utils.parameters_to_vector": [program(as_vector, WEIGHTS)],
    "paddle.nn.utils.weight_norm": [
        program(normed, "weight_norm", WEIGHTS, X, text="plain"),
        program(normed, "weight_norm", WEIGHTS, X, text="axis", dim=1),
        program(normed, "weight_norm", WEIGHTS, X, text="all", dim=None),
    ],
    "paddle.nn.utils.spectral_norm": [program(normed, "spectral_norm", WEIGHTS, X)],
    "paddle.nn.utils.remove_weight_norm": [program(unnormed, WEIGHTS, X)],
    "paddle.io.BatchSampler": [
        program(batches, 7, text="plain", batch_size=3),
        program(batches, 7, text="dropped", batch_size=3, drop_last=True),
        program(batches, 7, text="none", batch_size=0),
    ],
    "paddle.io.DistributedBatchSampler": [
        program(shares, 10, 0, text="first", batch_size=2),
        program(shares, 10, 2, text="last", batch_size=2),
        program(shares, 10, 1, text="dropped", batch_size=2, drop_last=True),
    ],
    "paddle.io.ConcatDataset": [program(datasets)],
    "paddle.io.DataLoader": [
        program(loaded, 5, text="plain", batch_size=2),
        program(loaded, 5, text="dropped", batch_size=2, drop_last=True),
        program(loaded, 3, text="one"),
    ],
    "paddle.io.random_split": [program(split)],
}
