"""How notebook 09's functions are called: on small arrays of their own, and through the library's layers.

As in `drivers.py`: they run where the learner's code runs and know no right answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sampan
from sampan import speech
from sampan.kernels import cpu_speech_ctc
from sampan.learn import slots
from sampan.learn.cases import Text
from sampan.learn.drivers import driver, gradient_of
from sampan.nn import functional as F
from sampan.speech import windows

from .drivers_graphs import go_back, gradient

LOSSES: Text = ("the losses", "各损失")


@driver
def window_made(slot: slots.Slot, name: str, length: int, periodic: bool) -> Any:
    """The window as an array."""
    return slot.placed(name, length, periodic).numpy()


@driver
def powers(slot: slots.Slot, x: Any, n_fft: int, hop: int, window: str, center: bool) -> Any:
    """The powers [batch, frequencies, frames] of the library's Spectrogram."""
    layer = speech.Spectrogram(n_fft, hop, window=window, power=2.0, center=center)
    return layer(sampan.to_tensor(x)).numpy()


@driver(answer=lambda *_: [("the powers", "各功率"), gradient_of("x")])
def powers_and_gradient(slot: slots.Slot, x: Any, n_fft: int, hop: int, g: Any) -> Any:
    """(powers of the library's Spectrogram with a Hann window, the gradient of x)."""
    given = sampan.to_tensor(x, stop_gradient=False)
    layer = speech.Spectrogram(n_fft, hop, power=2.0, center=False, dtype=str(given.dtype).split(".")[-1])
    found = layer(given)
    go_back(found, g)
    return found.numpy(), gradient(given, "x")


@driver(answer=lambda *_: [("the real parts", "实部"), ("the imaginary parts", "虚部")])
def parts_of_stft(slot: slots.Slot, x: Any, n_fft: int, hop: int, win_length: int) -> Any:
    """(real, imaginary) parts [batch, frequencies, frames] of the slot, with a Hann window of win_length samples."""
    given = sampan.to_tensor(x)
    window = windows.get_window("hann", win_length, dtype="float64").astype(given.dtype)
    found: Any = slot.placed(given, n_fft, hop, win_length, window, False)
    return found.real().numpy(), found.imag().numpy()


@driver
def bank_made(slot: slots.Slot, rate: int, n_fft: int, filters: int, low: float, high: float) -> Any:
    """The weights [filters, n_fft // 2 + 1] of the slot, float64, on HTK's scale."""
    return slot.placed(rate, n_fft, filters, low, high, True, None, "float64").numpy()


@driver
def mel_energies(slot: slots.Slot, x: Any, rate: int, n_fft: int, filters: int, low: float) -> Any:
    """The energies [batch, filters, frames] of the library's MelSpectrogram."""
    layer = speech.MelSpectrogram(
        rate, n_fft, n_fft // 2, n_mels=filters, f_min=low, htk=True, norm=None, dtype="float64"
    )
    return layer(sampan.to_tensor(x)).numpy()


def _ids(values: Any) -> np.ndarray:
    return np.ascontiguousarray(values.numpy(), np.int64)


@driver(answer=lambda *_: [LOSSES, ("the occupancy", "占据概率")])
def occupancies(slot: slots.Slot, x: Any, labels: Any, lengths: Any, counts: Any, blank: int) -> Any:
    """(losses [batch], occupancy [time, batch, 1 + tokens], 0 behind a sequence's end) of the slot."""
    times, batch, _ = x.shape
    losses, paths = slot.placed(x.numpy(), _ids(labels), _ids(lengths), _ids(counts), blank)
    found = np.array(paths.occupancy, np.float64).reshape(times, batch, -1)
    for b in range(batch):
        found[int(lengths[b]) :, b] = 0
        found[:, b, int(counts[b]) + 1 :] = 0
    return np.asarray(losses), found


@driver(answer=lambda *_: [LOSSES, gradient_of("x")])
def ctc_through_the_library(
    slot: slots.Slot, x: Any, labels: Any, lengths: Any, counts: Any, blank: int, g: Any
) -> Any:
    """(losses [batch], the gradient of the logits x [time, batch, classes]) of the library's ctc_loss."""
    given = sampan.to_tensor(x, stop_gradient=False)
    labels, lengths, counts = (sampan.to_tensor(_ids(a)) for a in (labels, lengths, counts))
    losses = F.ctc_loss(given, labels, lengths, counts, blank=blank, reduction="none")
    go_back(losses, g)
    return losses.numpy(), gradient(given, "x")


@driver
def slopes(
    slot: slots.Slot, x: Any, labels: Any, lengths: Any, counts: Any, blank: int, divide: bool, g: Any
) -> Any:
    """The gradient [time, batch, classes] of the slot, from the library's own occupancy."""
    rows = x.numpy()
    _, paths = cpu_speech_ctc.ctc_paths(rows, _ids(labels), _ids(lengths), _ids(counts), blank)
    return np.asarray(slot.placed(g.numpy(), rows, divide, blank, paths))


@driver(answer=lambda *_: [("the probabilities", "各概率"), ("the texts", "各文字")])
def texts_found(slot: slots.Slot, logs: Any, beam_size: int, blank: int, best: int) -> Any:
    """(probabilities [sequences, best] of the best texts of the library's PrefixBeam, falling; these texts as arrays
    [sequences, best, frames] with -1 behind each)."""
    count, frames, classes = logs.shape
    scores, texts = np.zeros((count, best)), np.full((count, best, frames), -1)
    beam = speech.PrefixBeam(classes, blank, beam_size)
    for n in range(count):
        beam.feed(logs[n].numpy())
        for place, (text, score) in enumerate(beam.finish()[:best]):
            scores[n, place] = np.exp(score)
            texts[n, place, : len(text)] = text
    return scores, texts
