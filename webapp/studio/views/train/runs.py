"""A training run as a plain object: a thread, its progress, its curves, its result. Independent of widgets.

The library is imported inside the run, so that a page is shown before torch is loaded.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.curves import Curve
from .insight import View, view
from .results import Result
from .settings import Settings

EVALUATION_BATCH = 256
FINAL_STATES = ("done", "cancelled", "failed")
LOOK_S = 0.2  # while it trains, the drawing is answered at most five times a second


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run ended: `kind` is "diverged" (the loss is infinite or NaN) or "error"."""

    kind: str
    message: str
    epoch: int
    step: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run. Epochs and steps count from one; `fraction` is 0..1; unknown figures are None."""

    state: str
    epoch: int
    epochs: int
    step: int
    steps: int
    fraction: float
    seconds: float
    seconds_left: float | None
    loss: float | None
    accuracy: float | None
    test_loss: float | None
    test_accuracy: float | None


class Run:
    """`Run(settings).start()` trains in a thread; `progress()`, `curves` and `result` can be read meanwhile.

    States: waiting, loading, running, then done, cancelled or failed. `load` returns the data set; tests replace
    it.
    """

    def __init__(self, settings: Settings, number: int = 1, load: Callable[[str], Any] | None = None) -> None:
        self.settings = settings
        self.number = number
        self.slot = 1  # which of the five colours it is drawn in
        self.state = "waiting"
        self.failure: Failure | None = None
        self.result: Result | None = None
        self.curves = {name: Curve() for name in ("loss", "accuracy", "test_loss", "test_accuracy")}
        self.image_size = 0
        self.path: Path | None = None  # its file, if it is kept
        self.view: View | None = None  # of the question, while it trains
        self._question: NDArray[np.float32] | None = None
        self._looked = 0.0
        self._load = load
        self._network: Any = None
        self._weights: list[NDArray[np.float32]] = []  # of a kept run, until its network is needed
        self._model: Any = None
        self._epoch = self._step = self._steps = 0
        self._at = (0, 0)  # epoch and step of the batch that is being computed
        self._loss: float | None = None
        self._accuracy: float | None = None
        self._began = self._ended = 0.0
        self._cancel = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"run-{number}", daemon=True)

    # ---- what a page does with it

    def start(self) -> Run:
        self._began = time.monotonic()
        self.state = "loading"
        self._thread.start()
        return self

    def cancel(self) -> None:
        """Asks the run to stop after the present batch."""
        self._cancel.set()
        if self._model is not None:
            self._model.stop_training = True

    def join(self, timeout: float | None = None) -> bool:
        """Waits for the end; returns whether it has ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    @property
    def alive(self) -> bool:
        return self.state not in FINAL_STATES and self.state != "waiting"

    @property
    def can_predict(self) -> bool:
        """Whether there is a trained network with finite weights."""
        return self.state in ("done", "cancelled") and self.result is not None

    def progress(self) -> Progress:
        epochs, steps = self.settings.epochs, self._steps
        fraction = (
            ((self._epoch - 1) * steps + self._step) / (epochs * steps) if steps and self._epoch else 0.0
        )
        fraction = 1.0 if self.state == "done" else min(max(fraction, 0.0), 1.0)
        seconds = (self._ended or time.monotonic()) - self._began if self._began else 0.0
        left = seconds * (1 - fraction) / fraction if self.state == "running" and fraction > 0 else None
        result = self.result
        return Progress(
            state=self.state,
            epoch=self._epoch,
            epochs=epochs,
            step=self._step,
            steps=steps,
            fraction=fraction,
            seconds=seconds,
            seconds_left=left,
            loss=self._loss,
            accuracy=self._accuracy,
            test_loss=result.loss if result else None,
            test_accuracy=result.accuracy if result else None,
        )

    def counts(self) -> dict[str, Any]:
        """What of the progress a kept run needs."""
        return {
            "epoch": self._epoch,
            "step": self._step,
            "steps": self._steps,
            "loss": self._loss,
            "accuracy": self._accuracy,
        }

    def end_as(
        self,
        state: str,
        seconds: float,
        curves: dict[str, Curve],
        failure: Failure | None,
        result: Result | None,
        image_size: int,
        weights: list[NDArray[np.float32]],
        counts: dict[str, Any],
    ) -> None:
        """Makes a new run the one that ended so: a kept one is read again."""
        if state not in FINAL_STATES:
            raise ValueError(f"state: expected one of {', '.join(FINAL_STATES)}, got {state!r}")
        self.state, self.curves, self.failure, self.result = state, curves, failure, result
        self.image_size, self._weights = image_size, weights
        self._began, self._ended = 1.0, 1.0 + float(seconds)
        self._epoch, self._step, self._steps = (int(counts[name]) for name in ("epoch", "step", "steps"))
        self._loss, self._accuracy = counts["loss"], counts["accuracy"]

    @property
    def network(self) -> Any:
        """The trained network. RuntimeError before the run has ended."""
        if not self.can_predict:
            raise RuntimeError(f"network: expected a finished run, got one that is {self.state}")
        return self._ready()

    def weights(self) -> list[NDArray[np.float32]]:
        """All parameters, in the order of the network."""
        return [parameter.numpy() for parameter in self._ready().parameters()]

    def ask(self, picture: NDArray[np.float32] | None) -> None:
        """The image [size, size] that the network answers while it trains; `view` is its latest answer."""
        self._question = picture

    def look(self, picture: NDArray[np.float32] | None) -> View:
        """The answer of a run that has ended."""
        if not self.can_predict:
            raise RuntimeError(f"look: expected a finished run, got one that is {self.state}")
        return view(self._ready(), picture, self.image_size)

    def predict(self, pictures: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities [n, 10] of images [n, size, size] (0..1). RuntimeError before the run has ended."""
        if not self.can_predict:
            raise RuntimeError(f"predict: expected a finished run, got one that is {self.state}")
        expected = (self.image_size, self.image_size)
        if pictures.ndim != 3 or pictures.shape[1:] != expected:
            raise ValueError(
                f"pictures: expected shape [n, {expected[0]}, {expected[1]}], got {pictures.shape}"
            )
        return self._probabilities(pictures)

    # ---- the thread

    def _run(self) -> None:
        try:
            self._train()
            self.state = "cancelled" if self._cancel.is_set() else "done"
        except FloatingPointError as error:
            self._fail("diverged", error)
        except Exception as error:  # show every error on the page: the visitor does not see the log
            self._fail("error", error)
        finally:
            self._ended = time.monotonic()

    def _fail(self, kind: str, error: Exception) -> None:
        self.result = None
        self.failure = Failure(kind, str(error) or type(error).__name__, *self._at)
        self.state = "failed"

    def _train(self) -> None:
        import torch

        import sampan

        from .callback import Follow

        # One core is left for the browser and the server: on two cores, training that waits for a busy second
        # one at every operator took ten times as long as training on one.
        torch.set_num_threads(max(1, (os.cpu_count() or 1) - 1))

        settings = self.settings
        bundle = (self._load or sampan.datasets.load)(settings.dataset)
        test_pictures, test_labels = images_and_labels(bundle.test)
        self.image_size = test_pictures.shape[-1]
        sampan.set_device("gpu" if settings.device == "gpu" else "cpu")
        sampan.seed(settings.seed)
        self._network = _network(settings.model, self.image_size)
        model = sampan.Model(self._network)
        model.prepare(
            _optimizer(settings, self._network.parameters()),
            sampan.nn.CrossEntropyLoss(),
            sampan.metric.Accuracy(),
        )
        self._model = model
        self._steps = -(-len(bundle.train) // settings.batch_size)
        if self._cancel.is_set():
            return
        self.state = "running"
        self._began = time.monotonic()  # time left is about training, not about reading files

        def before_batch(epoch: int, step: int) -> None:
            self._at = epoch, step

        def after_batch(epoch: int, step: int, loss: float, accuracy: float) -> None:
            self._epoch, self._step, self._loss, self._accuracy = epoch, step, loss, accuracy
            at = epoch - 1 + step / self._steps
            self.curves["loss"].add(at, loss)
            self.curves["accuracy"].add(at, accuracy)
            if self._cancel.is_set():
                model.stop_training = True
            now = time.monotonic()
            if now - self._looked >= LOOK_S:
                self._looked = now
                self.view = view(self._network, self._question, self.image_size)

        def after_epoch(epoch: int) -> None:  # also called for an epoch that was cut short
            result = Result(test_pictures, test_labels, self._probabilities(test_pictures))
            self.result = result
            at = epoch - 1 + self._step / self._steps
            self.curves["test_loss"].add(at, result.loss)
            self.curves["test_accuracy"].add(at, result.accuracy)

        follow = Follow(before_batch, after_batch, after_epoch, settings.batch_size, len(bundle.train))
        model.fit(
            bundle.train,
            batch_size=settings.batch_size,
            epochs=settings.epochs,
            verbose=0,
            callbacks=[follow],
        )

    def _probabilities(self, pictures: NDArray[np.float32]) -> NDArray[np.float32]:
        """Softmax of the network's logits for images [n, size, size], in chunks to bound the memory."""
        import sampan

        network = self._ready()
        network.eval()
        parts = []
        try:
            with sampan.no_grad():
                for first in range(0, len(pictures), EVALUATION_BATCH):
                    part = np.ascontiguousarray(pictures[first : first + EVALUATION_BATCH, None])
                    logits = network(sampan.to_tensor(part))
                    parts.append(sampan.nn.functional.softmax(logits, axis=-1).numpy())
        finally:
            network.train()
        return np.concatenate(parts).astype(np.float32)

    def _ready(self) -> Any:
        """The network; that of a kept run is made now."""
        if self._network is None:
            network = _network(self.settings.model, self.image_size)
            parameters = network.parameters()
            for parameter, weight in zip(parameters, self._weights, strict=True):
                parameter.set_value(weight)
            self._network, self._weights = network, []
        return self._network


class RunList:
    """Up to five compared runs; the colour of a removed run is reused."""

    LIMIT = 5

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._last = 0

    @property
    def full(self) -> bool:
        return len(self.runs) >= self.LIMIT

    @property
    def current(self) -> Run | None:
        """The run that is training now."""
        return next((run for run in self.runs if run.alive), None)

    def add(self, settings: Settings, load: Callable[[str], Any] | None = None) -> Run:
        """A new run, not yet started. ValueError if there are five or one is training."""
        if self.full:
            raise ValueError(f"runs: expected at most {self.LIMIT}, remove one first")
        if self.current is not None:
            raise ValueError("runs: one is training, wait for its end or cancel it first")
        run = Run(settings, self._last + 1, load)
        self._place(run)
        return run

    def restore(self, run: Run) -> None:
        """Adds a run that has ended; it gets another number if a run has its own."""
        if self.full:
            raise ValueError(f"runs: expected at most {self.LIMIT}, remove one first")
        run.number = max(run.number, self._last + 1)
        self._place(run)

    def _place(self, run: Run) -> None:
        self._last = run.number
        run.slot = min(set(range(1, self.LIMIT + 1)) - {other.slot for other in self.runs})
        self.runs.append(run)

    def get(self, number: int) -> Run:
        for run in self.runs:
            if run.number == number:
                return run
        raise KeyError(f"no run {number}")

    def remove(self, number: int) -> None:
        """Removes a run; one that is training is cancelled first."""
        run = self.get(number)
        if run.alive:
            run.cancel()
        self.runs.remove(run)


def images_and_labels(dataset: Any) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """(pictures [n, size, size] 0..1, labels [n]) of a data set, scaled as its items are."""
    items = [dataset[i] for i in range(len(dataset))]
    pictures = np.stack([np.asarray(picture, np.float32) for picture, _ in items])[:, 0]
    labels = np.array([int(np.asarray(label).reshape(-1)[0]) for _, label in items], np.int64)
    return pictures, labels


def _network(model: str, image_size: int) -> Any:
    import sampan

    if model == "mlp":
        return sampan.models.MLP(image_size * image_size)
    return sampan.models.LeNet(image_size=image_size)


def _optimizer(settings: Settings, parameters: Any) -> Any:
    import sampan

    make = getattr(sampan.optimizer, settings.optimizer)
    return make(learning_rate=settings.learning_rate, parameters=parameters)
