"""Model: a network with what trains it."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from .. import callbacks as _callbacks
from .. import hapi
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..metric import Metric
from ..nn import Layer
from ..optimizer import Optimizer
from ..optimizer.lr import _number
from ..serialization import load, save
from . import feed, state
from .precision import Precision, stepping
from .run import Run
from .summary import summary


class Model:
    """`prepare(optimizer, loss, metrics)`, then `fit`, `evaluate`, `predict`, `save`, `load`.

    inputs, labels: what a batch holds, in order (anything with a `shape`); without them as many fields as the
    network's forward needs are inputs, and the rest are labels.
    stop_training: set it to True, from a callback or another thread, to stop after the current batch.
    """

    def __init__(self, network: Layer, inputs: Any = None, labels: Any = None) -> None:
        if not callable(network):
            raise InvalidType(f"network: expected a Layer, got {type(network).__name__}")
        self.network = network
        self._inputs, self._labels = feed.as_list(inputs), feed.as_list(labels)
        self._arity = len(self._inputs) if self._inputs else feed.inputs_of(network.forward)
        self._optimizer: Any = None
        self._loss: Any = None
        self._metrics: list[Metric] = []
        self._precision: Precision | None = None
        self.stop_training = False
        self._where = ""  # epoch and step, for messages
        self._kept: Path | None = None  # the last good checkpoint

    def prepare(
        self, optimizer: Any = None, loss: Any = None, metrics: Any = None, amp_configs: Any = None
    ) -> None:
        """Set what trains and measures the network.

        loss: a Layer or function of (outputs, labels). metrics: a Metric or a list. amp_configs: mixed
        precision's level, "O1" or "O2", or a dictionary with it and what `amp.auto_cast` and `amp.GradScaler`
        take.
        """
        if optimizer is not None and not isinstance(optimizer, Optimizer):
            raise InvalidType(f"optimizer: expected an Optimizer, got {type(optimizer).__name__}")
        if loss is not None and not callable(loss):
            raise InvalidType(f"loss: expected a Layer or a function, got {type(loss).__name__}")
        self._optimizer, self._loss, self._metrics = optimizer, loss, feed.as_list(metrics)
        for metric in self._metrics:
            if not isinstance(metric, Metric):
                raise InvalidType(f"metrics: expected Metrics, got {type(metric).__name__}")
        self._precision = Precision.of(amp_configs)
        if self._precision is not None:
            self._precision.decorate(self.network, optimizer)

    def _forward(self, *inputs: Any) -> Any:
        """The network's outputs, in the prepared precision."""
        if self._precision is None:
            return self.network(*inputs)
        with self._precision.casting():
            return self.network(*inputs)

    # --- one batch ---

    def _loss_of(self, outputs: Any, *labels: Any) -> Tensor:
        """The loss of a batch. FloatingPointError if it is not finite, before the parameters change."""
        if self._loss is None:
            raise InvalidType("loss: expected prepare(optimizer, loss) before this call, got no loss")
        loss = self._plain_loss(outputs, *labels)
        if self._precision is not None:
            self._precision.scale(loss)
        value = loss.item()
        if not math.isfinite(value):
            kept = f"the last good checkpoint is {str(self._kept)!r}" if self._kept else "none was kept"
            what = f"the loss is {value}{self._where} (learning rate {self._optimizer.get_lr():g})"
            left = f"the parameters are as they were before this batch, {kept}"
            raise FloatingPointError(f"{what}; {left}. A smaller learning rate or grad_clip may help")
        return loss

    def _measure(self, outputs: Any, labels: list[Any]) -> list[Any]:
        """Update every metric with a batch; returns their values for it."""
        with no_grad():
            seen = [m.compute(*feed.as_list(outputs), *labels) for m in self._metrics]
            return [m.update(*feed.as_list(found)) for m, found in zip(self._metrics, seen, strict=True)]

    def _measured(self) -> dict[str, Any]:
        """The metrics by name."""
        found: dict[str, Any] = {}
        for metric in self._metrics:
            names, values = feed.as_list(metric.name()), feed.as_list(metric.accumulate())
            found.update(zip(names, values, strict=True))
        return found

    def train_batch(self, inputs: Any, labels: Any = None, update: bool = True) -> Any:
        """Train on one batch; returns [loss], an array, or ([loss], [metrics of the batch]). update=False:
        gradients are only added up."""
        self._ready()
        self.network.train()
        optimizer = stepping(self._optimizer, self._precision, 1 if update else 2**62, None)
        seen: list[np.ndarray] = []
        measured: list[Any] = []

        def after(loss: Tensor, outputs: Any, labels: list[Any]) -> None:
            seen.append(loss.numpy())
            measured.extend(self._measure(outputs, labels))

        pair = (feed.tensors(inputs), feed.tensors(labels))
        hapi.train_epoch(self._forward, [pair], self._loss_of, optimizer, after)
        return (seen, measured) if self._metrics else seen

    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        """[loss] of one batch, or ([loss], [metrics of the batch]); [] without a loss."""
        self.network.eval()
        given = feed.tensors(labels)
        with no_grad():
            outputs = self._forward(*feed.tensors(inputs))
            losses = [] if self._loss is None else [self._plain_loss(outputs, *given).numpy()]
        measured = self._measure(outputs, given)
        return (losses, measured) if self._metrics else losses

    def _plain_loss(self, outputs: Any, *labels: Any) -> Any:
        """The loss as prepared; several are added up."""
        loss = self._loss(*feed.as_list(outputs), *labels)
        return sum(loss[1:], start=loss[0]) if isinstance(loss, list | tuple) else loss

    def predict_batch(self, inputs: Any) -> list[np.ndarray]:
        """The outputs for one batch, as arrays."""
        self.network.eval()
        with no_grad():
            outputs = self._forward(*feed.tensors(inputs))
        return [o.numpy() for o in feed.as_list(outputs)]

    def _ready(self) -> None:
        if self._optimizer is None:
            raise InvalidType(
                "optimizer: expected prepare(optimizer, loss) before this call, got no optimizer"
            )

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

        train_data, eval_data: a Dataset (then batch_size, shuffle, drop_last and num_workers count) or a
        DataLoader.
        verbose: 0 nothing, 1 a progress bar, 2 a line every log_freq batches.
        save_dir: checkpoints every save_freq epochs go there, and after each epoch, and every save_steps
        batches, the whole state of training. With resume=True a run that was stopped, or killed at any
        moment, continues from there with the same losses as one that never stopped (inside an epoch, with
        worker processes, that holds for data sets without chance of their own). Without a state in save_dir
        it begins at the beginning.

        Raises FloatingPointError, with epoch, step and learning rate, when a loss or a parameter is not
        finite; the last good checkpoint stays. ValueError for a damaged or foreign training state.
        """
        self._ready()
        _number(epochs, "epochs", whole=True)
        if resume and save_dir is None:
            raise InvalidArgument("resume: expected a save_dir to resume from, got None")
        loader = feed.as_loader(train_data, batch_size, shuffle, drop_last, num_workers, "train_data")
        evaluation = None
        if eval_data is not None:
            evaluation = feed.as_loader(eval_data, batch_size, False, False, num_workers, "eval_data")
        run = Run(self, loader, epochs, save_dir, save_steps, num_iters, accumulate_grad_batches)
        listeners = self._callbacks(callbacks, log_freq, verbose, save_dir, save_freq)
        facts = {"epochs": epochs, "steps": run.steps, "verbose": verbose, "save_dir": save_dir}
        run.callbacks = _callbacks.CallbackList(listeners, self, self._params(evaluation, loader, **facts))
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

        first: list[Any] = (
            [] if has(_callbacks.ProgBarLogger) else [_callbacks.ProgBarLogger(log_freq, verbose)]
        )
        first += [] if has(_callbacks.LRScheduler) else [_callbacks.LRScheduler()]
        wanted = save_dir is not None and not has(_callbacks.ModelCheckpoint)
        return first + listed + ([_callbacks.ModelCheckpoint(save_freq, save_dir)] if wanted else [])

    def _params(self, evaluation: Any, loader: Any, **given: Any) -> dict[str, Any]:
        """The `params` of callbacks."""
        steps = None if evaluation is None else feed.length(evaluation)
        names = ["loss", *(n for m in self._metrics for n in feed.as_list(m.name()))]
        facts = {"evaluates": evaluation is not None, "eval_steps": steps, "metrics": names}
        return {"batch_size": getattr(loader, "batch_size", None), **facts, **given}

    def _watched(self, callbacks: Any, loader: Any, log_freq: int, verbose: int) -> Any:
        """The callbacks of an evaluation or a prediction, with a progress bar among them."""
        listed = feed.as_list(callbacks)
        if not any(isinstance(c, _callbacks.ProgBarLogger) for c in listed):
            listed = [_callbacks.ProgBarLogger(log_freq, verbose), *listed]
        facts = self._params(loader, loader, epochs=1, steps=None, verbose=verbose, save_dir=None)
        return _callbacks.CallbackList(listed, self, facts)

    # --- evaluation and prediction ---

    def evaluate(
        self,
        eval_data: Any,
        batch_size: int = 1,
        log_freq: int = 10,
        verbose: int = 2,
        num_workers: int = 0,
        callbacks: Any = None,
        num_iters: int | None = None,
    ) -> dict[str, Any]:
        """{"loss": [mean over the samples], and each metric}. num_iters: stop after so many batches."""
        loader = feed.as_loader(eval_data, batch_size, False, False, num_workers, "eval_data")
        found = self._evaluate(loader, self._watched(callbacks, loader, log_freq, verbose), num_iters)
        return found | {"loss": [found["loss"]]} if "loss" in found else found

    def _evaluate(self, loader: Any, chain: Any, num_iters: int | None) -> dict[str, Any]:
        for metric in self._metrics:
            metric.reset()
        total, count = 0.0, 0
        logs: dict[str, Any] = {}
        with state.evaluating(self.network):
            chain.call("on_eval_begin", {})
            for step, batch in enumerate(feed.batches(loader)):
                chain.call("on_eval_batch_begin", step, {})
                inputs, labels = feed.split(batch, self._arity)
                with no_grad():
                    outputs = self._forward(*inputs)
                    size = len(inputs[0])
                    if self._loss is not None:
                        total += self._plain_loss(outputs, *labels).item() * size
                self._measure(outputs, labels)
                count += size
                logs = ({} if self._loss is None else {"loss": total / count}) | self._measured()
                chain.call("on_eval_batch_end", step, logs)
                if num_iters is not None and step + 1 >= num_iters:
                    break
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
        """One entry per output of the network: a tuple of arrays, one per batch; stack_outputs: one array.
        Labels are left out."""
        loader = feed.as_loader(test_data, batch_size, False, False, num_workers, "test_data")
        chain = self._watched(callbacks, loader, 1, verbose)
        chain.call("on_predict_begin", {})
        found: list[list[np.ndarray]] = []
        arity = self._arity
        for step, batch in enumerate(feed.batches(loader)):
            chain.call("on_predict_batch_begin", step, {})
            fields = feed.as_list(batch)
            inputs = fields if arity is None and self._loss is None else feed.split(batch, arity)[0]
            found.append(self.predict_batch(inputs))
            chain.call("on_predict_batch_end", step, {"batch_size": len(inputs[0])})
        chain.call("on_predict_end", {})
        outputs: list[Any] = list(zip(*found, strict=True))
        return [np.concatenate(column) for column in outputs] if stack_outputs else outputs

    # --- the rest ---

    def save(self, path: str | os.PathLike[str], training: bool = True) -> None:
        """Write `path`.pdparams and, with training=True, `path`.pdopt, each atomically.

        FloatingPointError, before anything is written, when the network holds values that are not finite.
        """
        if not training and os.fspath(path).endswith((".pdparams", ".pdopt")):
            raise InvalidArgument(
                f"path: expected a name without .pdparams or .pdopt, got {os.fspath(path)!r}"
            )
        state.check_finite(self.network, "save")
        save(self.network.state_dict(), f"{os.fspath(path)}.pdparams")
        if training and self._optimizer is not None:
            save(self._optimizer.state_dict(), f"{os.fspath(path)}.pdopt")
        self._kept = Path(f"{os.fspath(path)}.pdparams")

    def load(
        self, path: str | os.PathLike[str], skip_mismatch: bool = False, reset_optimizer: bool = False
    ) -> None:
        """Take over what `save` wrote. skip_mismatch: leave out what does not fit; reset_optimizer:
        parameters only.

        ValueError for a file that is damaged or of another network, FileNotFoundError; nothing is changed
        then.
        """
        base = os.fspath(path).removesuffix(".pdparams")
        content = load(f"{base}.pdparams")
        own = self.network.state_dict()
        if not isinstance(content, dict):
            raise InvalidArgument(
                f"path: {base}.pdparams holds a {type(content).__name__}, not a network's state"
            )
        fits = {k: v for k, v in content.items() if k in own and own[k].shape == v.shape}
        wrong = sorted(set(own) ^ set(fits) | set(content) - set(fits))
        if wrong and not skip_mismatch:
            names = f"{', '.join(wrong[:6])}{' ...' if len(wrong) > 6 else ''}"
            why = f"missing, unexpected or of another shape: {names}"
            raise InvalidArgument(f"path: {base}.pdparams is not of this network; {why}")
        if self._optimizer is not None and not reset_optimizer and os.path.exists(f"{base}.pdopt"):
            self._optimizer.set_state_dict(load(f"{base}.pdopt"))
        for name, value in fits.items():
            own[name].set_value(value)

    def parameters(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The network's parameters."""
        return self.network.parameters(*args, **kwargs)

    def summary(self, input_size: Any = None, dtype: Any = None) -> dict[str, int]:
        """The table of `sampan.summary`; the sizes come from `inputs` unless given."""
        if input_size is None and not self._inputs:
            raise InvalidArgument(
                "input_size: expected the shape of the input, got None and no inputs in Model"
            )
        sizes = [tuple(i.shape) for i in self._inputs] if input_size is None else input_size
        return summary(self.network, sizes, dtype)
