"""Model: a network with what trains it."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from .. import callbacks as _callbacks
from .. import hapi
from ..autograd import no_grad
from ..metric import Metric
from ..nn import Layer
from ..optimizer import Optimizer
from ..serialization import load, save
from ..tensor import Tensor
from . import feed, state
from .summary import summary


class _EveryFew:
    """An optimizer that acts on every n-th step only: gradients add up in between."""

    def __init__(self, optimizer: Any, every: int, steps: int | None) -> None:
        self.optimizer, self.every, self.steps, self.seen = optimizer, every, steps, 0

    def step(self) -> None:
        self.seen += 1
        if self._acts():
            self.optimizer.step()

    def clear_grad(self) -> None:
        if self._acts():
            self.optimizer.clear_grad()

    def _acts(self) -> bool:
        return self.seen % self.every == 0 or self.seen == self.steps


class Model:
    """`Model(network).prepare(optimizer, loss, metrics)`, then `fit`, `evaluate`, `predict`, `save`, `load`.

    inputs, labels: what a batch holds, in order (anything with a `shape`); without them as many fields as the
    network's forward needs are inputs, and the rest are labels.
    stop_training: set it to True, from a callback or another thread, to stop after the current batch.
    """

    def __init__(self, network: Layer, inputs: Any = None, labels: Any = None) -> None:
        if not callable(network):
            raise TypeError(f"network: expected a Layer, got {type(network).__name__}")
        self.network = network
        self._inputs, self._labels = feed.as_list(inputs), feed.as_list(labels)
        self._arity = len(self._inputs) if self._inputs else feed.inputs_of(network.forward)
        self._optimizer: Any = None
        self._loss: Any = None
        self._metrics: list[Metric] = []
        self.stop_training = False
        self._where = ""  # epoch and step, for messages
        self._kept: Path | None = None  # the last good checkpoint

    def prepare(self, optimizer: Any = None, loss: Any = None, metrics: Any = None, amp_configs: Any = None) -> Model:
        """Set what trains and measures the network; returns the Model.

        loss: a Layer or function of (outputs, labels). metrics: a Metric or a list.
        """
        if amp_configs is not None:
            raise ValueError("amp_configs: only None is supported")
        if optimizer is not None and not isinstance(optimizer, Optimizer):
            raise TypeError(f"optimizer: expected an Optimizer, got {type(optimizer).__name__}")
        if loss is not None and not callable(loss):
            raise TypeError(f"loss: expected a Layer or a function, got {type(loss).__name__}")
        self._optimizer, self._loss, self._metrics = optimizer, loss, feed.as_list(metrics)
        for metric in self._metrics:
            if not isinstance(metric, Metric):
                raise TypeError(f"metrics: expected Metrics, got {type(metric).__name__}")
        return self

    # --- one batch ---

    def _loss_of(self, outputs: Any, *labels: Any) -> Tensor:
        """The loss of a batch, refused where it is not finite: before it can reach the parameters."""
        if self._loss is None:
            raise RuntimeError("loss: call prepare(optimizer, loss) before training")
        loss = self._loss(*feed.as_list(outputs), *labels)
        loss = sum(loss) if isinstance(loss, list | tuple) else loss
        value = loss.item()
        if not math.isfinite(value):
            kept = f"the last good checkpoint is {str(self._kept)!r}" if self._kept else "no checkpoint was asked for"
            raise FloatingPointError(
                f"the loss is {value}{self._where} (learning rate {self._optimizer.get_lr():g}); the parameters are "
                f"as they were before this batch, {kept}. A smaller learning rate or grad_clip may help"
            )
        return loss

    def _measure(self, outputs: Any, labels: list[Any]) -> None:
        with no_grad():
            for metric in self._metrics:
                metric.update(*feed.as_list(metric.compute(*feed.as_list(outputs), *labels)))

    def _measured(self) -> dict[str, Any]:
        """The metrics by name."""
        found: dict[str, Any] = {}
        for metric in self._metrics:
            names, values = feed.as_list(metric.name()), feed.as_list(metric.accumulate())
            found.update(zip(names, values, strict=True))
        return found

    def train_batch(self, inputs: Any, labels: Any = None, update: bool = True) -> Any:
        """Train on one batch; returns [loss], or ([loss], [metrics]). update=False: gradients are only added up."""
        self._ready()
        self.network.train()
        optimizer = self._optimizer if update else _EveryFew(self._optimizer, 2**62, None)
        seen: list[float] = []

        def after(loss: Tensor, outputs: Any, labels: list[Any]) -> None:
            seen.append(float(loss.item()))
            self._measure(outputs, labels)

        pair = (feed.tensors(inputs), feed.tensors(labels))
        hapi.train_epoch(self.network, [pair], self._loss_of, optimizer, after)
        return (seen, list(self._measured().values())) if self._metrics else seen

    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        """[loss] of one batch, or ([loss], [metrics]); [] without a loss."""
        self.network.eval()
        given = feed.tensors(labels)
        with no_grad():
            outputs = self.network(*feed.tensors(inputs))
            losses = [] if self._loss is None else [float(self._evaluation_loss(outputs, given))]
        self._measure(outputs, given)
        return (losses, list(self._measured().values())) if self._metrics else losses

    def _evaluation_loss(self, outputs: Any, labels: list[Any]) -> Any:
        loss = self._loss(*feed.as_list(outputs), *labels)
        return (sum(loss) if isinstance(loss, list | tuple) else loss).item()

    def predict_batch(self, inputs: Any) -> list[np.ndarray]:
        """The outputs for one batch, as arrays."""
        self.network.eval()
        with no_grad():
            outputs = self.network(*feed.tensors(inputs))
        return [o.numpy() for o in feed.as_list(outputs)]

    def _ready(self) -> None:
        if self._optimizer is None:
            raise RuntimeError("optimizer: call prepare(optimizer, loss) before training")

    # --- training ---

    def fit(
        self,
        train_data: Any = None,
        eval_data: Any = None,
        batch_size: int = 1,
        epochs: int = 1,
        eval_freq: int = 1,
        log_freq: int = 10,
        save_dir: str | os.PathLike[str] | None = None,
        save_freq: int = 1,
        verbose: int = 2,
        drop_last: bool = False,
        shuffle: bool = True,
        num_workers: int = 0,
        callbacks: Any = None,
        accumulate_grad_batches: int = 1,
        num_iters: int | None = None,
        resume: bool = False,
        save_steps: int | None = None,
    ) -> None:
        """Train for `epochs`, evaluating every `eval_freq` of them.

        train_data, eval_data: a Dataset (then batch_size, shuffle, drop_last and num_workers count) or a DataLoader.
        verbose: 0 nothing, 1 a progress bar, 2 a line every log_freq batches.
        save_dir: checkpoints every save_freq epochs go there, and after each epoch, and every save_steps batches,
        the whole state of training. With resume=True a run that was stopped, or killed at any moment, continues
        from there with the same losses as one that never stopped (inside an epoch, with worker processes, that
        holds for data sets without chance of their own). Without a state in save_dir it begins at the beginning.

        Raises FloatingPointError, with epoch, step and learning rate, when a loss or a parameter is not finite; the
        last good checkpoint stays. ValueError for a damaged or foreign training state.
        """
        self._ready()
        if not isinstance(epochs, int) or epochs < 0:
            raise ValueError(f"epochs: expected a whole number of at least 0, got {epochs!r}")
        if resume and save_dir is None:
            raise ValueError("resume: expected a save_dir to resume from, got None")
        loader = feed.as_loader(train_data, batch_size, shuffle, drop_last, num_workers, "train_data")
        evaluation = None
        if eval_data is not None:
            evaluation = feed.as_loader(eval_data, batch_size, False, False, num_workers, "eval_data")
        run = _Run(self, loader, epochs, save_dir, save_steps, num_iters, accumulate_grad_batches)
        listeners = self._callbacks(callbacks, log_freq, verbose, save_dir, save_freq)
        run.callbacks = _callbacks.CallbackList(
            listeners, self, self._params(run.steps, evaluation, epochs, loader, verbose, save_dir)
        )
        self.stop_training = False
        self._kept = None
        run.callbacks.call("on_train_begin", {})
        if resume:
            run.restore()
        while run.epoch < epochs and not self.stop_training and not run.exhausted:
            finished = run.one_epoch()
            if finished and evaluation is not None and (run.epoch % eval_freq == 0 or run.epoch == epochs):
                self._evaluate(evaluation, run.callbacks, None)
            run.keep()
        run.callbacks.call("on_train_end", {})
        self._where = ""

    def _callbacks(self, given: Any, log_freq: int, verbose: int, save_dir: Any, save_freq: int) -> list[Any]:
        listed = feed.as_list(given)

        def has(kind: type) -> bool:
            return any(isinstance(c, kind) for c in listed)

        first: list[Any] = [] if has(_callbacks.ProgBarLogger) else [_callbacks.ProgBarLogger(log_freq, verbose)]
        first += [] if has(_callbacks.LRScheduler) else [_callbacks.LRScheduler()]
        wanted = save_dir is not None and not has(_callbacks.ModelCheckpoint)
        return first + listed + ([_callbacks.ModelCheckpoint(save_freq, save_dir)] if wanted else [])

    def _params(
        self, steps: int | None, evaluation: Any, epochs: int, loader: Any, verbose: int, save_dir: Any
    ) -> dict[str, Any]:
        return {
            "epochs": epochs,
            "steps": steps,
            "eval_steps": None if evaluation is None else feed.length(evaluation),
            "evaluates": evaluation is not None,
            "batch_size": getattr(loader, "batch_size", None),
            "verbose": verbose,
            "metrics": ["loss", *(n for m in self._metrics for n in feed.as_list(m.name()))],
            "save_dir": save_dir,
        }

    # --- evaluation and prediction ---

    def evaluate(
        self,
        eval_data: Any,
        batch_size: int = 1,
        log_freq: int = 10,
        verbose: int = 2,
        num_workers: int = 0,
        callbacks: Any = None,
        num_samples: int | None = None,
    ) -> dict[str, Any]:
        """{"loss": mean over the samples, and each metric}. num_samples: stop after about so many."""
        loader = feed.as_loader(eval_data, batch_size, False, False, num_workers, "eval_data")
        listed = feed.as_list(callbacks)
        if not any(isinstance(c, _callbacks.ProgBarLogger) for c in listed):
            listed = [_callbacks.ProgBarLogger(log_freq, verbose), *listed]
        chain = _callbacks.CallbackList(listed, self, self._params(None, loader, 1, loader, verbose, None))
        return self._evaluate(loader, chain, num_samples)

    def _evaluate(self, loader: Any, chain: Any, num_samples: int | None) -> dict[str, Any]:
        for metric in self._metrics:
            metric.reset()
        modes = [(layer, layer.training) for layer in self.network.sublayers(include_self=True)]
        self.network.eval()
        total, count = 0.0, 0
        chain.call("on_eval_begin", {})
        logs: dict[str, Any] = {}
        try:
            for step, batch in enumerate(feed.batches(loader)):
                chain.call("on_eval_batch_begin", step, {})
                inputs, labels = feed.split(batch, self._arity)
                with no_grad():
                    outputs = self.network(*inputs)
                    size = len(inputs[0])
                    if self._loss is not None:
                        total += self._evaluation_loss(outputs, labels) * size
                self._measure(outputs, labels)
                count += size
                logs = ({} if self._loss is None else {"loss": total / count}) | self._measured()
                chain.call("on_eval_batch_end", step, logs)
                if num_samples is not None and count >= num_samples:
                    break
        finally:
            for layer, mode in modes:
                layer.training = mode
        chain.call("on_eval_end", logs)
        return logs

    def predict(
        self,
        test_data: Any,
        batch_size: int = 1,
        num_workers: int = 0,
        stack_outputs: bool = False,
        verbose: int = 1,
        callbacks: Any = None,
    ) -> list[Any]:
        """One entry an output of the network: a list of arrays, one a batch; stack_outputs: one array. Labels are left out."""
        loader = feed.as_loader(test_data, batch_size, False, False, num_workers, "test_data")
        listed = feed.as_list(callbacks)
        if not any(isinstance(c, _callbacks.ProgBarLogger) for c in listed):
            listed = [_callbacks.ProgBarLogger(1, verbose), *listed]
        chain = _callbacks.CallbackList(listed, self, self._params(None, loader, 1, loader, verbose, None))
        chain.call("on_predict_begin", {})
        found: list[list[np.ndarray]] = []
        arity = self._arity if self._inputs or self._arity is not None else None
        for step, batch in enumerate(feed.batches(loader)):
            chain.call("on_predict_batch_begin", step, {})
            fields = feed.as_list(batch)
            inputs = fields if arity is None and self._loss is None else feed.split(batch, arity)[0]
            found.append(self.predict_batch(inputs))
            chain.call("on_predict_batch_end", step, {"batch_size": len(inputs[0])})
        chain.call("on_predict_end", {})
        outputs = [list(column) for column in zip(*found, strict=True)]
        return [np.concatenate(column) for column in outputs] if stack_outputs else outputs

    # --- the rest ---

    def save(self, path: str | os.PathLike[str], training: bool = True) -> None:
        """Write `path`.pdparams and, with training=True, `path`.pdopt, each atomically.

        FloatingPointError, before anything is written, when the network holds values that are not finite.
        """
        if not training and os.fspath(path).endswith((".pdparams", ".pdopt")):
            raise ValueError(f"path: expected a name without .pdparams or .pdopt, got {os.fspath(path)!r}")
        state.check_finite(self.network, "save")
        save(self.network.state_dict(), f"{os.fspath(path)}.pdparams")
        if training and self._optimizer is not None:
            save(self._optimizer.state_dict(), f"{os.fspath(path)}.pdopt")
        self._kept = Path(f"{os.fspath(path)}.pdparams")

    def load(self, path: str | os.PathLike[str], skip_mismatch: bool = False, reset_optimizer: bool = False) -> None:
        """Take over what `save` wrote. skip_mismatch: leave out what does not fit; reset_optimizer: parameters only.

        ValueError for a file that is damaged or of another network, FileNotFoundError; nothing is changed then.
        """
        base = os.fspath(path).removesuffix(".pdparams")
        content = load(f"{base}.pdparams")
        own = self.network.state_dict()
        if not isinstance(content, dict):
            raise ValueError(f"path: {base}.pdparams holds a {type(content).__name__}, not a network's state")
        fits = {k: v for k, v in content.items() if k in own and list(v.shape) == own[k].shape}
        wrong = sorted(set(own) ^ set(fits) | set(content) - set(fits))
        if wrong and not skip_mismatch:
            raise ValueError(
                f"path: {base}.pdparams is not of this network; missing, unexpected or of another shape: "
                f"{', '.join(wrong[:6])}{' ...' if len(wrong) > 6 else ''}"
            )
        if self._optimizer is not None and not reset_optimizer and os.path.exists(f"{base}.pdopt"):
            self._optimizer.set_state_dict(load(f"{base}.pdopt"))
        for name, value in fits.items():
            own[name].set_value(value)

    def parameters(self, *args: Any, **kwargs: Any) -> list[Any]:
        return self.network.parameters(*args, **kwargs)

    def summary(self, input_size: Any = None, dtype: Any = None) -> dict[str, int]:
        """The table of `sampan.summary`; the sizes come from `inputs` unless given."""
        if input_size is None and not self._inputs:
            raise ValueError("input_size: expected the shape of the input, got None and no inputs in Model")
        sizes = [tuple(i.shape) for i in self._inputs] if input_size is None else input_size
        return summary(self.network, sizes, dtype)


class _Run:
    """One call of `fit`: where it stands, and how that is written and read."""

    def __init__(
        self, model: Model, loader: Any, epochs: int, folder: Any, save_steps: Any, num_iters: Any, every: int
    ) -> None:
        for name, value in (("save_steps", save_steps), ("num_iters", num_iters), ("accumulate_grad_batches", every)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ValueError(f"{name}: expected a positive whole number, got {value!r}")
        self.model, self.loader, self.epochs, self.folder = model, loader, epochs, folder
        self.save_steps, self.num_iters, self.every = save_steps, num_iters, every
        self.steps = feed.length(loader)
        self.callbacks: Any = None
        self.epoch = self.step = self.done = 0
        self.totals = [0.0, 0]  # loss times samples, samples of this epoch
        self.chance: Any = None  # where chance stood when this epoch began
        self.optimizer = model._optimizer if every == 1 else _EveryFew(model._optimizer, every, self.steps)

    @property
    def exhausted(self) -> bool:
        return self.num_iters is not None and self.done >= self.num_iters

    def one_epoch(self) -> bool:
        """Train from the present step on; says whether the epoch was finished."""
        model = self.model
        present = None
        if self.step:  # in the middle of an epoch: the same order once more, then chance as it stood
            present = state.chance() if self.chance is None else self.present
            state.set_chance(self.chance)
        else:
            self.chance = state.chance() if self.folder is not None else None
            self.totals = [0.0, 0]
            for metric in model._metrics:
                metric.reset()
        if isinstance(self.optimizer, _EveryFew):
            self.optimizer.seen = self.step
        self.callbacks.call("on_epoch_begin", self.epoch, {"step": self.step})
        model.network.train()
        iterator = feed.batches(self.loader, self.step)
        if present is not None:
            state.set_chance(present)
        hapi.train_epoch(model.network, self._batches(iterator), model._loss_of, self.optimizer, self._after)
        finished = not ((model.stop_training and self.step != self.steps) or self.exhausted)
        logs = {"loss": self.totals[0] / max(self.totals[1], 1), **model._measured(), "steps_done": self.step}
        if finished:
            if self.step == 0:
                raise ValueError("train_data: expected at least one batch, got none")
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
        gradients = {n: p.grad for n, p in model.network.named_parameters() if self.every > 1 and p.grad is not None}
        content = {
            "network": model.network.state_dict(),
            "optimizer": model._optimizer.state_dict(),
            "gradients": gradients,
            "metrics": [m.state_dict() for m in model._metrics],
            "callbacks": self.callbacks.state_dict(),
            "chance": state.chance(),
            "epoch_chance": self.chance,
            "epoch": self.epoch,
            "step": self.step,
            "steps": self.steps,
            "done": self.done,
            "totals": self.totals,
        }
        model._kept = state.write(self.folder, content)

    def restore(self) -> None:
        """Continue where the state in the folder stands, if there is one."""
        saved = state.read(self.folder)
        if saved is None:
            return
        model = self.model
        own = model.network.state_dict()
        if {k: t.shape for k, t in own.items()} != {k: t.shape for k, t in saved["network"].items()}:
            raise ValueError(f"resume: the state in {str(self.folder)!r} is of another network")
        if saved["step"] and saved["steps"] != self.steps:
            raise ValueError(
                f"resume: the state stands inside an epoch of {saved['steps']} batches, this run has {self.steps}"
            )
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
