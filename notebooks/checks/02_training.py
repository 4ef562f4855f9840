"""Hidden checks of notebook 02. Oracles: the papers' formulas in NumPy, float64."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sampan.learn.cases import Case, Text
from sampan.learn.plain import Strided
from studio.grading.exercise import Exercise

SHAPES = ((30, 10), (10,), (), (4, 3, 5))


def arrays(rng: np.random.Generator, scale: float = 1.0) -> list[np.ndarray]:
    return [np.asarray(rng.normal(0, scale, shape)).astype(np.float32) for shape in SHAPES]


def wide(values: list[np.ndarray]) -> list[np.ndarray]:
    return [value.astype(np.float64) for value in values]


def sgd_step(rng: np.random.Generator) -> Iterator[Case]:
    hint: Text = (
        "Every parameter moves by lr times its gradient, against the gradient.",
        "每个参数沿梯度的反方向移动 lr 乘以梯度。",
    )
    parameters, gradients = arrays(rng), arrays(rng)
    lr = float(rng.uniform(0.01, 0.5))
    after = [p - lr * g for p, g in zip(wide(parameters), wide(gradients), strict=True)]
    name = ("four parameters of different shapes", "四个形状不同的参数")
    yield Case(name, "updates", ([0], parameters, gradients, lr), [after], hint, dtype="float32")
    yield Case(
        name=("the gradients after the step", "更新之后的梯度"),
        driver="updates",
        args=([1], parameters, gradients, lr),
        expected=[gradients],
        hint=(
            "Gradients are read-only: after the step they must be unchanged.",
            "梯度只读：更新之后必须保持不变。",
        ),
    )
    p, g = rng.normal(size=(5, 20)), rng.normal(size=(5, 20))
    yield Case(
        name=("a parameter that is a view with gaps", "有间隔的视图参数"),
        driver="updates",
        args=([0], [Strided(p)], [Strided(g)], lr),
        expected=[[p - lr * g]],
        hint=hint,
    )
    several = [arrays(rng) for _ in range(5)]
    total = [sum(column) for column in zip(*(wide(g) for g in several), strict=True)]
    yield Case(
        name=("five steps of the library's SGD", "库的 SGD 走五步"),
        driver="steps",
        args=("SGD", parameters, several, {"learning_rate": lr}),
        expected=[p - lr * t for p, t in zip(wide(parameters), total, strict=True)],
        hint=hint,
        rtol=1e-4,
        atol=1e-5,
    )


def adam(
    parameters: list[np.ndarray],
    steps: list[list[np.ndarray]],
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> list[np.ndarray]:
    """Kingma and Ba (2015), algorithm 1, in float64."""
    made = wide(parameters)
    m, v = [np.zeros_like(p) for p in made], [np.zeros_like(p) for p in made]
    for t, gradients in enumerate(map(wide, steps), start=1):
        m = [beta1 * a + (1 - beta1) * g for a, g in zip(m, gradients, strict=True)]
        v = [beta2 * a + (1 - beta2) * g * g for a, g in zip(v, gradients, strict=True)]
        made = [
            p - lr * (a / (1 - beta1**t)) / (np.sqrt(b / (1 - beta2**t)) + epsilon)
            for p, a, b in zip(made, m, v, strict=True)
        ]
    return made


def adam_step(rng: np.random.Generator) -> Iterator[Case]:
    hint: Text = (
        "Both averages are corrected by 1 - beta**step, and epsilon is added to the square root, not under it.",
        "两个平均都要除以 1 - beta**step；epsilon 加在平方根之外。",
    )
    parameters, gradients = arrays(rng), arrays(rng)
    moments, variances = arrays(rng, 0.1), [np.abs(a) for a in arrays(rng, 0.1)]
    lr, beta1, beta2 = (
        float(rng.uniform(0.01, 0.1)),
        float(rng.uniform(0.5, 0.95)),
        float(rng.uniform(0.8, 0.99)),
    )
    for epsilon, step, name in (
        (1e-8, 1, ("a first step", "第一步")),
        (1e-8, 7, ("the seventh step", "第七步")),
        (0.1, 4, ("a large epsilon", "较大的 epsilon")),
    ):
        m = [beta1 * a + (1 - beta1) * g for a, g in zip(wide(moments), wide(gradients), strict=True)]
        v = [beta2 * a + (1 - beta2) * g * g for a, g in zip(wide(variances), wide(gradients), strict=True)]
        p = [
            w - lr * (a / (1 - beta1**step)) / (np.sqrt(b / (1 - beta2**step)) + epsilon)
            for w, a, b in zip(wide(parameters), m, v, strict=True)
        ]
        args = ([0, 2, 3], parameters, gradients, moments, variances, lr, beta1, beta2, epsilon, step)
        yield Case(name, "updates", args, [p, m, v], hint, rtol=1e-4, atol=1e-5)
    yield Case(
        name=("the gradients after the step", "更新之后的梯度"),
        driver="updates",
        args=([1], parameters, gradients, moments, variances, lr, beta1, beta2, 1e-8, 2),
        expected=[gradients],
        hint=(
            "Gradients are read-only: do not scale or square them in place.",
            "梯度只读，不要原地缩放或平方。",
        ),
    )
    several = [arrays(rng) for _ in range(6)]
    settings = {"learning_rate": lr, "beta1": beta1, "beta2": beta2, "epsilon": 1e-3}
    yield Case(
        name=("six steps of the library's Adam", "库的 Adam 走六步"),
        driver="steps",
        args=("Adam", parameters, several, settings),
        expected=adam(parameters, several, lr, beta1, beta2, 1e-3),
        hint=hint,
        rtol=1e-3,
        atol=1e-4,
    )


def line(w: np.ndarray, b: np.ndarray, batches: list[Any], lr: float, epochs: int = 1) -> dict[str, Any]:
    """Gradient descent on the mean squared error of a linear layer, by its textbook gradient."""
    w, b = w.astype(np.float64), b.astype(np.float64)
    seen: dict[str, Any] = {"losses": [], "outputs": [], "labels": []}
    for x, y in batches * epochs:
        outputs = x @ w + b
        error = outputs - y
        seen["losses"].append(float((error**2).mean()))
        seen["outputs"].append(outputs)
        seen["labels"].append(y)
        w = w - lr * 2 * x.T @ error / error.size
        b = b - lr * 2 * error.sum(0) / error.size
    return {"weight": w, "bias": b, **seen}


def train_epoch(rng: np.random.Generator) -> Iterator[Case]:
    clear: Text = (
        "Every batch starts with cleared gradients: those of one batch must not affect the next.",
        "每一批都要从零梯度开始。",
    )
    w, b = rng.normal(size=(6, 3)), rng.normal(size=3)
    batches = [(rng.normal(size=(n, 6)), rng.normal(size=(n, 3))) for n in (40, 40, 40, 17)]
    lr = float(rng.uniform(0.05, 0.2))
    for epochs, name in (
        (1, ("four batches, the last one smaller", "四批，最后一批较小")),
        (3, ("three epochs", "三轮")),
    ):
        yield Case(name, "epoch", (w, b, batches, lr, epochs), line(w, b, batches, lr, epochs), clear)
    v = rng.normal(size=(5, 2))
    x, z, y = rng.normal(size=(20, 5)), rng.normal(size=(20, 5)), rng.normal(size=(20, 2))
    error = (x * z) @ v - y
    yield Case(
        name=("a network with two inputs", "有两个输入的网络"),
        driver="two_inputs",
        args=(v, x, z, y, lr),
        expected=v - lr * 2 * (x * z).T @ error / error.size,
        hint=("Inputs and labels are lists: pass them with a star.", "输入和标签是列表：用星号展开传入。"),
    )
    x, y = rng.normal(size=(48, 6)).astype(np.float32), rng.normal(size=(48, 3)).astype(np.float32)
    after = line(w, b, [(x[i : i + 16], y[i : i + 16]) for i in (0, 16, 32)], lr, 2)
    yield Case(
        name=("two epochs of the library's Model.fit", "库的 Model.fit 训练两轮"),
        driver="fit",
        args=(w.astype(np.float32), b.astype(np.float32), x, y, lr, 16, 2),
        expected=(after["weight"], after["bias"]),
        hint=clear,
        rtol=1e-3,
        atol=1e-4,
    )


LIBRARY = ("torch.optim", "optim", "sampan.optimizer", "sampan.kernels", "sampan.ops", "update_rows")
EXERCISES = [
    Exercise(
        "kernels.sgd_step",
        2,
        "A step downhill",
        "下坡一步",
        sgd_step,
        forbid=(*LIBRARY, "SGD", "sgd", "_fused_sgd_", "_foreach_add_", "sgd_update"),
    ),
    Exercise(
        "kernels.adam_step",
        3,
        "A step with memory",
        "有记忆的一步",
        adam_step,
        forbid=(
            *LIBRARY,
            "Adam",
            "AdamW",
            "adam",
            "_fused_adam_",
            "_fused_adamw_",
            "rule_step",
            "adam_numbers",
        ),
    ),
    Exercise(
        "hapi.train_epoch",
        3,
        "The loop",
        "训练循环",
        train_epoch,
        ("fit", "train_batch", "Model", "hapi", "train_epoch"),
        seconds=20,
    ),
]
