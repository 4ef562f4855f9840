"""Every optimizer alone, on a million parameters in fifty tensors."""

from __future__ import annotations

from functools import partial

from . import Row
from .training import PARAMETERS, TENSORS, tensors

RATE = 1e-3
WITHIN = 1.25
# Arrays that a step must read or write, as large as the parameters: the parameter and its gradient read, the parameter
# written, each state read and written.
STATES = {"SGD": 0, "Momentum": 1, "Adagrad": 1, "RMSProp": 1}  # and two in all others
# Paddle's name: its arguments, PyTorch's class (None: it has none) and arguments that make both compute the same.
OPTIMIZERS = {
    "SGD": ({}, "SGD", {}),
    "Momentum": ({"momentum": 0.9}, "SGD", {"momentum": 0.9}),
    "Adagrad": ({"epsilon": 1e-10}, "Adagrad", {}),
    "Adadelta": ({"epsilon": 1e-6, "rho": 0.9}, "Adadelta", {}),
    "RMSProp": ({"rho": 0.99, "epsilon": 1e-8}, "RMSprop", {}),
    "Adam": ({}, "Adam", {}),
    "AdamW": ({"weight_decay": 0.01}, "AdamW", {}),
    "Adamax": ({}, "Adamax", {}),
    "NAdam": ({}, "NAdam", {}),
    "RAdam": ({}, "RAdam", {}),
    "ASGD": ({"batch_num": 1}, "ASGD", {"t0": 1e9}),
    "Rprop": ({"learning_rate_range": (1e-6, 50.0)}, "Rprop", {}),
    "Lamb": ({}, None, {}),
}


def optimizer_paddle(fw, name, settings):
    """The gradients (equal to the first parameters) are made once and stay."""
    kept = []
    for value in tensors():
        tensor = fw.to_tensor(value, stop_gradient=False)
        (tensor * tensor).sum().backward(fw.to_tensor(0.5))
        kept.append(tensor)
    update = getattr(fw.optimizer, name)(learning_rate=RATE, parameters=kept, **settings)

    def step():
        update.step()
        return kept[0]

    return step


def optimizer_torch(fw, name, settings):
    kept = [fw.from_numpy(value).requires_grad_() for value in tensors()]
    for tensor in kept:
        tensor.grad = tensor.detach().clone()
    update = getattr(fw.optim, name)(kept, lr=RATE, **settings)

    def step():
        update.step()
        return kept[0].detach()

    return step


def moved(name):
    return (3 + 2 * STATES.get(name, 2)) * 4 * PARAMETERS


SIZE = f"{PARAMETERS:.0e} parameters in {TENSORS} tensors".replace("e+0", "e")
ROWS = [
    Row(
        f"{name} step, {SIZE}",
        paddle=partial(optimizer_paddle, name=name, settings=settings),
        torch=torch and partial(optimizer_torch, name=torch, settings=torch_settings),
        moved=moved(name),
        within=WITHIN,
    )
    for name, (settings, torch, torch_settings) in OPTIMIZERS.items()
]
ROWS += [
    Row(
        f"{name} step, {SIZE} (PyTorch: fused=True)",
        paddle=partial(optimizer_paddle, name=name, settings=OPTIMIZERS[name][0]),
        torch=partial(optimizer_torch, name=name, settings={**OPTIMIZERS[name][2], "fused": True}),
        moved=moved(name),
        within=WITHIN,
    )
    for name in ("SGD", "Adagrad", "Adam", "AdamW")
]
