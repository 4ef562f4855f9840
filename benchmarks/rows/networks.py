"""Networks that people train: a recurrent one, two for images, a small GPT; forward, and a step with Momentum or Adam.

The PyTorch definitions stand here, written layer for layer in the order of Paddle's, so that the same numbers can
be put into both.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from . import Row
from .training import weights

BATCH, PIXELS, CLASSES = 8, 96, 10
TIME, RECURRENT_BATCH, HIDDEN = 50, 32, 256
GPT_TIME, GPT_WIDTH, GPT_HEADS, GPT_LAYERS, VOCABULARY = 64, 128, 4, 2, 256


def fill(fw, network, is_torch):
    """The same numbers into each parameter. A weight of two axes is [inputs, outputs] in Paddle's Linear alone."""
    kept = [t for t in network.parameters() if is_torch or not t.stop_gradient]
    turned = {id(layer.weight) for layer in linear_layers(fw, network, is_torch)}
    for layer in network.modules() if is_torch else network.sublayers(include_self=True):
        if isinstance(layer, fw.nn.Dropout):
            layer.p = 0.0  # each framework would drop different entries
    for tensor in kept:
        generator = np.random.default_rng(int(np.prod(tuple(tensor.shape))))
        shape = tuple(tensor.shape)
        if len(shape) == 1:
            value = (
                np.ones(shape, np.float32) if is_norm_weight(network, tensor) else np.zeros(shape, np.float32)
            )
        elif id(tensor) in turned and not is_torch:
            value = next(weights([shape[::-1]])).T.copy()
        else:
            fan_in = int(np.prod(shape[1:]))
            value = (generator.standard_normal(shape) / fan_in**0.5).astype(np.float32)
            if id(tensor) in turned:
                value = next(weights([shape]))
        if is_torch:
            tensor.data.copy_(fw.from_numpy(value))
        else:
            tensor.set_value(value)


def linear_layers(fw, network, is_torch):
    layers = network.modules() if is_torch else network.sublayers(include_self=True)
    return [layer for layer in layers if isinstance(layer, fw.nn.Linear)]


def is_norm_weight(network, tensor):
    layers = (
        network.modules() if hasattr(network, "named_modules") and not hasattr(network, "sublayers") else None
    )
    for layer in layers or network.sublayers(include_self=True):
        if "Norm" in type(layer).__name__ and getattr(layer, "weight", None) is tensor:
            return True
    return False


# --- PyTorch's definitions -----------------------------------------------------------------------------------


def resnet18_torch(fw, num_classes=CLASSES):
    nn = fw.nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.downsample = None
            if stride != 1 or inputs != outputs:
                self.downsample = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x):
            y = fw.relu(self.bn1(self.conv1(x)))
            y = self.bn2(self.conv2(y))
            return fw.relu(y + (x if self.downsample is None else self.downsample(x)))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    width = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(width, outputs, stride), Block(outputs, outputs, 1)]
        width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, num_classes))


def mobilenet_v2_torch(fw, num_classes=CLASSES):
    nn = fw.nn

    def unit(inputs, outputs, kernel=3, stride=1, groups=1, act=True):
        layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)]
        return [*layers, nn.BatchNorm2d(outputs), *([nn.ReLU6()] if act else [])]

    class Residual(nn.Module):
        def __init__(self, inputs, outputs, stride, expand):
            super().__init__()
            inner = inputs * expand
            first = unit(inputs, inner, 1) if expand != 1 else []
            middle = unit(inner, inner, 3, stride, inner)
            self.body = nn.Sequential(*first, *middle, *unit(inner, outputs, 1, act=False))
            self.whole = stride == 1 and inputs == outputs

        def forward(self, x):
            return x + self.body(x) if self.whole else self.body(x)

    layers, width = unit(3, 32, 3, 2), 32
    plan = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]
    for expand, outputs, count, stride in plan:
        for place in range(count):
            layers.append(Residual(width, outputs, stride if place == 0 else 1, expand))
            width = outputs
    tail = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, num_classes)]
    return nn.Sequential(*layers, *unit(width, 1280, 1), *tail)


def gpt_torch(fw):
    return gpt(fw, fw.nn.Embedding, fw.nn.LayerNorm, lambda x, n: x.chunk(n, -1), lambda x, *s: x.reshape(s))


def gpt_paddle(fw):
    return gpt(
        fw,
        fw.nn.Embedding,
        fw.nn.LayerNorm,
        lambda x, n: fw.chunk(x, n, -1),
        lambda x, *s: x.reshape(list(s)),
    )


def gpt(fw, Embedding, LayerNorm, chunk, shaped):
    """A GPT of two blocks. `F.scaled_dot_product_attention` wants [batch, time, heads, width] in Paddle."""
    nn = fw.nn
    is_torch = fw.__name__ == "torch"
    Base = nn.Module if is_torch else nn.Layer
    attend = nn.functional.scaled_dot_product_attention

    class Block(Base):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = LayerNorm(GPT_WIDTH), LayerNorm(GPT_WIDTH)
            self.qkv, self.out = nn.Linear(GPT_WIDTH, 3 * GPT_WIDTH), nn.Linear(GPT_WIDTH, GPT_WIDTH)
            self.up, self.down = nn.Linear(GPT_WIDTH, 4 * GPT_WIDTH), nn.Linear(4 * GPT_WIDTH, GPT_WIDTH)

        def forward(self, x):
            heads = [
                shaped(part, BATCH, GPT_TIME, GPT_HEADS, GPT_WIDTH // GPT_HEADS)
                for part in chunk(self.qkv(self.norm1(x)), 3)
            ]
            if is_torch:
                mixed = attend(*(h.transpose(1, 2) for h in heads), is_causal=True).transpose(1, 2)
            else:
                mixed = attend(*heads, is_causal=True)
            x = x + self.out(shaped(mixed, BATCH, GPT_TIME, GPT_WIDTH))
            return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    class GPT(Base):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = Embedding(VOCABULARY, GPT_WIDTH), Embedding(GPT_TIME, GPT_WIDTH)
            self.blocks = nn.Sequential(*(Block() for _ in range(GPT_LAYERS)))
            self.norm, self.head = LayerNorm(GPT_WIDTH), nn.Linear(GPT_WIDTH, VOCABULARY)

        def forward(self, ids):
            x = self.tokens(ids) + self.places(fw.arange(GPT_TIME))
            return shaped(self.head(self.norm(self.blocks(x))), BATCH * GPT_TIME, VOCABULARY)

    return GPT()


def lstm(fw):
    return fw.nn.LSTM(HIDDEN, HIDDEN)


# --- data and steps ------------------------------------------------------------------------------------------


def pictures():
    generator = np.random.default_rng(0)
    images = generator.random((BATCH, 3, PIXELS, PIXELS), dtype=np.float32)
    return images, generator.integers(0, CLASSES, BATCH)


def text():
    generator = np.random.default_rng(0)
    ids = generator.integers(0, VOCABULARY, (BATCH, GPT_TIME))
    return ids, generator.integers(0, VOCABULARY, BATCH * GPT_TIME)


def sequences(fw_order):
    values = np.random.default_rng(0).standard_normal((RECURRENT_BATCH, TIME, HIDDEN)).astype(np.float32)
    return values if fw_order == "batch first" else values.transpose(1, 0, 2).copy()


def forward_of(fw, build, data, is_torch):
    as_tensor = fw.from_numpy if is_torch else fw.to_tensor
    x = as_tensor(data()[0])
    network = build(fw)
    fill(fw, network, is_torch)
    network.eval()

    def step():
        with fw.no_grad():
            return network(x)

    return step


def training_of(fw, build, data, is_torch):
    as_tensor = fw.from_numpy if is_torch else fw.to_tensor
    x, y = (as_tensor(a) for a in data())
    network = build(fw)
    fill(fw, network, is_torch)
    network.train()
    if is_torch:
        update = fw.optim.SGD(network.parameters(), lr=1e-4, momentum=0.9)
    else:
        update = fw.optimizer.Momentum(learning_rate=1e-4, momentum=0.9, parameters=network.parameters())
    loss_of = fw.nn.CrossEntropyLoss()

    def step():
        loss = loss_of(network(x), y)
        loss.backward()
        update.step()
        update.zero_grad() if is_torch else update.clear_grad()
        return loss

    return step


def lstm_step(fw, is_torch):
    network = fw.nn.LSTM(HIDDEN, HIDDEN, batch_first=True) if is_torch else lstm(fw)
    kept = dict(network.named_parameters())
    for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
        value = np.random.default_rng(len(name)).standard_normal((4 * HIDDEN, HIDDEN)).astype(np.float32) / 32
        value = value if "weight" in name else value[:, 0].copy()
        tensor = next(t for n, t in kept.items() if n.endswith(name))
        tensor.data.copy_(fw.from_numpy(value)) if is_torch else tensor.set_value(value)
    x = (fw.from_numpy if is_torch else fw.to_tensor)(sequences("batch first"))

    def step():
        out = network(x)[0]
        loss = (out * out).mean()
        loss.backward()
        for tensor in kept.values():
            if is_torch:
                tensor.grad = None
            else:
                tensor.clear_gradient(False)
        return loss

    return step


def paddle_model(name):
    return lambda fw: getattr(fw.vision.models, name)(num_classes=CLASSES)


def both(name, in_paddle, in_torch, data):
    for what, of in (("forward", forward_of), ("training step", training_of)):
        yield Row(
            f"{name} {what}, batch {BATCH}",
            paddle=partial(of, build=in_paddle, data=data, is_torch=False),
            torch=partial(of, build=in_torch, data=data, is_torch=True),
            within=1.25,
        )


ROWS = [
    Row(
        f"LSTM step, time {TIME}, batch {RECURRENT_BATCH}, hidden {HIDDEN}",
        paddle=partial(lstm_step, is_torch=False),
        torch=partial(lstm_step, is_torch=True),
        goal=1 / 1.2,
    ),
    *both("ResNet-18", paddle_model("resnet18"), resnet18_torch, pictures),
    *both("MobileNetV2", paddle_model("mobilenet_v2"), mobilenet_v2_torch, pictures),
    *both("small GPT", gpt_paddle, gpt_torch, text),
]
