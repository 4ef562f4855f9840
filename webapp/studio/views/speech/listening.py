"""A run of sound, from a microphone or a recording: features, text and delay while it goes on. Independent of widgets.

Memory does not grow with the sound: what waits is bounded, and so are the lines of text and the times that are kept.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..common.work import Work
from .chunks import RATE, Refused, Samples
from .recognition import Recogniser, Utterance

PIECE = RATE // 10  # samples that are fed at once
MOST_WAITING_S = 5.0
MOST_LINES = 40
TELL_S = 0.12
BANDS = 80
BLOCK = RATE // 100  # samples of one column of the waveform
DARK, BRIGHT = 5.0, 21.0  # log energies of Kaldi's filter bank: the ends of the colours


@dataclass(frozen=True)
class Line:
    """The text of one utterance. number: from 0. at: seconds of sound until it was complete."""

    number: int
    text: str
    at: float


@dataclass(frozen=True)
class DelayReport:
    """Seconds. median, high: the 50th and 95th percentile from the arrival of a piece to its text, over the last `count`
    pieces. lookahead, chunk, compute: the parts, as in `speech.Delay`."""

    median: float
    high: float
    count: int
    lookahead: float
    chunk: float
    compute: float


class Scope:
    """Columns of the picture of a sound: `feed` gives uint8 [frames, bands] of the log-mel spectrogram and int8
    [blocks, 2], the least and the largest sample of each 10 ms."""

    def __init__(self) -> None:
        from sampan import speech

        self._features = speech.StreamingFbank(RATE, BANDS)
        self._rest = np.zeros(0, np.float32)

    def feed(self, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        energies = self._features.feed(samples)
        frames = np.clip((energies - DARK) * (255 / (BRIGHT - DARK)), 0, 255).astype(np.uint8)
        held = np.concatenate([self._rest, samples])
        whole = len(held) // BLOCK
        blocks, self._rest = held[: whole * BLOCK].reshape(whole, BLOCK), held[whole * BLOCK :]
        peaks = np.stack([blocks.min(1), blocks.max(1)], 1) if whole else np.zeros((0, 2))
        return frames, np.round(np.clip(peaks, -1, 1) * 127).astype(np.int8)


class Listening(Work):
    """Reads pieces from `offer` until `end`. `on_piece` is called for each of them with the columns of its picture,
    `on_change` when there may be new text; both from its thread. Without a recogniser it shows the sound alone.
    """

    def __init__(
        self,
        recogniser: Recogniser | None,
        on_change: Callable[[Listening], None] = lambda _: None,
        on_piece: Callable[[np.ndarray, np.ndarray, int], None] = lambda *_: None,
    ) -> None:
        super().__init__("listening", on_change)
        self.lines: deque[Line] = deque(maxlen=MOST_LINES)
        self.heard = 0.0  # seconds
        self.loudest = 0.0  # the largest absolute sample
        self.utterance: Utterance | None = None
        self.shown: Utterance | None = None  # the last one with a text
        self._recogniser, self._on_piece = recogniser, on_piece
        self._pieces: queue.Queue[tuple[Samples, float, int] | None] = queue.Queue()
        self._waiting, self._lock, self._closed = 0, threading.Lock(), False
        self._arrivals: deque[tuple[float, float]] = deque()  # end of a piece in the utterance, its arrival
        self._delays: deque[float] = deque(maxlen=300)
        self._count = 0
        self._fed = 0.0  # seconds of the utterance

    def offer(self, samples: Samples, number: int = 0) -> None:
        """Adds a piece; `number` is given back to `on_piece`. Raises Refused: "stopped" after the end, "fast" if more
        than five seconds of sound wait."""
        with self._lock:
            if self._closed or not self.alive:
                raise Refused("stopped")
            if self._waiting + len(samples) > MOST_WAITING_S * RATE:
                raise Refused("fast", seconds=MOST_WAITING_S)
            self._waiting += len(samples)
            self._pieces.put((samples, time.perf_counter(), number))

    def end(self) -> None:
        """No further pieces: what waits is read, then the text is complete."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._pieces.put(None)

    def cancel(self) -> None:
        super().cancel()
        self.end()

    @property
    def waiting(self) -> float:
        """Seconds of sound that are not read yet."""
        return self._waiting / RATE

    @property
    def delay(self) -> DelayReport | None:
        """None before the first text could appear."""
        if not self._delays or self.utterance is None:
            return None
        median, high = np.quantile(np.array(self._delays), [0.5, 0.95])
        return DelayReport(float(median), float(high), len(self._delays), *self.utterance.delay)

    def _work(self) -> None:
        scope = Scope()
        if self._recogniser is not None:
            self.utterance = self._recogniser.begin()
        self._running()
        while (piece := self._pieces.get()) is not None and not self._cancel.is_set():
            samples, arrived, number = piece
            self.heard += len(samples) / RATE
            self.loudest = max(self.loudest, float(np.abs(samples).max(initial=0)))
            columns = scope.feed(samples)
            if self.utterance is not None:
                self._recognise(self.utterance, samples, arrived)
            with self._lock:
                self._waiting -= len(samples)
            self._on_piece(*columns, number)
            self._tell(TELL_S)
        if self.utterance is not None:
            self._close(self.utterance)

    def _recognise(self, utterance: Utterance, samples: Samples, arrived: float) -> None:
        utterance.feed(samples)
        self._fed += len(samples) / RATE
        self._arrivals.append((self._fed, arrived))
        now = time.perf_counter()
        while self._arrivals and self._arrivals[0][0] <= utterance.seconds:
            self._delays.append(now - self._arrivals.popleft()[1])
        if utterance.final or utterance.partial:
            self.shown = utterance
        if utterance.over:
            self._close(utterance)
            assert self._recogniser is not None
            self.utterance = self._recogniser.begin()
            self._arrivals.clear()
            self._fed = 0.0
            self._tell()

    def _close(self, utterance: Utterance) -> None:
        text = utterance.finish()
        if text:
            self.shown = utterance
            self.lines.append(Line(self._count, text, self.heard))
            self._count += 1


class Playing:
    """Offers a recording to a Listening in pieces of 100 ms, each when its last sample would have been spoken, then
    ends it."""

    def __init__(self, samples: Samples, listening: Listening, pace: float = 1.0) -> None:
        self._samples, self._listening, self._pace = samples, listening, pace
        self._thread = threading.Thread(target=self._play, name="playing", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, timeout: float | None = None) -> None:
        self._thread.join(timeout)

    def _play(self) -> None:
        began = time.monotonic()
        for start in range(0, len(self._samples), PIECE):
            piece = self._samples[start : start + PIECE]
            wait = began + (start + len(piece)) / RATE * self._pace - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            while self._listening.alive and self._listening.waiting > MOST_WAITING_S / 2:
                time.sleep(0.02)  # the machine is slower than the sound
            try:
                self._listening.offer(piece)
            except Refused:  # it was cancelled
                return
        self._listening.end()
