"""How notebook 10's functions are called: on small arrays of their own, and through the library's streams.

As in `drivers.py`: they run where the learner's code runs and know no right answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sampan
from sampan import speech
from sampan.kernels import speech as kernels
from sampan.learn import slots
from sampan.learn.drivers import driver
from sampan.speech.nn import ConformerEncoder, SpeechModel, masks
from sampan.speech.nn.conformer import ConvolutionModule


@driver
def mask_made(slot: slots.Slot, time: int, chunk: int, left: int) -> Any:
    """The mask [time, time] of the slot."""
    return slot.placed(time, chunk, left).numpy()


@driver
def frames_encoded(slot: slots.Slot, lengths: Any, time: int, chunk: int, left: int) -> Any:
    """What the library adds to the scores of attention, [batch, 1, time, time]: 0 or minus infinity."""
    like = sampan.zeros([1])
    found: Any = masks.attention_mask(lengths, time, chunk, left, like)
    return found.numpy()


@driver(answer=lambda *_: [("the number of frames in the past", "past 的帧数"), ("the outputs", "各输出")])
def pieces_convolved(slot: slots.Slot, weights: dict[str, Any], x: Any, sizes: list[int], kernel: int) -> Any:
    """(the number of frames in the last past, outputs [batch, time, width]) of the library's ConvolutionModule with these
    weights, over pieces of x [batch, time, width] of these sizes, one after another."""
    layer = ConvolutionModule(x.shape[2], kernel, True, "layer", 0.0)
    for name, parameter in layer.named_parameters():
        parameter.set_value(weights[name].numpy())
    layer.eval()
    made, past, start = [], None, 0
    with sampan.no_grad():
        for size in sizes:
            found, past = layer(sampan.to_tensor(x[:, start : start + size]), None, past)
            made.append(found.numpy())
            start += size
    return 0 if past is None else past.shape[1], np.concatenate(made, 1)


def _encoder(seed: int) -> ConformerEncoder:
    """A small encoder with the random weights of a seed."""
    sampan.seed(seed)
    made = ConformerEncoder(8, 16, 2, 2, hidden=16, kernel_size=5, causal=True, norm="layer")
    made.eval()
    return made


@driver(
    answer=lambda *_: [("the number of frames after each piece", "每段之后的帧数"), ("the frames", "各帧")]
)
def pieces_encoded(
    slot: slots.Slot, features: Any, sizes: list[int], chunk: int, left: int, seed: int
) -> Any:
    """(how many frames there were after each piece of features [time, 8], all frames [time, width]) of the library's
    EncoderStream."""
    stream = speech.nn.EncoderStream(_encoder(seed), chunk, left)
    made, counts, start = [], [], 0
    for size in sizes:
        made.append(stream.feed(features[start : start + size].numpy()).numpy())
        counts.append(sum(len(piece) for piece in made))
        start += size
    made.append(stream.finish().numpy())
    return np.array(counts), np.concatenate(made)


def encoded_at_once(features: Any, chunk: int, left: int, seed: int) -> Any:
    """Frames [time, width] of the same encoder over all features at once: what a stream should give."""
    with sampan.no_grad():
        found, _ = _encoder(seed)(sampan.to_tensor(features[None]), chunk=chunk, left_chunks=left)
    return found.numpy()[0]


class _Rows:
    """A stream of features that gives one row of an array for each sample."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.given = rows, 0

    def feed(self, samples: Any) -> Any:
        self.given += len(samples)
        return self.rows[self.given - len(samples) : self.given]

    def finish(self) -> Any:
        return self.rows[:0]


class _Kept:
    """A decoder that keeps the log probabilities."""

    def __init__(self) -> None:
        self.logs: list[Any] = []

    def feed(self, log_probs: Any) -> None:
        self.logs.append(log_probs.numpy())

    def partial(self) -> tuple[list[int], int]:
        return [], 0

    def finish(self) -> list[tuple[list[int], float]]:
        return [([], 0.0)]


def _model(seed: int, vocabulary: int = 5) -> SpeechModel:
    made = SpeechModel(_encoder(seed), vocabulary)
    made.eval()
    return made


@driver
def pieces_recognised(
    slot: slots.Slot, features: Any, sizes: list[int], chunk: int, left: int, seed: int
) -> Any:
    """The log probabilities [frames, 5] that the decoder of the library's StreamingRecognizer gets from pieces of features
    [time, 8]."""
    tokens = speech.CTCTokens({"<pad>": 0, "a": 1, "b": 2, "c": 3, "d": 4})
    kept = _Kept()
    live = speech.StreamingRecognizer(_model(seed), _Rows(features.numpy()), kept, tokens, chunk, left)
    for size in sizes:
        live.feed(np.zeros(size, np.float32))
    live.finish()
    return np.concatenate([np.zeros((0, 5), np.float32), *kept.logs])


def recognised_at_once(features: Any, chunk: int, left: int, seed: int) -> Any:
    """The same of all features at once."""
    model = _model(seed)
    with sampan.no_grad():
        encoded, _ = model.encoder(sampan.to_tensor(features[None]), chunk=chunk, left_chunks=left)
        found: Any = model.head.log_probs(encoded).numpy()[0]
    return found


@driver
def shared_found(slot: slots.Slot, nodes: Any, parent: Any) -> Any:
    """The node that the slot finds for texts at these nodes of a tree."""
    count = len(nodes)
    counts = np.array([count, len(parent), 0])
    beam = kernels.Beam(nodes.numpy().astype(np.int32), np.zeros(count), np.zeros(count), counts)
    places = [np.zeros(len(parent), np.int32 if n < 8 else float) for n in range(9)]
    places[0] = parent.numpy().astype(np.int32)
    return int(slot.placed(beam, kernels.Tree(*places)))


@driver(answer=lambda *_: [("the number of final tokens", "已确定的词元数"), ("the best text", "最好的文字")])
def partials_read(slot: slots.Slot, logs: Any, beam_size: int) -> Any:
    """After each frame of the library's PrefixBeam: (how many tokens are final [frames], the best text [frames, frames],
    -1 behind it)."""
    frames, classes = logs.shape
    beam = speech.PrefixBeam(classes, beam_size=beam_size)
    final, texts = np.zeros(frames, np.int64), np.full((frames, frames), -1)
    for t in range(frames):
        beam.feed(logs[t : t + 1].numpy())
        text, final[t] = beam.partial()
        texts[t, : len(text)] = text
    return final, texts


@driver
def delays_found(slot: slots.Slot, times: Any, chunk: float, lookahead: float, seconds: Any) -> Any:
    """The delays [samples] of the slot."""
    return np.asarray(slot.placed(times.numpy(), chunk, lookahead, seconds.tolist()), np.float64)


@driver
def recogniser_timed(slot: slots.Slot, times: Any, chunk: int, seconds: Any) -> Any:
    """The delays [samples] that the library's StreamingRecognizer states after chunks that took these seconds."""
    tokens = speech.CTCTokens({"<pad>": 0, "a": 1})
    features = speech.StreamingFbank(num_mel_bins=8)
    live = speech.StreamingRecognizer(_model(0, 2), features, speech.PrefixBeam(2), tokens, chunk)
    live._seconds.extend(seconds.tolist())  # in the place of a clock
    return live.delays(times.numpy())
