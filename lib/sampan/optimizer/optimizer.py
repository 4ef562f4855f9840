"""What every optimizer shares: parameter groups, the learning rate, clipping, weight decay, state.

One step: collect the buffers of all parameters that have a gradient, clip, add the weight decay, and hand
lists of buffers to `update`: mostly a rule of `kernels` with its numbers. The result does not depend on how
the lists are cut.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .. import kernels
from ..engine import tape
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..kernels.arena import filled_like
from ..nn.clip import ClipGrad
from ..ops.shape import scalar
from ..regularizer import L2Decay, WeightDecayRegularizer
from ..row_sparse import RowGradient, rows_of, step_rows
from .lr import LRScheduler, _number

_HALF = (torch.float16, torch.bfloat16)
_MASTER = "_fp32_master_0"  # what Paddle adds to the name of a parameter that is stepped in float32


class MissingParameters(InvalidType, AttributeError):
    """Raised where `parameters` holds no Parameters. Paddle raises AttributeError."""


class Slot:
    """A parameter in an optimizer: its factor on the rate, its decay, its state and how often it was
    stepped."""

    __slots__ = ("by_rows", "decay", "master", "parameter", "rate", "state", "steps")

    def __init__(self, parameter: Tensor, rate: float, decay: WeightDecayRegularizer | None) -> None:
        self.parameter, self.rate, self.decay = parameter, rate, decay
        self.steps, self.by_rows = 0, hasattr(parameter, "growth")  # its gradient is one of rows
        self.state: tuple[torch.Tensor, ...] = ()
        self.master: torch.Tensor | None = None  # float32 copy of a half-precision parameter


class Group:
    """Parameters that share their settings."""

    def __init__(self, slots: list[Slot], settings: dict[str, Any], clip: ClipGrad | None) -> None:
        self.slots, self.settings, self.clip = slots, settings, clip
        self.decays = any(slot.decay is not None for slot in slots)


class Optimizer:
    """Base class. A subclass names its state in `state_names`, and either a rule of `kernels` with its
    `numbers`, or it writes `update`. What may differ between groups goes through `**settings`.

    learning_rate: a number, or a scheduler from `optimizer.lr`. parameters: a list of Parameters, or of
    dictionaries {"params": [...], and settings that differ for them}; there "learning_rate" is a factor.
    weight_decay: a number (that of L2Decay), L2Decay or L1Decay. grad_clip: one of nn.ClipGradBy...
    multi_precision: step half-precision parameters in a float32 copy. name: goes before the names of the
    state.
    """

    state_names: tuple[str, ...] = ()
    rule = ""
    powers: dict[str, tuple[str, int]] = {}  # Paddle's counts of steps, by name: setting^(steps + offset)
    powers_are_wide = False  # True where Paddle keeps them as large as the parameter, not as one number
    decoupled = False  # True where `update` treats a number given as weight_decay itself
    by_rule = False  # True where an `update` of its own does what `rule` says, as far as rows are concerned
    static: Any = None  # `minimize` of a static graph, while one is built
    wide = False  # True where the state of half-precision parameters is float32, as are the steps
    rescale = 1.0  # a factor on each gradient, after clipping and decay

    def __init__(
        self,
        learning_rate,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
        multi_precision=False,
        **settings,
    ):
        learning_rate = scalar(learning_rate) if isinstance(learning_rate, np.generic) else learning_rate
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, int | float | LRScheduler):
            raise InvalidType(f"learning_rate: expected a number or a scheduler, got {learning_rate!r}")
        if not isinstance(learning_rate, LRScheduler) and not math.isfinite(learning_rate):
            raise InvalidArgument(f"learning_rate: expected a finite number, got {learning_rate}")
        if parameters is None and not self.static:
            raise MissingParameters("parameters: expected Parameters, such as layer.parameters(), got None")
        if isinstance(parameters, Tensor | dict):
            raise InvalidType(
                "parameters: expected a list of Parameters or of dictionaries, got a single "
                f"{type(parameters).__name__}"
            )
        self._learning_rate = learning_rate
        self._grad_clip = grad_clip
        self._multi_precision = multi_precision
        self._prefix = f"{name}_" if name else ""
        self._groups: list[Group] = []
        self._later = weight_decay, settings
        listed = list(parameters or ())
        if listed and not isinstance(listed[0], dict):
            listed = [{"params": listed}]
        for group in listed:
            self._add_group(group, weight_decay, settings)

    @property
    def type(self) -> str:
        """Its kind, as Paddle's operators are called."""
        return type(self).__name__.lower()

    def _add_group(self, group: dict[str, Any], weight_decay: Any, settings: dict[str, Any]) -> None:
        own = dict(group)
        parameters, factor = list(own.pop("params")), own.pop("learning_rate", 1.0)
        decay, clip = own.pop("weight_decay", weight_decay), own.pop("grad_clip", self._grad_clip)
        unknown = set(own) - set(settings)
        if unknown:
            raise InvalidArgument(f"parameters: unknown settings in a group: {', '.join(sorted(unknown))}")
        if clip is not None and not isinstance(clip, ClipGrad):
            raise InvalidType(f"grad_clip: expected one of nn.ClipGradBy..., got {type(clip).__name__}")
        seen = {id(slot.parameter) for g in self._groups for slot in g.slots}
        common = None if self.decoupled else _regularizer(decay)
        slots: list[Slot] = []
        for parameter in parameters:
            if not isinstance(parameter, Tensor):
                raise MissingParameters(f"parameters: expected Parameters, got {type(parameter).__name__}")
            if id(parameter) in seen:
                raise InvalidArgument(f"parameters: {parameter.name!r} is given more than once")
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
        self._step({})

    def _step(self, given: dict[int, Tensor | None]) -> None:
        """A step with the gradients in `given` (by the id of their parameters) in place of the parameters'
        own."""
        lr = self.get_lr()
        for group in self._groups:
            slots: list[Slot] = []
            gradients: list[Any] = []
            for slot in group.slots:
                parameter = slot.parameter
                gradient: Any = parameter._grad if not given else given.get(id(parameter))
                # cleared: counts as zeros, as in Paddle, and `.grad` makes them; as no rows, where there were
                # rows
                if gradient is None and parameter._cleared and not given:
                    gradient = RowGradient.nothing(parameter.data) if slot.by_rows else parameter.grad
                if gradient is None or parameter.stop_gradient:
                    continue
                slots.append(slot)
                rows = None if type(gradient) is Tensor else rows_of(gradient)
                slot.by_rows = rows is not None
                gradients.append(gradient.data if rows is None else rows)
            if slots:
                self._step_group(group, slots, gradients, lr)

    def _step_group(self, group: Group, slots: list[Slot], gradients: list[Any], lr: float) -> None:
        """gradients: buffers, or a RowGradient for a table."""
        if group.clip is not None:
            chosen = [i for i, slot in enumerate(slots) if getattr(slot.parameter, "need_clip", True)]
            group.clip.parameters = [slots[i].parameter for i in chosen]  # type: ignore[attr-defined]  # for those that look at them
            for i, clipped in zip(chosen, _clipped(group.clip, [gradients[i] for i in chosen]), strict=True):
                gradients[i] = clipped
        if group.decays:  # it changes every row, those too that have no gradient
            gradients = [
                g if s.decay is None else s.decay.add_to(_dense(g), s.parameter.data)
                for s, g in zip(slots, gradients, strict=True)
            ]
        # What goes into one call shares its rate and its count of steps: mostly that is everything.
        calls: dict[tuple[float, int], tuple[list[Slot], list[Any], list[Any]]] = {}
        copies: list[tuple[torch.Tensor, torch.Tensor]] = []  # a parameter of half precision, in float32
        for slot, gradient in zip(slots, gradients, strict=True):
            growth = getattr(slot.parameter, "growth", None)
            rests = growth is not None and type(gradient) is RowGradient and self.rests(group.settings)
            if growth is not None and growth.partial and not rests:
                raise InvalidType(
                    f"{type(self).__name__}: a table with some of its rows in a cache needs a rule that "
                    "leaves rows without a gradient unchanged: SGD, Adagrad, Ftrl, or Adam and AdamW with "
                    "lazy_mode=True; and no weight decay in its gradient"
                )
            slot.steps += 1
            buffer = slot.parameter.data
            half = buffer.dtype in _HALF
            # of a table that is stepped by rows no whole copy is made
            lazy = half and type(gradient) is RowGradient and self.rests(group.settings)
            if half and (self._multi_precision or (self.wide and not lazy)):
                exact = buffer.float() if slot.master is None else slot.master
                slot.master = exact if self._multi_precision else None
                copies.append((buffer, exact))
                buffer, gradient = exact, gradient.to(torch.float32)
            if self.rescale != 1.0:
                gradient = gradient * self.rescale
            if growth is not None:  # a table that has more rows now than before
                growth.state(slot, self, rests)
            elif not slot.state and self.state_names:
                slot.state = self.start(buffer.float() if half and self.wide else buffer)
            if type(gradient) is RowGradient:
                arrays = (buffer, *slot.state)
                if self.update_rows(arrays, gradient, lr * slot.rate, slot, group.settings):
                    continue
                gradient = gradient.dense()
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
        for buffer, exact in copies:
            buffer.copy_(exact)
        for slot in slots:
            tape.written(slot.parameter.data)

    def start(self, buffer: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The state of a parameter before its first step."""
        return tuple(filled_like(buffer) for _ in self.state_names)

    def numbers(self, lr: float, steps: int, settings: dict[str, Any]) -> tuple[float, ...]:
        """The numbers of the rule at a step, which counts from 1."""
        raise NotImplementedError(f"{type(self).__name__}.numbers: write it in the subclass, or update")

    def update(self, parameters, gradients, state, lr, steps, slots, settings):
        """Change `parameters` and `state` (one list per name in state_names) in place. All are lists of
        buffers."""
        kernels.rule_step(self.rule, (parameters, gradients, *state), self.numbers(lr, steps, settings))

    def rests(self, settings: dict[str, Any]) -> bool:
        """Whether an element without a gradient stays as it is, and its state too: then stepping the rows of
        a table that have one is stepping all. With `lazy_mode` (Adam, AdamW) they stay though the rule moves
        them."""
        return self.rule in ("sgd", "adagrad", "ftrl") or bool(settings.get("lazy_mode"))

    def kept(self, lr: float, slot: Slot, settings: dict[str, Any]) -> float:
        """What a decay that does not pass through the gradient leaves of a parameter: a factor."""
        return 1.0

    def update_rows(self, arrays, gradient, lr, slot, settings):
        """As `update`, for one table and its state, with a RowGradient; False where the rule has no such
        form.

        Equal to the dense step, but for `lazy_mode`: rows without a gradient are stepped too where they do
        not rest. The gradient is never made dense.
        """
        if not self.rule or not (self.by_rule or type(self).update is Optimizer.update):
            return False
        rests, kept = self.rests(settings), self.kept(lr, slot, settings) if self.decoupled else 1.0
        rule, numbers = self.rule, self.numbers(lr, slot.steps, settings)
        if kept != 1.0 and rests and rule == "adam":
            rule, numbers = "adamw", (*numbers, kept)
        elif kept != 1.0:
            arrays[0].mul_(kept)
        step_rows(rule, arrays, gradient, numbers, not rests)
        return True

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Zero the gradients of all parameters, or forget them (set_to_zero=False)."""
        for group in self._groups:
            for slot in group.slots:
                slot.parameter.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def zero_grad(self, set_to_none: bool = True) -> None:
        """torch's spelling of `clear_grad`: removes the gradients, or zeroes them (set_to_none=False)."""
        self.clear_grad(not set_to_none)

    def backward(self, loss, startup_program=None, parameters=None, no_grad_set=None, callbacks=None):
        """Pairs of parameter and gradient. Runs backward from `loss` unless a parameter has its gradient
        already."""
        wanted = [p for p in parameters or self._parameter_list if not p.stop_gradient]
        if all(p._grad is None for p in wanted):
            loss.backward()
        return [(p, p.grad) for p in wanted if p.grad is not None]

    def append_regularization_ops(self, parameters_and_grads, regularization=None):
        """The pairs with the gradient of each parameter's own penalty, or of `regularization`, added."""
        common = _regularizer(regularization)
        decays = [getattr(p, "regularizer", None) or common for p, _ in parameters_and_grads]
        return [
            (p, g if d is None or g is None else Tensor(d.add_to(g.data, p.data)))
            for (p, g), d in zip(parameters_and_grads, decays, strict=True)
        ]

    def apply_gradients(self, params_grads: Sequence[tuple[Tensor, Tensor | None]]) -> list[Any]:
        """A step with the gradients of these pairs."""
        self._step({id(p): g for p, g in params_grads})
        return []

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """`backward`, unless it was called, and a step; returns ([], pairs of parameter and gradient)."""
        if self.static:
            return self.static(loss, parameters)
        pairs = self.backward(loss, startup_program, parameters, no_grad_set)
        return self.apply_gradients(pairs), pairs

    @property
    def _parameter_list(self) -> list[Tensor]:
        return [slot.parameter for group in self._groups for slot in group.slots]

    # --- the learning rate ---

    def get_lr(self) -> float:
        """The rate that the next step will use."""
        rate = self._learning_rate
        return rate() if isinstance(rate, LRScheduler) else rate

    def set_lr(self, value: float) -> None:
        """Replace the learning rate by a number. RuntimeError where a scheduler gives the rate."""
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError("set_lr: the rate comes from a scheduler; use set_lr_scheduler to replace it")
        self._learning_rate = float(_number(value, "value", -math.inf))

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Take the learning rate of each later step from this scheduler."""
        if not isinstance(scheduler, LRScheduler):
            raise InvalidType(f"scheduler: expected one of optimizer.lr, got {type(scheduler).__name__}")
        self._learning_rate = scheduler

    # --- state ---

    def get_opti_var_name_list(self) -> list[str]:
        """The names of the Tensors that are the parameters' states."""
        state = self.state_dict()
        return [key for key, value in state.items() if isinstance(value, Tensor) and key != "steps"]

    def counts(self, steps: int, settings: dict[str, Any]) -> dict[str, float]:
        """What Paddle keeps of the number of steps, by its names; here all of it follows from that number."""
        return {
            kind: settings[setting] ** (steps + offset) for kind, (setting, offset) in self.powers.items()
        }

    def _key(self, name: str, kind: str) -> str:
        return f"{name}_{self._prefix}{kind}_0"

    def state_dict(self) -> dict[str, Any]:
        """Everything that a later step depends on, besides the parameters: for `save` and `set_state_dict`.

        Tensors `<parameter>_<state>_0` as in Paddle, in the parameters' order, "steps" of each parameter
        (int64), and where there are such the dictionaries "master_weights" and "LR_Scheduler". Tensors are
        the optimizer's own.
        """
        found: dict[str, Any] = {}
        masters: dict[str, Tensor] = {}
        for group, slot in [(g, slot) for g in self._groups for slot in g.slots]:
            name = slot.parameter.name
            if slot.master is not None:
                masters[name] = copy = Tensor(slot.master)
                name = copy.name = name + _MASTER
            if not slot.state:
                continue
            for kind, buffer in zip(self.state_names, slot.state, strict=True):
                found[self._key(name, kind)] = Tensor(buffer)
            for kind, count in self.counts(slot.steps, group.settings).items():
                shape = slot.state[0].shape if self.powers_are_wide else [1]
                dtype = torch.int64 if isinstance(count, int) else slot.state[0].dtype
                found[self._key(name, kind)] = Tensor(torch.full(shape, count, dtype=dtype))
        for key, tensor in found.items():
            tensor.name = key
        steps = [slot.steps for group in self._groups for slot in group.slots]
        found["steps"] = Tensor(torch.tensor(steps, dtype=torch.int64))
        if masters:
            found["master_weights"] = masters
        if isinstance(self._learning_rate, LRScheduler):
            found["LR_Scheduler"] = self._learning_rate.state_dict()
        return found

    @no_grad()
    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a `state_dict`, by the order of the parameters (names may differ, as for a network made
        again).

        Paddle's own, which has no such order, goes by the parameters' names.
        ValueError, before anything is changed, when it belongs to other parameters or another kind of
        optimizer.
        """
        state_dict = {key.replace(_MASTER, ""): value for key, value in state_dict.items()}
        slots = [(group, slot) for group in self._groups for slot in group.slots]
        counts: Any = state_dict.get("steps", [None] * len(slots))
        counts = counts if isinstance(counts, list) else np.asarray(counts).tolist()
        names = self._names_in(state_dict, counts)
        if not isinstance(names, list) or not len(names) == len(slots) == len(counts):
            given = len(names) if isinstance(names, list) else "no"
            raise InvalidArgument(f"state_dict: expected the state of {len(slots)} parameters, got {given}")
        if isinstance(self._learning_rate, LRScheduler) and "LR_Scheduler" not in state_dict:
            raise InvalidArgument("state_dict: expected a scheduler's state, LR_Scheduler, got none")
        taken: list[tuple[int, tuple[torch.Tensor, ...]]] = []
        for (group, slot), name, count in zip(slots, names, counts, strict=True):
            held = [state_dict.get(self._key(name, kind)) for kind in self.state_names]
            steps = self._steps_of(state_dict, name, group.settings, held) if count is None else int(count)
            if steps and any(h is None for h in held):
                raise InvalidArgument(f"state_dict: it has no {' or '.join(self.state_names)} for {name!r}")
            found = [h if isinstance(h, Tensor) else Tensor(h) for h in held] if steps else []
            for h, own in zip(found, slot.state or self.start(slot.parameter.data), strict=False):
                if h.data.shape != own.shape:
                    raise InvalidArgument(
                        f"state_dict: {name}: expected shape {list(own.shape)}, got {[*h.shape]}"
                    )
            device = slot.parameter.data.device
            taken.append((steps, tuple(h.data.to(device, copy=True) for h in found)))
        if isinstance(self._learning_rate, LRScheduler):
            self._learning_rate.set_state_dict(state_dict["LR_Scheduler"])
        else:
            self._learning_rate = state_dict.get("learning_rate", self._learning_rate)
        masters = state_dict.get("master_weights", {})
        for (_, slot), name, (steps, buffers) in zip(slots, names, taken, strict=True):
            slot.steps, slot.state = steps, buffers
            slot.master = masters[name].data.clone() if name in masters else None

    def _names_in(self, state_dict: dict[str, Any], counts: list[Any]) -> Any:
        """The parameters' names in a state, in their order; those of this optimizer where it does not
        tell."""
        own = [slot.parameter.name for group in self._groups for slot in group.slots]
        if "parameters" in state_dict:  # a file of an earlier version of this library
            return state_dict["parameters"]
        if "steps" not in state_dict or not self.state_names:
            return own
        end = self._key("", self.state_names[0])
        kept = iter([key.removesuffix(end) for key in state_dict if key.endswith(end)])
        return [next(kept, None) if count else "" for count in counts]

    def _steps_of(
        self, state_dict: dict[str, Any], name: str, settings: dict[str, Any], held: list[Any]
    ) -> int:
        """The number of steps of a state that Paddle wrote: from a count or a power, if it keeps
        one."""
        if (count := state_dict.get(self._key(name, "m"))) is not None:
            return int(np.ravel(count)[0])
        for kind, (setting, offset) in reversed(self.powers.items()):
            power = state_dict.get(self._key(name, kind))
            if power is not None and 0 < float(np.ravel(power)[0]) < 1:
                return round(math.log(float(np.ravel(power)[0])) / math.log(settings[setting])) - offset
        return int(any(h is not None for h in held))

    load_state_dict = set_state_dict
    set_dict = set_state_dict


def _dense(gradient: Any) -> torch.Tensor:
    return gradient.dense() if type(gradient) is RowGradient else gradient


def _clipped(clip: ClipGrad, gradients: list[Any]) -> list[Any]:
    """What `clip` makes of gradients of which some are rows: their norm is that of the rows, each taken
    once."""
    known: list[Any] = [
        g.once() if type(g) is RowGradient and clip.keeps_zero else _dense(g) for g in gradients
    ]
    clipped = clip.clip([g.parts[0][1] if type(g) is RowGradient else g for g in known])
    return [g.replaced(c) if type(g) is RowGradient else c for g, c in zip(known, clipped, strict=True)]


def numbers(below: float = math.inf, /, **values: Any) -> dict[str, float]:
    """The settings `values`, numbers or Tensors with one, each from 0 to below `below`."""
    return {name: float(_number(value, name, below=below)) for name, value in values.items()}


def _regularizer(value: Any) -> WeightDecayRegularizer | None:
    if value is None or isinstance(value, WeightDecayRegularizer):
        return value
    value = scalar(value)
    if not isinstance(value, int | float):
        raise InvalidType(f"weight_decay: expected a number, a decay or None, got {type(value).__name__}")
    return L2Decay(float(value)) if value else None
