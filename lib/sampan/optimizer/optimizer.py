"""What every optimizer shares: parameter groups, the learning rate, clipping, weight decay, state.

One step: collect the buffers of all parameters that have a gradient, clip, add the weight decay, and hand lists
of buffers to `update`, which the subclass writes. The result does not depend on how the lists are cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from .. import tape
from ..autograd import no_grad
from ..nn.clip import ClipGrad
from ..regularizer import L2Decay, WeightDecayRegularizer
from ..tensor import Tensor, zero_gradient
from .lr import LRScheduler

_HALF = (torch.float16, torch.bfloat16)


class Slot:
    """A parameter in an optimizer: its factor on the rate, its decay, its state and how often it was stepped."""

    __slots__ = ("decay", "master", "parameter", "rate", "state", "steps")

    def __init__(self, parameter: Tensor, rate: float, decay: WeightDecayRegularizer | None) -> None:
        self.parameter, self.rate, self.decay = parameter, rate, decay
        self.steps = 0
        self.state: tuple[torch.Tensor, ...] = ()
        self.master: torch.Tensor | None = None  # float32 copy of a half-precision parameter


class Group:
    """Parameters that share their settings."""

    def __init__(self, slots: list[Slot], settings: dict[str, Any], clip: ClipGrad | None) -> None:
        self.slots, self.settings, self.clip = slots, settings, clip
        self.decays = any(slot.decay is not None for slot in slots)


class Optimizer:
    """Base class. A subclass names its state in `state_names`, its settings per group in `defaults`, and writes `update`.

    learning_rate: a number, or a scheduler from `optimizer.lr`. parameters: a list of Parameters, or of
    dictionaries {"params": [...], and settings that differ for them}; there "learning_rate" is a factor.
    weight_decay: a number (that of L2Decay), L2Decay or L1Decay. grad_clip: one of nn.ClipGradBy...
    multi_precision: step half-precision parameters in a float32 copy.
    """

    state_names: tuple[str, ...] = ()
    decoupled = False  # True where `update` treats a number given as weight_decay itself

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        parameters: Iterable[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: ClipGrad | None = None,
        multi_precision: bool = False,
        name: str | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, int | float | LRScheduler):
            raise TypeError(
                f"learning_rate: expected a number or a scheduler, got {type(learning_rate).__name__}"
            )
        if not isinstance(learning_rate, LRScheduler) and not 0 <= learning_rate < float("inf"):
            raise ValueError(f"learning_rate: expected a finite number of at least 0, got {learning_rate}")
        if parameters is None:
            raise ValueError(
                "parameters: expected a list of Parameters, such as layer.parameters(), got None"
            )
        if isinstance(parameters, Tensor):
            raise TypeError("parameters: expected a list of Parameters, got a single Tensor")
        self._learning_rate = learning_rate
        self._grad_clip = grad_clip
        self._multi_precision = multi_precision
        self._groups: list[Group] = []
        listed = list(parameters)
        if listed and not isinstance(listed[0], dict):
            listed = [{"params": listed}]
        for group in listed:
            self._add_group(group, weight_decay, settings)

    def _add_group(self, group: dict[str, Any], weight_decay: Any, settings: dict[str, Any]) -> None:
        own = dict(group)
        parameters, factor = list(own.pop("params")), own.pop("learning_rate", 1.0)
        decay, clip = own.pop("weight_decay", weight_decay), own.pop("grad_clip", self._grad_clip)
        unknown = set(own) - set(settings)
        if unknown:
            raise ValueError(f"parameters: unknown settings in a group: {', '.join(sorted(unknown))}")
        if clip is not None and not isinstance(clip, ClipGrad):
            raise TypeError(f"grad_clip: expected one of nn.ClipGradBy..., got {type(clip).__name__}")
        seen = {id(slot.parameter) for g in self._groups for slot in g.slots}
        common = None if self.decoupled else _regularizer(decay)
        slots: list[Slot] = []
        for parameter in parameters:
            if not isinstance(parameter, Tensor):
                raise TypeError(f"parameters: expected Parameters, got {type(parameter).__name__}")
            if id(parameter) in seen:
                raise ValueError(f"parameters: {parameter.name!r} is given more than once")
            seen.add(id(parameter))
            rate = float(getattr(parameter, "optimize_attr", {}).get("learning_rate", 1.0)) * factor
            slots.append(Slot(parameter, rate, getattr(parameter, "regularizer", None) or common))
        merged = {**settings, **own}
        if self.decoupled:
            merged["weight_decay"] = decay
        self._groups.append(Group(slots, merged, clip))

    # --- the step ---

    def step(self) -> None:
        """Change every parameter that has a gradient."""
        lr = self.get_lr()
        for group in self._groups:
            slots: list[Slot] = []
            gradients: list[torch.Tensor] = []
            for slot in group.slots:
                gradient: Any = slot.parameter._grad
                if gradient is None or slot.parameter.stop_gradient:
                    continue
                if (
                    gradient is zero_gradient
                ):  # cleared: counts as zeros, as in Paddle, and `.grad` makes them
                    gradient = slot.parameter.grad
                slots.append(slot)
                gradients.append(gradient.data)
            if slots:
                self._step_group(group, slots, gradients, lr)

    def _step_group(self, group: Group, slots: list[Slot], gradients: list[torch.Tensor], lr: float) -> None:
        if group.clip is not None:
            chosen = [i for i, slot in enumerate(slots) if getattr(slot.parameter, "need_clip", True)]
            for i, clipped in zip(chosen, group.clip.clip([gradients[i] for i in chosen]), strict=True):
                gradients[i] = clipped
        if group.decays:
            gradients = [
                g if s.decay is None else s.decay.add_to(g, s.parameter.data)
                for s, g in zip(slots, gradients, strict=True)
            ]
        # What goes into one call shares its rate and its count of steps: mostly that is everything.
        calls: dict[tuple[float, int], tuple[list[Slot], list[torch.Tensor], list[torch.Tensor]]] = {}
        for slot, gradient in zip(slots, gradients, strict=True):
            slot.steps += 1
            buffer = slot.parameter.data
            if self._multi_precision and buffer.dtype in _HALF:
                if slot.master is None:
                    slot.master = buffer.float()
                buffer, gradient = slot.master, gradient.float()
            if not slot.state and self.state_names:
                slot.state = tuple(torch.zeros_like(buffer) for _ in self.state_names)
            key = (slot.rate, slot.steps)
            call = calls.get(key)
            if call is None:
                call = calls[key] = ([], [], [])
            call[0].append(slot)
            call[1].append(buffer)
            call[2].append(gradient)
        for (rate, steps), (chosen_slots, buffers, given) in calls.items():
            state = list(zip(*(slot.state for slot in chosen_slots), strict=True))
            self.update(buffers, given, state, lr * rate, steps, chosen_slots, group.settings)
        for slot in slots:
            if slot.master is not None:
                slot.parameter.data.copy_(slot.master)
            tape.written(slot.parameter.data)

    def update(
        self,
        parameters: list[torch.Tensor],
        gradients: list[torch.Tensor],
        state: Sequence[Sequence[torch.Tensor]],
        lr: float,
        steps: int,
        slots: list[Slot],
        settings: dict[str, Any],
    ) -> None:
        """Change `parameters` and `state` (one list per name in state_names) in place."""
        raise NotImplementedError("Optimizer.update: write it in the subclass")

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Zero the gradients of all parameters, or forget them (set_to_zero=False)."""
        for group in self._groups:
            for slot in group.slots:
                slot.parameter.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def minimize(
        self, loss: Tensor, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> tuple[list[Any], list[tuple[Tensor, Tensor | None]]]:
        """Paddle's form: backward through `loss` unless its tape was used already, then a step."""
        if loss.node is not None and loss.node.pullback is not None:
            loss.backward()
        pairs: list[tuple[Tensor, Tensor | None]] = [
            (p, p.grad) for p in self._parameter_list if p.grad is not None
        ]
        self.step()
        return [], pairs

    @property
    def _parameter_list(self) -> list[Tensor]:
        return [slot.parameter for group in self._groups for slot in group.slots]

    # --- the learning rate ---

    def get_lr(self) -> float:
        """The rate that the next step will use."""
        rate = self._learning_rate
        return rate() if isinstance(rate, LRScheduler) else rate

    def set_lr(self, value: float) -> None:
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError(
                "set_lr: the learning rate comes from a scheduler; use set_lr_scheduler to replace it"
            )
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"value: expected a number, got {type(value).__name__}")
        self._learning_rate = float(value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        if not isinstance(scheduler, LRScheduler):
            raise TypeError(f"scheduler: expected one of optimizer.lr, got {type(scheduler).__name__}")
        self._learning_rate = scheduler

    # --- state ---

    def state_dict(self) -> dict[str, Any]:
        """Everything that a later step depends on, besides the parameters: for `save` and `set_state_dict`.

        Tensors `<parameter>_<state>_0` as in Paddle, "steps" and "parameters" (names, in order), "master_weights"
        and "LR_Scheduler" or "learning_rate". Tensors are the optimizer's own, not copies.
        """
        found: dict[str, Any] = {"parameters": [], "steps": [], "master_weights": {}}
        for slot in (slot for group in self._groups for slot in group.slots):
            name = slot.parameter.name
            found["parameters"].append(name)
            found["steps"].append(slot.steps)
            for kind, buffer in zip(self.state_names, slot.state, strict=False):
                found[f"{name}_{kind}_0"] = Tensor(buffer)
            if slot.master is not None:
                found["master_weights"][name] = Tensor(slot.master)
        if isinstance(self._learning_rate, LRScheduler):
            found["LR_Scheduler"] = self._learning_rate.state_dict()
        else:
            found["learning_rate"] = self._learning_rate
        return found

    @no_grad()
    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a `state_dict`, by the order of the parameters (names may differ, as for a network made again).

        ValueError, before anything is changed, when it belongs to other parameters or another kind of optimizer.
        """
        slots = [slot for group in self._groups for slot in group.slots]
        names = state_dict.get("parameters")
        if (
            not isinstance(names, list)
            or len(names) != len(slots)
            or len(state_dict.get("steps", ())) != len(slots)
        ):
            given = len(names) if isinstance(names, list) else "no"
            raise ValueError(
                f"state_dict: expected the state of {len(slots)} parameters, got {given} parameters"
            )
        taken: list[tuple[torch.Tensor, ...]] = []
        for slot, name, steps in zip(slots, names, state_dict["steps"], strict=True):
            held = tuple(state_dict.get(f"{name}_{kind}_0") for kind in self.state_names)
            if steps and any(h is None for h in held):
                raise ValueError(f"state_dict: it has no {' or '.join(self.state_names)} for {name!r}")
            for h in held:
                if h is not None and h.shape != slot.parameter.shape:
                    raise ValueError(
                        f"state_dict: {name}: expected shape {slot.parameter.shape}, got {list(h.shape)}"
                    )
            buffer = slot.parameter.data
            taken.append(
                () if not steps else tuple(h.data.to(buffer.device, copy=True) for h in held if h is not None)
            )
        scheduled = isinstance(self._learning_rate, LRScheduler)
        if scheduled != ("LR_Scheduler" in state_dict):
            raise ValueError(
                f"state_dict: expected {'a scheduler' if scheduled else 'a plain learning rate'}, got the other"
            )
        if isinstance(self._learning_rate, LRScheduler):
            self._learning_rate.set_state_dict(state_dict["LR_Scheduler"])
        else:
            self._learning_rate = state_dict["learning_rate"]
        masters = state_dict.get("master_weights", {})
        for slot, name, steps, held_buffers in zip(slots, names, state_dict["steps"], taken, strict=True):
            slot.steps, slot.state = int(steps), held_buffers
            slot.master = masters[name].data.clone() if name in masters else None

    set_dict = set_state_dict


def _regularizer(value: Any) -> WeightDecayRegularizer | None:
    if value is None or isinstance(value, WeightDecayRegularizer):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(
            f"weight_decay: expected a number, L1Decay, L2Decay or None, got {type(value).__name__}"
        )
    return L2Decay(value) if value else None
