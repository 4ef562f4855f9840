"""The progress of training as text."""

import sys
import time
from typing import Any

from ..engine.tensor import InvalidArgument
from ..optimizer.lr import _number
from .callback import Callback, Logs

_WIDTH = 24
_REDRAW = 0.1  # seconds between two drawings of the bar


class ProgBarLogger(Callback):
    """verbose 1: a bar that is redrawn in place (on a terminal), 2: a line every `log_freq` steps, 0:
    nothing.

    If standard output is not a terminal, verbose 1 prints one line per epoch.
    """

    def __init__(self, log_freq: int = 1, verbose: int = 2) -> None:
        super().__init__()
        if verbose not in (0, 1, 2):
            raise InvalidArgument(f"verbose: expected 0, 1 or 2, got {verbose!r}")
        self.log_freq, self.verbose = _number(log_freq, "log_freq", 1, whole=True), verbose
        self._began = self._drawn = 0.0
        self._first = 0  # the step at which this epoch began: above 0 after a restart
        self._steps: int | None = None
        self._training = False
        self._width = 0

    # --- training ---

    def on_train_begin(self, logs: Logs | None = None) -> None:
        self._training = True

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        if self.verbose:
            self._line(f"Epoch {epoch + 1}/{self.params['epochs']}")
        self._start("steps", (logs or {}).get("step", 0))

    def on_train_batch_end(self, step: int, logs: Logs | None = None) -> None:
        self._progress(step + 1, logs)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        self._end((logs or {}).get("steps_done", self._steps), logs)

    def on_train_end(self, logs: Logs | None = None) -> None:
        self._training = False

    # --- evaluation and prediction ---

    def on_eval_begin(self, logs: Logs | None = None) -> None:
        self._start("eval_steps", 0)

    def on_eval_batch_end(self, step: int, logs: Logs | None = None) -> None:
        if not self._training:  # between two epochs only the result is of interest
            self._progress(step + 1, logs)

    def on_eval_end(self, logs: Logs | None = None) -> None:
        self._end(self._steps, logs, "eval ")

    def on_predict_begin(self, logs: Logs | None = None) -> None:
        self._start("eval_steps", 0)

    def on_predict_batch_end(self, step: int, logs: Logs | None = None) -> None:
        self._progress(step + 1, logs)

    def on_predict_end(self, logs: Logs | None = None) -> None:
        self._end(self._steps, logs, "predict ")

    # --- drawing ---

    def _start(self, steps: str, first: int) -> None:
        self._began, self._drawn = time.monotonic(), 0.0
        self._steps, self._first = self.params.get(steps), first

    def _progress(self, done: int, logs: Logs | None) -> None:
        if not self.verbose or done == self._steps:
            return
        if self.verbose == 2:
            if done % self.log_freq == 0:
                self._line(self._text(done, logs))
        elif sys.stdout.isatty() and time.monotonic() - self._drawn >= _REDRAW:
            self._drawn = time.monotonic()
            text = self._text(done, logs)
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)

    def _end(self, done: int | None, logs: Logs | None, kind: str = "") -> None:
        if self.verbose:
            text = kind + self._text(done, logs, finished=True)
            self._line(("\r" if self._width else "") + text.ljust(self._width))
            self._width = 0

    def _text(self, done: int | None, logs: Logs | None, finished: bool = False) -> str:
        seconds = time.monotonic() - self._began
        parts = [f"step {done or '?'}" + (f"/{self._steps}" if self._steps else "")]
        if self.verbose == 1 and self._steps and not finished:
            filled = int(_WIDTH * (done or 0) / self._steps)
            parts[0] += f" [{'=' * filled}{'.' * (_WIDTH - filled)}]"
        parts += [f"{name}: {number(value)}" for name, value in (logs or {}).items() if name not in _SILENT]
        ran = (done or 0) - self._first
        if ran > 0:
            parts.append(f"{1000 * seconds / ran:.{0 if seconds / ran >= 0.01 else 2}f} ms/step")
            if self._steps and not finished:
                parts.append(f"{clock(seconds / ran * (self._steps - (done or 0)))} left")
        if finished:
            parts.append(clock(seconds))
        return " - ".join(parts)

    def _line(self, text: str) -> None:
        self._write(text.rstrip(" ") + "\n")

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


_SILENT = ("step", "steps_done", "batch_size")


def number(value: Any) -> str:
    """Four significant digits; several values in brackets."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(number(v) for v in value) + "]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def clock(seconds: float) -> str:
    """0:07, 12:30 or 1:02:03."""
    whole = int(seconds + 0.5)
    minutes, hours = whole // 60 % 60, whole // 3600
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
