"""Gradient descent and its rules with a rate for each element.

References: Polyak 1964 and Sutskever et al. 2013 (momentum, Nesterov's form), Duchi et al. 2011 (Adagrad),
McMahan et al. 2013 (FTRL), Zeiler 2012 (Adadelta), Tieleman and Hinton 2012 (RMSProp), Schmidt et al. 2017
(ASGD: a stochastic average of gradients), Riedmiller and Braun 1993 (Rprop).
"""

from typing import Any

import torch

from .. import kernels
from ..engine.tensor import InvalidArgument
from ..kernels.arena import filled_like
from ..ops.shape import number as real
from .lr import _number
from .optimizer import Optimizer, numbers


class SGD(Optimizer):
    """p <- p - lr * g.

    >>> ones = paddle.nn.initializer.Constant(1.0)
    >>> weight = paddle.create_parameter([1], "float32", default_initializer=ones)
    >>> optimizer = paddle.optimizer.SGD(0.25, parameters=[weight])
    >>> (weight * weight).sum().backward()
    >>> optimizer.step()
    >>> optimizer.clear_grad()
    >>> weight.tolist()
    [0.5]
    """

    rule, by_rule = "sgd", True

    def __init__(
        self,
        learning_rate=0.001,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        multi_precision=False,
        name=None,
    ):
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, multi_precision)

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        return (lr,)

    def update(self, parameters, gradients, state, lr, steps, slots, settings):
        kernels.sgd_step(parameters, gradients, lr)


class Momentum(Optimizer):
    """v <- momentum * v + g; p <- p - lr * v, or p <- p - lr * (g + momentum * v) with use_nesterov.

    rescale_grad: a factor on the gradient, before anything else.
    """

    state_names = ("velocity",)

    def __init__(
        self,
        learning_rate=0.001,
        momentum=0.9,
        parameters=None,
        use_nesterov=False,
        weight_decay=None,
        grad_clip=None,
        multi_precision=False,
        rescale_grad=1.0,
        use_multi_tensor=False,
        name=None,
    ):
        self.rule = "nesterov" if use_nesterov else "momentum"
        self.rescale = float(real(rescale_grad, "Momentum: rescale_grad"))
        own = {"momentum": float(real(momentum, "Momentum: momentum"))}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, multi_precision, **own)

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        return lr, settings["momentum"]


class Adagrad(Optimizer):
    """h <- h + g^2; p <- p - lr * g / (sqrt(h) + epsilon). h starts at initial_accumulator_value."""

    rule, state_names = "adagrad", ("moment",)

    def __init__(
        self,
        learning_rate,
        epsilon=1.0e-6,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
        initial_accumulator_value=0.0,
    ):
        self.initial_accumulator_value = real(initial_accumulator_value, "Adagrad: initial_accumulator_value")
        settings = numbers(epsilon=epsilon)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, **settings)

    def start(self, buffer: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (filled_like(buffer, self.initial_accumulator_value),)

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        return lr, settings["epsilon"]


class Ftrl(Optimizer):
    """Follow the regularised leader (McMahan et al. 2013, algorithm 1, with alpha = lr and beta = 0)::

        n' = n + g^2;  z <- z + g - (sqrt(n') - sqrt(n)) / lr * p;  n <- n'
        p <- 0 where |z| <= l1, else (sign(z) l1 - z) / (sqrt(n) / lr + 2 l2)

    The rule of wide tables of rare features: l1 makes weights exactly 0. An element that never had a gradient
    keeps its value. (Paddle 2.4 and later have no such optimizer; arguments as of Paddle 1's FtrlOptimizer.)
    """

    rule, state_names = "ftrl", ("squared", "linear")

    def __init__(
        self, learning_rate, l1=0.0, l2=0.0, parameters=None, weight_decay=None, grad_clip=None, name=None
    ):
        settings = numbers(l1=l1, l2=l2)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, **settings)

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        return lr, settings["l1"], 2 * settings["l2"], 0.0


class Adadelta(Optimizer):
    """h <- rho h + (1 - rho) g^2; u = sqrt((d + epsilon) / (h + epsilon)) g; d <- rho d + (1 - rho) u^2; p <-
    p - lr * u."""

    rule, state_names = "adadelta", ("_avg_squared_grad", "_avg_squared_update")

    def __init__(
        self,
        learning_rate=0.001,
        epsilon=1.0e-6,
        rho=0.95,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        settings = numbers(rho=rho, epsilon=epsilon)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, **settings)

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        rho = settings["rho"]
        return lr, rho, 1 - rho, settings["epsilon"]


class RMSProp(Optimizer):
    """h <- rho h + (1 - rho) g^2; v <- momentum v + lr * g / sqrt(h + epsilon); p <- p - v.

    centered: the mean of g, squared, is taken off h under the root, so that it is a variance.
    """

    state_names = ("momentum", "mean_square", "mean_grad")

    def __init__(
        self,
        learning_rate,
        rho=0.95,
        epsilon=1.0e-6,
        momentum=0.0,
        centered=False,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        self.rule = "rmsprop_centered" if centered else "rmsprop"
        settings = numbers(rho=rho, epsilon=epsilon, momentum=momentum)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, **settings)

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        rho = settings["rho"]
        return lr, rho, 1 - rho, settings["epsilon"], settings["momentum"]


class ASGD(Optimizer):
    """d <- d - y_i + g; y_i <- g; p <- p - lr * d / min(t, batch_num), with i = t mod batch_num: y keeps the
    last gradients."""

    rule, state_names = "asgd", ("d", "y")

    def __init__(
        self,
        learning_rate=0.001,
        batch_num=1,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        multi_precision=False,
        name=None,
    ):
        self._n = _number(batch_num, "batch_num", 1, whole=True)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, multi_precision)

    def start(self, buffer: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return filled_like(buffer), buffer.new_zeros((self._n, *buffer.shape))

    def counts(self, steps: int, settings: dict[str, Any]) -> dict[str, float]:
        return {"m": steps}

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        return (lr / min(steps, self._n),)

    def update(self, parameters, gradients, state, lr, steps, slots, settings):
        rows = [kept[(steps - 1) % self._n] for kept in state[1]]
        super().update(parameters, gradients, [state[0], rows], lr, steps, slots, settings)


class Rprop(Optimizer):
    """p <- p - sign(g) * rate, with a rate for each element: times etas[1] where g kept its sign, times
    etas[0] where it turned (then g counts as 0), within learning_rate_range. For whole data sets, not for
    batches.
    """

    rule, state_names = "rprop", ("prevs", "learning_rates")

    def __init__(
        self,
        learning_rate=0.001,
        learning_rate_range=(1e-5, 50),
        parameters=None,
        etas=(0.5, 1.2),
        grad_clip=None,
        multi_precision=False,
        name=None,
    ):
        low, high = learning_rate_range
        if isinstance(learning_rate, int | float) and not 0 < low <= learning_rate <= high:
            raise InvalidArgument(f"learning_rate_range: expected {learning_rate} in it, got {low} to {high}")
        if not 0 < etas[0] < 1 < etas[1]:
            raise InvalidArgument(f"etas: expected 0 < etas[0] < 1 < etas[1], got {etas}")
        self._numbers = (low, high, *etas, 0.0)
        super().__init__(learning_rate, parameters, None, grad_clip, name, multi_precision)
        self._initial = self.get_lr()

    def start(self, buffer: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return filled_like(buffer), filled_like(buffer, self._initial)

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        return self._numbers
