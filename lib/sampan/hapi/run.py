"""One run of `Model.fit`: its epochs, and how it is saved and resumed."""

from pathlib import Path
from typing import Any

from .. import hapi
from ..engine.tensor import InvalidArgument, Tensor
from ..optimizer.lr import _number
from . import feed, state
from .precision import EveryFew, stepping


class Run:
    """One call of `fit`: its progress, and how that is saved and restored."""

    def __init__(
        self, model: Any, loader: Any, epochs: int, folder: Any, save_steps: Any, num_iters: Any, every: int
    ) -> None:
        given = {"save_steps": save_steps, "num_iters": num_iters, "accumulate_grad_batches": every}
        for name, value in given.items():
            if value is not None:
                _number(value, name, 1, whole=True)
        self.model, self.loader, self.epochs, self.folder = model, loader, epochs, folder
        self.save_steps, self.num_iters, self.every = save_steps, num_iters, every
        self.steps = feed.length(loader)
        self.callbacks: Any = None
        self.epoch = self.step = self.done = 0
        self.totals = [0.0, 0]  # loss times samples, samples of this epoch
        self.chance: Any = None  # the random generators at the start of this epoch
        self.optimizer = stepping(model._optimizer, model._precision, every, self.steps)

    @property
    def exhausted(self) -> bool:
        return self.num_iters is not None and self.done >= self.num_iters

    def one_epoch(self) -> bool:
        """Train from the present step on; says whether the epoch was finished."""
        model = self.model
        present = None
        if self.step:  # inside an epoch: the same order again, then the saved random generators
            present = state.chance() if self.chance is None else self.present
            state.set_chance(self.chance)
        else:
            self.chance = state.chance() if self.folder is not None else None
            self.totals = [0.0, 0]
            for metric in model._metrics:
                metric.reset()
        if isinstance(self.optimizer, EveryFew):
            self.optimizer.seen = self.step
        self.callbacks.call("on_epoch_begin", self.epoch, {"step": self.step})
        model.network.train()
        iterator = feed.batches(self.loader, self.step)
        if present is not None:
            state.set_chance(present)
        hapi.train_epoch(model._forward, self._batches(iterator), model._loss_of, self.optimizer, self._after)
        finished = not ((model.stop_training and self.step != self.steps) or self.exhausted)
        logs = {"loss": self.totals[0] / max(self.totals[1], 1), **model._measured(), "steps_done": self.step}
        if finished:
            if self.step == 0:
                raise InvalidArgument("train_data: expected at least one batch, got none")
            self.epoch, self.step = self.epoch + 1, 0
        self.callbacks.call("on_epoch_end", self.epoch - 1 if finished else self.epoch, logs)
        return finished

    def _batches(self, iterator: Any) -> Any:
        model = self.model
        for batch in iterator:
            model._where = f" at epoch {self.epoch + 1} of {self.epochs}, step {self.step + 1}"
            model._where += "" if self.steps is None else f" of {self.steps}"
            self.callbacks.call("on_train_batch_begin", self.step, {})
            yield feed.split(batch, model._arity)
            if model.stop_training or self.exhausted:
                return

    def _after(self, loss: Tensor, outputs: Any, labels: list[Any]) -> None:
        model = self.model
        value = float(loss.item())
        size = len(feed.as_list(outputs)[0])
        self.totals = [self.totals[0] + value * size, self.totals[1] + size]
        model._measure(outputs, labels)
        self.step += 1
        self.done += 1
        self.callbacks.call("on_train_batch_end", self.step - 1, {"loss": value, **model._measured()})
        if self.save_steps and self.step % self.save_steps == 0 and self.step != self.steps:
            self.keep()

    def keep(self) -> None:
        """Write the state of training, if there is a folder for it."""
        if self.folder is None:
            return
        model = self.model
        state.check_finite(model.network, f"fit, after epoch {self.epoch}, step {self.step}")
        named = model.network.named_parameters() if self.every > 1 else ()
        gradients = {n: p.grad for n, p in named if p.grad is not None}
        parts = {"network": model.network, "optimizer": model._optimizer, "callbacks": self.callbacks}
        content = {name: part.state_dict() for name, part in parts.items()}
        content |= {"gradients": gradients, "metrics": [m.state_dict() for m in model._metrics]}
        content |= {"chance": state.chance(), "epoch_chance": self.chance}
        content |= {key: getattr(self, key) for key in ("epoch", "step", "steps", "done", "totals")}
        model._kept = state.write(self.folder, content)

    def restore(self) -> None:
        """Continue from the state in the folder, if there is one."""
        saved = state.read(self.folder)
        if saved is None:
            return
        model = self.model
        own = model.network.state_dict()
        if {k: t.shape for k, t in own.items()} != {k: t.shape for k, t in saved["network"].items()}:
            raise InvalidArgument(f"resume: the state in {str(self.folder)!r} is of another network")
        if saved["step"] and saved["steps"] != self.steps:
            where = f"inside an epoch of {saved['steps']} batches, this run has {self.steps}"
            raise InvalidArgument(f"resume: the state stands {where}")
        model._optimizer.set_state_dict(saved["optimizer"])
        model.network.set_state_dict(saved["network"])
        for name, parameter in model.network.named_parameters():
            if name in saved["gradients"]:
                parameter.grad = saved["gradients"][name]
        for metric, content in zip(model._metrics, saved["metrics"], strict=False):
            metric.set_state_dict(content)
        self.callbacks.set_state_dict(saved["callbacks"])
        self.epoch, self.step, self.done = saved["epoch"], saved["step"], saved["done"]
        self.totals, self.chance, self.present = saved["totals"], saved["epoch_chance"], saved["chance"]
        state.set_chance(saved["chance"])
        model._kept = Path(self.folder) / state.FILE
