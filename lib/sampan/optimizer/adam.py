"""Adam (Kingma and Ba 2015) and what grew from it.

AdamW: Loshchilov and Hutter 2019; amsgrad: Reddi et al. 2018; Adamax: Kingma and Ba 2015, section 7.1; NAdam:
Dozat 2016; RAdam: Liu et al. 2020; Lamb: You et al. 2020.
"""

import math
from typing import Any

import torch

from .. import kernels
from .lr import _number
from .optimizer import Optimizer, Slot, numbers


def _settings(beta1: Any, beta2: Any, epsilon: Any, **others: Any) -> dict[str, Any]:
    return {**numbers(1, beta1=beta1, beta2=beta2), **numbers(epsilon=epsilon), **others}


class Adam(Optimizer):
    """m <- beta1 m + (1 - beta1) g; v <- beta2 v + (1 - beta2) g^2; p <- p - lr * m' / (sqrt(v') + epsilon).

    m' = m / (1 - beta1^t), v' = v / (1 - beta2^t). weight_decay enters the gradient (L2). epsilon is added to
    the root of the corrected v', as in the paper's algorithm 1, in torch, and in what Paddle computes.
    amsgrad: the largest v so far takes the place of v. lazy_mode: of a table that an embedding read, only the
    rows with a gradient are stepped, as by Paddle and by torch's SparseAdam; the others keep weights and
    moments as they are, where the exact step lets their moments fade and still move them. Much faster on
    large tables, and not the same rule.
    A parameter of half precision has float32 moments, as in Paddle, and each step is rounded once.
    """

    rule, by_rule, wide, state_names = "adam", True, True, ("moment1", "moment2")
    powers = {"beta1_pow_acc": ("beta1", 1), "beta2_pow_acc": ("beta2", 1)}

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        lazy_mode=False,
        multi_precision=False,
        use_multi_tensor=False,
        amsgrad=False,
        name=None,
    ):
        if amsgrad:
            self.rule, self.state_names = "amsgrad", ("moment1", "moment2", "moment2_max")
        own = _settings(beta1, beta2, epsilon, lazy_mode=lazy_mode)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, multi_precision, **own)

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        return kernels.adam_numbers(lr, settings["beta1"], settings["beta2"], settings["epsilon"], steps)

    def update(self, parameters, gradients, state, lr, steps, slots, settings):
        if self.rule != "adam":
            super().update(parameters, gradients, state, lr, steps, slots, settings)
            return
        betas = settings["beta1"], settings["beta2"]
        alike = (
            b.is_cuda and b.is_contiguous() and b.dtype is parameters[0].dtype
            for b in (*parameters, *gradients)
        )
        if parameters and all(alike):  # one launch for all parameters
            counts = [parameters[0].new_full((), steps, dtype=torch.float32)] * len(parameters)
            torch._fused_adam_(
                parameters,
                gradients,
                *state,
                [],
                counts,
                lr=lr,
                beta1=betas[0],
                beta2=betas[1],
                eps=settings["epsilon"],
                weight_decay=0.0,
                amsgrad=False,
                maximize=False,
            )
            return
        kernels.adam_step(parameters, gradients, *state, lr, *betas, settings["epsilon"], steps)


class AdamW(Adam):
    """Adam whose weight decay does not pass through the moments: first p <- p - lr * weight_decay * p, then
    Adam.

    lr_ratio: function of a parameter, a factor on its rate. apply_decay_param_fun: function of a parameter's
    name that says whether it decays; all do when it is None. use_lowprecision_moment: moments in half
    precision for parameters that are so.
    """

    decoupled = True

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameters=None,
        weight_decay=0.01,
        use_lowprecision_moment=False,
        lr_ratio=None,
        apply_decay_param_fun=None,
        grad_clip=None,
        lazy_mode=False,
        multi_precision=False,
        amsgrad=False,
        name=None,
    ):
        decay = _number(weight_decay, "weight_decay")
        super().__init__(
            learning_rate,
            beta1,
            beta2,
            epsilon,
            parameters,
            decay,
            grad_clip,
            lazy_mode,
            multi_precision,
            False,
            amsgrad,
            name,
        )
        self.wide = not use_lowprecision_moment
        self._decays = apply_decay_param_fun
        if lr_ratio is not None:
            for slot in (slot for group in self._groups for slot in group.slots):
                slot.rate *= float(lr_ratio(slot.parameter))

    def kept(self, lr: float, slot: Slot, settings: dict[str, Any]) -> float:
        decays = self._decays is None or self._decays(slot.parameter.name)
        return 1.0 - lr * settings["weight_decay"] if decays else 1.0

    def update(self, parameters, gradients, state, lr, steps, slots, settings):
        decaying = [p for p, s in zip(parameters, slots, strict=True) if self.kept(lr, s, settings) != 1.0]
        if decaying:
            torch._foreach_mul_(decaying, 1.0 - lr * settings["weight_decay"])
        super().update(parameters, gradients, state, lr, steps, slots, settings)


class _TwoMoments(Optimizer):
    """What Adamax and RAdam take."""

    wide = True

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        settings = _settings(beta1, beta2, epsilon)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, **settings)


class Adamax(_TwoMoments):
    """m as in Adam; u <- max(beta2 u + epsilon, |g|); p <- p - lr / (1 - beta1^t) * m / u."""

    rule, state_names = "adamax", ("moment", "inf_norm")
    powers = {"beta1_pow_acc": ("beta1", 1)}

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        beta1 = settings["beta1"]
        return lr / (1 - beta1**steps), beta1, 1 - beta1, settings["beta2"], settings["epsilon"]


class NAdam(Optimizer):
    """Adam with Nesterov's look ahead: m' mixes the next step's momentum with the present gradient.

    mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2), P_t their product up to t;
    m' = mu_(t+1) m / (1 - P_(t+1)) + (1 - mu_t) g / (1 - P_t).
    """

    rule, wide, state_names = "nadam", True, ("moment1", "moment2")
    powers, powers_are_wide = {"beta2_pow": ("beta2", 0)}, True

    def __init__(
        self,
        learning_rate=0.002,
        beta1=0.9,
        beta2=0.999,
        epsilon=1.0e-8,
        momentum_decay=0.004,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        settings = _settings(beta1, beta2, epsilon, **numbers(momentum_decay=momentum_decay))
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, **settings)
        self._products: dict[tuple[float, float], list[float]] = {}

    def counts(self, steps: int, settings: dict[str, Any]) -> dict[str, float]:
        product = self._schedule(steps, settings)[2]
        return {
            "momentum_decay_pow": 0.96**steps,
            **super().counts(steps, settings),
            "mu_product": product,
        }

    def _schedule(self, steps: int, settings: dict[str, Any]) -> tuple[float, float, float, float]:
        """mu_t, mu_(t+1), P_t, P_(t+1)."""
        beta1, decay = settings["beta1"], settings["momentum_decay"]

        def mu(t: int) -> float:
            return float(beta1 * (1 - 0.5 * 0.96 ** (t * decay)))

        products = self._products.setdefault((beta1, decay), [1.0])
        while len(products) <= steps + 1:
            products.append(products[-1] * mu(len(products)))
        return mu(steps), mu(steps + 1), products[steps], products[steps + 1]

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        now, after, product, product_after = self._schedule(steps, settings)
        beta1 = settings["beta1"]
        rate, *betas, eps = kernels.adam_numbers(lr, beta1, settings["beta2"], settings["epsilon"], steps)
        rate *= 1 - beta1**steps  # this mean has a correction of its own
        return rate * after / (1 - product_after), *betas, eps, rate * (1 - now) / (1 - product)


class RAdam(_TwoMoments):
    """Adam without its second moment while that averages too few steps (rho_t <= 5), and rectified after
    that."""

    rule, state_names = "radam", ("moment1", "moment2")
    powers, powers_are_wide = {"beta1_pow": ("beta1", 0), "beta2_pow": ("beta2", 0)}, True

    def counts(self, steps: int, settings: dict[str, Any]) -> dict[str, float]:
        power = settings["beta2"] ** steps
        return {**super().counts(steps, settings), "rho": steps * power / (1 - power)}

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        beta1, beta2 = settings["beta1"], settings["beta2"]
        end = 2 / (1 - beta2) - 1
        rho = end - 2 * steps * beta2**steps / (1 - beta2**steps)
        rate = lr / (1 - beta1**steps)
        if rho <= 5:
            return 0.0, beta1, 1 - beta1, beta2, 1 - beta2, 1.0, rate
        rectified = math.sqrt((rho - 4) * (rho - 2) * end / ((end - 4) * (end - 2) * rho))
        rate *= rectified * math.sqrt(1 - beta2**steps)
        return rate, beta1, 1 - beta1, beta2, 1 - beta2, settings["epsilon"], 0.0


class Lamb(Optimizer):
    """p <- p - lr * |p| / |r| * r, with r = m' / (sqrt(v') + epsilon) + lamb_weight_decay * p of Adam's m'
    and v'.

    The factor |p| / |r| is 1 where one of the norms is 0, and without decay unless always_adapt.
    exclude_from_weight_decay_fn: function of a parameter that says whether it has none.
    """

    rule, wide, state_names = "lamb", True, ("moment1", "moment2")
    powers = Adam.powers

    def __init__(
        self,
        learning_rate=0.001,
        lamb_weight_decay=0.01,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-6,
        parameters=None,
        grad_clip=None,
        exclude_from_weight_decay_fn=None,
        multi_precision=False,
        always_adapt=False,
        name=None,
    ):
        settings = _settings(beta1, beta2, epsilon, **numbers(lamb_weight_decay=lamb_weight_decay))
        super().__init__(learning_rate, parameters, None, grad_clip, name, multi_precision, **settings)
        self._excluded, self.always_adapt = exclude_from_weight_decay_fn, always_adapt

    def update(self, parameters, gradients, state, lr, steps, slots, settings):
        numbers = kernels.adam_numbers(1.0, settings["beta1"], settings["beta2"], settings["epsilon"], steps)
        for slot, p, g, m, v in zip(slots, parameters, gradients, *state, strict=True):
            excluded = self._excluded is not None and self._excluded(slot.parameter)
            decay = 0.0 if excluded else settings["lamb_weight_decay"]
            change = torch.empty_like(p)
            kernels.rule_step(self.rule, [[p], [g], [m], [v], [change]], (*numbers, decay))
            norms = float(p.norm()), float(change.norm())
            adapts = (decay > 0 or self.always_adapt) and min(norms) > 0
            p.add_(change, alpha=-lr * (norms[0] / norms[1] if adapts else 1.0))
