"""The chunked Conformer beside a GRU of the same size, trained on the same batches: error rates and speed.

    python -m sampan.models.speech_mandarin train FEATURES --out CONFORMER --steps 2900
    python -m sampan.models.speech_mandarin train FEATURES --out GRU --steps 2900 --model recurrent
    python benchmarks/speech_generations.py FEATURES CONFORMER GRU [--rounds 9]
    python benchmarks/speech_generations.py --stream wenetspeech_zh [--seconds 3600]

The first form prints a Markdown table; the second feeds a stream faster than real time and prints the memory of the
process, then in real time and prints the delay and its parts. One thread.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

from sampan.engine.backward import no_grad
from sampan.engine.tensor import Tensor
from sampan.models.speech_mandarin_data import FeatureFile
from sampan.models.speech_mandarin_report import measure, rows_of
from sampan.speech import AudioClassifier, PrefixBeam, StreamingRecognizer, Wav2Vec2Processor
from sampan.speech.lexicon import LexiconTokens

SHIPPED = "wenetspeech_zh"


def load(folder: str) -> tuple[AudioClassifier, Wav2Vec2Processor]:
    """A run's model, with the lexicon of the model that ships."""
    model, processor = AudioClassifier.from_pretrained(folder), Wav2Vec2Processor.from_pretrained(folder)
    if not isinstance(processor.tokens, LexiconTokens):
        processor.tokens = Wav2Vec2Processor.from_pretrained(SHIPPED).tokens
    return model, processor


@no_grad()
def seconds_of(model: AudioClassifier, features: np.ndarray, streamed: bool) -> float:
    """Processor seconds for features [frames, bins]: at once, or in chunks of 160 ms through the caches of a stream."""
    began = time.process_time()
    if streamed:
        stream = model.model.stream(4, 16)
        for at in range(0, len(features), 16):
            model.model.head(stream.feed(features[at : at + 16]))
    else:
        model.model(Tensor(features[None]))
    return time.process_time() - began


def compare(file: FeatureFile, folders: list[str], rounds: int) -> None:
    """Print a row for each model and way of decoding: error rates of held-out words, real-time factor."""
    models = {folder: load(folder) for folder in folders}
    rows = rows_of(file, "words")
    features = np.random.default_rng(0).normal(0, 1, (1000, 80)).astype(np.float32)  # 10 s
    times: dict[Any, list[float]] = {}
    for _ in range(rounds + 1):  # the first round warms up
        for folder, (model, _) in models.items():
            for streamed in (False, True):
                times.setdefault((folder, streamed), []).append(seconds_of(model, features, streamed))
    print(
        f"{len(rows)} held-out words; processor seconds for one second of sound, one thread, median of {rounds}\n"
    )
    print("| model | parameters | decoded | character errors | syllable errors | real-time factor |")
    print("|---|---|---|---|---|---|")
    for folder, (model, processor) in models.items():
        count = sum(int(np.prod(value.shape)) for value in model.parameters())
        for streamed, mode in ((False, "as a whole"), (True, "in chunks of 160 ms")):
            found = measure(model, processor, file, rows, 4 if streamed else None)
            factor = float(np.median(times[folder, streamed][1:])) / 10
            kind = model.config["model_type"]
            print(
                f"| {kind} | {count:,} | {mode} | {found.characters:.1%} | {found.with_tone:.1%} | {factor:.4f} |"
            )


def stream(name: str, seconds: float, live: float = 30.0) -> None:
    """Print the memory of a long stream, fed faster than real time, and the delay of a stream in real time."""
    model, processor = load(name)

    def made() -> StreamingRecognizer:
        inputs: Any = processor.inputs
        beam = PrefixBeam(len(processor.tokens))
        return StreamingRecognizer(model.model, inputs.stream(), beam, processor.tokens)

    rng = np.random.default_rng(0)
    # Syllables of noise: half a second of noise in a changing band, a quarter of silence.
    pieces = [rng.normal(0, 0.1 * (n % 3 > 0), 4000).astype(np.float32) for n in range(240)]
    recognizer, page = made(), resource.getpagesize()
    began, sizes, done = time.process_time(), [], 0.0
    while done < seconds:
        recognizer.feed(pieces[int(done * 4) % len(pieces)])
        done += 0.25
        if done % 60 == 0:
            sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * page / 2**20)
    taken = time.process_time() - began
    print(
        f"{done / 60:.0f} minutes of sound in {taken:.0f} processor seconds, real-time factor {taken / done:.3f}; memory in MiB"
    )
    print(
        "after minutes "
        + ", ".join(f"{n + 1}: {sizes[n]:.0f}" for n in range(0, len(sizes), max(len(sizes) // 6, 1)))
    )
    recognizer, seen, delays = made(), 0, []
    recognizer.feed(pieces[1])
    began = time.perf_counter() - 0.25
    for n in range(1, int(live / 0.02)):
        end = 0.25 + 0.02 * n
        time.sleep(max(began + end - time.perf_counter(), 0))
        recognizer.feed(np.resize(pieces[n % 240], 320))
        frames = recognizer.decoder.frames  # type: ignore[attr-defined]  # of the beam
        now = time.perf_counter() - began
        delays += [now - (k + part) * 0.04 for k in range(seen, frames) for part in (0.0, 0.5)]
        seen = frames
    parts, (low, high) = recognizer.delay, np.quantile(delays, [0.5, 0.95])
    print(f"{live:.0f} s in real time: median {low * 1e3:.0f} ms, 95th percentile {high * 1e3:.0f} ms")
    print(
        f"parts: look-ahead {parts.lookahead * 1e3:.0f} ms, chunk {parts.chunk * 1e3:.0f} ms, "
        f"compute {parts.compute * 1e3:.0f} ms (95th percentile)"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", help="the features, and the runs to compare")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--stream", help="a model's name or folder")
    parser.add_argument("--seconds", type=float, default=3600)
    given = parser.parse_args()
    if given.stream:
        stream(given.stream, given.seconds)
    else:
        compare(FeatureFile(given.folders[0]), given.folders[1:], given.rounds)
